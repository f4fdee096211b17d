-- Pages of a history, newest first, and what is unsure, found by an index.
-- Why: to show 200 messages of a box or of a fleet, its whole history was read and sorted: 45 ms at
-- 300,000 messages, and a fleet that had said little cost a pass over all messages of the database.
-- Cost: a delivery writes two more short index entries when it is sent, none when it changes. To
-- build them takes about a second per million messages.

-- The deliveries that a member owns, by id, which SQLite keeps at the end of every entry.
CREATE INDEX idx_messages_inbox
ON messages (owner_member_id)
WHERE type <> 'broadcast_summary';

-- The deliveries that a member has sent, by id.
CREATE INDEX idx_messages_outbox
ON messages (from_member_id)
WHERE type <> 'broadcast_summary';

-- What was typed and is not proved, per recipient. Cost: an entry exists only while it is so.
CREATE INDEX idx_messages_unsure
ON messages (owner_member_id)
WHERE delivery_state = 'unsure';
