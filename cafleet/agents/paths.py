"""Where the files of a coding agent live."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from cafleet.errors import SettingError
from cafleet.records import CodingAgent
from cafleet.settings import home_folder
from cafleet.texts import is_unicode


class AgentPaths(msgspec.Struct, frozen=True, kw_only=True):
    """Absolute paths in their shortest spelling; no symbolic link is followed, nothing need exist.

    ``base`` is the identity that an installation is recorded under. ``variable`` is the one that
    may set it, ``is_default`` whether it is unset. ``preset`` is null for an agent without one.
    """

    base: str
    variable: str
    is_default: bool
    skills: str
    preset: str | None


class _Rule(msgspec.Struct, frozen=True, kw_only=True):
    variable: str
    default: str
    preset: str | None
    skills: str | None = None


_RULES = {
    CodingAgent.CLAUDE: _Rule(variable="CLAUDE_CONFIG_DIR", default=".claude", preset=None),
    CodingAgent.CODEX: _Rule(variable="CODEX_HOME", default=".codex", preset="rules/cafleet.rules"),
    # opencode looks for skills below ~/.config whatever its variable says.
    CodingAgent.OPENCODE: _Rule(
        variable="OPENCODE_CONFIG_DIR",
        default=".opencode",
        preset="agents/cafleet.md",
        skills=".config/opencode/skills",
    ),
}


def config_folder(name: CodingAgent, variables: Mapping[str, str]) -> str | None:
    """The agent's folder for a process that was started with these ``variables``, if they tell it."""
    rule = _RULES[name]
    home = variables.get("HOME")
    default = os.path.join(home, rule.default) if home else None
    return variables.get(rule.variable) or default


def variable_of(name: CodingAgent) -> str:
    """The variable that may say where the agent's files live."""
    return _RULES[name].variable


def default_base(name: CodingAgent) -> str:
    """The configuration folder of an agent whose variable is unset.

    Raises:
        NoHomeError: there is no home folder.
    """
    return _in_home(_RULES[name].default)


def locate(name: CodingAgent) -> AgentPaths:
    """The paths of one agent.

    Raises:
        SettingError: its variable is set to something else than an absolute path.
        NoHomeError: a default is needed and there is no home folder.
    """
    rule = _RULES[name]
    value = os.environ.get(rule.variable)
    base = _in_home(rule.default) if value is None else value
    if not os.path.isabs(base):
        raise SettingError(
            f"{rule.variable} is {base!r}, which is not an absolute path; correct or unset it"
        )
    if not is_unicode(base):
        raise SettingError(f"{rule.variable} is {base!r}, which is not valid UTF-8; correct it")
    # Of two slashes in front POSIX lets both stand; one folder is to have one spelling.
    base = "/" + os.path.normpath(base).lstrip("/")
    return AgentPaths(
        base=base,
        variable=rule.variable,
        is_default=value is None,
        skills=os.path.join(base, "skills") if rule.skills is None else _in_home(rule.skills),
        preset=None if rule.preset is None else os.path.join(base, rule.preset),
    )


def _in_home(path: str) -> str:
    return os.path.join(home_folder(), path)
