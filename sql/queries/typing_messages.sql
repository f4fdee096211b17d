-- name: insert_typing_messages(member_id, message_ids)!
-- The messages of which the text that is about to be pasted into a member's pane tells.
-- params: member_id int, message_ids list[int]
INSERT INTO typing_messages (message_id, member_id)
SELECT
    asked.value AS message_id,
    :member_id AS member_id
FROM json_each(:message_ids) AS asked;

-- name: list_typing_messages(member_ids)
-- The messages of which the texts in some members' panes tell.
-- params: member_ids list[int]
-- returns: TypingMessageRow
-- plan: idx_typing_messages_member
-- sort: the messages of the few texts asked for
SELECT
    typing_messages.message_id,
    typing_messages.member_id
FROM json_each(:member_ids) AS asked
INNER JOIN typing_messages ON asked.value = typing_messages.member_id
ORDER BY typing_messages.message_id;

-- name: list_stored_typing_messages(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = typing_messages.message_id, until_id int = typing_messages.message_id, limit int
-- returns: TypingMessageRow
-- plan: primary key
SELECT
    typing_messages.message_id,
    typing_messages.member_id
FROM typing_messages
WHERE typing_messages.message_id > :after_id AND typing_messages.message_id <= :until_id
ORDER BY typing_messages.message_id
LIMIT :limit;
