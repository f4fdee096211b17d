"""Fixtures of the tests within one process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cafleet.agents.cues import cues_for
from tests.harness.registry import conn, database_at_head, registry

__all__ = ["conn", "database_at_head", "registry"]


@pytest.fixture(scope="module")
def no_cues_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The judge has the shipped cues alone."""
    cues_for.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield
    cues_for.cache_clear()
