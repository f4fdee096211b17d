-- At most one active monitor per fleet, held by the database itself.
-- Whoever looks up the active monitor repeats this very predicate, so that both always mean the
-- same member. SQLite still reads it by idx_members_fleet_status, which two of its terms fit; this
-- index is here to refuse, not to find.
-- Cost: one entry per fleet; each write of a member's fleet, status or card evaluates the
-- predicate. An active member whose card is not JSON, and a fleet with two active monitors,
-- stop this step: the driver names them.
CREATE UNIQUE INDEX idx_members_one_active_monitor_per_fleet
ON members (fleet_id)
WHERE status = 'active' AND json_extract(member_card_json, '$.cafleet.kind') = 'monitor';
