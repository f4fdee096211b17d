"""Properties of the registry: any text survives it, and any history agrees with a small model."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from cafleet.broker import lifecycle, members, messages, registration
from cafleet.broker.consistency import row_faults
from cafleet.errors import CafleetError, RefusedError, UnknownIdError
from cafleet.store.connection import connect
from cafleet.store.migrate import migrate
from tests.harness.registry import HOME, NOW, Registry


@contextmanager
def empty_registry() -> Iterator[sqlite3.Connection]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.db"
        path.write_bytes(bytes_at_head())
        with closing(connect(str(path))) as conn:
            yield conn


@cache
def bytes_at_head() -> bytes:
    """The file of an empty registry: a fixture cannot hand it to a state machine."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.db"
        migrate(str(path), now=NOW)
        return path.read_bytes()


@given(text=st.text(st.characters(blacklist_categories=("Cs",))))
def test_any_text_comes_back_as_it_was_sent(talking_pair: sqlite3.Connection, text: str) -> None:
    sent = messages.send(talking_pair, sender_id=2, recipient_id=1, text=text, now=NOW)
    assert sent.text == text
    assert messages.get(talking_pair, message_id=sent.message_id).text == text
    assert messages.poll(talking_pair, member_id=1)[0].text == text
    messages.ack(talking_pair, message_id=sent.message_id, now=NOW)


@pytest.fixture(scope="module")
def talking_pair(
    tmp_path_factory: pytest.TempPathFactory, database_at_head: Path
) -> Iterator[sqlite3.Connection]:
    """A registry of Director 1 and monitor 2, kept for all examples of the module."""
    path = tmp_path_factory.mktemp("pair") / "fleet.db"
    path.write_bytes(database_at_head.read_bytes())
    Registry(path).crew()
    with closing(connect(str(path))) as conn:
        yield conn


@pytest.mark.parametrize("text", ["\0", "a\0b", "\U0010ffff", "\ufffe\uffff", "\ud7ff\ue000"])
def test_the_ends_of_unicode_survive(talking_pair: sqlite3.Connection, text: str) -> None:
    sent = messages.send(talking_pair, sender_id=2, recipient_id=1, text=text, now=NOW)
    assert messages.get(talking_pair, message_id=sent.message_id).text == text


@dataclass
class Person:
    fleet_id: int
    kind: str
    active: bool = True


@dataclass
class Note:
    sender: int
    owner: int
    text: str
    summary: bool = False
    done: bool = False


@dataclass
class Model:
    """What the registry should hold, by id."""

    deleted: dict[int, bool] = field(default_factory=dict)
    people: dict[int, Person] = field(default_factory=dict)
    notes: dict[int, Note] = field(default_factory=dict)

    def active(self, fleet_id: int) -> list[int]:
        return [
            member_id
            for member_id, person in self.people.items()
            if person.fleet_id == fleet_id and person.active
        ]


