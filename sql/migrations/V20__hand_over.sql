-- What a member that leaves hands over to another.

-- The delivery that this one repeats for the successor of its owner; null for all others.
-- Why no foreign key: as with origin_message_id, an import may lack the older row.
-- Cost: none; a new column without a default rewrites no row.
ALTER TABLE messages ADD COLUMN forwarded_from INTEGER;

-- Where a delivery went. Cost: an entry per delivery that was handed over, none else.
CREATE INDEX idx_messages_forwarded
ON messages (forwarded_from)
WHERE forwarded_from IS NOT NULL;

-- The member that took over the open messages of one that left; null where nobody did.
-- Cost: none; a new column without a default rewrites no row.
ALTER TABLE members ADD COLUMN successor_member_id INTEGER;
