"""How the stand-in model conducts itself as any agent of a team: it does what it is told to.

It knows nothing but the conversation: who it is stands in its first turn or in what a tool has
returned, and what to do in the last turn.
"""

from __future__ import annotations

import re

from tests.agents.script import Asked, Reply, Say, shell

ORDER = "Run this: "
"""What a person types to have a command run: one command a line, the first line after this."""

TASK = "task: "
"""The beginning of a message that is to be answered."""

ANSWER = "answer to "
"""The beginning of an answer, followed by the text of the task."""

_MEMBER = re.compile(r"You are member (\d+)")
_DIRECTOR = re.compile(r"director=(\d+)")
_ENVELOPE = re.compile(r"^\[(\d+) \| from:(\d+) \| [^]\n]*\]\n  (.*)$", re.MULTILINE)


class Teammate:
    """The conduct of every agent, whatever its part and its program."""

    def answer(self, asked: Asked) -> Reply | None:
        said = asked.turns[-1] if asked.turns else ""
        results = asked.results[len(asked.results) - asked.results_since :]
        if said.startswith(ORDER):
            commands = said.removeprefix(ORDER).strip().splitlines()
        elif said.startswith(("[cafleet msg ", "cafleet message poll")):
            commands = _attend(_own_id(asked), results)
        elif said.startswith("[cafleet] tick:"):
            commands = _watch(said, _own_id(asked))
        else:
            return None
        return shell(commands[len(results)]) if len(results) < len(commands) else Say()


def _own_id(asked: Asked) -> str:
    found = _MEMBER.search(asked.turns[0]) or _DIRECTOR.search("\n".join(asked.results))
    assert found is not None, f"no id in {asked}"
    return found[1]


def _attend(me: str, results: tuple[str, ...]) -> list[str]:
    """Poll, and then for each message, oldest first: answer it if it is a task, acknowledge it."""
    commands = [f"cafleet message poll {me}"]
    if not results:
        return commands
    for message, sender, text in reversed(_ENVELOPE.findall(results[0])):
        if text.startswith(TASK):
            answer = f"{ANSWER}{text.removeprefix(TASK)}"
            people = f"--from-member-id {me} --to-member-id {sender}"
            commands.append(f"cafleet message send {people} '{answer}'")
        commands.append(f"cafleet message ack {message}")
    return commands


def _watch(said: str, me: str) -> list[str]:
    """What the monitor's prompt asks for on a wake."""
    fleet = said.split()[3].rstrip(":,;.")
    checked = re.findall(r"(\d+) \(", said)
    return [
        f"cafleet message poll {me}",
        f"cafleet monitor scan {fleet}",
        f"cafleet member list {fleet}",
        *(f"cafleet member ping {member}" for member in checked[:1]),
    ]
