#!/bin/sh
# The same agent for peers that only start agents they know: it speaks as Claude Code does with `--output-format stream-json`.
sh "$PEERS_AGENT" "$@" </dev/null | sed -e 's/["\\]/ /g' \
    -e 's/.*/{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"&"}]}}/'
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","usage":{"input_tokens":1,"output_tokens":1}}'
