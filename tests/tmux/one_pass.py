"""One pass of a courier in a process of its own, for tests that break it off: database, members.

What an earlier one has left half typed is settled by a pass of its own before.
"""

from __future__ import annotations

import sys
from contextlib import closing

from cafleet.broker import deliveries, members
from cafleet.courier.delivery_pass import Pass
from cafleet.store import Connection
from cafleet.store.guard import open_database


def one_pass(conn: Connection, member_ids: list[int]) -> bool:
    """Whether it was for what had been left half typed."""
    member = members.find(conn, member_id=member_ids[0])
    assert member is not None
    rows = deliveries.owing(conn, fleet_id=member.fleet_id)
    here = [row for row in rows if row.member_id in member_ids]
    Pass(conn).run(here)
    return any(row.typed for row in here)


if __name__ == "__main__":
    with closing(open_database(sys.argv[1])) as opened:
        ids = [int(member_id) for member_id in sys.argv[2:]]
        if one_pass(opened, ids):
            one_pass(opened, ids)
