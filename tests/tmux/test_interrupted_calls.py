"""A command that is interrupted while it calls tmux leaves no tmux that goes on by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

TRIALS = 80
# A tmux that takes its time before it does what cannot be undone.
SLOW_TMUX = """\
#!/bin/sh
sleep 0.3
echo done >>"$MARKS"
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


def test_an_interruption_at_any_moment_ends_the_call(tmp_path: Path) -> None:
    tmux, marks = tmp_path / "tmux", tmp_path / "marks"
    tmux.write_text(SLOW_TMUX)
    tmux.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(TRIALS)],
        env={**os.environ, "PATH": path, "MARKS": str(marks)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "interrupted\n" * TRIALS, done
    time.sleep(1)
    assert not marks.exists()
