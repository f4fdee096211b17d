"""Fixtures of the tests of the page: a real browser, where there is one, at the real server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from tests.harness.web import WebServer

# Without the last three, Chromium asks for its maker's hosts at every start.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"

# As long as a busy machine may take; what is so at once is not waited for.
expect.set_options(timeout=20_000)

Profiles = Callable[..., BrowserContext]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless Chromium for all tests of a worker; without a Chromium they are skipped."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium on PATH; `make chromium` says how to get it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS])
        yield browser
        browser.close()


@pytest.fixture
def profile(browser: Browser, web: WebServer) -> Iterator[Profiles]:
    """Makes browser profiles whose addresses begin at the server; options are those of a context."""
    profiles: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        options.setdefault("base_url", f"http://127.0.0.1:{web.port}")
        profiles.append(browser.new_context(locale="en-GB", **options))
        return profiles[-1]

    yield make
    for each in profiles:
        each.close()


@pytest.fixture
def window(profile: Profiles) -> Iterator[Page]:
    """A window of a profile of its own. A script that fails in it fails the test."""
    faults: list[str] = []
    page = profile(viewport={"width": 1280, "height": 800}).new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.extend(_policy_faults(message)))
    yield page
    assert faults == []


def _policy_faults(message: ConsoleMessage) -> list[str]:
    """What the browser says of a broken Content-Security-Policy; a refused request is no fault."""
    return [message.text] if "Content Security Policy" in message.text else []


def keep(page: Page, name: str) -> None:
    """Keep a screenshot below build/screenshots, for people to look at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
