-- name: get_member(member_id)^
-- One member, whatever its status, with its placement and its fleet's Director and deletion.
-- params: member_id int
-- returns: MemberRow
-- plan: primary key
SELECT
    members.member_id,
    members.fleet_id,
    members.name,
    members.description,
    members.status,
    members.registered_at,
    members.member_card_json,
    fleets.director_member_id,
    fleets.deleted_at AS fleet_deleted_at,
    member_placements.backend,
    member_placements.mux_socket,
    member_placements.mux_server_pid,
    member_placements.mux_session,
    member_placements.mux_window_id,
    member_placements.mux_pane_id,
    member_placements.coding_agent,
    member_placements.created_at AS placed_at
FROM members
INNER JOIN fleets ON members.fleet_id = fleets.fleet_id
LEFT JOIN member_placements ON members.member_id = member_placements.member_id
WHERE members.member_id = :member_id;

-- name: list_members_by_id(member_ids)
-- The members asked for, whatever their status, as get_member has each.
-- params: member_ids list[int]
-- returns: MemberRow
-- plan: primary key
-- sort: the members asked for
SELECT
    members.member_id,
    members.fleet_id,
    members.name,
    members.description,
    members.status,
    members.registered_at,
    members.member_card_json,
    fleets.director_member_id,
    fleets.deleted_at AS fleet_deleted_at,
    member_placements.backend,
    member_placements.mux_socket,
    member_placements.mux_server_pid,
    member_placements.mux_session,
    member_placements.mux_window_id,
    member_placements.mux_pane_id,
    member_placements.coding_agent,
    member_placements.created_at AS placed_at
FROM json_each(:member_ids) AS asked
INNER JOIN members ON asked.value = members.member_id
INNER JOIN fleets ON members.fleet_id = fleets.fleet_id
LEFT JOIN member_placements ON members.member_id = member_placements.member_id
ORDER BY members.member_id;

-- name: list_roster(fleet_id)
-- The web page's roster: active members, and deregistered ones that own a delivery or summary.
-- params: fleet_id int
-- returns: MemberRow
-- plan: idx_members_fleet_status, idx_messages_owner_member_status_ts, primary key
-- sort: the two statuses are merged by id, one entry per member of the fleet
SELECT
    members.member_id,
    members.fleet_id,
    members.name,
    members.description,
    members.status,
    members.registered_at,
    members.member_card_json,
    fleets.director_member_id,
    fleets.deleted_at AS fleet_deleted_at,
    member_placements.backend,
    member_placements.mux_socket,
    member_placements.mux_server_pid,
    member_placements.mux_session,
    member_placements.mux_window_id,
    member_placements.mux_pane_id,
    member_placements.coding_agent,
    member_placements.created_at AS placed_at
FROM members
INNER JOIN fleets ON members.fleet_id = fleets.fleet_id
LEFT JOIN member_placements ON members.member_id = member_placements.member_id
WHERE
    members.fleet_id = :fleet_id
    AND (
        members.status <> 'deregistered'
        OR EXISTS (
            SELECT 1
            FROM messages
            WHERE messages.owner_member_id = members.member_id
        )
    )
ORDER BY members.member_id;

-- name: list_active_members(fleet_id)
-- The active members of a fleet with their placements, in the order of their ids. A status that
-- nobody knows is among them, to be refused, not passed over.
-- params: fleet_id int
-- returns: MemberRow
-- plan: idx_members_fleet_status, primary key
-- sort: the index has a fleet's members by their status
SELECT
    members.member_id,
    members.fleet_id,
    members.name,
    members.description,
    members.status,
    members.registered_at,
    members.member_card_json,
    fleets.director_member_id,
    fleets.deleted_at AS fleet_deleted_at,
    member_placements.backend,
    member_placements.mux_socket,
    member_placements.mux_server_pid,
    member_placements.mux_session,
    member_placements.mux_window_id,
    member_placements.mux_pane_id,
    member_placements.coding_agent,
    member_placements.created_at AS placed_at
FROM members
INNER JOIN fleets ON members.fleet_id = fleets.fleet_id
LEFT JOIN member_placements ON members.member_id = member_placements.member_id
WHERE members.fleet_id = :fleet_id AND members.status <> 'deregistered'
ORDER BY members.member_id;

