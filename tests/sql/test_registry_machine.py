"""Commands in any order on a real database, new or migrated, against a small model of it.

``--hypothesis-profile=long`` draws many more and longer histories.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from cafleet.broker import deliveries, lifecycle, members, messages, registration
from cafleet.broker.consistency import row_faults
from cafleet.clock import stamp
from cafleet.errors import CafleetError, RefusedError, UnknownIdError
from cafleet.records import DeliveryState
from cafleet.store.connection import connect
from tests.harness.registry import HOME, NOW
from tests.sql.databases import PUBLISHED, migrate_to, populate, publish, setup
from tests.sql.registry_model import TIMELINE, WAITING, Model, Note, Person, of_a_predecessor

names = st.sampled_from(["ann", "bob", "日本", "é", "{x} #$(id)"])
OUTCOMES = st.sampled_from(["submitted", "unsure", "held", "unreachable"])
POSTPONED = st.sampled_from(["held", "unreachable"])


@cache
def bytes_of(version: int, published: bool) -> bytes:
    """The file of a database at head: a new one for version 0, else one that began at ``version``,
    our own or the published predecessor's, with rows in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.db"
        if version:
            (publish if published else migrate_to)(path, version)
            populate(path, version)
        setup(path)
        return path.read_bytes()


class RegistryMachine(RuleBasedStateMachine):
    """Each command is right, or refused with the class of error that the model says."""

    fleet_ids = Bundle("fleets")
    member_ids = Bundle("members")
    message_ids = Bundle("messages")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.model = Model()
        self.now = NOW

    @initialize(target=member_ids, version=st.integers(0, PUBLISHED), published=st.booleans())
    def begin(self, version: int, published: bool) -> object:
        path = Path(self.folder.name) / "fleet.db"
        path.write_bytes(bytes_of(version, published))
        self.conn = connect(str(path))
        self.is_migrated = version > 0
        if version:
            self.model = of_a_predecessor()
        return multiple(*self.model.people)

    def teardown(self) -> None:
        with closing(self.conn):
            assert self.conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert self.conn.execute("PRAGMA foreign_key_check").fetchall() == []
            found = [each for _, faults in row_faults(self.conn) for each in faults]
            # The rows of predecessors hold cards that are no JSON.
            assert self.is_migrated or found == []
        self.folder.cleanup()

    def tick(self) -> str:
        self.now += timedelta(seconds=1)
        return stamp(self.now)

    # Fleets and members

    @rule(target=fleet_ids)
    def create_fleet(self) -> int:
        self.tick()
        number = len(self.model.people)
        made = lifecycle.reserve(self.conn, now=self.now)
        lifecycle.create(
            self.conn,
            reserved=made,
            name="f",
            director=HOME,
            director_pane=f"%{number + 100}",
            spawn_monitor=lambda: lifecycle.OpenedPane(
                server_pid=1, session="main", window="@0", pane=f"%{number + 101}"
            ),
            started=[],
            now=self.now,
        )
        assert made.fleet_id == len(self.model.deleted) + 1
        assert (made.director_member_id, made.monitor_member_id) == (number + 1, number + 2)
        self.model.deleted[made.fleet_id] = False
        director, monitor = made.director_member_id, made.monitor_member_id
        self.model.people[director] = Person(made.fleet_id, "director", "Director")
        self.model.people[monitor] = Person(made.fleet_id, "monitor", "monitor")
        return made.fleet_id

    @rule(target=fleet_ids)
    def meet_the_first_fleet(self) -> object:
        return 1 if self.model.deleted else multiple()

    @rule(target=member_ids, fleet_id=fleet_ids)
    def meet_its_director(self, fleet_id: int) -> int:
        return next(each for each, p in self.model.people.items() if p.fleet_id == fleet_id)

    @rule(target=member_ids, fleet_id=fleet_ids, monitor=st.booleans(), name=names)
    def register(self, fleet_id: int, monitor: bool, name: str) -> object:
        self.tick()
        active = [self.model.people[each] for each in self.model.active(fleet_id)]
        refused: type[CafleetError] | None = None
        if self.model.deleted[fleet_id]:
            refused = UnknownIdError
        elif any(each.kind == "monitor" for each in active) == monitor:
            refused = RefusedError
        elif any((each.kind, each.name) == ("monitor", name) for each in active):
            # Two ordinary members may share a name, a member and a monitor may not.
            refused = RefusedError
        if refused is not None:
            with pytest.raises(refused):
                self._register(fleet_id, monitor, name)
            return multiple()
        member_id = self._register(fleet_id, monitor, name)
        assert member_id == len(self.model.people) + 1
        kind = "monitor" if monitor else "member"
        self.model.people[member_id] = Person(fleet_id, kind, name)
        return member_id

    def _register(self, fleet_id: int, monitor: bool, name: str) -> int:
        return registration.register(
            self.conn,
            fleet_id=fleet_id,
            name=name,
            description="d",
            monitor=monitor,
            placement=HOME,
            now=self.now,
            allow_same_name=True,
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
        assert (changed is not None) is person.active
        if changed is not None:
            self.model.leave(member_id)

    @rule(fleet_id=consumes(fleet_ids))
    def delete_fleet(self, fleet_id: int) -> None:
        self.tick()
        leaving = self.model.active(fleet_id)
        count, told = lifecycle.delete(self.conn, fleet_id=fleet_id, now=self.now)
        assert (count, [member.member_id for member in told]) == (len(leaving), leaving)
        assert lifecycle.delete(self.conn, fleet_id=fleet_id, now=self.now) == (0, [])
        self.model.deleted[fleet_id] = True
        for member_id in leaving:
            self.model.leave(member_id)

    # Messages

    @rule(target=message_ids, sender=member_ids, recipient=member_ids, text=st.text(max_size=5))
    def send(self, sender: int, recipient: int, text: str) -> object:
        at = self.tick()
        ends = [self.model.people[sender], self.model.people[recipient]]
        refused: type[CafleetError] | None = None
        if not all(end.active for end in ends):
            refused = UnknownIdError
        elif ends[0].fleet_id != ends[1].fleet_id:
            refused = RefusedError
        people = {"sender_id": sender, "recipient_id": recipient}
        if refused is not None:
            with pytest.raises(refused):
                messages.send(self.conn, **people, text=text, now=self.now)
            return multiple()
        message_id = messages.send(self.conn, **people, text=text, now=self.now).message_id
        assert message_id == self.model.next_note()
        state = self.model.first_state(sender, recipient)
        self.model.notes[message_id] = Note(sender, recipient, text, at, state=state)
        return message_id

    @rule(target=message_ids, sender=member_ids)
    def broadcast(self, sender: int) -> object:
        at = self.tick()
        person = self.model.people[sender]
        if not person.active:
            with pytest.raises(UnknownIdError):
                messages.broadcast(self.conn, sender_id=sender, text="all", now=self.now)
            return multiple()
        others = [each for each in self.model.active(person.fleet_id) if each != sender]
        made = messages.broadcast(self.conn, sender_id=sender, text="all", now=self.now)
        summary_id = made.summary.message_id
        assert summary_id == self.model.next_note()
        assert made.delivery_ids == [*range(summary_id + 1, summary_id + 1 + len(others))]
        text = f"Broadcast sent to {len(others)} recipients"
        self.model.notes[summary_id] = Note(sender, sender, text, at, summary=True, done=True)
        for message_id, owner in zip(made.delivery_ids, others, strict=True):
            state = self.model.first_state(sender, owner)
            self.model.notes[message_id] = Note(sender, owner, "all", at, state=state)
        return multiple(summary_id, *made.delivery_ids)

    @rule(message_id=message_ids | st.integers(1, 10))
    def ack(self, message_id: int) -> None:
        at = self.tick()
        note = self.model.notes.get(message_id)
        if note is None or note.done:
            with pytest.raises(UnknownIdError if note is None else RefusedError):
                messages.ack(self.conn, message_id=message_id, now=self.now)
            return
        assert messages.ack(self.conn, message_id=message_id, now=self.now).text == note.text
        note.done, note.at = True, at
        self.model.see([message_id])

    @rule(member_id=member_ids)
    def poll(self, member_id: int) -> None:
        self.tick()
        if not self.model.people[member_id].active:
            with pytest.raises(UnknownIdError):
                messages.poll(self.conn, member_id=member_id)
            return
        found = [each.message_id for each in messages.poll(self.conn, member_id=member_id)]
        assert found == self.model.pending(member_id)
        deliveries.mark_seen(self.conn, message_ids=found, now=self.now)
        self.model.see(found)

    # Notices

    @rule(member_id=member_ids)
    def mark_typed(self, member_id: int) -> None:
        self.tick()
        owed = self.model.owed(member_id)
        waiting = [each for each in owed if self.model.notes[each].state in WAITING]
        assert deliveries.mark_typed(self.conn, message_ids=owed, now=self.now) == waiting
        for each in waiting:
            self.model.notes[each].state = "typed"

    @rule(member_id=member_ids, outcome=OUTCOMES)
    def settle(self, member_id: int, outcome: str) -> None:
        self.tick()
        state = DeliveryState(outcome)
        # Whoever settles names all that it has pasted; some of it may be known to be seen by now.
        ids = [each for each, note in self.model.notes.items() if note.owner == member_id]
        deliveries.settle(
            self.conn, message_ids=ids, state=state, reason="why", evidence="how", now=self.now
        )
        for each in ids:
            self.model.settle(each, outcome)

    @rule(member_id=member_ids, state=POSTPONED)
    def postpone(self, member_id: int, state: str) -> None:
        self.tick()
        deliveries.postpone(
            self.conn,
            member_ids=[member_id],
            state=DeliveryState(state),
            reason="why",
            now=self.now,
        )
        for each in self.model.owed(member_id):
            if self.model.notes[each].state in WAITING:
                self.model.notes[each].state = state

    # What is read

    @invariant()
    def what_is_stored_is_what_the_model_holds(self) -> None:
        stored = self.conn.execute(
            "SELECT message_id, from_member_id, owner_member_id, text, status_timestamp,"
            " type = 'broadcast_summary', status_state = 'completed', delivery_state"
            " FROM messages ORDER BY message_id"
        ).fetchall()
        assert stored == [
            (each, n.sender, n.owner, n.text, n.at, n.summary, n.done, n.state)
            for each, n in self.model.notes.items()
        ]
        placed = self.conn.execute("SELECT member_id FROM member_placements ORDER BY 1").fetchall()
        assert [each for (each,) in placed] == [
            each for each, person in self.model.people.items() if person.placed
        ]

    @invariant()
    def fleets_answer_as_the_model_does(self) -> None:
        for fleet_id, deleted in self.model.deleted.items():
            active = self.model.active(fleet_id)
            assert not (deleted and active)
            found = members.list_active(self.conn, fleet_id=fleet_id)
            people = self.model.people
            assert [(each.member_id, each.kind, each.name) for each in found] == [
                (each, people[each].kind, people[each].name) for each in active
            ]
            roster = members.roster(self.conn, fleet_id=fleet_id)
            assert [each.member_id for each in roster] == self.model.roster(fleet_id)
            timeline = [each.message_id for each in messages.timeline(self.conn, fleet_id=fleet_id)]
            assert timeline == self.model.deliveries(fleet_id=fleet_id)[:TIMELINE]
            if not deleted:
                activity = members.list_activity(self.conn, fleet_id=fleet_id, now=self.now)
                assert [(each.member_id, each.owed) for each in activity] == [
                    (each, len(self.model.owed(each))) for each in active
                ]
        names = {each: person.name for each, person in self.model.people.items()}
        assert members.names(self.conn, member_ids=[*names, 9_999]) == names

    @rule(member_id=member_ids)
    def read_its_messages(self, member_id: int) -> None:
        inbox = [each.message_id for each in messages.inbox(self.conn, member_id=member_id)]
        sent = [each.message_id for each in messages.sent(self.conn, member_id=member_id)]
        assert inbox == self.model.deliveries(owner=member_id)
        assert sent == self.model.deliveries(sender=member_id)
        pending = messages.count_pending(self.conn, member_id=member_id)
        assert pending == len(self.model.pending(member_id))


if settings.get_current_profile_name() != "long":
    RegistryMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=30)
TestRegistryMachine = RegistryMachine.TestCase
