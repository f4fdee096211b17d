"""A pane is known by what is written on it, never by its number."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.panes import Multiplexer, PaneTag, belongs, parse_tag
from cafleet.screens import Picture
from tests.harness.tmux import TmuxServer
from tests.tmux.panes_fixtures import restarted, tag

IDS = st.integers(1, 2**63 - 1)


@given(st.text("0123456789abcdef", min_size=1), IDS, IDS, IDS)
def test_a_tag_is_read_as_it_was_written(
    database_id: str, fleet_id: int, member_id: int, launch: int
) -> None:
    written = PaneTag(
        database_id=database_id, fleet_id=fleet_id, member_id=member_id, launch_number=launch
    )
    assert parse_tag(written.text()) == written
    assert written.text().startswith(written.fleet())
    older = parse_tag(f"{database_id}:{fleet_id}:{member_id}")
    assert older is not None
    assert older.launch_number == 1
    assert written.is_of_same_member(older)
    other = msgspec.structs.replace(written, member_id=member_id % 9 + 10)
    assert written.is_of_same_member(other) == (written == other)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a:1",
        ":1:2",
        "a:1:2:0",
        "a:1:2:3:4",
        "a:0:1",
        "a:1:0",
        "a:+1:2",
        "a:1:2 ",
        "a:1:2\n",
        "a:1:²",
    ]
    + [f"a:{2**63}:1", "a:01:2", "a::", "a:-1:2"],
)
def test_anything_else_is_no_tag(text: str) -> None:
    assert parse_tag(text) is None


@given(st.text())
def test_reading_never_fails(text: str) -> None:
    read = parse_tag(text)
    assert read is None or read.text() == text


def picture(text: str) -> Picture:
    return Picture(
        screen="", columns=80, rows=24, cursor_x=0, cursor_y=0, command="claude",
        tag=text, session="main", window="@1",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "socket", "session", "window", "expected"),
    [
        (tag(2).text(), "/s", "main", "@1", True),
        (tag(2).text(), "/s", "renamed", "@9", True),
        (tag(2).text(), None, "renamed", "@9", True),
        (tag(3).text(), "/s", "main", "@1", False),
        (tag(3).text(), None, "main", "@1", False),
        (tag(2, fleet_id=8).text(), None, "main", "@1", False),
        ("other" + tag(2).text(), None, "main", "@1", False),
        ("nonsense", None, "main", "@1", False),
        ("", "/s", "main", "@1", False),
        ("", None, "main", "@1", True),
        ("", None, "main", "@2", False),
        ("", None, "other", "@1", False),
    ],
)
def test_the_rule(text: str, socket: str | None, session: str, window: str, expected: bool) -> None:
    answer = belongs(picture(text), tag=tag(2), socket=socket, session=session, window=window)
    assert answer is expected


def test_a_pane_id_given_again_is_not_the_members(
    mux: Multiplexer, tmux_server: TmuxServer
) -> None:
    pane = tmux_server.session("main")
    mux.set_tag(pane, tag(2))
    for expected in (True, False):
        taken = mux.pictures([pane])[pane]
        assert isinstance(taken, Picture)
        place = {"session": "main", "window": taken.window}
        assert belongs(taken, tag=tag(2), socket=mux.socket, **place) is expected
        assert restarted(tmux_server) == pane
