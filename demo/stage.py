"""Where the demonstration plays: a folder, a tmux server and a database that are nobody else's."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType, TracebackType

from demo.launchers import install

# Not the default folder, which may be long: a socket's path may hold about 100 bytes only.
FOLDERS = "/tmp"

_COMMAND_SECONDS = 30
_SESSION = "fleet"


class StageError(Exception):
    """The demonstration cannot play on; the text says why."""


class Stage:
    """From ``with`` to its end: scripted agents on PATH and a session whose first pane runs one.

    Nothing of the user's environment but PATH is passed on. At the end, also of an interrupted
    run, the server is stopped and the folder removed.
    """

    director_pane: str

    def __init__(self) -> None:
        self._program = Path(sys.executable).parent / "cafleet"
        if not self._program.exists():
            raise StageError(f"there is no {self._program}; run `make demo` in a checkout")
        if shutil.which("tmux") is None:
            raise StageError(
                "tmux is missing; install it (apt-get install tmux, dnf install tmux, "
                "brew install tmux) and run `make demo` again"
            )

    def __enter__(self) -> Stage:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _leave)
        self.folder = Path(tempfile.mkdtemp(prefix="cafleet-demo-", dir=FOLDERS))
        try:
            self._prepare()
        except BaseException:
            self._clear()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._clear()

    @property
    def database(self) -> Path:
        return self.folder / "cafleet.db"

    def cafleet(self, *arguments: str) -> str:
        """Run ``cafleet`` as the agent in the Director's pane would, or a person in another terminal
        once that pane is gone; its stdout.

        Raises:
            StageError: it has failed; the text holds what it said.
        """
        inside = {}
        if self._tmux_variable:
            inside = {"TMUX": self._tmux_variable, "TMUX_PANE": self.director_pane}
        return self._run([str(self._program), *arguments], {**self._environment, **inside})

    def kill_tmux(self) -> None:
        """Kill the server and everything in its panes at once, as a power cut does."""
        for pid in set(self._tmux("list-panes", "-a", "-F", "#{pid} #{pane_pid}").split()):
            os.kill(int(pid), signal.SIGKILL)
        self._tmux_variable = ""

    def screen(self, pane: str) -> str:
        """What ``pane`` shows, for the story's own eyes."""
        return self._tmux("capture-pane", "-p", "-t", pane)

    def _prepare(self) -> None:
        programs, home, runtime = (self.folder / name for name in ("bin", "home", "run"))
        install(programs, "demo.scripted_agent")
        home.mkdir()
        runtime.mkdir(mode=0o700)
        path = os.environ.get("PATH", os.defpath)
        self._environment = {
            "PATH": os.pathsep.join([str(programs), str(self._program.parent), path]),
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(runtime),
            "TMUX_TMPDIR": str(self.folder),
            "CAFLEET_DATABASE_URL": f"sqlite:///{self.database}",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
        }
        agent = [str(programs / "claude"), "--name", "Director"]
        size = ["-x", "200", "-y", "90", "-c", str(home)]
        named = ["-s", _SESSION, "-P", "-F", "#{pane_id} #{socket_path},#{pid},0"]
        answer = self._tmux("new-session", "-d", *size, *named, *agent)
        self.director_pane, self._tmux_variable = answer.split(maxsplit=1)

    def _tmux(self, *arguments: str) -> str:
        # -f: not the user's configuration. -u: UTF-8 whatever the locale.
        command = ["tmux", "-L", "demo", "-f", "/dev/null", "-u", *arguments]
        return self._run(command, self._environment).strip()

    def _run(self, command: list[str], environment: dict[str, str]) -> str:
        done = subprocess.run(
            command,
            env=environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise StageError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def _clear(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        try:
            self._tmux("kill-server")
        except StageError as error:
            if "no server running" not in str(error) and "No such file" not in str(error):
                print(f"demo: {error}", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
