-- The sessions that opencode began in a folder and that were used last, sub-agents' sessions apart.
-- Cost: a scan of `session`, which has one row for each conversation and no index on its folder.
SELECT session.id
FROM session
WHERE session.directory = :folder AND session.parent_id IS NULL
ORDER BY session.time_updated DESC, session.id DESC
LIMIT 20;
