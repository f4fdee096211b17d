-- name: get_ledger_extent()^
-- How many migrations were applied, the oldest and the newest: what the guard in front of every
-- command compares. They are gapless where the newest is as large as their number.
-- returns: LedgerExtentRow
-- scan: schema_migrations (one row per migration)
SELECT
    count(*) AS entries,
    min(schema_migrations.version) AS oldest,
    max(schema_migrations.version) AS newest
FROM schema_migrations;

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
