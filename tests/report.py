"""A pytest plugin, loaded by pyproject.toml: what the run stands on, and how Hypothesis draws."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess

from hypothesis import settings

# A deadline on a busy machine fails tests that are right. CI draws the same examples each time.
settings.register_profile("cafleet", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("cafleet")


def pytest_report_header() -> str:
    return f"SQLite {sqlite3.sqlite_version}, {_tmux_version()}"


def _tmux_version() -> str:
    program = shutil.which("tmux")
    if program is None:
        return "no tmux"
    answer = subprocess.run([program, "-V"], capture_output=True, text=True, check=True, timeout=5)
    return answer.stdout.strip()
