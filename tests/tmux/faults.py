"""A tmux that goes wrong at a chosen call, put before the real one for a single command."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.harness.tmux import TmuxServer

_SCRIPT = """\
#!/bin/sh
call=$(($(cat "$FAULT_CALLS" 2>/dev/null || echo 0) + 1))
echo $call >"$FAULT_CALLS"
real() {{ {tmux} "$@"; }}
if [ -n "$FAULT_WORD" ]; then
    case " $* " in *" $FAULT_WORD "*) ;; *) exec {tmux} "$@" ;; esac
elif [ $call -ne "$FAULT_AT" ]; then
    exec {tmux} "$@"
fi
case $FAULT in
    kill-caller) kill -KILL $PPID ; exit 1 ;;
    signal-*) kill -"${{FAULT#signal-}}" $PPID ; sleep 0.1 ; exec {tmux} "$@" ;;
    kill-pane) real -S {socket} kill-pane -t "$FAULT_PANE" ; exec {tmux} "$@" ;;
    lose-answer) real "$@" >/dev/null ; kill -KILL $$ ;;
    fail) echo "simulated failure" >&2 ; exit 1 ;;
    hang) exec sleep 1000 ;;
esac
"""


@dataclass(frozen=True)
class FaultyTmux:
    """``folder`` holds a program ``tmux`` that obeys the variables of :meth:`variables`."""

    folder: Path
    path: str

    @classmethod
    def installed(cls, folder: Path, server: TmuxServer) -> FaultyTmux:
        tmux = shutil.which("tmux")
        assert tmux is not None
        folder.mkdir()
        program = folder / "tmux"
        program.write_text(_SCRIPT.format(tmux=tmux, socket=server.socket))
        program.chmod(0o755)
        return cls(folder, f"{folder}:{server.environment['PATH']}")

    def variables(
        self, name: str, fault: str, *, at: int = 0, word: str = "", pane: str = ""
    ) -> dict[str, str]:
        """The environment of one command, whose tmux calls are counted under ``name``.

        The fault happens at the call number ``at``, counted from 1, or at every call that has
        ``word`` among its arguments. ``kill-caller`` kills the command before the call,
        ``signal-TERM`` and the like send it a signal, ``kill-pane`` closes ``pane`` before the
        call, ``lose-answer`` carries the call out and dies, ``fail`` refuses it, ``hang`` never
        ends.
        """
        return {
            "PATH": self.path,
            "FAULT": fault,
            "FAULT_AT": str(at),
            "FAULT_WORD": word,
            "FAULT_PANE": pane,
            "FAULT_CALLS": str(self._counter(name)),
        }

    def calls(self, name: str) -> int:
        """How often the command called tmux."""
        counter = self._counter(name)
        return int(counter.read_text()) if counter.exists() else 0

    def _counter(self, name: str) -> Path:
        return self.folder / f"{name}.calls"