-- name: list_activity(fleet_id)
-- The active members of a fleet, each with its last sign of life in the messages, the last look
-- at its pane, its work tree, and the number of notices it is owed, of messages that it has not acknowledged, and of
-- notices that may not have reached it. An unknown status is not passed over either.
-- Cost: seven steps into indexes per member, however many messages there are.
-- params: fleet_id int
-- returns: ActivityRow
-- plan: idx_members_fleet_status, idx_messages_ack, idx_messages_owed, idx_messages_pending, idx_messages_received, idx_messages_sent, idx_messages_unsure, primary key
-- sort: the index has a fleet's members by their status
SELECT
    members.member_id,
    members.fleet_id,
    members.name,
    members.status,
    members.member_card_json,
    fleets.director_member_id,
    member_placements.backend,
    member_placements.mux_socket,
    member_placements.mux_server_pid,
    member_placements.mux_session,
    member_placements.mux_window_id,
    member_placements.mux_pane_id,
    member_placements.coding_agent,
    member_placements.created_at AS placed_at,
    member_placements.screen,
    member_placements.screen_at,
    member_launches.worktree,
    member_launches.branch,
    member_launches.base_commit,
    (
        SELECT max(messages.created_at)
        FROM messages
        WHERE messages.from_member_id = members.member_id
    ) AS last_sent,
    (
        SELECT max(messages.created_at)
        FROM messages
        WHERE messages.owner_member_id = members.member_id AND messages.type = 'unicast'
    ) AS last_recv,
    (
        SELECT max(messages.status_timestamp)
        FROM messages
        WHERE
            messages.owner_member_id = members.member_id
            AND messages.type = 'unicast'
            AND messages.status_state = 'completed'
    ) AS last_ack,
    (
        SELECT count(*)
        FROM messages
        WHERE
            messages.owner_member_id = members.member_id
            AND messages.delivery_state IN ('queued', 'held', 'unreachable', 'typed')
    ) AS owed,
    (
        SELECT count(*)
        FROM messages
        WHERE
            messages.owner_member_id = members.member_id
            AND messages.status_state <> 'completed'
    ) AS unacked,
    (
        SELECT count(*)
        FROM messages
        WHERE
            messages.owner_member_id = members.member_id
            AND messages.delivery_state = 'unsure'
    ) AS unsure
FROM members
INNER JOIN fleets ON members.fleet_id = fleets.fleet_id
LEFT JOIN member_placements ON members.member_id = member_placements.member_id
LEFT JOIN member_launches ON members.member_id = member_launches.member_id
WHERE members.fleet_id = :fleet_id AND members.status <> 'deregistered'
ORDER BY members.member_id;

-- name: list_member_names(member_ids)
-- The names of the members asked for, whatever their status; unknown ids are absent.
-- params: member_ids list[int]
-- returns: MemberNameRow
-- plan: primary key
-- sort: at most 500 ids
SELECT
    members.member_id,
    members.name
FROM json_each(:member_ids) AS asked
INNER JOIN members ON asked.value = members.member_id
ORDER BY members.member_id;

-- name: list_wake_targets(fleet_id, monitor_member_id)
-- The placed active members that the monitor is woken for, with what they have not acknowledged.
-- params: fleet_id int, monitor_member_id int | None = fleets.director_member_id
-- returns: WakeTargetRow
-- plan: idx_members_fleet_status, idx_messages_pending, primary key
SELECT
    members.member_id,
    members.name,
    member_placements.coding_agent,
    (
        SELECT count(*)
        FROM messages
        WHERE
            messages.owner_member_id = members.member_id
            AND messages.status_state <> 'completed'
    ) AS pending_count,
    (
        SELECT min(messages.status_timestamp)
        FROM messages
        WHERE
            messages.owner_member_id = members.member_id
            AND messages.status_state <> 'completed'
    ) AS oldest_pending_ts
FROM members
INNER JOIN fleets ON members.fleet_id = fleets.fleet_id
INNER JOIN member_placements ON members.member_id = member_placements.member_id
WHERE
    members.fleet_id = :fleet_id
    AND members.status = 'active'
    AND members.member_id IS NOT fleets.director_member_id
    AND members.member_id IS NOT :monitor_member_id
ORDER BY members.member_id;

