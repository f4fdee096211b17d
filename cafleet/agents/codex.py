"""Codex."""

from __future__ import annotations

from cafleet.agents.base import (
    SpawnRequest,
    check_any_model,
    check_listed_effort,
    find_program,
    prompt_words,
)
from cafleet.records import CodingAgent

EFFORTS = ("minimal", "low", "medium", "high", "xhigh")
# With any setting of its own a Codex runs its session itself. Otherwise it is a client of a server in the
# background, and its turn outlives the pane. This setting only leaves out a question about updates.
_ALONE = ("--config", "check_for_update_on_startup=false")
_ESCAPED = {
    **{ord(plain): f"\\{plain}" for plain in '"\\'},
    **{code: f"\\u{code:04x}" for code in (*range(0x20), 0x7F)},
}


class Codex:
    """In its sandbox it may write only its workspace, so the database's folder is added, and in a work tree
    what a commit writes in the repository."""

    name = CodingAgent.CODEX
    prompts_resumed = True

    def check_model(self, model: str) -> None:
        check_any_model(self.name, model)

    def check_effort(self, effort: str) -> None:
        check_listed_effort(self.name, effort, EFFORTS)

    def program(self) -> str:
        return find_program(self.name)

    def argv(self, request: SpawnRequest) -> list[str]:
        words = [self.program()]
        if request.resumed and request.session_id is not None:
            words += ["resume", request.session_id]
        # With these the pane's own process holds the session, and no server in the background.
        words += ["--ask-for-approval", "never", "--sandbox", "workspace-write"]
        roots = ", ".join(map(_toml_string, (request.writable_dir, *request.git_folders)))
        words += ["--config", f"sandbox_workspace_write.writable_roots=[{roots}]"]
        if request.model is not None:
            words += ["--model", request.model]
        if request.effort is not None:
            words.append(f"--config=model_reasoning_effort={request.effort}")
        return [*words, *request.extra_args, *prompt_words(request.prompt)]

    def resume_argv(self, *, session_id: str | None, prompt: str | None) -> list[str]:
        resumed = [] if session_id is None else ["resume", session_id]
        return [self.program(), *resumed, *_ALONE, *prompt_words(prompt)]

    def variables(self, _request: SpawnRequest) -> dict[str, str]:
        # Its sandbox decides what a command may do, and there is no rule for one.
        return {}

    def new_session_id(self, _extra_args: tuple[str, ...]) -> str | None:
        return None


def _toml_string(text: str) -> str:
    """``text`` as a basic string of TOML 1.0, the form of Codex's ``--config``."""
    return f'"{text.translate(_ESCAPED)}"'
