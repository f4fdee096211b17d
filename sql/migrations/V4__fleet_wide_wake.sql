-- One wake per fleet takes the place of a configuration per member.
-- Cost: none to speak of; a new nullable column rewrites no row.
DROP TABLE monitor_config;

ALTER TABLE monitor_runtime ADD COLUMN last_wake_at TEXT;
