-- What the program is typing into panes, written down before the first byte.
-- Why: whoever is killed between the paste and the Enter leaves a text in a composer. The next
-- process knows from here what that text is, and can finish it or give it up.

-- The last text that was typed into a member's pane, while it may still stand there. A text that
-- was submitted, was never pasted or is known to be gone has no row: the text of a prompt is a
-- person's, and nothing needs it any longer.
-- `marker` is what only this text can have put into a transcript, its parts on a line each.
-- `token` is written on the pane by the call that pastes. `picture` is the digest of the last
-- picture before the paste or, of an unsure text, before it was given up.
-- Why no CHECK: the typed decode refuses unknown kinds and states by name, and later kinds would
-- mean a rebuild of the table.
-- Cost: an empty table; one row per member at most, written and deleted once per typing.
CREATE TABLE typings (
    member_id INTEGER PRIMARY KEY REFERENCES members (member_id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    marker TEXT,
    mux_pane_id TEXT NOT NULL,
    program TEXT NOT NULL,
    token TEXT NOT NULL,
    typed_at TEXT NOT NULL,
    enters INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL,
    evidence TEXT,
    settled_at TEXT,
    picture TEXT
);

-- The messages that a typing tells of; they are settled with it.
-- Cost: an empty table; a row per message while the notice of it is being typed or may stand.
CREATE TABLE typing_messages (
    message_id INTEGER PRIMARY KEY REFERENCES messages (message_id) ON DELETE CASCADE,
    member_id INTEGER NOT NULL REFERENCES typings (member_id) ON DELETE CASCADE
);

-- The messages of one typing. Cost: one entry per row of a small table.
CREATE INDEX idx_typing_messages_member ON typing_messages (member_id);

-- The last try to wake a fleet's monitor: when it was, how many tries in a row did not land, and
-- what became of it. A try without proof is not repeated before its time.
-- Cost: none; new columns with a constant default rewrite no row.
ALTER TABLE monitor_runtime ADD COLUMN wake_attempted_at TEXT;

ALTER TABLE monitor_runtime ADD COLUMN wake_attempts INTEGER NOT NULL DEFAULT 0;

ALTER TABLE monitor_runtime ADD COLUMN wake_outcome TEXT;

ALTER TABLE monitor_runtime ADD COLUMN wake_reason TEXT;
