-- name: list_alembic_revisions()
-- The schema that a database of the published Python program is at: one row, by its own account.
-- returns: AlembicRevisionRow
-- plan: primary key
-- scan: alembic_version (one row, read by setup and by what says what a database is)
SELECT alembic_version.version_num
FROM alembic_version
ORDER BY alembic_version.version_num;
