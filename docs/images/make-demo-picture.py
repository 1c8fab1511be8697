"""Makes demo.svg from a real run of `windlass demo` in a terminal (needs tmux and the Python package rich).

usage: make-demo-picture.py path/to/windlass
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

windlass = Path(sys.argv[1]).resolve()
with tempfile.TemporaryDirectory() as home:
    tmux = ["tmux", "-L", "windlass-picture"]
    command = f"WINDLASS_HOME={home}/w {windlass} demo; tmux -L windlass-picture wait-for -S done; cat"
    subprocess.run([*tmux, "new-session", "-d", "-x", "100", "-y", "44", command], check=True)
    subprocess.run([*tmux, "wait-for", "done"], check=True)
    time.sleep(0.3)
    screen = subprocess.run([*tmux, "capture-pane", "-p", "-e"], check=True, capture_output=True, text=True).stdout
    subprocess.run([*tmux, "kill-server"], check=False)

screen = screen.replace(home, "~/.local/share").rstrip()
console = Console(record=True, width=100, file=open("/dev/null", "w"))
console.print(Text.from_ansi(screen))
svg = console.export_svg(title="windlass demo", theme=MONOKAI)
# No fonts from elsewhere: the picture has to be whole by itself.
svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.S).replace("Fira Code", "ui-monospace, Menlo, Consolas")
(Path(__file__).parent / "demo.svg").write_text(svg)
