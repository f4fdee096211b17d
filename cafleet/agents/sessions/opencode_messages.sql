-- The newest messages of a session of opencode with their parts, oldest first.
-- Index: message_session_time_created_id_idx, part_message_id_id_idx (both opencode's own).
WITH newest AS (
    SELECT
        message.id,
        message.time_created,
        message.data
    FROM message
    WHERE message.session_id = :session_id
    ORDER BY message.time_created DESC, message.id DESC
    LIMIT 100
)

SELECT
    newest.id,
    newest.time_created,
    newest.data,
    part.data AS part_data
FROM newest
LEFT JOIN part ON newest.id = part.message_id
ORDER BY newest.time_created, newest.id, part.id;
