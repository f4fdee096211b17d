"""opencode."""

from __future__ import annotations

import os

from cafleet.agents.base import SpawnRequest, check_any_model, find_program
from cafleet.agents.paths import locate
from cafleet.errors import AgentError, UsageError
from cafleet.records import CodingAgent

_AGENT = "cafleet"
_CONFIG = "OPENCODE_CONFIG_CONTENT"
# Commands of cafleet that a Director or a person runs. The preset denies them as well.
_DIRECTORS = (
    *(f"cafleet member {word}" for word in ("create", "restart", "answer", "delete")),
    *(f"cafleet fleet {word}" for word in ("create", "pause", "resume", "delete", "set")),
    *(f"cafleet {word}" for word in ("server", "setup", "db")),
)
_DENIED = (
    *("**.env*", "**--output*", "**>*"),
    *(f"{command}{rest}" for command in _DIRECTORS for rest in ("", " *")),
)


class Opencode:
    """Its rules come from an agent preset, which has to be on disk before it starts."""

    name = CodingAgent.OPENCODE
    # A prompt beside a session is not submitted.
    prompts_resumed = False

    def check_model(self, model: str) -> None:
        check_any_model(self.name, model)
        provider, _, rest = model.partition("/")
        if not provider.strip() or not rest.strip():
            raise UsageError(f"opencode has no model {model!r}; write it as <provider>/<model>")

    def check_effort(self, effort: str) -> None:
        raise UsageError(f"opencode has no effort {effort!r} and allows none; leave the effort out")

    def program(self) -> str:
        path = find_program(self.name)
        preset = locate(self.name).preset
        if preset is None or not os.path.isfile(preset):
            raise AgentError(
                f"the opencode agent preset {preset} is missing; "
                f"install it with `cafleet setup --coding-agent opencode`"
            )
        return path

    def argv(self, request: SpawnRequest) -> list[str]:
        words = [self.program(), "--agent", _AGENT]
        if request.model is not None:
            words += ["--model", request.model]
        if request.resumed and request.session_id is not None:
            words += ["--session", request.session_id]
        prompt = [] if request.prompt is None else [f"--prompt={request.prompt}"]
        return [*words, *request.extra_args, *prompt]

    def resume_argv(self, *, session_id: str | None, prompt: str | None) -> list[str]:
        if session_id is not None:
            return [find_program(self.name), "--session", session_id]
        return [find_program(self.name), *([] if prompt is None else [f"--prompt={prompt}"])]

    def variables(self, request: SpawnRequest) -> dict[str, str]:
        if not request.allowed:
            return {}
        import json

        # The last rule that fits decides, and these come after those of the preset; so what that
        # denies for good is denied again, in other letters.
        rules = {**dict.fromkeys(request.allowed, "allow"), **dict.fromkeys(_DENIED, "deny")}
        return {_CONFIG: json.dumps({"agent": {_AGENT: {"permission": {"bash": rules}}}})}

    def new_session_id(self, _extra_args: tuple[str, ...]) -> str | None:
        return None
