"""What a registry should hold and answer, in the plainest terms: the model of the state machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

WAITING = frozenset(["queued", "held", "unreachable"])
OWED = WAITING | {"typed"}
TIMELINE = 200


@dataclass
class Person:
    fleet_id: int
    kind: str
    name: str = "n"
    active: bool = True
    placed: bool = True


@dataclass
class Note:
    """A message. ``at`` is its status_timestamp, ``state`` that of its notice; ``read`` says that
    it was polled or acknowledged, perhaps while the notice was being typed."""

    sender: int
    owner: int
    text: str
    at: str
    summary: bool = False
    done: bool = False
    state: str = "none"
    read: bool = False


@dataclass
class Model:
    """Everything by id; ``deleted`` holds all fleets, and whether each is."""

    deleted: dict[int, bool] = field(default_factory=dict)
    people: dict[int, Person] = field(default_factory=dict)
    notes: dict[int, Note] = field(default_factory=dict)

    def next_note(self) -> int:
        return max(self.notes, default=0) + 1

    def active(self, fleet_id: int) -> list[int]:
        return [
            each for each, who in self.people.items() if who.fleet_id == fleet_id and who.active
        ]

    def roster(self, fleet_id: int) -> list[int]:
        owners = {note.owner for note in self.notes.values()}
        return [
            each
            for each, who in self.people.items()
            if who.fleet_id == fleet_id and (who.active or each in owners)
        ]

    def deliveries(
        self, *, owner: int | None = None, sender: int | None = None, fleet_id: int | None = None
    ) -> list[int]:
        """The deliveries of an owner, a sender or a fleet, newest status first."""
        found = [
            (note.at, each)
            for each, note in self.notes.items()
            if not note.summary
            and owner in (None, note.owner)
            and sender in (None, note.sender)
            and fleet_id in (None, self.people[note.owner].fleet_id)
        ]
        return [each for _, each in sorted(found, reverse=True)]

    def pending(self, member_id: int) -> list[int]:
        return [each for each in self.deliveries(owner=member_id) if not self.notes[each].done]

    def owed(self, member_id: int) -> list[int]:
        """What a member is still to be told of, oldest first."""
        return [
            each
            for each, note in sorted(self.notes.items())
            if note.owner == member_id and note.state in OWED
        ]

    def first_state(self, sender: int, recipient: int) -> str:
        return "queued" if self.people[recipient].placed and sender != recipient else "none"

    def see(self, ids: Sequence[int]) -> None:
        """What is being typed is left to whoever types it."""
        for each in ids:
            self.notes[each].read = True
            if self.notes[each].state != "typed" and not self.notes[each].summary:
                self.notes[each].state = "seen"

    def settle(self, message_id: int, outcome: str) -> None:
        note = self.notes[message_id]
        if note.state == "typed":
            note.state = "seen" if note.read else outcome

    def leave(self, member_id: int) -> None:
        self.people[member_id].active = self.people[member_id].placed = False
        for each in self.owed(member_id):
            if self.notes[each].state in WAITING:
                self.notes[each].state = "none"
            self.settle(each, "unsure")


def of_a_predecessor() -> Model:
    """What :func:`tests.sql.databases.populate` has put in, as the migrations should leave it."""
    people = {
        1: Person(1, "director"),
        2: Person(1, "monitor"),
        3: Person(1, "member", placed=False),
        4: Person(1, "member"),
        5: Person(1, "member"),
        6: Person(1, "member", active=False, placed=False),
        7: Person(1, "member", active=False, placed=False),
        8: Person(2, "director", active=False, placed=False),
    }
    for member_id, person in people.items():
        person.name = f"m{member_id}"

    def note(number: int, sender: int, owner: int, state: str, **more: bool) -> Note:
        text, at = f"text {number} 'quoted' ☃ \n", f"2026-01-01T00:00:{number:02}.000000+00:00"
        return Note(sender, owner, text, at, state=state, **more)

    notes = {
        1: note(1, 1, 4, "seen"),
        2: note(2, 1, 4, "seen", done=True),
        3: note(3, 1, 1, "none", summary=True, done=True),
        4: note(4, 1, 4, "seen"),
        5: note(5, 1, 1, "none"),
        9: note(9, 999, 4, "seen"),
    }
    return Model(deleted={1: False, 2: True}, people=people, notes=notes)
