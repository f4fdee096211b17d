"""A program for a pane: it notes how it was started, then every byte that it is given.

Arguments: a folder, whether to ask for bracketed paste (``plain`` or ``bracketed``), and anything.
"""

from __future__ import annotations

import json
import os
import sys
import tty
from pathlib import Path


def main() -> None:
    folder, mode = Path(sys.argv[1]), sys.argv[2]
    pane = os.environ["TMUX_PANE"]
    start = {
        "argv": [word.encode("utf-8", "surrogateescape").hex() for word in sys.argv[3:]],
        "cwd": os.fsencode(Path.cwd()).hex(),
        "environment": dict(os.environ),
    }
    tty.setraw(0)
    (folder / f"{pane}.json").write_text(json.dumps(start))
    with (folder / f"{pane}.bytes").open("ab", buffering=0) as record:
        sys.stdout.write("\x1b[?2004h" if mode == "bracketed" else "")
        sys.stdout.write("READY\r\n")
        sys.stdout.flush()
        while data := os.read(0, 65536):
            record.write(data)


main()
