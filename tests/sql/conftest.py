"""Fixtures of the tests of the database and of the broker."""

from __future__ import annotations

from tests.harness.registry import conn, database_at_head, registry

__all__ = ["conn", "database_at_head", "registry"]
