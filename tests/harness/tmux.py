"""A tmux server of a test's own, on a socket of its own, spoken to by tmux's command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_LABEL = "t"
_SECONDS = 10


class TmuxServer:
    """A private server; nothing runs until :meth:`session`.

    ``environment`` is what the server and so every pane begins with. The socket lies in a short
    folder of its own, since a socket's path may hold about 100 bytes only (sun_path of unix(7)).
    No command may take more than ``seconds``.
    """

    def __init__(self, environment: Mapping[str, str], seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._folder = Path(tempfile.mkdtemp(prefix="cf", dir="/tmp"))
        self.environment = {**environment, "TMUX_TMPDIR": str(self._folder)}
        self.socket = str(self._folder / f"tmux-{os.geteuid()}" / _LABEL)

    def run(self, *arguments: str, check: bool = True, stdin: str | None = None) -> str:
        """Run one tmux command on this server; its stdout without the last line end.

        Raises:
            subprocess.CalledProcessError: it failed and ``check`` is set.
        """
        done = subprocess.run(
            ["tmux", "-f", "/dev/null", "-u", "-L", _LABEL, *arguments],
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=self._seconds,
            check=check,
        )
        return done.stdout.removesuffix("\n")

    def session(
        self,
        name: str,
        argv: Sequence[str] = ("sleep", "1000"),
        *,
        columns: int = 200,
        rows: int = 50,
        cwd: Path | None = None,
    ) -> str:
        """Start the server if need be, and a detached session; the id of its pane."""
        where = ["-c", str(cwd)] if cwd else []
        size = ["-x", str(columns), "-y", str(rows)]
        return self.run(
            "new-session", "-dP", "-F", "#{pane_id}", "-s", name, *size, *where, *_direct(argv)
        )

    def split(self, beside: str, argv: Sequence[str] = ("sleep", "1000")) -> str:
        """A new pane in the window of the pane ``beside``, the focus unchanged; its id."""
        return self.run("split-window", "-dP", "-F", "#{pane_id}", "-t", beside, *_direct(argv))

    def ask(self, target: str, form: str) -> str:
        """A format such as ``#{pane_current_command}`` filled in for ``target``."""
        return self.run("display-message", "-p", "-t", target, form)

    def panes(self) -> list[str]:
        """The ids of all panes of the server, none when it does not run."""
        return self.run("list-panes", "-a", "-F", "#{pane_id}", check=False).split()

    def screen(self, pane: str) -> str:
        """The visible rows of a pane, without attributes."""
        return self.run("capture-pane", "-p", "-t", pane)

    def paste(self, pane: str, text: str) -> None:
        """Paste ``text`` with the brackets that the program asked for, line feeds as they are."""
        self.run("load-buffer", "-b", "text", "-", stdin=text)
        self.run("paste-buffer", "-p", "-r", "-d", "-b", "text", "-t", pane)

    def enter(self, pane: str) -> None:
        self.run("send-keys", "-t", pane, "Enter")

    def inside(self, pane: str) -> dict[str, str]:
        """The variables by which a program in ``pane`` knows where it runs, as tmux sets them."""
        form = "#{socket_path},#{pid},#{session_id}"
        return {"TMUX": self.ask(pane, form).replace("$", ""), "TMUX_PANE": pane}

    def stop(self) -> None:
        """End the server if it runs; a new :meth:`session` starts another on the same socket."""
        self.run("kill-server", check=False)

    def close(self) -> None:
        """End the server and remove its folder."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _direct(argv: Sequence[str]) -> list[str]:
    """``argv`` so that tmux starts it itself: a single word it would give to a shell."""
    return ["env", *argv] if len(argv) == 1 else list(argv)
