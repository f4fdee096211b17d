-- The first message that a person has submitted in a session of opencode, a row for each of its parts.
-- Index: message_session_time_created_id_idx, part_message_id_id_idx (both opencode's own).
WITH opening AS (
    SELECT
        message.id,
        message.time_created,
        message.data
    FROM message
    WHERE message.session_id = :session_id AND json_extract(message.data, '$.role') = 'user'
    ORDER BY message.time_created, message.id
    LIMIT 1
)

SELECT
    opening.id,
    opening.time_created,
    opening.data,
    part.data AS part_data
FROM opening
LEFT JOIN part ON opening.id = part.message_id
ORDER BY part.id;
