-- name: insert_wait(waiter_member_id, awaited_member_id, message_id, now, until_at, lock_file)$
-- Note that a process waits for a member, in the transaction that has found no circle.
-- params: waiter_member_id int, awaited_member_id int | None, message_id int | None, now str, until_at str, lock_file str
-- returns: int
INSERT INTO waits (
    waiter_member_id,
    awaited_member_id,
    message_id,
    started_at,
    until_at,
    lock_file
)
VALUES (
    :waiter_member_id,
    :awaited_member_id,
    :message_id,
    :now,
    :until_at,
    :lock_file
)
RETURNING wait_id;

-- name: list_waits()
-- Every wait on record, those of killed processes included.
-- returns: WaitRow
-- scan: waits (one row per waiting process)
SELECT
    waits.wait_id,
    waits.waiter_member_id,
    waits.awaited_member_id,
    waits.message_id,
    waits.until_at,
    waits.lock_file
FROM waits
ORDER BY waits.wait_id;

-- name: delete_wait(wait_id)!
-- A wait is over, or its process is.
-- params: wait_id int
-- plan: primary key
DELETE FROM waits
WHERE wait_id = :wait_id;

-- name: list_stored_waits(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = waits.wait_id, until_id int = waits.wait_id, limit int
-- returns: StoredWaitRow
-- plan: primary key
SELECT
    waits.wait_id,
    waits.waiter_member_id,
    waits.awaited_member_id,
    waits.message_id,
    waits.until_at,
    waits.lock_file,
    waits.started_at
FROM waits
WHERE waits.wait_id > :after_id AND waits.wait_id <= :until_id
ORDER BY waits.wait_id
LIMIT :limit;