class RegistryMachine(RuleBasedStateMachine):
    """Commands in any order, each right or refused as the model says."""

    fleet_ids = Bundle("fleets")
    member_ids = Bundle("members")
    message_ids = Bundle("messages")

    def __init__(self) -> None:
        super().__init__()
        self._context = empty_registry()
        self.conn = self._context.__enter__()
        self.model = Model()
        self.now = NOW

    def teardown(self) -> None:
        assert self.conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert self.conn.execute("PRAGMA foreign_key_check").fetchall() == []
        assert [each for _, faults in row_faults(self.conn) for each in faults] == []
        self._context.__exit__(None, None, None)

    def tick(self) -> None:
        self.now += timedelta(seconds=1)

    @rule(target=fleet_ids)
    def create_fleet(self) -> int:
        self.tick()
        number = len(self.model.people)
        made = lifecycle.create(
            self.conn,
            name="f",
            director=HOME,
            director_pane=f"%{number}",
            spawn_monitor=lambda _: lifecycle.OpenedPane(
                session="main", window="@0", pane=f"%{number + 1}"
            ),
            now=self.now,
        )
        assert made.fleet_id == len(self.model.deleted) + 1
        assert (made.director_member_id, made.monitor_member_id) == (number + 1, number + 2)
        self.model.deleted[made.fleet_id] = False
        self.model.people[made.director_member_id] = Person(made.fleet_id, "director")
        self.model.people[made.monitor_member_id] = Person(made.fleet_id, "monitor")
        return made.fleet_id

    @rule(target=member_ids, fleet_id=fleet_ids)
    def meet_its_director(self, fleet_id: int) -> int:
        return next(each for each, p in self.model.people.items() if p.fleet_id == fleet_id)

    @rule(target=member_ids, fleet_id=fleet_ids, monitor=st.booleans())
    def register(self, fleet_id: int, monitor: bool) -> int:
        self.tick()
        watchers = [
            each
            for each in self.model.active(fleet_id)
            if self.model.people[each].kind == "monitor"
        ]
        refused: type[CafleetError] | None = None
        if self.model.deleted[fleet_id]:
            refused = UnknownIdError
        elif bool(watchers) == monitor:
            refused = RefusedError
        arguments = {"fleet_id": fleet_id, "monitor": monitor}
        if refused is not None:
            with pytest.raises(refused):
                self._register(**arguments)
            return max(self.model.people)
        member_id = self._register(**arguments)
        assert member_id == len(self.model.people) + 1
        self.model.people[member_id] = Person(fleet_id, "monitor" if monitor else "member")
        return member_id

    def _register(self, *, fleet_id: int, monitor: bool) -> int:
        return registration.register(
            self.conn,
            fleet_id=fleet_id,
            name="n",
            description="d",
            monitor=monitor,
            placement=HOME,
            now=self.now,
        )

    @rule(member_id=member_ids)
    def deregister(self, member_id: int) -> None:
        self.tick()
        person = self.model.people[member_id]
        if person.kind == "director":
            with pytest.raises(RefusedError):
                registration.deregister(self.conn, member_id=member_id, now=self.now)
            return
        changed = registration.deregister(self.conn, member_id=member_id, now=self.now)
        assert changed is person.active
        person.active = False

    @rule(fleet_id=consumes(fleet_ids))
    def delete_fleet(self, fleet_id: int) -> None:
        self.tick()
        leaving = self.model.active(fleet_id)
        count, told = lifecycle.delete(self.conn, fleet_id=fleet_id, now=self.now)
        assert (count, [member.member_id for member in told]) == (len(leaving), leaving)
        assert lifecycle.delete(self.conn, fleet_id=fleet_id, now=self.now) == (0, [])
        self.model.deleted[fleet_id] = True
        for member_id in leaving:
            self.model.people[member_id].active = False

    @rule(target=message_ids, sender=member_ids, recipient=member_ids, text=st.text(max_size=5))
    def send(self, sender: int, recipient: int, text: str) -> int:
        self.tick()
        ends = [self.model.people[sender], self.model.people[recipient]]
        refused: type[CafleetError] | None = None
        if not all(end.active for end in ends):
            refused = UnknownIdError
        elif ends[0].fleet_id != ends[1].fleet_id:
            refused = RefusedError
        arguments = {"sender_id": sender, "recipient_id": recipient}
        if refused is not None:
            with pytest.raises(refused):
                messages.send(self.conn, **arguments, text=text, now=self.now)
            return max(self.model.notes, default=1)
        message_id = messages.send(self.conn, **arguments, text=text, now=self.now).message_id
        assert message_id == len(self.model.notes) + 1
        self.model.notes[message_id] = Note(sender, recipient, text)
        return message_id

    @rule(target=message_ids, sender=member_ids)
    def broadcast(self, sender: int) -> int:
        self.tick()
        person = self.model.people[sender]
        if not person.active:
            with pytest.raises(UnknownIdError):
                messages.broadcast(self.conn, sender_id=sender, text="all", now=self.now)
            return max(self.model.notes, default=1)
        others = [each for each in self.model.active(person.fleet_id) if each != sender]
        made = messages.broadcast(self.conn, sender_id=sender, text="all", now=self.now)
        summary_id = made.summary.message_id
        assert summary_id == len(self.model.notes) + 1
        assert made.delivery_ids == [*range(summary_id + 1, summary_id + 1 + len(others))]
        text = f"Broadcast sent to {len(others)} recipients"
        self.model.notes[summary_id] = Note(sender, sender, text, summary=True, done=True)
        for message_id, owner in zip(made.delivery_ids, others, strict=True):
            self.model.notes[message_id] = Note(sender, owner, "all")
        return max(self.model.notes)

    @rule(message_id=message_ids)
    def ack(self, message_id: int) -> None:
        self.tick()
        note = self.model.notes.get(message_id)
        if note is None or note.done:
            with pytest.raises(UnknownIdError if note is None else RefusedError):
                messages.ack(self.conn, message_id=message_id, now=self.now)
            return
        assert messages.ack(self.conn, message_id=message_id, now=self.now).text == note.text
        note.done = True

    @rule(member_id=member_ids)
    def poll(self, member_id: int) -> None:
        if not self.model.people[member_id].active:
            with pytest.raises(UnknownIdError):
                messages.poll(self.conn, member_id=member_id)
            return
        waiting = [
            message_id
            for message_id, note in self.model.notes.items()
            if note.owner == member_id and not note.done
        ]
        found = messages.poll(self.conn, member_id=member_id)
        assert [message.message_id for message in found] == sorted(waiting, reverse=True)

    @invariant()
    def what_is_stored_is_what_the_model_holds(self) -> None:
        stored = self.conn.execute(
            "SELECT message_id, from_member_id, owner_member_id, text,"
            " type = 'broadcast_summary', status_state = 'completed' FROM messages"
            " ORDER BY message_id"
        ).fetchall()
        assert stored == [
            (message_id, note.sender, note.owner, note.text, note.summary, note.done)
            for message_id, note in self.model.notes.items()
        ]
        for fleet_id, deleted in self.model.deleted.items():
            active = [each.member_id for each in members.list_active(self.conn, fleet_id=fleet_id)]
            assert active == self.model.active(fleet_id)
            assert not (deleted and active)
        placed = self.conn.execute(
            "SELECT member_id FROM member_placements ORDER BY member_id"
        ).fetchall()
        assert [each for (each,) in placed] == [
            each for each, person in self.model.people.items() if person.active
        ]


RegistryMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=30)
TestRegistryMachine = RegistryMachine.TestCase
