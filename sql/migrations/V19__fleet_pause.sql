-- When a person paused the fleet; null while it is not paused. A paused fleet has no courier, and
-- `cafleet fleet resume` sets the column to null again.
-- Why on the fleet: a pause outlives the courier and tmux, also a restart of the machine.
-- Cost: none; a new column without a default rewrites no row.
ALTER TABLE fleets ADD COLUMN paused_at TEXT;
