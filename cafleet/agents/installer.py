"""Installing the skill and the preset of a coding agent, and telling whether they are in place."""

from __future__ import annotations

import errno
import os

import msgspec

from cafleet.agents import assets
from cafleet.agents.paths import AgentPaths, locate
from cafleet.agents.replacing import differs, is_file_of, replace_file, replace_folder
from cafleet.errors import AgentError
from cafleet.records import CodingAgent

_SKILL = "cafleet"
_ENTRY = "SKILL.md"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PRESETS = {CodingAgent.CODEX: "codex/cafleet.rules", CodingAgent.OPENCODE: "opencode/cafleet.md"}


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """``path`` is the identity of the agent's files. ``is_changed`` says whether any file was
    written, ``notes`` are sentences on what stood in a file's place before."""

    path: str
    is_changed: bool
    notes: list[str]


def install(name: CodingAgent) -> Installed:
    """Put this program's skill, and the preset where there is one, in place for an agent.

    A crash leaves each of the two as it was, or absent, or complete. Two of these at once are for
    the caller to prevent.

    Raises:
        SettingError: the variable that says where the agent's files live is unusable.
        AgentError: a file could not be written, or this installation lacks it.
    """
    paths = locate(name)
    skill = _skill()
    # Beside the folder of skills: in it, the agent would take what is kept for one.
    keep_in = os.path.dirname(os.path.realpath(paths.skills))
    try:
        outcomes = [replace_folder(_skill_path(paths), skill, keep_in=keep_in)]
        if paths.preset is not None:
            outcomes.append(replace_file(paths.preset, assets.content(_PRESETS[name])))
    except OSError as failure:
        raise AgentError(_unwritable(paths, failure)) from failure
    return Installed(
        path=paths.base,
        is_changed=any(notes is not None for notes in outcomes),
        notes=[note for notes in outcomes for note in notes or []],
    )


def find_damage(paths: AgentPaths, name: CodingAgent) -> str | None:
    """The path of a file that is missing or not as this program installs it; null if none is.

    Raises:
        AgentError: what is installed cannot be read, or this installation lacks a file.
    """
    try:
        return _first_difference(paths, name)
    except OSError as failure:
        raise AgentError(
            f"{failure.filename or paths.base} cannot be read ({failure.strerror}); see what it and "
            f"the folders above it permit"
        ) from failure


def _first_difference(paths: AgentPaths, name: CodingAgent) -> str | None:
    wrong = differs(_skill_path(paths), _skill())
    if wrong is not None:
        return os.path.join(_skill_path(paths), wrong)
    if paths.preset is not None and not is_file_of(paths.preset, assets.content(_PRESETS[name])):
        return paths.preset
    return None


def _skill() -> dict[str, bytes]:
    """The files of the skill; last the one that makes it one, so that no agent takes half for it."""
    files = assets.folder("skill")
    files.pop(_ENTRY, None)
    return {**files, _ENTRY: assets.content(f"skill/{_ENTRY}")}


def _skill_path(paths: AgentPaths) -> str:
    return os.path.join(paths.skills, _SKILL)


def _unwritable(paths: AgentPaths, failure: OSError) -> str:
    # A rename fails with both of its names; what matters is where it should have gone.
    where = failure.filename2 or failure.filename or paths.base
    if failure.errno in _FULL:
        return (
            f"{where} cannot be written, there is no space left ({failure.strerror}); free some and run "
            f"`cafleet setup` again"
        )
    return (
        f"{where} cannot be written ({failure.strerror}); see what stands there and what its folder "
        f"permits, and run `cafleet setup` again"
    )
