"""Members open beside the Director, then in windows of their own; what is the user's stays."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.panes import Multiplexer
from cafleet.panes.interface import SMALLEST, Spot
from cafleet.panes.layout import COMFORTABLE, choose
from tests.harness.tmux import TmuxServer
from tests.tmux.panes_fixtures import tag, wrap


@pytest.fixture(autouse=True)
def unhurried_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """These programs stay alive; there is no need to wait and see."""
    monkeypatch.setattr("cafleet.panes.split._SETTLING", 0.02)


def add(mux: Multiplexer, beside: str, member_id: int, *, fleet_id: int = 7) -> str:
    member = tag(member_id, fleet_id=fleet_id)
    return mux.split(beside, env={}, argv=["cat"], tag=member, title="t", cwd="/tmp").pane


def director(mux: Multiplexer, server: TmuxServer, columns: int, rows: int) -> str:
    pane = server.session("main", columns=columns, rows=rows)
    mux.set_tag(pane, tag(1))
    return pane


def sizes(server: TmuxServer) -> dict[str, tuple[int, int]]:
    lines = server.run("list-panes", "-a", "-F", "#{pane_id} #{pane_width} #{pane_height}")
    rows = (line.split() for line in lines.split("\n"))
    return {pane: (int(width), int(height)) for pane, width, height in rows}


def window(server: TmuxServer, pane: str) -> str:
    return server.ask(pane, "#{window_id}")


def test_growth_in_a_large_terminal(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    first = director(mux, tmux_server, 200, 50)
    members = []
    for number in range(2, 10):
        members.append(add(mux, first, number))
        seen = sizes(tmux_server)
        assert all(width >= 80 and height >= 15 for width, height in seen.values())
        assert seen[first] == (100, 50)
    windows = [window(tmux_server, pane) for pane in members]
    assert windows[:3] == [window(tmux_server, first)] * 3
    assert sorted(Counter(windows).values()) == [3, 5]
    assert [sizes(tmux_server)[pane] for pane in members[:3]] == [(99, 16)] * 3
    assert tmux_server.ask(members[-1], "#{window_name}") == "cafleet-7"


def test_growth_goes_on_in_further_windows(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    first = director(mux, tmux_server, 80, 24)
    members = [add(mux, first, number) for number in range(2, 10)]
    assert len({window(tmux_server, pane) for pane in [first, *members]}) == 9
    assert set(sizes(tmux_server).values()) == {(80, 24)}


def test_members_keep_their_order_from_top_to_bottom(
    mux: Multiplexer, tmux_server: TmuxServer
) -> None:
    first = director(mux, tmux_server, 161, 63)
    members = [add(mux, first, number) for number in range(2, 6)]
    tops = [int(tmux_server.ask(pane, "#{pane_top}")) for pane in members]
    assert tops == sorted(tops)
    assert {window(tmux_server, pane) for pane in members} == {window(tmux_server, first)}
    assert {sizes(tmux_server)[pane][0] for pane in [first, *members]} == {80}


@pytest.mark.parametrize("stranger", ["untagged", "another fleet's"])
def test_a_window_with_a_strange_pane_is_left_alone(
    stranger: str, mux: Multiplexer, tmux_server: TmuxServer
) -> None:
    first = director(mux, tmux_server, 200, 50)
    other = tmux_server.split(first)
    if stranger != "untagged":
        mux.set_tag(other, tag(1, fleet_id=77))
    tmux_server.run("resize-pane", "-t", other, "-y", "7")
    layout = tmux_server.ask(first, "#{window_layout}")
    members = [add(mux, first, number) for number in (2, 3)]
    assert tmux_server.ask(first, "#{window_layout}") == layout
    assert window(tmux_server, members[0]) == window(tmux_server, members[1])
    assert window(tmux_server, members[0]) != window(tmux_server, first)


def test_a_zoomed_window_stays_zoomed(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    first = director(mux, tmux_server, 200, 50)
    add(mux, first, 2)
    tmux_server.run("resize-pane", "-Z", "-t", first)
    third = add(mux, first, 3)
    assert tmux_server.ask(first, "#{window_zoomed_flag}") == "1"
    assert window(tmux_server, third) != window(tmux_server, first)
    add(mux, first, 4)
    tmux_server.run("resize-pane", "-Z", "-t", third)
    fifth = add(mux, first, 5)
    assert tmux_server.ask(third, "#{window_zoomed_flag}") == "1"
    assert window(tmux_server, fifth) not in {window(tmux_server, p) for p in (first, third)}


def test_two_fleets_do_not_mix(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    first = director(mux, tmux_server, 80, 60)
    second = tmux_server.session("second", columns=80, rows=60)
    mux.set_tag(second, tag(1, fleet_id=77))
    ours = [add(mux, first, number) for number in (2, 3)]
    theirs = [add(mux, second, number, fleet_id=77) for number in (2, 3)]
    assert window(tmux_server, ours[0]) == window(tmux_server, ours[1])
    assert window(tmux_server, theirs[0]) == window(tmux_server, theirs[1])
    assert {tmux_server.ask(pane, "#{session_name}") for pane in theirs} == {"second"}


def test_a_caller_that_stands_in_for_the_director(
    mux: Multiplexer, tmux_server: TmuxServer
) -> None:
    caller = tmux_server.session("main", columns=200, rows=50)
    pane = add(mux, caller, 5)
    assert window(tmux_server, pane) == window(tmux_server, caller)
    assert sizes(tmux_server)[caller] == (100, 50)


def test_titles_above_the_panes_count(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    first = director(mux, tmux_server, 200, 31)
    tmux_server.run("set-option", "-g", "pane-border-status", "top")
    add(mux, first, 2)
    third = add(mux, first, 3)
    assert window(tmux_server, third) != window(tmux_server, first)
    assert all(height >= 15 for _, height in sizes(tmux_server).values())


def test_a_window_of_several_sessions_is_one_window(
    mux: Multiplexer, tmux_server: TmuxServer
) -> None:
    first = director(mux, tmux_server, 200, 50)
    tmux_server.run("new-session", "-d", "-t", "main", "-s", "twin")
    assert len(mux.tagged_panes()) == 1
    pane = add(mux, first, 2)
    assert window(tmux_server, pane) == window(tmux_server, first)


def test_panes_opened_at_once_share_out_the_room(
    mux: Multiplexer, tmux_server: TmuxServer, tmux_wrapper: Path
) -> None:
    first = director(mux, tmux_server, 200, 50)
    wrap(tmux_wrapper, 'case "$*" in *split-window*) sleep 0.1;; esac; exec "$REAL" "$@"')
    with ThreadPoolExecutor() as pool:
        members = list(pool.map(lambda number: add(mux, first, number), range(2, 8)))
    seen = sizes(tmux_server)
    assert len(seen) == 7
    assert all(width >= 80 and height >= 15 for width, height in seen.values())
    assert sum(window(tmux_server, pane) == window(tmux_server, first) for pane in members) == 3


@given(
    st.integers(10, 500),
    st.integers(5, 300),
    st.lists(st.sampled_from(["ours", "theirs", ""]), min_size=1, max_size=12),
    st.booleans(),
)
def test_only_windows_of_the_fleet_are_divided(
    width: int, room: int, owners: list[str], zoomed: bool
) -> None:
    tags = {"ours": tag(2).text(), "theirs": tag(2, fleet_id=77).text(), "": ""}

    def spot(pane: str, at: str, owner: str) -> Spot:
        return Spot(
            pane=pane, index=0, height=room, session_id="$0", session="s", window=at, width=width, room=room,
            zoomed=zoomed, tag=tags[owner],
            columns=width, active=False, shown=False, creating=False, director=False,
        )  # fmt: skip

    home = spot("%0", "@0", "theirs")
    away = [spot(f"%{number}", "@1", owner) for number, owner in enumerate(owners, 1)]
    place = choose([home, *away], "%0", fleet=tag(2).fleet(), name="x")
    if place.command[0] == "split-window":
        assert set(owners) == {"ours"}
        assert not zoomed
        assert room * width >= (len(owners) + 1) * COMFORTABLE[0] * COMFORTABLE[1]
    assert SMALLEST[0] <= COMFORTABLE[0]
