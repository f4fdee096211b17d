"""Claude Code."""

from __future__ import annotations

import re
import uuid

from cafleet.agents.base import (
    SpawnRequest,
    check_any_model,
    check_listed_effort,
    find_program,
    prompt_words,
)
from cafleet.agents.paths import locate
from cafleet.records import CodingAgent

EFFORTS = ("low", "medium", "high", "xhigh", "max")
DEFAULT_MODE = "dontAsk"
_CHOOSE_SESSION = frozenset(
    ("--session-id", "--resume", "-r", "--continue", "-c", "--fork-session", "--from-pr")
)
MEMBER_RULES = ("Bash(cafleet message *)", "Bash(cafleet whoami *)")
MONITOR_RULES = (
    "Bash(cafleet monitor scan *)",
    "Bash(cafleet member ping *)",
    "Bash(cafleet member list *)",
    "Bash(cafleet member question *)",
    "Bash(cafleet member transcript *)",
    "Bash(cafleet attention *)",
)


class Claude:
    """In mode ``dontAsk`` it refuses what no rule allows, so it is given the rules it needs."""

    name = CodingAgent.CLAUDE
    prompts_resumed = True

    def check_model(self, model: str) -> None:
        check_any_model(self.name, model)

    def check_effort(self, effort: str) -> None:
        check_listed_effort(self.name, effort, EFFORTS)

    def program(self) -> str:
        return find_program(self.name)

    def argv(self, request: SpawnRequest) -> list[str]:
        words = [self.program(), "--permission-mode", request.permission_mode or DEFAULT_MODE]
        words += ["--allowedTools", *_rules(request)]
        # The option before takes many values; only another option ends its list.
        words += ["--name", request.display_name]
        if request.model is not None:
            words += ["--model", request.model]
        if request.effort is not None:
            words += ["--effort", request.effort]
        if request.session_id is not None:
            words += ["--resume" if request.resumed else "--session-id", request.session_id]
        return [*words, *request.extra_args, *prompt_words(request.prompt)]

    def resume_argv(self, *, session_id: str | None, prompt: str | None) -> list[str]:
        resumed = [] if session_id is None else ["--resume", session_id]
        return [self.program(), *resumed, *prompt_words(prompt)]

    def variables(self, _request: SpawnRequest) -> dict[str, str]:
        return {}

    def new_session_id(self, extra_args: tuple[str, ...]) -> str | None:
        # A second choice beside one of these would end the program at once.
        chosen = any(each.partition("=")[0] in _CHOOSE_SESSION for each in extra_args)
        return None if chosen else str(uuid.uuid4())


def _rules(request: SpawnRequest) -> list[str]:
    rules = [*MEMBER_RULES]
    if request.monitor:
        rules += MONITOR_RULES
    rules += [f"Bash({pattern})" for pattern in request.allowed]
    readable = [f"{_pattern(locate(CodingAgent.CLAUDE).skills)}/cafleet/**"]
    if request.readable_file is not None:
        readable.append(_pattern(request.readable_file))
    # In a rule one slash in front means the project's folder, two mean the file system's root.
    return [*rules, *(f"Read(/{path})" for path in readable)]


def _pattern(path: str) -> str:
    """``path`` as a rule has it, a pattern of gitignore(5).

    Parentheses and commas would end the rule, and escapes are not understood, so ``?`` stands for
    whatever might mean something.
    """
    return re.sub(r"[^\w./-]", "?", path)