-- name: get_active_monitor_id(fleet_id)$
-- The active monitor of a fleet, by the very predicate of the index that keeps it single. It reads
-- the cards of the fleet's active members, which that index has made sure are JSON.
-- params: fleet_id int
-- returns: int | None
-- plan: idx_members_fleet_status
SELECT members.member_id
FROM members
WHERE
    members.fleet_id = :fleet_id
    AND members.status = 'active'
    AND json_extract(members.member_card_json, '$.cafleet.kind') = 'monitor';

-- name: list_statuses(fleet_id)
-- The members of a fleet that have not left. A status that nobody knows is among them, to be
-- refused by whoever counts the members or misses one.
-- params: fleet_id int
-- returns: MemberStatusRow
-- plan: idx_members_fleet_status
-- sort: the index has a fleet's members by their status
SELECT
    members.member_id,
    members.status
FROM members
WHERE
    members.fleet_id = :fleet_id
    AND members.status <> 'deregistered'
ORDER BY members.member_id;

-- name: list_living_statuses()
-- The members of all living fleets that have not left, as list_statuses has those of one.
-- Why: CROSS JOIN keeps SQLite from reading the members of deleted fleets.
-- returns: FleetStatusRow
-- plan: idx_members_fleet_status
-- scan: fleets (fleets are few, and all living ones are asked for)
-- sort: the index has a fleet's members by their status
SELECT
    members.member_id,
    members.fleet_id,
    members.status
FROM fleets
CROSS JOIN members
WHERE
    fleets.deleted_at IS NULL
    AND members.fleet_id = fleets.fleet_id
    AND members.status <> 'deregistered'
ORDER BY members.member_id;

-- name: insert_member(fleet_id, name, description, now, member_card_json)$
-- A new active member.
-- params: fleet_id int, name str, description str, now str, member_card_json str
-- returns: int
INSERT INTO members (fleet_id, name, description, status, registered_at, member_card_json)
VALUES (:fleet_id, :name, :description, 'active', :now, :member_card_json)
RETURNING member_id;

-- name: insert_member_as(member_id, fleet_id, name, description, now, member_card_json)!
-- A new active member under the id that was reserved for it.
-- params: member_id int, fleet_id int, name str, description str, now str, member_card_json str
INSERT INTO members (
    member_id,
    fleet_id,
    name,
    description,
    status,
    registered_at,
    member_card_json
)
VALUES (:member_id, :fleet_id, :name, :description, 'active', :now, :member_card_json);

-- name: delete_fleet_members(fleet_id)!
-- Take members back in the transaction that made them and their fleet: their ids alone were wanted.
-- params: fleet_id int
-- plan: idx_members_fleet_status
DELETE FROM members
WHERE fleet_id = :fleet_id;

-- name: mark_member_deregistered(member_id, now)!
-- Take a member off the active ones; 0 rows when it was not among them.
-- params: member_id int, now str
-- plan: primary key
UPDATE members
SET status = 'deregistered', deregistered_at = :now
WHERE member_id = :member_id AND status = 'active';

-- name: set_member_successor(member_id, successor_member_id)!
-- Note who takes over from a member that is about to leave.
-- params: member_id int, successor_member_id int
-- plan: primary key
UPDATE members
SET successor_member_id = :successor_member_id
WHERE member_id = :member_id AND status = 'active';

-- name: find_successor(member_id)^
-- Who took over from a member; no row where nobody did.
-- params: member_id int
-- returns: SuccessorRow
-- plan: primary key
SELECT
    members.member_id,
    members.successor_member_id
FROM members
WHERE members.member_id = :member_id AND members.successor_member_id IS NOT NULL;

-- name: mark_fleet_members_deregistered(fleet_id, now)!
-- Deregister every active member of a fleet that ends; the count is what the command reports.
-- params: fleet_id int, now str
-- plan: idx_members_fleet_status
UPDATE members
SET status = 'deregistered', deregistered_at = :now
WHERE fleet_id = :fleet_id AND status = 'active';

-- name: list_duplicate_monitors()
-- The active monitors of fleets that have more than one: what stops the step to schema 8.
-- Why CASE: only it promises that a card is not parsed before it is known to be JSON.
-- returns: MonitorClaimRow
-- plan: idx_members_fleet_status
-- scan: b (run by setup before schema 8 only; no index knows the marker yet)
SELECT
    a.fleet_id,
    a.member_id
