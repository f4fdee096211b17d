"""Which names are given: those that can be seen whole and are taken for nobody else's."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.broker import naming
from cafleet.broker.naming import fault
from cafleet.errors import RefusedError, UsageError
from cafleet.invisible import hides
from cafleet.widths import NAME_COLUMNS, display_width
from tests.harness.odd_texts import HIDDEN_KINDS, REAL_TEXTS
from tests.harness.registry import Registry


def check(
    conn: sqlite3.Connection, name: str, *, monitor: bool = False, allow_same: bool = False
) -> None:
    naming.check(conn, fleet_id=1, name=name, monitor=monitor, allow_same=allow_same)


@pytest.mark.parametrize("name", [text for kind, text in REAL_TEXTS.items() if kind != "Braille"])
def test_names_of_every_script_are_given(name: str) -> None:
    assert fault(name) is None


@pytest.mark.parametrize("kind", HIDDEN_KINDS)
def test_a_name_hides_nothing(kind: str) -> None:
    for character in HIDDEN_KINDS[kind]:
        found = fault(f"bob{character}b")
        assert found is not None
        assert f"{ord(character):x}" in found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("n" * 80, None),
        ("n" * 81, "this one is 81"),
        ("界" * 40, None),
        ("界" * 41, "this one is 82"),
        ("n" * 5_000, "this one is 5000"),
        ("e" + "\u0301" * 9, "the mark U+0301"),
        ("\u0301bob", "the mark U+0301"),
        ("Tiếng Việt ặ", None),
    ],
)
def test_a_name_has_its_measure(name: str, expected: str | None) -> None:
    found = fault(name)
    assert found is None if expected is None else found is not None and expected in found


@pytest.mark.parametrize(
    "name",
    [
        "Ann",
        "ANN",
        " ann",
        "ann\u3000",
        "ａｎｎ",
        "аnn",
        "𝐚𝐧𝐧",
        "ａｎｎ ",
        "αnn",
        "a\N{HAIR SPACE}",
        "ⅿember-1",
        "rnember-1",
        "member-l",
        "MEMBER-I",
        "mеmber-1",
        "вов",
        "вob",
    ],
)
def test_a_name_that_reads_like_a_members_is_refused(
    registry: Registry, conn: sqlite3.Connection, name: str
) -> None:
    registry.crew("ann", "member-1", "a", "bob")
    for allow_same in (False, True):
        with pytest.raises(RefusedError, match=r"reads like .*the name of member [3456]"):
            check(conn, name, allow_same=allow_same)


@pytest.mark.parametrize(
    "name",
    [
        "Director",
        "director",
        "DIRECTOR",
        "Dіrector",
        "Ｄirector",
        " Director",
        "Dlrector",
        "D1RECTOR",
        "D1rector",
        "D\u0130rector",
        "Director\u0332",
        "Direct\u0335or",
    ],
)
@pytest.mark.parametrize("monitor", [False, True])
def test_nobody_reads_like_the_director(
    registry: Registry, conn: sqlite3.Connection, name: str, monitor: bool
) -> None:
    registry.crew()
    if name == "Dlrector":
        check(conn, name)
        return
    with pytest.raises(RefusedError, match="reads like Director"):
        check(conn, name, monitor=monitor, allow_same=True)


@pytest.mark.parametrize(
    "name", ["monitor", "Monitor", "mоnitor", "ｍonitor", "rnonitor", "MON1TOR"]
)
def test_only_a_monitor_reads_like_the_monitor(
    registry: Registry, conn: sqlite3.Connection, name: str
) -> None:
    registry.crew("ann")
    with pytest.raises(RefusedError, match="reads like monitor"):
        check(conn, name, allow_same=True)
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = 2")
    check(conn, name, monitor=True)


def test_the_same_name_is_given_again_on_request_and_to_no_officer(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew("ann", "gone")
    with pytest.raises(RefusedError, match=r'member 3 has the name "ann".*--allow-same-name'):
        check(conn, "ann")
    check(conn, "ann", allow_same=True)
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = 4")
    check(conn, "gone")
    check(conn, "Gone")
    registry.rows("UPDATE members SET name = 'eye' WHERE member_id = 2")
    with pytest.raises(RefusedError, match=r'reads like "eye", the name of member 2'):
        check(conn, "eye", allow_same=True)


def test_names_that_differ_for_readers_are_given(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew("ann", "worker-1", "日本", "été")
    for name in (
        "anna",
        "worker-2",
        "worker-10",
        "日木",
        "ete",
        "an n",
        "reviewer",
        "Иван",
        "👩‍💻",
    ):
        check(conn, name)
    with pytest.raises(UsageError, match="choose another name"):
        check(conn, "a\u200bb")


@given(st.text(max_size=100))
def test_a_name_that_is_given_can_be_seen_whole(name: str) -> None:
    if fault(name) is None:
        assert hides(name) is None
        assert display_width(name) <= NAME_COLUMNS


@given(st.text(st.sampled_from("abcDEFiIlL10oOmn- "), min_size=1))
def test_case_and_width_and_blanks_make_no_other_name(name: str) -> None:
    wide = "".join(chr(ord(each) + 0xFEE0) if each != " " else each for each in name)
    for other in (name.swapcase(), wide, f"\u3000{name} "):
        assert naming._readings(name) & naming._readings(other)
