"""The agent of the demonstration: a fixed script in the place of a model.

It learns its member id from its prompt. Told of a message, it polls, acknowledges each message,
answers its sender, and shows all it runs. An answer begins with ``re:`` and is never answered, so
that two such agents do not talk for ever.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from typing import Any

from demo.screens import Voice
from demo.simulated_agent import Say, SimulatedAgent

_OWN_ID = re.compile(r"cafleet message poll (\d+)|\byou are member (\d+)", re.IGNORECASE)
_CALL = re.compile(r"^\[cafleet msg \d+ to \d+ |\A\W*cafleet message poll \d+", re.MULTILINE)
_COMMAND_SECONDS = 30
_ROUNDS = 20
_LINE_LENGTH = 80


class CommandError(Exception):
    """A ``cafleet`` command has ended with an error; its text is the error's."""


class Script:
    """What the agent does with its turns."""

    def __init__(self) -> None:
        self._member_id: int | None = None

    def turn(self, text: str, say: Say) -> None:
        """Answer one submitted ``text``."""
        self._learn_own_id(text)
        try:
            if _CALL.search(text) and self._member_id is not None:
                self._read_messages(self._member_id, say)
            else:
                say(Voice.AGENT, "Understood. I wait for messages.")
        except CommandError as error:
            say(Voice.AGENT, f"That did not work. {error}")

    def _learn_own_id(self, text: str) -> None:
        match = _OWN_ID.search(text)
        if match is not None and self._member_id is None:
            self._member_id = int(match[1] or match[2])

    def _read_messages(self, member_id: int, say: Say) -> None:
        """Read until nothing is left, since more may have come while this agent was working."""
        for _ in range(_ROUNDS):
            messages = cafleet(["message", "poll", str(member_id), "--json"], say)
            if not messages:
                say(Voice.AGENT, "Nothing is left to read.")
                return
            for message in reversed(messages):
                line = (
                    f"{message['message_id']} from {message['from_member_id']}: {message['text']}"
                )
                say(Voice.OUTPUT, _shortened(line))
            for message in reversed(messages):
                self._read(message, member_id, say)

    def _read(self, message: dict[str, Any], member_id: int, say: Say) -> None:
        message_id, sender, text = (
            message[key] for key in ("message_id", "from_member_id", "text")
        )
        cafleet(["message", "ack", str(message_id), "--json"], say)
        if text.startswith("re:"):
            say(Voice.AGENT, f"Member {sender} answers: {text}")
            return
        answer = f"re: message {message_id}, {len(text.split())} words, read by member {member_id}"
        people = ["--from-member-id", str(member_id), "--to-member-id", str(sender)]
        cafleet(["message", "send", *people, "--json", "--", answer], say)
        say(Voice.AGENT, f"Member {sender} has my answer.")


def cafleet(arguments: list[str], say: Say) -> Any:
    """Run ``cafleet`` and return its JSON; the command is shown, and what it says if it fails.

    Raises:
        CommandError: it could not be run, took too long, or has failed.
    """
    say(Voice.TOOL, shlex.join(["cafleet", *arguments]))
    try:
        done = subprocess.run(
            ["cafleet", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(str(error)) from error
    if done.returncode != 0:
        say(Voice.OUTPUT, done.stderr.strip())
        raise CommandError(done.stderr.strip())
    return json.loads(done.stdout)


def _shortened(line: str) -> str:
    """What a transcript shows of a long line."""
    return line if len(line) <= _LINE_LENGTH else line[:_LINE_LENGTH] + "…"


def main(agent: str, argv: list[str]) -> int:
    """Run as the program ``agent`` with its arguments ``argv``; the exit status."""
    return SimulatedAgent(agent, argv, turn=Script().turn).run()
