"""Uses the client that openapi-python-client made of schemas/openapi.json against a real server."""

import os
import sys

from client import AuthenticatedClient
from client.api.default import get_health, get_loops, get_loops_id, get_report, post_loops_preview
from client.models import ErrorBody, StartLoop

server = AuthenticatedClient(base_url=os.environ["WINDLASS_API"], token=os.environ["WINDLASS_TOKEN"])
assert get_health.sync(client=server).status == "ok"
assert get_loops.sync(client=server, limit=10).loops == []
assert get_report.sync(client=server).total.loops == 0
missing = get_loops_id.sync(client=server, id="none")
assert isinstance(missing, ErrorBody) and missing.error.code == "not_found", missing
wrong = post_loops_preview.sync(client=server, body=StartLoop(project=sys.argv[1], goal=""))
assert isinstance(wrong, ErrorBody), wrong
print("python client: ok")
