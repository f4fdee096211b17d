-- name: insert_reservation(member_id, fleet_id, is_director, now)!
-- Reserve the id of a member that is about to be told it.
-- params: member_id int, fleet_id int, is_director int, now str
INSERT INTO reserved_members (member_id, fleet_id, is_director, reserved_at)
VALUES (:member_id, :fleet_id, :is_director, :now);

-- name: find_reservation(member_id, fleet_id)^
-- The reservation of an id whose member was never registered, if there is one.
-- params: member_id int, fleet_id int
-- returns: ReservationRow
-- plan: primary key
SELECT
    reserved_members.member_id,
    reserved_members.fleet_id,
    reserved_members.is_director
FROM reserved_members
WHERE reserved_members.member_id = :member_id AND reserved_members.fleet_id = :fleet_id;

-- name: delete_reservations(fleet_id)!
-- The members of a new fleet are registered.
-- params: fleet_id int
-- plan: idx_reserved_members_fleet
DELETE FROM reserved_members
WHERE fleet_id = :fleet_id;

-- name: list_stored_reservations(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = reserved_members.member_id, until_id int = reserved_members.member_id, limit int
-- returns: StoredReservationRow
-- plan: primary key
SELECT
    reserved_members.member_id,
    reserved_members.fleet_id,
    reserved_members.is_director,
    reserved_members.reserved_at
FROM reserved_members
WHERE reserved_members.member_id > :after_id AND reserved_members.member_id <= :until_id
ORDER BY reserved_members.member_id
LIMIT :limit;
