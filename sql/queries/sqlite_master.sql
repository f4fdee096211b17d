-- name: list_schema_objects()
-- Every table and index with the statement that made it; SQLite's own are left out.
-- returns: SchemaObjectRow
-- scan: sqlite_master (the catalogue itself, read by setup and by the developers' tools)
-- sort: a few dozen objects
SELECT
    sqlite_master.type,
    sqlite_master.name,
    sqlite_master.tbl_name,
    sqlite_master.sql
FROM sqlite_master
WHERE sqlite_master.sql IS NOT NULL AND sqlite_master.name NOT LIKE 'sqlite#_%' ESCAPE '#'
ORDER BY sqlite_master.type DESC, sqlite_master.name ASC;
