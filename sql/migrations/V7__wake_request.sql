-- Anyone may ask for a wake before it is due; the loop clears the request with the wake.
-- Cost: none; a new nullable column rewrites no row.
ALTER TABLE monitor_runtime ADD COLUMN wake_requested_at TEXT;
