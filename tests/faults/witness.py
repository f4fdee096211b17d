"""What the agents' journals say against what the database says: the judge of a soak."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.faults.crowd import PROMPT, Agent
from tests.faults.posting import Letter
from tests.harness.database import Database

# So many hold the newest notice and the answer to it.
ROOMY_ROWS = 24
_PASTE = re.compile(rb"\x1b\[200~(.*?)\x1b\[201~", re.DOTALL)
_MARKER = re.compile(r"^\[cafleet msg (\d+) to ", re.MULTILINE)
_LEFT_OUT = re.compile(r"\A\[cafleet\] (\d+) older messages?: ")


@dataclass(frozen=True)
class Change:
    """A row of delivery_events; ``at`` is in seconds since the epoch."""

    message_id: int
    owner: int
    at: float
    state: str
    said: str


def changes(database: Database) -> list[Change]:
    rows = database.rows(
        "SELECT message_id, owner_member_id, at, state, coalesce(reason, evidence, '') "
        "FROM delivery_events JOIN messages USING (message_id) "
        # A poll in the midst of the typing is noted, and is no attempt.
        "WHERE state <> 'typed' OR reason IS NULL ORDER BY event_id"
    )
    return [Change(m, o, datetime.fromisoformat(at).timestamp(), s, r) for m, o, at, s, r in rows]


def pastes(agent: Agent) -> list[str]:
    """The texts that were pasted into an agent's pane, in their order."""
    return [found.decode() for found in _PASTE.findall(_received(agent))]


def _received(agent: Agent) -> bytes:
    return b"".join(bytes.fromhex(each["hex"]) for each in _events(agent, "bytes"))


def _events(agent: Agent, *names: str) -> list[dict[str, Any]]:
    return [event for event in agent.events if event["event"] in names]


def _submits(agent: Agent) -> list[dict[str, Any]]:
    return [each for each in _events(agent, "submit") if not each["text"].startswith(PROMPT)]


def told(text: str) -> tuple[frozenset[int], int]:
    """The messages that a payload names, and how many more it speaks of."""
    left_out = _LEFT_OUT.match(text)
    return frozenset(map(int, _MARKER.findall(text))), int(left_out[1]) if left_out else 0


def faults_of_typing(agents: Iterable[Agent]) -> list[str]:
    """Whatever was typed that must not be: keys, twice, for another, into a question or a draft."""
    faults: list[str] = []
    places: dict[int, list[int]] = {}
    for agent in agents:
        typed = pastes(agent)
        where = f"member {agent.member_id} ({agent.kind.name})"
        for text in typed:
            for message_id in told(text)[0]:
                places.setdefault(message_id, []).append(agent.member_id)
        rest = _PASTE.sub(b"", _received(agent)).replace(b"\r", b"")
        if rest:
            faults.append(f"{where}: bytes beside pastes and Enters: {rest[:80]!r}")
        faults += [
            f"{where}: {event}{_age_of_question(agent, event)}"
            for event in _events(agent, "escape", "dismissed", "approved", "shell")
        ]
        # Glued to something else, a draft above all, it would not be what was pasted.
        faults += [
            f"{where}: submitted what is no paste: {event['text']!r}"
            for event in _submits(agent)
            if event["text"] not in typed
        ]
        faults += [f"{where}: {fault}" for fault in _faults_of_drafts(agent, typed)]
    faults += [f"message {m} was typed in panes of {p}" for m, p in places.items() if len(p) > 1]
    return faults


def faults_of_address(database: Database, agents: Iterable[Agent]) -> list[str]:
    """Notices in the pane of somebody else than their recipient."""
    owners = dict(database.rows("SELECT message_id, owner_member_id FROM messages"))
    return [
        f"message {message_id} of {owners.get(message_id)} was typed to {agent.member_id}"
        for agent in agents
        for text in pastes(agent)
        for message_id in told(text)[0]
        if owners.get(message_id) != agent.member_id
    ]


def _age_of_question(agent: Agent, event: dict[str, Any]) -> str:
    asked = [each["at"] for each in _events(agent, "asked") if each["at"] <= event["at"]]
    return f", {event['at'] - asked[-1]:.3f} s after the question" if asked else ""


