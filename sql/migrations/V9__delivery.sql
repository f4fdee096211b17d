-- How a notice reaches a pane, and what is known of it.
-- Cost: one pass over messages, and what stands at each part; empty tables otherwise.

-- What became of the notice of each message. Old messages are never typed: what has no
-- recipient to tell becomes `none`, all else counts as `seen`, which is also the default, so
-- that a row from a hand that does not know the column is not typed either.
-- Why no CHECK: the typed decode refuses unknown states by name, and a new state would
-- otherwise mean a rebuild of the largest table.
-- Cost: the column rewrites no row; the update reads messages once and rewrites summaries and
-- self-sends. With the indexes below some five seconds per million messages.
ALTER TABLE messages ADD COLUMN delivery_state TEXT NOT NULL DEFAULT 'seen';

UPDATE messages
SET delivery_state = 'none'
WHERE type = 'broadcast_summary' OR owner_member_id = from_member_id;

-- A sender may ask that its notice be put into the queue of a working agent.
-- Cost: none; a new column with a constant default rewrites no row.
ALTER TABLE messages ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0;

-- What is still owed, per recipient and oldest first.
-- Cost: an entry exists only while its notice is owed.
CREATE INDEX idx_messages_owed
ON messages (owner_member_id, message_id)
WHERE delivery_state IN ('queued', 'held', 'unreachable', 'typed');

-- The deliveries of one broadcast. Cost: one entry per delivery of a broadcast, none else.
CREATE INDEX idx_messages_origin
ON messages (origin_message_id)
WHERE type = 'unicast' AND origin_message_id IS NOT NULL;

-- One row per change of a delivery's state after its first. Never per attempt.
-- Cost: two or three short rows in the life of a delivery.
CREATE TABLE delivery_events (
    event_id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL REFERENCES messages (message_id) ON DELETE RESTRICT,
    at TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    evidence TEXT
);

-- The events of a delivery, oldest first. Cost: one entry per event.
CREATE INDEX idx_delivery_events_message ON delivery_events (message_id);

-- Who waits for whom, so that a circle of waits can be refused. A row counts only while the
-- lock file that it names is held, so a killed waiter leaves nothing that blocks. An awaited
-- member of null is whoever comes; the message, where there is one, is what the wait is about.
-- Cost: one row per waiting process and awaited member; all are read, so there is no index.
CREATE TABLE waits (
    wait_id INTEGER PRIMARY KEY,
    waiter_member_id INTEGER NOT NULL REFERENCES members (member_id) ON DELETE RESTRICT,
    awaited_member_id INTEGER REFERENCES members (member_id) ON DELETE RESTRICT,
    message_id INTEGER REFERENCES messages (message_id) ON DELETE RESTRICT,
    started_at TEXT NOT NULL,
    until_at TEXT NOT NULL,
    lock_file TEXT NOT NULL
);

-- The multiplexer server that holds the pane, so that any shell can reach it, and the last
-- look at the pane. Null in old rows: the server is then guessed, and the pane must be where
-- the row says it is.
-- Cost: none; new nullable columns rewrite no row.
ALTER TABLE member_placements ADD COLUMN mux_socket TEXT;

ALTER TABLE member_placements ADD COLUMN screen TEXT;

ALTER TABLE member_placements ADD COLUMN screen_at TEXT;

-- Whose pane is this? Asked once by each `fleet create`. Cost: one entry per placed member.
CREATE INDEX idx_member_placements_pane ON member_placements (mux_pane_id);

-- A loop that was stopped on purpose stays stopped.
-- Cost: none; a new nullable column rewrites no row.
ALTER TABLE monitor_runtime ADD COLUMN stopped_at TEXT;

-- The database's own random id. It stands in the tag of every pane that a fleet of this
-- database owns, since pane ids are handed out again and member ids are small numbers.
-- Cost: one row.
CREATE TABLE database_identity (
    singleton INTEGER PRIMARY KEY CONSTRAINT database_identity_is_single CHECK (singleton = 1),
    database_id TEXT NOT NULL
);

INSERT INTO database_identity (singleton, database_id) VALUES (1, lower(hex(randomblob(16))));
