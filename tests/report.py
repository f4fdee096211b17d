"""A pytest plugin, loaded by pyproject.toml: what the run stands on, and how Hypothesis draws."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess

import pytest
from hypothesis import settings

# A deadline on a busy machine fails tests that are right. CI draws the same examples each time.
settings.register_profile("cafleet", deadline=None, derandomize="CI" in os.environ)
# Hypothesis looks for the profile of its option before a test is imported.
settings.register_profile("long", max_examples=1000, stateful_step_count=80, deadline=None)
settings.load_profile("cafleet")

# The program leaves a signal that is ignored, under nohup perhaps, ignored; its tests send it.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_LONGEST = (
    "test_field_cases_crashes",
    "test_field_cases_spawn",
    "test_loop_",
    "test_delivery_soak",
    "test_killed_",
    "test_message_soak",
    "test_disks",
    "test_resuming",
    "test_demo",
    "test_page_",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no worker is left alone with it at the end.

    All tests in the browser are for one worker, so they come first of all.
    """
    items.sort(
        key=lambda item: (
            item.get_closest_marker("xdist_group") is None,
            not item.path.name.startswith(_LONGEST),
        )
    )


def pytest_report_header() -> str:
    return f"SQLite {sqlite3.sqlite_version}, {_tmux_version()}"


def _tmux_version() -> str:
    program = shutil.which("tmux")
    if program is None:
        return "no tmux"
    answer = subprocess.run([program, "-V"], capture_output=True, text=True, check=True, timeout=5)
    return answer.stdout.strip()
