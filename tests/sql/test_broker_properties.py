"""Properties of the registry: any text survives it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.broker import messages
from cafleet.store.connection import connect
from tests.harness.registry import NOW, Registry


@given(text=st.text(st.characters(blacklist_categories=("Cs",))))
def test_any_text_comes_back_as_it_was_sent(talking_pair: sqlite3.Connection, text: str) -> None:
    sent = messages.send(talking_pair, sender_id=2, recipient_id=1, text=text, now=NOW)
    assert sent.text == text
    assert messages.get(talking_pair, message_id=sent.message_id).text == text
    assert messages.poll(talking_pair, member_id=1)[0].text == text
    messages.ack(talking_pair, message_id=sent.message_id, now=NOW)


@pytest.fixture(scope="module")
def talking_pair(
    tmp_path_factory: pytest.TempPathFactory, database_at_head: Path
) -> Iterator[sqlite3.Connection]:
    """A registry of Director 1 and monitor 2, kept for all examples of the module."""
    path = tmp_path_factory.mktemp("pair") / "fleet.db"
    path.write_bytes(database_at_head.read_bytes())
    Registry(path).crew()
    with closing(connect(str(path))) as conn:
        yield conn


@pytest.mark.parametrize("text", ["\0", "a\0b", "\U0010ffff", "\ufffe\uffff", "\ud7ff\ue000"])
def test_the_ends_of_unicode_survive(talking_pair: sqlite3.Connection, text: str) -> None:
    sent = messages.send(talking_pair, sender_id=2, recipient_id=1, text=text, now=NOW)
    assert messages.get(talking_pair, message_id=sent.message_id).text == text
