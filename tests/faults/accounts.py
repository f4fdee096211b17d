"""What the workers of a message soak were told against what the database holds: its judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.harness.database import Database


@dataclass
class Account:
    """All that the workers have tried and been told.

    ``tried``, ``casting`` and ``refused`` are texts; ``sent`` and ``cast`` hold the ids that were
    reported for a text, the summary first for a broadcast. ``acking`` counts the attempts for a
    message, ``acked`` holds the times that were reported for it. ``locked`` commands found the
    database locked for too long.
    """

    tried: set[str] = field(default_factory=set)
    sent: dict[str, int] = field(default_factory=dict)
    cast: dict[str, list[int]] = field(default_factory=dict)
    casting: set[str] = field(default_factory=set)
    acking: Counter[int] = field(default_factory=Counter)
    acked: dict[int, list[str]] = field(default_factory=dict)
    beaten: Counter[int] = field(default_factory=Counter)
    killed_commands: int = 0
    refused: set[str] = field(default_factory=set)
    locked: int = 0
    errors: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, notes: Iterable[dict[str, Any]]) -> Account:
        """Everything that stands in the journals."""
        account = cls()
        for note in notes:
            account._enter(note)
        return account

    def _enter(self, note: dict[str, Any]) -> None:
        match note:
            case {"sending": text}:
                self.tried.add(text)
            case {"casting": text}:
                self.casting.add(text)
            case {"sent": text, "id": message_id}:
                self.sent[text] = message_id
            case {"cast": text, "id": summary_id, "ids": ids}:
                self.cast[text] = [summary_id, *ids]
            case {"acking": message_id}:
                self.acking[message_id] += 1
            case {"acked": message_id, "at": at}:
                self.acked.setdefault(message_id, []).append(at)
            case {"beaten": message_id}:
                self.beaten[message_id] += 1
            case {"killed": _}:
                self.killed_commands += 1
            case {"refused": text, "error": words}:
                self._refuse(text, words)

    def _refuse(self, text: str | None, words: str) -> None:
        """Too many writers for a machine are told so in time; nothing else may go wrong."""
        if text is not None:
            self.refused.add(text)
        if "is locked by another process; try again" in words:
            self.locked += 1
        else:
            self.errors.append(words)

    def unanswered_acks(self) -> set[int]:
        """The messages whose acknowledgement was on its way when a worker was killed."""
        answers = Counter({each: len(times) for each, times in self.acked.items()}) + self.beaten
        return {each for each, tries in self.acking.items() if tries > answers[each]}


def faults(database: Database, account: Account) -> list[str]:
    """What is lost, doubled, half there or invented; empty if all is well."""
    return [
        *(f"a command failed: {words}" for words in account.errors),
        *_of_sends(database, account),
        *_of_broadcasts(database, account),
        *_of_acks(database, account),
        *_of_events(database),
        *(str(row) for row in database.rows("PRAGMA integrity_check") if row != ("ok",)),
        *(f"reference: {row}" for row in database.rows("PRAGMA foreign_key_check")),
    ]


def _of_sends(database: Database, account: Account) -> Iterable[str]:
    stored: dict[str, list[int]] = {}
    for text, message_id in database.rows(
        "SELECT text, message_id FROM messages WHERE origin_message_id IS NULL"
    ):
        stored.setdefault(text, []).append(message_id)
    for text, message_id in account.sent.items():
        if message_id not in stored.get(text, []):
            yield f"lost, though reported as {message_id}: {text!r}"
    for text, ids in stored.items():
        if len(ids) > 1:
            yield f"stored {len(ids)} times: {text!r}"
        if text not in account.tried or text in account.refused:
            yield f"sent by nobody: {text!r}"


def _of_broadcasts(database: Database, account: Account) -> Iterable[str]:
    casts: dict[str, list[int]] = {}
    sizes: dict[int, tuple[int, int]] = {}
    for summary_id, said, rows, text in database.rows(
        "SELECT summary.message_id, summary.text, count(each.message_id), min(each.text) "
        "FROM messages AS summary LEFT JOIN messages AS each "
        "ON each.origin_message_id = summary.message_id AND each.type = 'unicast' "
        "WHERE summary.type = 'broadcast_summary' GROUP BY summary.message_id"
    ):
        casts.setdefault(text, []).append(summary_id)
        sizes[summary_id] = int(said.split()[3]), rows
    for summary_id, (said, rows) in sizes.items():
        if said != rows:
            yield f"broadcast {summary_id} says {said} recipients and has {rows} deliveries"
    for text, (summary_id, *ids) in account.cast.items():
        if casts.get(text) != [summary_id] or sizes[summary_id][1] != len(ids):
            yield f"broadcast reported as {summary_id} to {len(ids)}, found {casts.get(text)}"
    for text, found in casts.items():
        if text not in account.casting - account.refused or len(found) > 1:
            yield f"broadcast {len(found)} times: {text!r}"


def _of_acks(database: Database, account: Account) -> Iterable[str]:
    done = dict(
        database.rows(
            "SELECT message_id, status_timestamp FROM messages "
            "WHERE type = 'unicast' AND status_state = 'completed'"
        )
    )
    for message_id, times in account.acked.items():
        if [done.get(message_id)] != times:
            yield f"message {message_id} acknowledged at {times}, stored {done.get(message_id)}"
    for message_id in account.beaten:
        if message_id not in done:
            yield f"message {message_id} was refused to a second reader without a first"
    for message_id in done.keys() - account.acked.keys() - account.unanswered_acks():
        yield f"message {message_id} is acknowledged by nobody"


def _of_events(database: Database) -> Iterable[str]:
    """A message whose last event is another state than its own, or that was seen twice."""
    for row in database.rows(
        "SELECT message_id, delivery_state, state FROM messages JOIN ("
        "SELECT message_id, state, max(event_id) FROM delivery_events GROUP BY message_id"
        ") USING (message_id) WHERE delivery_state != state"
    ):
        yield f"message, state, last event: {row}"
    for row in database.rows(
        "SELECT message_id, count(*) FROM delivery_events WHERE state = 'seen' "
        "GROUP BY message_id HAVING count(*) > 1"
    ):
        yield f"message, times seen: {row}"
