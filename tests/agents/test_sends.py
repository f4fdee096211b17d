"""Many sends to a real agent, senders and couriers killed at random."""

from __future__ import annotations

import os
import random
import re
import time

import pytest

from cafleet.records import ScreenState
from tests.agents.stage import Member, Stage
from tests.harness.loops import kill_loops

pytestmark = pytest.mark.agents

SENDS = int(os.environ.get("AGENT_SENDS", "5"))
# From the start of a send to the end of its proof, with time to spare.
LONGEST_SECONDS = 5.0
SEED = 20


def test_nothing_is_lost_and_nothing_typed_twice(stage: Stage, member: Member) -> None:
    chance = random.Random(SEED)
    before = len(stage.turns(member))
    for number in range(SENDS):
        process = stage.start_send(member, f"number {number}")
        if chance.random() < 0.25:
            time.sleep(chance.uniform(0.0, LONGEST_SECONDS))
            process.kill()
            process.communicate()
        else:
            stage.cafleet.finish(process)
        if chance.random() < 0.25:
            # In the middle of a pass or not; the next sender starts another.
            time.sleep(chance.uniform(0.0, LONGEST_SECONDS))
            kill_loops(stage.work.parent)
        tidy(stage, member)
    while stage.owed(member):
        # Starts a courier where the last one was killed, for only that settles what was half typed.
        stage.send(member, "the last one")
        tidy(stage, member)
        time.sleep(1.0)
    stage.wait_for_rest(member)
    told = "\n".join(stage.turns(member)[before:])
    rows = stage.database.rows(
        "SELECT message_id, created_at, text, delivery_state FROM messages"
        " WHERE owner_member_id = ? AND (text LIKE 'number %' OR text = 'the last one')",
        member.member_id,
    )
    counts = dict.fromkeys(("submitted", "unsure"), 0)
    unnamed = 0
    for message_id, created_at, text, state in rows:
        times = told.count(f"{stage.head(member, message_id, created_at)}\n{text}")
        life = stage.cafleet.run("message", "why", str(message_id)).stdout
        assert times in {0, 1}, (life, told[-20_000:])
        unnamed += state == "submitted" and times == 0
        counts[state] += 1
    # Of many at once a payload tells the newest, and how many there were before.
    assert unnamed == sum(
        map(int, re.findall(r"^\[cafleet\] (\d+) older message", told, re.MULTILINE))
    ), told
    print(f"{stage.agent}: {SENDS} sends, {len(rows)} stored, {counts}")
    assert len(re.findall(r"\[cafleet msg ", told)) <= len(rows)
    assert counts["submitted"] > counts["unsure"], counts


def tidy(stage: Stage, member: Member) -> None:
    """Clear, as a person would, a paste whose sender died and that no later pass can know again."""
    if stage.look(member).state is not ScreenState.DRAFT or "typed" in stage.owed(member):
        return
    stage.keys(member, "C-u", "BSpace", "BSpace")
    stage.wait_for_rest(member)