def _faults_of_drafts(agent: Agent, typed: Sequence[str]) -> Iterable[str]:
    """A draft has to be found as it was typed, behind our text or alone, when it is cleared away."""
    draft = ""
    for event in _events(agent, "drafted", "cleared", "start"):
        match event["event"]:
            case "drafted":
                draft += event["text"]
            case "start":
                draft = ""
            case "cleared":
                text = event["text"]
                if not text.endswith(draft) or text.removesuffix(draft) not in ["", *typed]:
                    yield f"the draft {draft!r} has become {text!r}"
                draft = ""


def faults_of_claims(history: Sequence[Change], agents: Iterable[Agent]) -> list[str]:
    """Notices that are said to be submitted and were not, or not yet."""
    submits = {
        agent.member_id: [(event["at"], told(event["text"])) for event in _submits(agent)]
        for agent in agents
    }
    typed: dict[tuple[int, float], set[int]] = {}
    newest: dict[int, Change] = {}
    for change in history:
        if change.state == "typed":
            typed.setdefault((change.owner, change.at), set()).add(change.message_id)
    faults = []
    for change in history:
        if change.state == "typed":
            newest[change.message_id] = change
        if change.state != "submitted" or change.owner not in submits:
            continue
        mark = newest[change.message_id]
        batch = sorted(typed[mark.owner, mark.at])
        if not any(at <= change.at and _tells(what, batch) for at, what in submits[change.owner]):
            faults.append(f"message {change.message_id} was not submitted: {change}, typed {mark}")
    return faults


def _tells(payload: tuple[frozenset[int], int], batch: Sequence[int]) -> bool:
    """Whether a payload names the newest messages of a batch and counts all the others."""
    named, older = payload
    return bool(named) and named == frozenset(batch[older:]) and len(named) + older == len(batch)


def faults_of_storage(database: Database, letters: Iterable[Letter]) -> list[str]:
    """Messages that a sender was told are stored and are not, or that are there twice."""
    stored = Counter(text for (text,) in database.rows("SELECT text FROM messages"))
    return [
        f"stored {stored[each.text]} times: {each}"
        for each in letters
        if stored[each.text] > 1 or (each.reported and not stored[each.text])
    ]


def doubts(
    history: Sequence[Change], agents: Sequence[Agent], kills: Sequence[float]
) -> tuple[Counter[str], list[str]]:
    """Why notices are unsure and what had really become of them: how many of each, and those
    without a good reason.

    A good one is something between marking and settling that no look can see behind: the courier
    was killed, or a question, a draft, copy mode or the end of the agent came in between. After a
    kill, the next courier has to see a notice that stands in a transcript with room for all of it.
    """
    by_id = {agent.member_id: agent for agent in agents}
    typed: dict[int, Change] = {}
    reasons: Counter[str] = Counter()
    faults = []
    truths = _truths(agents)
    for change in history:
        if change.state == "typed":
            typed[change.message_id] = change
        if change.state != "unsure":
            continue
        begin, end, agent = typed[change.message_id].at, change.at, by_id[change.owner]
        found = {what for start, stop, what in agent.spans if start <= end and stop >= begin}
        if any(begin <= kill <= end for kill in kills):
            found.add("kill")
        truth = truths.get(change.message_id, "not typed")
        reasons[f"{'+'.join(sorted(found)) or 'no reason'} ({truth})"] += 1
        visible = found == {"kill"} and truth == "submitted" and agent.rows >= ROOMY_ROWS
        if not found or visible:
            faults.append(f"nothing explains {change}, typed {end - begin:.1f} s before ({truth})")
    return reasons, faults


def _truths(agents: Iterable[Agent]) -> dict[int, str]:
    """What became of each notice that a payload names: only typed, or submitted as well."""
    truths: dict[int, str] = {}
    for agent in agents:
        for text in pastes(agent):
            truths |= dict.fromkeys(told(text)[0], "typed")
        for event in _submits(agent):
            truths |= dict.fromkeys(told(event["text"])[0], "submitted")
    return truths
