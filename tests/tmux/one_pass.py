"""One pass of a courier in a process of its own, for tests that break it off: database, members.

What an earlier one has left half typed is settled by a pass of its own before.
"""

from __future__ import annotations

import sys
from contextlib import closing

from cafleet.broker import deliveries
from cafleet.courier.delivery_pass import Pass
from cafleet.records import DeliveryState
from cafleet.store.guard import open_database

if __name__ == "__main__":
    member_ids = [int(member_id) for member_id in sys.argv[2:]]
    with closing(open_database(sys.argv[1])) as conn:
        owed = deliveries.owed(conn, member_ids=member_ids)
        if any(row.delivery_state is DeliveryState.TYPED for row in owed):
            Pass(conn).run(member_ids)
        Pass(conn).run(member_ids)
