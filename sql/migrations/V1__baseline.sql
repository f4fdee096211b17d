-- The baseline: the registry of fleets and members, and their messages.
-- Why members comes first: the two tables refer to each other, and SQLite resolves a
-- foreign key when it is used, so the forward reference to fleets is sound.
-- Why AUTOINCREMENT on three tables: their ids are shown to agents, which keep them in
-- their context for hours; an id must never come to mean something else.
-- Why no CHECK: what a column may hold is a closed list in the program, which names table,
-- column, value and row when it meets anything else.
-- Every time is UTC text `YYYY-MM-DDTHH:MM:SS.ffffff+00:00`, so text order is time order.
-- Cost: empty tables; every message keeps two index entries.

-- Who takes part, and who once did: `status` is `active` or `deregistered`, and a row is never
-- deleted. The card is JSON: name, description, skills, and the marker of a monitor.
CREATE TABLE members (
    member_id INTEGER PRIMARY KEY AUTOINCREMENT,
    fleet_id INTEGER NOT NULL REFERENCES fleets (fleet_id) ON DELETE RESTRICT,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL,
    registered_at TEXT NOT NULL,
    deregistered_at TEXT,
    member_card_json TEXT NOT NULL
);

-- A team with its own members. Deleting one sets `deleted_at`, the row stays. The Director is null
-- only inside the transaction that makes the fleet.
CREATE TABLE fleets (
    fleet_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT,
    created_at TEXT NOT NULL,
    deleted_at TEXT,
    director_member_id INTEGER REFERENCES members (member_id) ON DELETE RESTRICT
);

-- Which version of the program has installed skills and presets for a coding agent.
CREATE TABLE asset_installs (
    coding_agent TEXT PRIMARY KEY NOT NULL,
    cafleet_version TEXT NOT NULL,
    installed_at TEXT NOT NULL
);

-- Where an active member lives, in the words of its multiplexer. A pane id of null is a pane that
-- is about to be opened; no row is a member without a pane, such as one that has left.
CREATE TABLE member_placements (
    member_id INTEGER PRIMARY KEY REFERENCES members (member_id) ON DELETE CASCADE,
    mux_session TEXT NOT NULL,
    mux_window_id TEXT NOT NULL,
    mux_pane_id TEXT,
    backend TEXT NOT NULL DEFAULT 'tmux',
    coding_agent TEXT NOT NULL,
    created_at TEXT NOT NULL
);

-- How often a member is looked after. Gone with V4.
CREATE TABLE monitor_config (
    member_id INTEGER PRIMARY KEY REFERENCES members (member_id) ON DELETE CASCADE,
    interval_seconds INTEGER NOT NULL DEFAULT 60,
    last_ping_at TEXT,
    enabled INTEGER NOT NULL DEFAULT 1,
    last_stall_check_at TEXT
);

-- The process that runs a fleet's monitor loop, and its last sign of life. No row: it never ran.
CREATE TABLE monitor_runtime (
    fleet_id INTEGER PRIMARY KEY REFERENCES fleets (fleet_id) ON DELETE RESTRICT,
    pid INTEGER,
    started_at TEXT,
    last_tick_at TEXT,
    tick_seconds INTEGER NOT NULL DEFAULT 5
);

-- Every message, one row per recipient, and one that sums up a broadcast (`type` is `unicast` or
-- `broadcast_summary`). The owner is the recipient, or the broadcaster of a summary. It goes from
-- `input_required` to `completed` once, by its acknowledgement; nothing else changes and no row is
-- deleted.
-- Why sender, recipient and origin are no foreign keys: history outlives its senders.
CREATE TABLE messages (
    message_id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_member_id INTEGER NOT NULL REFERENCES members (member_id) ON DELETE RESTRICT,
    from_member_id INTEGER NOT NULL,
    to_member_id INTEGER,
    type TEXT NOT NULL,
    created_at TEXT NOT NULL,
    status_state TEXT NOT NULL,
    status_timestamp TEXT NOT NULL,
    origin_message_id INTEGER,
    text TEXT NOT NULL
);

-- The active members of a fleet, in the order of their ids.
CREATE INDEX idx_members_fleet_status ON members (fleet_id, status);

-- The inbox of a member, newest first; the timeline of a fleet merges these.
CREATE INDEX idx_messages_owner_member_status_ts
ON messages (owner_member_id, status_timestamp);

-- What a member has sent, newest first.
CREATE INDEX idx_messages_from_member_status_ts
ON messages (from_member_id, status_timestamp);
