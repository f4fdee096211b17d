-- name: list_fleets()
-- The living fleets, newest first, each with the number of its active members.
-- returns: FleetSummaryRow
-- plan: idx_members_fleet_status
-- scan: fleets (fleets are few, and all living ones are asked for)
-- sort: by creation, over the few living fleets
SELECT
    fleets.fleet_id,
    fleets.director_member_id,
    fleets.name,
    fleets.created_at,
    (
        SELECT count(*)
        FROM members
        WHERE members.fleet_id = fleets.fleet_id AND members.status = 'active'
    ) AS member_count
FROM fleets
WHERE fleets.deleted_at IS NULL
ORDER BY fleets.created_at DESC, fleets.fleet_id DESC;

-- name: get_fleet(fleet_id)^
-- One fleet, deleted or not.
-- params: fleet_id int
-- returns: FleetRow
-- plan: primary key
SELECT
    fleets.fleet_id,
    fleets.name,
    fleets.created_at,
    fleets.deleted_at,
    fleets.director_member_id,
    fleets.paused_at
FROM fleets
WHERE fleets.fleet_id = :fleet_id;

-- name: insert_fleet(name, now)$
-- A new fleet, without its Director until that has an id.
-- params: name str, now str
-- returns: int
INSERT INTO fleets (name, created_at)
VALUES (:name, :now)
RETURNING fleet_id;

-- name: insert_fleet_as(fleet_id, name, now)!
-- A new fleet under the id that was reserved for it.
-- params: fleet_id int, name str, now str
INSERT INTO fleets (fleet_id, name, created_at)
VALUES (:fleet_id, :name, :now);

-- name: delete_fleet(fleet_id)!
-- Take a fleet back in the transaction that made it: its id alone was wanted.
-- params: fleet_id int
-- plan: primary key
DELETE FROM fleets
WHERE fleet_id = :fleet_id;

-- name: set_fleet_director(fleet_id, director_member_id)!
-- Name the root Director, once, in the transaction that makes the fleet.
-- params: fleet_id int, director_member_id int
-- plan: primary key
UPDATE fleets
SET director_member_id = :director_member_id
WHERE fleet_id = :fleet_id AND director_member_id IS NULL;

-- name: mark_fleet_deleted(fleet_id, now)!
-- Soft-delete a fleet; 0 rows when it was deleted before.
-- params: fleet_id int, now str
-- plan: primary key
UPDATE fleets
SET deleted_at = :now
WHERE fleet_id = :fleet_id AND deleted_at IS NULL;

-- name: mark_fleet_paused(fleet_id, now)!
-- Pause a living fleet; 0 rows when it is paused already or deleted.
-- params: fleet_id int, now str
-- plan: primary key
UPDATE fleets
SET paused_at = :now
WHERE fleet_id = :fleet_id AND paused_at IS NULL AND deleted_at IS NULL;

-- name: mark_fleet_resumed(fleet_id)!
-- End the pause of a fleet; 0 rows when it is not paused.
-- params: fleet_id int
-- plan: primary key
UPDATE fleets
SET paused_at = NULL
WHERE fleet_id = :fleet_id AND paused_at IS NOT NULL;

-- name: list_stored_fleets(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = fleets.fleet_id, until_id int = fleets.fleet_id, limit int
-- returns: FleetRow
-- plan: primary key
SELECT
    fleets.fleet_id,
    fleets.name,
    fleets.created_at,
    fleets.deleted_at,
    fleets.director_member_id,
    fleets.paused_at
FROM fleets
WHERE fleets.fleet_id > :after_id AND fleets.fleet_id <= :until_id
ORDER BY fleets.fleet_id
LIMIT :limit;

-- name: list_fleet_faults(after_id, until_id)
-- The fleets among these ids that break a rule, each with the first one that it breaks.
-- params: after_id int = fleets.fleet_id, until_id int = fleets.fleet_id
-- returns: FleetFaultRow
-- plan: idx_members_fleet_status, primary key
WITH judged AS (
    SELECT
        fleets.fleet_id,
        CASE
            WHEN fleets.director_member_id IS NULL THEN 'has no Director'
            WHEN directors.fleet_id <> fleets.fleet_id THEN 'has a Director of another fleet'
            WHEN fleets.deleted_at IS NULL AND directors.status = 'deregistered'
                THEN 'is not deleted, and its Director is deregistered'
            WHEN
                fleets.deleted_at IS NOT NULL
                AND EXISTS (
                    SELECT 1
                    FROM members
                    WHERE members.fleet_id = fleets.fleet_id AND members.status = 'active'
                )
                THEN 'is deleted and has active members'
        END AS fault
    FROM fleets
    LEFT JOIN members AS directors ON fleets.director_member_id = directors.member_id
    WHERE fleets.fleet_id > :after_id AND fleets.fleet_id <= :until_id
)

SELECT
    judged.fleet_id,
    judged.fault
FROM judged
WHERE judged.fault IS NOT NULL
ORDER BY judged.fleet_id;

-- name: list_predecessor_fleets()
-- Every fleet of a database of the published Python program, whose table has these columns.
-- returns: PredecessorFleetRow
-- scan: fleets (read once along the primary key, to import them)
SELECT
    fleets.fleet_id,
    fleets.name,
    fleets.created_at,
    fleets.deleted_at,
    fleets.director_member_id
FROM fleets
ORDER BY fleets.fleet_id;

-- name: insert_imported_fleet(fleet_id, name, created_at, deleted_at)!
-- A fleet with the id that it gets here, without its Director until that is here too.
-- params: fleet_id int, name str | None, created_at str, deleted_at str | None
INSERT INTO fleets (fleet_id, name, created_at, deleted_at)
VALUES (:fleet_id, :name, :created_at, :deleted_at);
