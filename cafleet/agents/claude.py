"""Claude Code."""

from __future__ import annotations

import re

from cafleet.agents.base import SpawnRequest, check_any_model, check_listed_effort, find_program
from cafleet.agents.paths import locate
from cafleet.records import CodingAgent

EFFORTS = ("low", "medium", "high", "xhigh", "max")
DEFAULT_MODE = "dontAsk"
MEMBER_RULES = ("Bash(cafleet message *)", "Bash(cafleet whoami *)")
MONITOR_RULES = (
    "Bash(cafleet monitor scan *)",
    "Bash(cafleet member ping *)",
    "Bash(cafleet member list *)",
)


class Claude:
    """In mode ``dontAsk`` it refuses what no rule allows, so it is given the rules it needs."""

    name = CodingAgent.CLAUDE

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
        return [*words, *request.extra_args, "--", request.prompt]

    def variables(self, _request: SpawnRequest) -> dict[str, str]:
        return {}


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
