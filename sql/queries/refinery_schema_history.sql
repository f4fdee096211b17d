-- name: list_published_versions()
-- The schema versions that the published predecessor has applied, by its own account.
-- returns: PublishedVersionRow
-- plan: primary key
-- scan: refinery_schema_history (at most eight rows, read once in the life of a database)
SELECT refinery_schema_history.version
FROM refinery_schema_history
ORDER BY refinery_schema_history.version;
