-- What the roster, the poll and the wake ask of the messages, answered from indexes alone.
-- Why: with a million messages the roster took 2 s without them, since the latest message of
-- each member was found by reading all of that member's messages.
-- Cost: a delivery writes three more index entries when it is sent, two when it is acknowledged.
-- Building them takes some five seconds per million messages.

-- What a member has not acknowledged, in the order of a poll.
CREATE INDEX idx_messages_pending
ON messages (owner_member_id, status_timestamp)
WHERE status_state = 'input_required';

-- The latest message that a member sent.
CREATE INDEX idx_messages_sent ON messages (from_member_id, created_at);

-- The latest delivery that a member received.
CREATE INDEX idx_messages_received
ON messages (owner_member_id, created_at)
WHERE type = 'unicast';

-- The latest acknowledgement of a member.
CREATE INDEX idx_messages_ack
ON messages (owner_member_id, status_timestamp)
WHERE type = 'unicast' AND status_state = 'completed';
