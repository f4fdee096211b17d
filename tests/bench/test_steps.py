"""No operation that is asked for all day does more work because there are more messages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from tests.bench import hot
from tests.bench.population import Population, populate
from tests.bench.steps import steps

FEW, MANY = 10_000, 30_000
# A plan that reads them all would do three times the work. The timeline does a fifth more, since
# it fills its 200 places from each member in turn, and one with few messages has less to offer.
GROWTH = 1.3

pytestmark = pytest.mark.xdist_group("populations")


@pytest.fixture(scope="module")
def populations(tmp_path_factory: pytest.TempPathFactory) -> tuple[Population, Population]:
    """The same fleets with few and with many messages."""
    folder = tmp_path_factory.mktemp("populations")
    return populate(folder / "few.db", FEW), populate(folder / "many.db", MANY)


def work_of(population: Population, name: str, change: str | None = None) -> int:
    """The steps of an operation, after ``change`` of the schema; nothing of it is kept."""
    with undone(population) as conn:
        if change is not None:
            conn.execute(change)
        return steps(conn, operation(conn, name))


@contextmanager
def undone(population: Population) -> Iterator[sqlite3.Connection]:
    """A connection to a copy, so that what is done to it leaves the population as it is."""
    with closing(population.open()) as source, closing(sqlite3.connect(":memory:")) as copy:
        source.backup(copy)
        copy.isolation_level = None
        yield copy


def operation(conn: sqlite3.Connection, name: str) -> Callable[[], object]:
    for read in hot.READS:
        if read.name == name:
            assert len(read.ask(conn)) == read.size
            return lambda: read.ask(conn)
    (waiting,) = conn.execute(
        "SELECT max(message_id) FROM messages WHERE status_state = 'input_required'"
    ).fetchone()
    return {
        "send": lambda: hot.send(conn),
        "ack": lambda: hot.ack(conn, waiting),
        "broadcast": lambda: hot.broadcast(conn),
    }[name]


def growth(
    populations: tuple[Population, Population], name: str, change: str | None = None
) -> float:
    few, many = (work_of(population, name, change) for population in populations)
    return many / few


@pytest.mark.parametrize("name", [*(read.name for read in hot.READS), "send", "ack", "broadcast"])
def test_work_does_not_grow(populations: tuple[Population, Population], name: str) -> None:
    assert growth(populations, name) < GROWTH


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("poll", "idx_messages_pending"),
        ("timeline", "idx_messages_owner_member_status_ts"),
        ("inbox page", "idx_messages_inbox"),
        ("sent page", "idx_messages_outbox"),
        ("timeline page", "idx_messages_inbox"),
        ("history of a member", "idx_messages_outbox"),
        ("member list", "idx_messages_sent"),
        ("member list", "idx_messages_received"),
        ("member list", "idx_messages_owed"),
    ],
)
def test_a_missing_index_is_noticed(
    populations: tuple[Population, Population], name: str, index: str
) -> None:
    assert growth(populations, name, f"DROP INDEX {index}") > GROWTH


def test_a_bad_index_is_noticed(populations: tuple[Population, Population]) -> None:
    bad = "CREATE INDEX bad ON messages (owner_member_id, origin_message_id)"
    assert growth(populations, "timeline", bad) > GROWTH
