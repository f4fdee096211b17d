"""Opening a member's pane with its agent in it, for the first monitor and for all members alike."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote_to_bytes

import msgspec

from cafleet import clock, settings
from cafleet.agents.base import Agent, SpawnRequest
from cafleet.agents.paths import default_base, locate, variable_of
from cafleet.errors import CafleetError, MultiplexerError
from cafleet.operations.placeholders import fill
from cafleet.operations.worktrees import git_folders
from cafleet.panes import ARGV_LIMIT_BYTES, Multiplexer, NewPane, PaneTag, command_bytes
from cafleet.records import CodingAgent, Launch
from cafleet.texts import is_unicode


class AgentStart(msgspec.Struct, frozen=True, kw_only=True):
    """Who is to be started and how; ``prompt`` still has its placeholders. ``cwd`` is where, by default
    the current folder. ``agent_base`` is the agent's configuration folder, by default the one that the
    environment names. ``worktree``, ``branch`` and ``base_commit`` tell of a work tree in ``cwd``.

    ``session_id`` is a session that the agent takes up again. Then it is given the ``first_words``
    alone, else the prompt after them. ``is_filled`` says that the prompt has no placeholders any more.
    """

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
    agent_base: str | None = None
    worktree: str | None = None
    branch: str | None = None
    base_commit: str | None = None
    session_id: str | None = None
    first_words: str | None = None
    is_filled: bool = False


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
        self._cwd = start.cwd or current_folder()
        self._agent_base = start.agent_base or locate(start.agent.name).base
        self._session_id = start.session_id or start.agent.new_session_id(start.agent_args)
        self.pane: NewPane | None = None

    def open(self, beside: str, *, limit: float, creating: bool = False) -> NewPane:
        """Open the pane; ``limit`` is in seconds, ``creating`` says that its fleet is not committed.

        Raises:
            UsageError: the prompt has a broken or unknown placeholder.
            MultiplexerError: there is no pane; says what is left of it.
        """
        cwd = self._cwd
        prompt, line = self._told(), start_line(self._tag)
        request = self._request(f"{prompt}\n{line}", readable_file=None)
        own = pane_environment(self._tag, self._start.agent.name, self._start.agent_base)
        env = {**own, **self._start.agent.variables(request)}
        argv = self._start.agent.argv(request)
        if command_bytes(argv, env, cwd) > ARGV_LIMIT_BYTES:
            path = self._write(prompt)
            task = f"Read the file {path} now: it is your whole task. Then do what it says."
            argv = self._start.agent.argv(self._request(f"{task}\n{line}", readable_file=path))
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

    def launch(self, now: datetime) -> Launch:
        """What is kept of this start.

        Raises:
            UsageError: the prompt has a broken or unknown placeholder.
        """
        return Launch(
            member_id=self._tag.member_id,
            coding_agent=self._start.agent.name,
            model=self._start.model,
            effort=self._start.effort,
            permission_mode=self._start.permission_mode,
            working_directory=storable(self._cwd),
            agent_base=self._agent_base,
            worktree=self._start.worktree,
            branch=self._start.branch,
            base_commit=self._start.base_commit,
            prompt=self._prompt(),
            session_id=self._session_id,
            launch_number=self._tag.launch_number,
            launched_at=clock.stamp(now),
            agent_args=self._start.agent_args,
            allowed=self._start.allowed,
        )

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

    def _prompt(self) -> str:
        if self._start.is_filled:
            return self._start.prompt
        return fill(self._start.prompt, self._values())

    def _told(self) -> str:
        """What the agent is told first."""
        words = self._start.first_words
        if words is None:
            return self._prompt()
        return words if self._start.session_id is not None else f"{words}\n\n{self._prompt()}"

    def _values(self) -> Mapping[str, object]:
        return {
            "fleet_id": self._tag.fleet_id,
            "member_id": self._tag.member_id,
            "director_member_id": self._director_member_id,
            "coding_agent": self._start.agent.name,
        }

    def _request(self, prompt: str, *, readable_file: str | None) -> SpawnRequest:
        return SpawnRequest(
            display_name=self._start.display_name,
            prompt=prompt if self._takes_prompt() else None,
            model=self._start.model,
            effort=self._start.effort,
            monitor=self._start.monitor,
            permission_mode=self._start.permission_mode,
            extra_args=self._start.agent_args,
            writable_dir=os.path.dirname(self._database),
            readable_file=readable_file,
            allowed=self._start.allowed,
            session_id=self._session_id,
            resumed=self._start.session_id is not None,
            git_folders=self._git_folders(),
        )

    def _git_folders(self) -> tuple[str, ...]:
        tree, branch = self._start.worktree, self._start.branch
        if tree is None or branch is None:
            return ()
        return git_folders(stored_folder(tree), branch)

    def _takes_prompt(self) -> bool:
        return self._start.session_id is None or self._start.agent.prompts_resumed

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


def pane_environment(tag: PaneTag, name: CodingAgent, agent_base: str | None) -> dict[str, str]:
    """The variables of a pane that we open: whose it is, and the agent's configuration folder where that is
    not the default one.

    All of them, always: the pane's server may have been started in another member's pane.
    """
    moved = agent_base is not None and agent_base != default_base(name)
    own = {variable_of(name): agent_base} if moved and agent_base else {}
    return own | {
        settings.DATABASE_URL: settings.database_url(settings.database_path()),
        settings.DATABASE_ID: tag.database_id,
        settings.FLEET_ID: str(tag.fleet_id),
        settings.MEMBER_ID: str(tag.member_id),
    }


def start_line(tag: PaneTag) -> str:
    """The last line of the first text that a member is given: it tells this start from all others."""
    return (
        f"[cafleet start {tag.fleet_id}:{tag.member_id}:{tag.launch_number} {tag.database_id[:8]}]"
    )


def storable(folder: str) -> str:
    """An absolute path as the database has it: a file URI where the path is not UTF-8."""
    return folder if is_unicode(folder) else Path(folder).as_uri()


def stored_folder(text: str) -> str:
    """The path that :func:`storable` has stored."""
    uri = text.removeprefix("file://")
    return text if uri == text else os.fsdecode(unquote_to_bytes(uri))


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


def current_folder() -> str:
    """The absolute path of the folder that this process is in.

    Raises:
        MultiplexerError: it does not exist any more.
    """
    try:
        return os.getcwd()
    except OSError as error:
        raise MultiplexerError(
            "the current folder does not exist any more; change to one that does"
        ) from error
