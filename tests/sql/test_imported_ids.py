"""Which ids imported rows get."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cafleet.broker.importing import Ids


@given(
    last=st.integers(0, 100),
    old=st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=9),
)
def test_each_row_gets_an_id_of_its_own_and_leaves_room_for_others(
    last: int, old: list[int]
) -> None:
    ids = Ids(last)
    ids.give(old)
    new = [ids.of(each) for each in old]
    assert len(set(new)) == len(new)
    assert all(last < each <= 2**53 + len(old) for each in new)
    assert all(ids.of(each) == each for each in old if last < each < 2**53)
