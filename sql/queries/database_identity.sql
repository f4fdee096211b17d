-- name: get_database_id()$
-- The random id of this database, which stands in the tags of its panes.
-- returns: str | None
-- plan: primary key
SELECT database_identity.database_id
FROM database_identity
WHERE database_identity.singleton = 1;
