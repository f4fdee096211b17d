-- The wake interval is kept, so that it survives a restart of the loop.
-- Null means that no loop has claimed the row since this step; 0 means no scheduled wakes.
-- Cost: none; a new nullable column rewrites no row.
ALTER TABLE monitor_runtime ADD COLUMN wake_interval_seconds INTEGER;
