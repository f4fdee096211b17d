"""Opening a member's pane with its agent in it, for the first monitor and for all members alike."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from cafleet import settings
from cafleet.agents.base import Agent, SpawnRequest
from cafleet.errors import CafleetError, MultiplexerError
from cafleet.operations.placeholders import fill
from cafleet.panes import ARGV_LIMIT_BYTES, Multiplexer, NewPane, PaneTag, command_bytes


class AgentStart(msgspec.Struct, frozen=True, kw_only=True):
    """Who is to be started and how; ``prompt`` still has its placeholders. ``cwd`` is where, by default
    the current folder."""

    agent: Agent
    display_name: str
    prompt: str
    model: str | None
    effort: str | None
    monitor: bool
    permission_mode: str | None = None
    agent_args: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    cwd: str | None = None


class PaneOpening:
    """One pane that is being opened, and what must go again if it fails."""

    def __init__(
        self, mux: Multiplexer, start: AgentStart, tag: PaneTag, *, director_member_id: int
    ) -> None:
        self._mux = mux
        self._start = start
        self._tag = tag
        self._director_member_id = director_member_id
        self._database = settings.database_path()
        self.pane: NewPane | None = None

    def open(self, beside: str, *, limit: float, creating: bool = False) -> NewPane:
        """Open the pane; ``limit`` is in seconds, ``creating`` says that its fleet is not committed.

        Raises:
            UsageError: the prompt has a broken or unknown placeholder.
            MultiplexerError: there is no pane; says what is left of it.
        """
        prompt = fill(self._start.prompt, self._values())
        cwd = self._start.cwd or _current_folder()
        request = self._request(prompt, readable_file=None)
        env = {**self._environment(), **self._start.agent.variables(request)}
        argv = self._start.agent.argv(request)
        if command_bytes(argv, env, cwd) > ARGV_LIMIT_BYTES:
            path = self._write(prompt)
            task = f"Read the file {path} now: it is your whole task. Then do what it says."
            argv = self._start.agent.argv(self._request(task, readable_file=path))
        self.pane = self._mux.split(
            beside,
            env=env,
            argv=argv,
            tag=self._tag,
            title=f"{self._start.display_name} (member {self._tag.member_id}, fleet {self._tag.fleet_id})",
            cwd=cwd,
            creating=creating,
            limit=limit,
        )
        return self.pane

    def undo(self, failure: BaseException) -> None:
        """Close the pane and remove the prompt's file; what remains is added to ``failure``."""
        remains = []
        if self.pane is not None:
            try:
                self._mux.kill(self.pane.pane, missing_ok=True)
            except CafleetError as error:
                remains.append(f"pane {self.pane.pane} could not be closed: {error}")
        try:
            remove_prompt_file(self._database, self._tag.member_id)
        except OSError as error:
            remains.append(f"{prompt_file(self._database, self._tag.member_id)}: {error.strerror}")
        for what in remains:
            add_remains(failure, what)

    def _values(self) -> Mapping[str, object]:
        return {
            "fleet_id": self._tag.fleet_id,
            "member_id": self._tag.member_id,
            "director_member_id": self._director_member_id,
            "coding_agent": self._start.agent.name,
        }

    def _environment(self) -> Mapping[str, str]:
        # All of them, always: the pane's server may have been started in another member's pane.
        return {
            settings.DATABASE_URL: settings.database_url(self._database),
            settings.DATABASE_ID: self._tag.database_id,
            settings.FLEET_ID: str(self._tag.fleet_id),
            settings.MEMBER_ID: str(self._tag.member_id),
        }

    def _request(self, prompt: str, *, readable_file: str | None) -> SpawnRequest:
        return SpawnRequest(
            display_name=self._start.display_name,
            prompt=prompt,
            model=self._start.model,
            effort=self._start.effort,
            monitor=self._start.monitor,
            permission_mode=self._start.permission_mode,
            extra_args=self._start.agent_args,
            writable_dir=os.path.dirname(self._database),
            readable_file=readable_file,
            allowed=self._start.allowed,
        )

    def _write(self, prompt: str) -> str:
        path = prompt_file(self._database, self._tag.member_id)
        try:
            # An older file of this name is that of a member that was never committed.
            remove_prompt_file(self._database, self._tag.member_id)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, "w", encoding="utf-8", newline="") as file:
                file.write(prompt)
        except OSError as error:
            raise CafleetError(
                f"the prompt is too long for tmux and cannot be written to {path} ({error.strerror}); "
                f"make room there, or shorten it"
            ) from error
        return path


def prompt_file(database: str, member_id: int) -> str:
    """Where a member's spawn prompt is kept if it is too long for the multiplexer."""
    return f"{database}.prompt-{member_id}.txt"


def remove_prompt_file(database: str, member_id: int) -> None:
    """Remove a member's prompt file, if there is one."""
    path = prompt_file(database, member_id)
    if os.path.lexists(path):
        os.unlink(path)


def add_remains(failure: BaseException, what: str) -> None:
    """Note beside the first cause what a clean-up could not undo."""
    if isinstance(failure, CafleetError):
        failure.add_remains(what)
    else:
        failure.add_note(what)


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise MultiplexerError(
            "the current folder does not exist any more; change to one that does"
        ) from error
