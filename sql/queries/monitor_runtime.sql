-- name: get_monitor_runtime(fleet_id)^
-- What is known of a fleet's courier; no row when it never ran.
-- params: fleet_id int
-- returns: MonitorRuntimeRow
-- plan: primary key
SELECT
    monitor_runtime.fleet_id,
    monitor_runtime.pid,
    monitor_runtime.started_at,
    monitor_runtime.last_tick_at,
    monitor_runtime.tick_seconds,
    monitor_runtime.last_wake_at,
    monitor_runtime.wake_interval_seconds,
    monitor_runtime.wake_requested_at,
    monitor_runtime.stopped_at,
    monitor_runtime.wake_attempted_at,
    monitor_runtime.wake_attempts,
    monitor_runtime.wake_outcome,
    monitor_runtime.wake_reason
FROM monitor_runtime
WHERE monitor_runtime.fleet_id = :fleet_id;

-- name: upsert_monitor_claim(fleet_id, pid, now, tick_seconds, wake_interval_seconds)!
-- Take the courier of a fleet. The last wake is kept; a pending request and a stop end with it.
-- params: fleet_id int, pid int, now str, tick_seconds int, wake_interval_seconds int
INSERT INTO monitor_runtime (
    fleet_id,
    pid,
    started_at,
    last_tick_at,
    tick_seconds,
    wake_interval_seconds
)
VALUES (:fleet_id, :pid, :now, :now, :tick_seconds, :wake_interval_seconds)
ON CONFLICT (fleet_id) DO UPDATE
SET
    pid = excluded.pid,
    started_at = excluded.started_at,
    last_tick_at = excluded.last_tick_at,
    tick_seconds = excluded.tick_seconds,
    wake_interval_seconds = excluded.wake_interval_seconds,
    wake_requested_at = NULL,
    stopped_at = NULL;

-- name: set_monitor_heartbeat(fleet_id, pid, started_at, now)!
-- The courier is alive; 0 rows tell it that another has taken over. Why started_at: process ids are
-- given out again, and two namespaces have the same ones.
-- params: fleet_id int, pid int, started_at str, now str
-- plan: primary key
UPDATE monitor_runtime
SET last_tick_at = :now
WHERE fleet_id = :fleet_id AND pid = :pid AND started_at = :started_at;

-- name: set_monitor_unclaimed(fleet_id, pid, started_at)!
-- The courier ends; only its owner may say so, and the rest of the row stays.
-- params: fleet_id int, pid int, started_at str
-- plan: primary key
UPDATE monitor_runtime
SET pid = NULL, started_at = NULL, last_tick_at = NULL
WHERE fleet_id = :fleet_id AND pid = :pid AND started_at = :started_at;

-- name: set_monitor_wake_landed(member_id, attempted_at, now)!
-- A wake went out and was seen to be submitted, which answers the request for one.
-- params: member_id int = members.member_id, attempted_at str = monitor_runtime.wake_attempted_at, now str
-- plan: primary key
UPDATE monitor_runtime
SET
    last_wake_at = :now,
    wake_requested_at = NULL,
    wake_attempted_at = :attempted_at,
    wake_attempts = 0,
    wake_outcome = 'landed',
    wake_reason = NULL
WHERE
    fleet_id = (
        SELECT members.fleet_id
        FROM members
        WHERE members.member_id = :member_id
    );

-- name: set_monitor_wake_unproven(member_id, attempted_at, reason)!
-- A wake was typed and nothing proves that it was submitted. It answers the request for one, and
-- is one more try in a row.
-- params: member_id int = members.member_id, attempted_at str = monitor_runtime.wake_attempted_at, reason str = monitor_runtime.wake_reason
-- plan: primary key
UPDATE monitor_runtime
SET
    wake_requested_at = NULL,
    wake_attempted_at = :attempted_at,
    wake_attempts = wake_attempts + 1,
    wake_outcome = 'unproven',
    wake_reason = :reason
WHERE
    fleet_id = (
        SELECT members.fleet_id
        FROM members
        WHERE members.member_id = :member_id
    );

-- name: set_monitor_wake_waiting(fleet_id, reason)!
-- A wake is due and was not typed; 0 rows where that is known already.
-- params: fleet_id int, reason str = monitor_runtime.wake_reason
-- plan: primary key
UPDATE monitor_runtime
SET wake_outcome = 'waiting', wake_reason = :reason
WHERE fleet_id = :fleet_id AND (wake_outcome IS NOT 'waiting' OR wake_reason IS NOT :reason);

-- name: set_monitor_interval(fleet_id, wake_interval_seconds)!
-- Seconds between wakes, 0 for none; 0 rows when the courier never ran.
-- params: fleet_id int, wake_interval_seconds int
-- plan: primary key
UPDATE monitor_runtime
SET wake_interval_seconds = :wake_interval_seconds
WHERE fleet_id = :fleet_id;

-- name: set_monitor_wake_request(fleet_id, now)!
-- Ask for a wake now; a second request before the wake changes only its time.
-- params: fleet_id int, now str
-- plan: primary key
UPDATE monitor_runtime
SET wake_requested_at = :now
WHERE fleet_id = :fleet_id;

-- name: delete_monitor_runtime(fleet_id)!
-- A deleted fleet has no courier.
-- params: fleet_id int
-- plan: primary key
DELETE FROM monitor_runtime
WHERE fleet_id = :fleet_id;

-- name: upsert_monitor_stop(fleet_id, now)!
-- Ask the courier to end, and keep others from starting one until it is run by hand.
-- params: fleet_id int, now str
INSERT INTO monitor_runtime (fleet_id, stopped_at)
VALUES (:fleet_id, :now)
ON CONFLICT (fleet_id) DO UPDATE
SET stopped_at = excluded.stopped_at;

-- name: list_stored_monitor_runtime(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = monitor_runtime.fleet_id, until_id int = monitor_runtime.fleet_id, limit int
-- returns: MonitorRuntimeRow
-- plan: primary key
SELECT
    monitor_runtime.fleet_id,
    monitor_runtime.pid,
    monitor_runtime.started_at,
    monitor_runtime.last_tick_at,
    monitor_runtime.tick_seconds,
    monitor_runtime.last_wake_at,
    monitor_runtime.wake_interval_seconds,
    monitor_runtime.wake_requested_at,
    monitor_runtime.stopped_at,
    monitor_runtime.wake_attempted_at,
    monitor_runtime.wake_attempts,
    monitor_runtime.wake_outcome,
    monitor_runtime.wake_reason
FROM monitor_runtime
WHERE monitor_runtime.fleet_id > :after_id AND monitor_runtime.fleet_id <= :until_id
ORDER BY monitor_runtime.fleet_id
LIMIT :limit;

-- name: list_monitor_runtime_faults(after_id, until_id)
-- The loops among these fleets whose claim is there by halves: what makes and clears it takes all.
-- params: after_id int = monitor_runtime.fleet_id, until_id int = monitor_runtime.fleet_id
-- returns: RuntimeFaultRow
-- plan: primary key
SELECT
    monitor_runtime.fleet_id,
    'has half of a claim' AS fault
FROM monitor_runtime
WHERE
    monitor_runtime.fleet_id > :after_id
    AND monitor_runtime.fleet_id <= :until_id
    AND (
        (monitor_runtime.pid IS NULL) <> (monitor_runtime.started_at IS NULL)
        OR (monitor_runtime.pid IS NULL) <> (monitor_runtime.last_tick_at IS NULL)
    )
ORDER BY monitor_runtime.fleet_id;
