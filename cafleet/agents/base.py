"""What every coding agent of the fleet can be asked."""

from __future__ import annotations

import os
import shutil
from typing import Protocol

import msgspec

from cafleet.errors import AgentError, UsageError
from cafleet.records import CodingAgent


class SpawnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One agent to start.

    ``prompt`` reaches the agent as one element of its argv, whatever it holds. ``monitor`` asks for
    the rules that a monitor needs on top of a member's. ``permission_mode`` replaces the mode that
    an agent has by default, where it knows modes. ``extra_args`` are passed on unread, before the
    prompt. ``writable_dir`` is the absolute path of the folder that holds the database.
    ``readable_file`` is the absolute path of a prompt that is handed over by a file. ``allowed`` are
    patterns of further commands that may be run, as :func:`cafleet.agents.allowing.check_allowed`
    accepts them. ``session_id`` is the session that the agent begins, where it lets a caller choose
    the id, or takes up again, where ``resumed`` says so. ``prompt`` is null for an agent that takes
    none beside a session. ``git_folders`` are further folders that an agent in a work tree writes in.
    """

    display_name: str
    prompt: str | None
    model: str | None
    effort: str | None
    monitor: bool
    permission_mode: str | None
    extra_args: tuple[str, ...]
    writable_dir: str
    readable_file: str | None
    allowed: tuple[str, ...] = ()
    session_id: str | None = None
    resumed: bool = False
    git_folders: tuple[str, ...] = ()


class Agent(Protocol):
    """A coding agent: stateless, the same object for every member that uses it."""

    @property
    def name(self) -> CodingAgent: ...

    def check_model(self, model: str) -> None:
        """Raise UsageError unless the agent can be started with this model."""

    def check_effort(self, effort: str) -> None:
        """Raise UsageError unless the agent knows this effort."""

    def program(self) -> str:
        """The absolute path of the agent's program.

        Raises:
            AgentError: it is not on PATH, or something that it needs to start is missing.
            SettingError: a variable that says where the agent's files live is unusable.
        """

    def argv(self, request: SpawnRequest) -> list[str]:
        """The command that starts the agent, its program by absolute path; raises as `program`."""

    def resume_argv(self, *, session_id: str | None, prompt: str | None) -> list[str]:
        """The command by which a person starts the agent, without any rules of ours: it takes up a
        session, or begins a new one with ``prompt``. Raises as `program`."""

    def variables(self, request: SpawnRequest) -> dict[str, str]:
        """What the agent needs in its environment for this request."""

    def new_session_id(self, extra_args: tuple[str, ...]) -> str | None:
        """An id for a new session; ``None`` where the agent takes none, or ``extra_args`` choose one."""

    @property
    def prompts_resumed(self) -> bool:
        """Whether the agent takes a prompt on its command line beside a session that it takes up."""


def find_program(name: CodingAgent) -> str:
    """The absolute path of the program ``name`` on PATH, or AgentError."""
    found = shutil.which(name)
    if found is None:
        raise AgentError(
            f"the program {name} is not on PATH; install it or add its folder to PATH, "
            f"or choose another coding agent"
        )
    return os.path.abspath(found)


def prompt_words(prompt: str | None) -> list[str]:
    """The end of a command line that gives the prompt, whatever it begins with."""
    return [] if prompt is None else ["--", prompt]


def check_any_model(name: CodingAgent, model: str) -> None:
    """Accept what can stand as the value of an option: not blank, no dash in front."""
    if not model.strip() or model.startswith("-"):
        raise UsageError(
            f"{name} has no model {model!r}; give the name of a model, or leave it out"
        )


def check_listed_effort(name: CodingAgent, effort: str, allowed: tuple[str, ...]) -> None:
    """Accept the efforts in ``allowed``, spelled exactly."""
    if effort not in allowed:
        raise UsageError(f"{name} has no effort {effort!r}; it knows {', '.join(allowed)}")
