-- name: list_last_ids()
-- The largest id that each table has ever given out; a table is not there before its first.
-- returns: LastIdRow
-- scan: sqlite_sequence (a row for each of the three tables that give out ids)
-- sort: three rows
SELECT
    sqlite_sequence.name,
    sqlite_sequence.seq
FROM sqlite_sequence
ORDER BY sqlite_sequence.name;

-- name: set_last_id(name, last_id)!
-- Have a table give out no id up to this one any more.
-- params: name str, last_id int = sqlite_sequence.seq
-- scan: sqlite_sequence (a row for each of the three tables that give out ids)
UPDATE sqlite_sequence
SET seq = :last_id
WHERE name = :name AND seq < :last_id;
