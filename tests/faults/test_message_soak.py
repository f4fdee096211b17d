"""The soak in small, and the proof that its judge finds what it is there to find.

`make soak-messages` sends by the thousand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faults.accounts import Account, faults
from tests.faults.message_soak import Plan, Soak
from tests.faults.staging import stage
from tests.harness.registry import Registry, database_at_head, registry

__all__ = ["database_at_head", "registry"]

COLUMNS = (
    "owner_member_id, from_member_id, type, created_at, status_state, status_timestamp, text,"
    " delivery_state"
)
DOUBLED = f"INSERT INTO messages ({COLUMNS}) SELECT {COLUMNS} FROM messages WHERE text = 'second'"
HALF_A_BROADCAST = (
    f"INSERT INTO messages ({COLUMNS}, origin_message_id) VALUES (3, 3, 'broadcast_summary', '',"
    " 'completed', '', 'Broadcast sent to 3 recipients', 'none', 9)"
)
A_STRAY_EVENT = (
    "INSERT INTO delivery_events (message_id, at, state) SELECT message_id, '', 'seen'"
    " FROM messages WHERE text = 'second'"
)
AT = "2026-05-05T05:42:12.000000+00:00"


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_though_senders_and_couriers_are_killed(tmp_path: Path) -> None:
    plan = Plan(processes=8, messages=150, seed=1, panes=2, life=25, loop_seconds=5.0)
    with stage(tmp_path) as here:
        figures = Soak(here, plan).run()
    assert figures.faults == [], figures.line()
    assert figures.tried == plan.messages + 1
    assert figures.killed_workers > 2, figures.line()
    assert figures.acks > 0, figures.line()


def test_all_that_is_to_be_sent_is_dealt_out() -> None:
    for processes, messages in ((50, 10_000), (8, 150), (5, 31)):
        shares = Plan(processes=processes, messages=messages, seed=1).shares()
        assert len(shares) == processes
        assert sum(count for _, count in shares) == messages
        assert {role for role, _ in shares} == {"send", "read", "look", "command"}


@pytest.fixture
def ids(registry: Registry) -> tuple[int, int]:
    """A message that is acknowledged and one that is not, from member 3 to 4."""
    registry.crew("one", "other")
    first = registry.message(3, 4, "first", status_state="completed", status_timestamp=AT)
    return first, registry.message(3, 4, "second")


def noted(ids: tuple[int, int]) -> list[dict[str, Any]]:
    first, second = ids
    return [
        {"sending": "first"},
        {"sent": "first", "id": first},
        {"sending": "second"},
        {"sent": "second", "id": second},
        {"sending": "killed before it was stored"},
        {"acking": first},
        {"acked": first, "at": AT},
        {"acking": first},
        {"beaten": first},
    ]


def test_what_is_right_is_left_alone(registry: Registry, ids: tuple[int, int]) -> None:
    assert faults(registry, Account.of(noted(ids))) == []
    # A sender and a reader that were killed behind their commits had nothing more to say.
    told = [note for note in noted(ids) if {*note} & {"sending", "acking"}]
    assert faults(registry, Account.of(told)) == []


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("DELETE FROM messages WHERE text = 'second'", 1),
        ("UPDATE messages SET text = 'other' WHERE text = 'second'", 2),
        (DOUBLED, 1),
        ("UPDATE messages SET status_state = 'input_required' WHERE text = 'first'", 2),
        ("UPDATE messages SET status_timestamp = 'later' WHERE text = 'first'", 1),
        ("UPDATE messages SET status_state = 'completed' WHERE text = 'second'", 1),
        (HALF_A_BROADCAST, 2),
        (A_STRAY_EVENT, 1),
    ],
    ids=[
        "lost",
        "changed",
        "doubled",
        "un-acked",
        "acked later",
        "acked by nobody",
        "half",
        "event",
    ],
)
def test_a_slip_is_found(registry: Registry, ids: tuple[int, int], sql: str, count: int) -> None:
    registry.rows(sql)
    found = faults(registry, Account.of(noted(ids)))
    assert len(found) == count, found


def test_an_ack_that_counts_twice_is_found(registry: Registry, ids: tuple[int, int]) -> None:
    twice = [{"acking": ids[0]}, {"acked": ids[0], "at": AT}]
    assert len(faults(registry, Account.of([*noted(ids), *twice]))) == 1


@pytest.mark.parametrize(
    ("words", "count"),
    [("internal error: KeyError", 2), ("the database is locked by another process; try again", 1)],
)
def test_a_command_that_failed_has_stored_nothing(
    registry: Registry, ids: tuple[int, int], words: str, count: int
) -> None:
    told = [note for note in noted(ids) if note != {"sent": "second", "id": ids[1]}]
    refusal = {"refused": "second", "error": words}
    assert len(faults(registry, Account.of([*told, refusal]))) == count
