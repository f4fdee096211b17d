"""A small terminal that attaches: members' panes move to where they have room, and nothing else moves."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cafleet.courier.resettling import SMALL_SECONDS, Resettler
from cafleet.panes import Multiplexer
from tests.harness.registry import Registry
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.panes_fixtures import tag

MEMBERS = 4


@contextmanager
def attached(server: TmuxServer, session: str, columns: int, rows: int) -> Iterator[None]:
    """A client in a terminal of this size shows the session."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.environ.pop("TMUX", None)
        os.execvp("tmux", ["tmux", "-S", server.socket, "attach", "-t", session])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
    os.kill(pid, signal.SIGWINCH)
    try:
        size = f"{columns}x{rows}"
        form = "#{client_width}x#{client_height}"
        wait_for(lambda: server.run("list-clients", "-F", form) == size, "the client has its size")
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


class Crew:
    """A Director's pane, and members beside it, of a fleet in a database."""

    def __init__(self, mux: Multiplexer, registry: Registry, server: TmuxServer) -> None:
        director, monitor, *others = registry.crew(*[f"m{number}" for number in range(MEMBERS - 1)])
        self.server, self.mux = server, mux
        self.seconds = 0.0
        self.resettler = Resettler(1, clock=lambda: self.seconds)
        self.home = server.session("main", columns=200, rows=100)
        database_id = registry.value("SELECT database_id FROM database_identity")
        self.members = []
        for member_id in (director, monitor, *others):
            here = type(tag(1))(database_id=database_id, fleet_id=1, member_id=member_id)
            if member_id == director:
                mux.set_tag(self.home, here, director=True)
                pane, window = self.home, server.ask(self.home, "#{window_id}")
            else:
                new = mux.split(
                    self.home, env={}, argv=["cat"], tag=here, title="t", cwd="/tmp", limit=20
                )
                pane, window = new.pane, new.window
                self.members.append(pane)
            registry.place(
                member_id, pane, mux_socket=server.socket, mux_session="main", mux_window_id=window
            )

    def sizes(self) -> dict[str, tuple[int, int]]:
        lines = self.server.run("list-panes", "-a", "-F", "#{pane_id} #{pane_width} #{pane_height}")
        rows = (line.split() for line in lines.split("\n"))
        return {pane: (int(width), int(height)) for pane, width, height in rows}

    def small(self) -> set[str]:
        sizes = self.sizes()
        return {pane for pane in self.members if sizes[pane][0] < 60 or sizes[pane][1] < 12}

    def windows(self) -> dict[str, str]:
        lines = self.server.run("list-panes", "-a", "-F", "#{pane_id} #{window_id}")
        return dict(line.split() for line in lines.split("\n"))


@pytest.fixture
def crew(
    mux: Multiplexer, registry: Registry, tmux_server: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> Crew:
    monkeypatch.setattr("cafleet.panes.split._SETTLING", 0.02)
    return Crew(mux, registry, tmux_server)


def look(crew: Crew, registry: Registry, *, after: float) -> None:
    from contextlib import closing

    from cafleet.store.connection import connect

    crew.seconds += after
    with closing(connect(str(registry.path))) as conn:
        crew.resettler.look(conn)


@pytest.mark.parametrize("size", [(80, 24), (100, 40), (130, 30)])
def test_members_move_once_and_stay(
    crew: Crew, registry: Registry, tmux_server: TmuxServer, size: tuple[int, int]
) -> None:
    focus = "#{client_session} #{window_id} #{pane_id}"
    before = crew.windows()
    look(crew, registry, after=0)
    assert crew.windows() == before
    with attached(tmux_server, "main", *size):
        shown = tmux_server.run("list-clients", "-F", focus)
        assert crew.small()
        look(crew, registry, after=5)
        look(crew, registry, after=SMALL_SECONDS - 1)
        assert crew.windows() == before
        look(crew, registry, after=1)
        assert crew.small() == set()
        assert tmux_server.run("list-clients", "-F", focus) == shown
        moved = crew.windows()
        assert moved[crew.home] == before[crew.home]
        for _ in range(3):
            look(crew, registry, after=SMALL_SECONDS)
            assert crew.windows() == moved
    # A larger terminal brings nothing back, and a small one that comes again finds all in order.
    with attached(tmux_server, "main", 200, 100):
        look(crew, registry, after=SMALL_SECONDS)
    with attached(tmux_server, "main", *size):
        for _ in range(2):
            look(crew, registry, after=SMALL_SECONDS)
        assert crew.small() == set()
    assert crew.windows() == moved


def test_what_a_person_looks_at_stays(
    crew: Crew, registry: Registry, tmux_server: TmuxServer
) -> None:
    mine = tmux_server.split(crew.members[0])
    watched = crew.members[1]
    tmux_server.run("select-pane", "-t", watched)
    before = crew.windows()
    with attached(tmux_server, "main", 80, 24):
        assert watched in crew.small()
        for _ in range(2):
            look(crew, registry, after=SMALL_SECONDS)
        after = crew.windows()
        for pane in (crew.home, mine, watched):
            assert after[pane] == before[pane]
        assert crew.small() <= {watched}
        assert tmux_server.ask("main:", "#{pane_id}") == watched


def test_a_zoomed_window_stays(crew: Crew, registry: Registry, tmux_server: TmuxServer) -> None:
    tmux_server.run("resize-pane", "-Z", "-t", crew.home)
    before = crew.windows()
    with attached(tmux_server, "main", 80, 24):
        for _ in range(3):
            look(crew, registry, after=SMALL_SECONDS)
        assert crew.windows() == before
        assert tmux_server.ask(crew.home, "#{window_zoomed_flag}") == "1"


@pytest.mark.parametrize("size", [(59, 40), (100, 10)])
def test_nothing_moves_where_a_whole_window_is_too_small(
    crew: Crew, registry: Registry, tmux_server: TmuxServer, size: tuple[int, int]
) -> None:
    before = crew.windows()
    with attached(tmux_server, "main", *size):
        for _ in range(3):
            look(crew, registry, after=SMALL_SECONDS)
        assert crew.windows() == before


def test_a_pane_that_is_another_s_by_now_stays(
    crew: Crew, registry: Registry, tmux_server: TmuxServer
) -> None:
    stranger = crew.members[-1]
    crew.mux.set_tag(stranger, None)
    before = crew.windows()
    with attached(tmux_server, "main", 80, 24):
        for _ in range(2):
            look(crew, registry, after=SMALL_SECONDS)
        assert crew.windows()[stranger] == before[stranger]
        assert crew.small() <= {stranger}
