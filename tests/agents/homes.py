"""A home for the real agents: configured, trusting its work folder, with the stand-in as model."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

INSTALLED = Path(__file__).parents[2] / ".agents/node_modules/.bin"
_PROVIDER = "stand-in"


def is_installed(agent: str) -> bool:
    return (INSTALLED / agent).exists()


def furnish(home: Path, work: Path, model_url: str, *, asking: bool = True) -> dict[str, str]:
    """Write the agents' configurations into ``home``; the variables that they need beside it.

    They say which model there is and that ``work`` is trusted; ``asking`` adds that opencode may ask
    its user something, which otherwise it never does.
    """
    _claude(home, work)
    _codex(home, work, model_url)
    _opencode(home, model_url, asking=asking)
    node = shutil.which("node")
    folders = [str(INSTALLED), *([os.path.dirname(node)] if node else [])]
    return {
        "PATH": ":".join(folders),
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_AUTH_TOKEN": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


def _claude(home: Path, work: Path) -> None:
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "projects": {str(work): trusted},
    }
    (home / ".claude.json").write_text(json.dumps(settings), encoding="utf-8")


def _codex(home: Path, work: Path, model_url: str) -> None:
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f"""\
model = "{_PROVIDER}"
model_provider = "{_PROVIDER}"
check_for_update_on_startup = false

[model_providers.{_PROVIDER}]
name = "{_PROVIDER}"
base_url = "{model_url}/v1"
wire_api = "responses"

[projects."{work}"]
trust_level = "trusted"
""",
        encoding="utf-8",
    )


def _opencode(home: Path, model_url: str, *, asking: bool) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{model_url}/v1", "apiKey": "none"},
        "models": {_PROVIDER: {"name": _PROVIDER}},
    }
    settings: dict[str, Any] = {
        "provider": {_PROVIDER: provider},
        "model": f"{_PROVIDER}/{_PROVIDER}",
        "autoupdate": False,
        "share": "disabled",
    }
    if asking:
        # The preset says nothing of these.
        settings["permission"] = {"question": "allow", "webfetch": "ask"}
    folder = home / ".config/opencode"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "opencode.json").write_text(json.dumps(settings), encoding="utf-8")
