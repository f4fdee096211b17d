-- Since when the looks at a pane have found the same state. A wake tells it to the monitor, and a
-- loop that was started anew could not know.
-- Cost: none; a new nullable column rewrites no row.
ALTER TABLE member_placements ADD COLUMN screen_since TEXT;
