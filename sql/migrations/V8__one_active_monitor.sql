-- At most one active monitor per fleet, held by the database itself.
-- Whoever looks up the active monitor repeats this very predicate, and so finds it by this
-- index alone.
-- Cost: one entry per fleet; each write of a member's fleet, status or card evaluates the
-- predicate. An active member whose card is not JSON, and a fleet with two active monitors,
-- stop this step: the driver names them.
CREATE UNIQUE INDEX idx_members_one_active_monitor_per_fleet
ON members (fleet_id)
WHERE status = 'active' AND json_extract(member_card_json, '$.cafleet.kind') = 'monitor';
