-- The members of a fleet whose creation has not been committed. A pane is told its member id before
-- that commit, so the id is reserved first and is never given out again, whatever becomes of the
-- creation. A pane that carries such an id was left by a creation that failed, and may be closed.
-- Why no foreign keys: neither the fleet nor the member has a row yet. A row goes in the
-- transaction that registers the member.
-- Cost: an empty table; later two rows per creation of a fleet that failed.
CREATE TABLE reserved_members (
    member_id INTEGER PRIMARY KEY,
    fleet_id INTEGER NOT NULL,
    is_director INTEGER NOT NULL,
    reserved_at TEXT NOT NULL
);

-- Cost: none to speak of, see the table.
CREATE INDEX idx_reserved_members_fleet ON reserved_members (fleet_id);
