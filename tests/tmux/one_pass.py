"""One pass of a courier in a process of its own, for tests that break it off: database, members."""

from __future__ import annotations

import sys
from contextlib import closing

from cafleet.courier.delivery_pass import Pass
from cafleet.store.guard import open_database

if __name__ == "__main__":
    with closing(open_database(sys.argv[1])) as conn:
        Pass(conn).run([int(member_id) for member_id in sys.argv[2:]])
