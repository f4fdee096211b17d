-- name: get_schema_version()$
-- The newest applied migration: what the guard in front of every command compares.
-- returns: int | None
-- scan: schema_migrations (backwards along the primary key, left after the first row)
SELECT schema_migrations.version
FROM schema_migrations
ORDER BY schema_migrations.version DESC
LIMIT 1;

-- name: list_applied_migrations()
-- Every applied migration, for the comparison of checksums.
-- returns: AppliedMigrationRow
-- scan: schema_migrations (one row per migration, read by setup alone)
SELECT
    schema_migrations.version,
    schema_migrations.file_name,
    schema_migrations.checksum,
    schema_migrations.applied_at
FROM schema_migrations
ORDER BY schema_migrations.version;

-- name: insert_applied_migration(version, file_name, checksum, now)!
-- Record a migration, in the transaction that applies it.
-- params: version int, file_name str, checksum str, now str
INSERT INTO schema_migrations (version, file_name, checksum, applied_at)
VALUES (:version, :file_name, :checksum, :now);
