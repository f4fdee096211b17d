"""A command that is interrupted while it calls tmux leaves no tmux that goes on by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

TRIALS = 80
# A tmux that takes longer than a busy machine takes to interrupt it.
SLOW_TMUX = """\
#!/bin/sh
sleep 20
"""
# The moments go from before the process is started to when it runs.
INTERRUPTED = """
import os, signal, sys, threading, time
from cafleet.panes.runner import run

def end(*_):
    raise SystemExit(143)

def interrupt(seconds):
    # The signal is for the thread that calls tmux, as in a command that has no other.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGTERM)

signal.signal(signal.SIGTERM, end)
for trial in range(int(sys.argv[1])):
    try:
        threading.Thread(target=interrupt, args=(trial * 0.0001,)).start()
        run("/nowhere", ["kill-server"])
        print("ended by itself")
    except SystemExit:
        print("interrupted")
"""


def running(program: Path) -> list[str]:
    """The command lines of the processes that run a script."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = entry.read_bytes().split(b"\0")
            if os.fsencode(program) in words:
                found.append(repr(words))
    return found


def test_an_interruption_at_any_moment_ends_the_call(tmp_path: Path) -> None:
    tmux = tmp_path / "tmux"
    tmux.write_text(SLOW_TMUX)
    tmux.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(TRIALS)],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "interrupted\n" * TRIALS, done
    assert running(tmux) == []