FROM members AS a
WHERE
    a.status = 'active'
    AND CASE
        WHEN typeof(a.member_card_json) = 'text' AND json_valid(a.member_card_json)
            THEN json_extract(a.member_card_json, '$.cafleet.kind') = 'monitor'
        ELSE FALSE
    END
    AND a.fleet_id IN (
        SELECT b.fleet_id
        FROM members AS b
        WHERE
            b.status = 'active'
            AND CASE
                WHEN typeof(b.member_card_json) = 'text' AND json_valid(b.member_card_json)
                    THEN json_extract(b.member_card_json, '$.cafleet.kind') = 'monitor'
                ELSE FALSE
            END
        GROUP BY b.fleet_id
        HAVING count(*) > 1
    )
ORDER BY a.fleet_id, a.member_id;

-- name: list_unreadable_cards()
-- The active members whose card is not JSON, which no index over the card can take.
-- returns: MonitorClaimRow
-- scan: members (run by setup before schema 8 only)
SELECT
    members.fleet_id,
    members.member_id
FROM members
WHERE
    members.status = 'active'
    AND NOT (typeof(members.member_card_json) = 'text' AND json_valid(members.member_card_json))
ORDER BY members.member_id;

-- name: list_active_member_ids(fleet_id)
-- The ids alone, for whoever reads the members one by one so that one bad row spoils no other; an
-- unknown status is such a row.
-- params: fleet_id int
-- returns: MemberIdRow
-- plan: idx_members_fleet_status
-- sort: the index has a fleet's members by their status
SELECT members.member_id
FROM members
WHERE members.fleet_id = :fleet_id AND members.status <> 'deregistered'
ORDER BY members.member_id;

-- name: list_stored_members(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = members.member_id, until_id int = members.member_id, limit int
-- returns: StoredMemberRow
-- plan: primary key
SELECT
    members.member_id,
    members.fleet_id,
    members.name,
    members.description,
    members.status,
    members.registered_at,
    members.deregistered_at,
    members.member_card_json,
    members.successor_member_id
FROM members
WHERE members.member_id > :after_id AND members.member_id <= :until_id
ORDER BY members.member_id
LIMIT :limit;

-- name: list_member_faults(after_id, until_id)
-- The members among these ids that break a rule, each with the first one that it breaks.
-- params: after_id int = members.member_id, until_id int = members.member_id
-- returns: MemberFaultRow
-- plan: primary key
WITH judged AS (
    SELECT
        members.member_id,
        CASE
            WHEN members.status = 'active' AND members.deregistered_at IS NOT NULL
                THEN 'is active, and has a time at which it was deregistered'
            WHEN members.status = 'deregistered' AND members.deregistered_at IS NULL
                THEN 'is deregistered, and has no time at which it was'
            WHEN members.status = 'deregistered' AND member_placements.member_id IS NOT NULL
                THEN 'is deregistered and still has a placement'
            WHEN (member_placements.screen IS NULL) <> (member_placements.screen_at IS NULL)
                THEN 'has half of a last look at its pane'
        END AS fault
    FROM members
    LEFT JOIN member_placements ON members.member_id = member_placements.member_id
    WHERE members.member_id > :after_id AND members.member_id <= :until_id
)

SELECT
    judged.member_id,
    judged.fault
FROM judged
WHERE judged.fault IS NOT NULL
ORDER BY judged.member_id;

-- name: list_predecessor_members()
-- Every member of a database of the published Python program, whose table has these columns.
-- returns: PredecessorMemberRow
-- scan: members (read once along the primary key, to import them)
SELECT
    members.member_id,
    members.fleet_id,
    members.name,
    members.description,
    members.status,
    members.registered_at,
    members.deregistered_at,
    members.member_card_json
FROM members
ORDER BY members.member_id;

-- name: insert_imported_member(member_id, fleet_id, name, description, status, registered_at, deregistered_at, member_card_json)!
-- A member with the id that it gets here.
-- params: member_id int, fleet_id int, name str, description str, status MemberStatus, registered_at str, deregistered_at str | None, member_card_json str
INSERT INTO members (
    member_id,
    fleet_id,
    name,
    description,
    status,
    registered_at,
    deregistered_at,
    member_card_json
)
VALUES (
    :member_id,
    :fleet_id,
    :name,
    :description,
    :status,
    :registered_at,
    :deregistered_at,
    :member_card_json
);
