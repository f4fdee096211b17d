-- A Director is not watched by the monitor, so its configuration goes.
-- Cost: one small table read once.
DELETE FROM monitor_config
WHERE member_id IN (SELECT fleets.director_member_id FROM fleets);
