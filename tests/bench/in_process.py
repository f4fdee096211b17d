"""The hot operations on a connection that is open: many messages against few, and bare SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial

from tests.bench import hot
from tests.bench.budget import Result
from tests.bench.population import Population
from tests.bench.recording import Statement, replay, statements_of
from tests.bench.timing import Work, in_turn, milliseconds, ratio

_GROWTH, _OVERHEAD = 1.5, 2.5
_CALLS = 10
_INSERT = """
INSERT INTO messages (
    owner_member_id, from_member_id, to_member_id, type, created_at, status_state,
    status_timestamp, origin_message_id, text, delivery_state, urgent
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_LAST_BROADCAST = """
SELECT
    owner_member_id, from_member_id, to_member_id, type, created_at, status_state,
    status_timestamp, origin_message_id, text, delivery_state, urgent
FROM messages
WHERE origin_message_id = (SELECT max(origin_message_id) FROM messages)
ORDER BY message_id
"""


def measure(few: Population, many: Population, rounds: int) -> Iterator[Result]:
    """Two lines for each operation, then the broadcast. Both populations are written to."""
    with closing(few.open()) as small, closing(many.open()) as large:
        for read in hot.READS:
            for conn in (small, large):
                assert len(read.ask(conn)) == read.size
            bare = partial(replay, large, statements_of(many, read.ask))
            asked = [partial(read.ask, small), partial(read.ask, large), bare]
            yield from _compared(read.name, asked, rounds)
        bare = partial(replay, large, statements_of(many, hot.send))
        sends = [partial(hot.send, small), partial(hot.send, large), bare]
        yield from _compared("send", sends, rounds)
        yield from _compared("ack", _acks(small, large, few, many), rounds)
        yield _broadcast(many, large, rounds)


def _compared(name: str, works: list[Work], rounds: int) -> Iterator[Result]:
    small, large, bare = in_turn(rounds, works, _CALLS)
    yield Result(
        what=f"{name}: many messages against few",
        value=ratio(large, small),
        limit=_GROWTH,
        detail=f"{milliseconds(large)} / {milliseconds(small)}",
    )
    yield Result(
        what=f"{name}: against the bare execution of its SQL into tuples",
        value=ratio(large, bare),
        limit=_OVERHEAD,
        detail=f"{milliseconds(large)} / {milliseconds(bare)}",
    )


def _acks(
    small: sqlite3.Connection, large: sqlite3.Connection, few: Population, many: Population
) -> list[Work]:
    """Each call acknowledges another message; the bare one runs what the first has been seen to run."""
    in_few, in_many = iter(few.pending()), iter(many.pending())
    first = next(in_many)
    seen = statements_of(many, lambda conn: hot.ack(conn, first))
    return [
        lambda: hot.ack(small, next(in_few)),
        lambda: hot.ack(large, next(in_many)),
        lambda: replay(large, _about(seen, first, next(in_many))),
    ]


def _about(statements: list[Statement], old: int, new: int) -> list[Statement]:
    swap = {old: new, f"[{old}]": f"[{new}]"}
    return [
        (sql, {name: swap.get(value, value) for name, value in dict(values).items()})
        for sql, values in statements
    ]


def _broadcast(many: Population, conn: sqlite3.Connection, rounds: int) -> Result:
    seen = [sql for sql, _ in statements_of(many, hot.broadcast)]
    assert sum(sql.startswith(("BEGIN", "COMMIT")) for sql in seen) == 2, seen
    rows = conn.execute(_LAST_BROADCAST).fetchall()
    assert len(rows) == 1_001

    def bare() -> None:
        conn.execute("BEGIN IMMEDIATE")
        conn.executemany(_INSERT, rows)
        conn.execute("COMMIT")

    whole, inserts = in_turn(max(5, rounds // 3), [partial(hot.broadcast, conn), bare])
    return Result(
        what="broadcast to 1,000 members, one transaction: against the bare executemany of its rows",
        value=ratio(whole, inserts),
        limit=_OVERHEAD,
        detail=f"{milliseconds(whole)} / {milliseconds(inserts)}",
    )
