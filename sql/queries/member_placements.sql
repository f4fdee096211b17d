-- name: insert_placement(member_id, backend, mux_socket, mux_server_pid, mux_session, mux_window_id, mux_pane_id, coding_agent, now)!
-- Where a member lives; without a pane id while its pane is pending.
-- params: member_id int, backend Backend, mux_socket str | None, mux_server_pid int | None, mux_session str, mux_window_id str, mux_pane_id str | None, coding_agent CodingAgent, now str
INSERT INTO member_placements (
    member_id,
    backend,
    mux_socket,
    mux_server_pid,
    mux_session,
    mux_window_id,
    mux_pane_id,
    coding_agent,
    created_at
)
VALUES (
    :member_id,
    :backend,
    :mux_socket,
    :mux_server_pid,
    :mux_session,
    :mux_window_id,
    :mux_pane_id,
    :coding_agent,
    :now
);

-- name: set_placement_pane(member_id, mux_server_pid, mux_session, mux_window_id, mux_pane_id)!
-- The pane of a pending placement; 0 rows when the placement has gone meanwhile.
-- params: member_id int, mux_server_pid int, mux_session str, mux_window_id str, mux_pane_id str
-- plan: primary key
UPDATE member_placements
SET
    mux_server_pid = :mux_server_pid,
    mux_session = :mux_session,
    mux_window_id = :mux_window_id,
    mux_pane_id = :mux_pane_id
WHERE member_id = :member_id AND mux_pane_id IS NULL;

-- name: set_placement_window(member_id, mux_pane_id, mux_session, mux_window_id)!
-- Follow a pane that was moved; only while the placement still names that pane.
-- params: member_id int, mux_pane_id str, mux_session str, mux_window_id str
-- plan: primary key
UPDATE member_placements
SET mux_session = :mux_session, mux_window_id = :mux_window_id
WHERE member_id = :member_id AND mux_pane_id = :mux_pane_id;

-- name: set_placement_look(member_id, screen, now)$
-- Keep the last look at a member's pane; since when the looks have found the same. Nothing where
-- the member has no placement any more.
-- params: member_id int, screen ScreenState, now str
-- returns: str | None
-- plan: primary key
UPDATE member_placements
SET
    screen = :screen,
    screen_at = :now,
    screen_since = CASE WHEN screen = :screen THEN coalesce(screen_since, :now) ELSE :now END
WHERE member_id = :member_id
RETURNING screen_since;

-- name: delete_placement(member_id)!
-- A member that leaves lives nowhere.
-- params: member_id int
-- plan: primary key
DELETE FROM member_placements
WHERE member_id = :member_id;

-- name: delete_fleet_placements(fleet_id)!
-- The same for all members of a fleet that ends.
-- params: fleet_id int
-- plan: idx_members_fleet_status, primary key
DELETE FROM member_placements
WHERE
    member_id IN (
        SELECT members.member_id
        FROM members
        WHERE members.fleet_id = :fleet_id
    );

-- name: list_pane_owners(mux_pane_id)
-- The active members of living fleets whose placement names this pane, on whatever server. One of
-- an unknown status is among them, to be refused.
-- params: mux_pane_id str
-- returns: PaneOwnerRow
-- plan: idx_member_placements_pane, primary key
-- sort: the few members that share a pane id
SELECT
    members.member_id,
    members.fleet_id,
    members.status,
    member_placements.mux_socket,
    member_placements.mux_server_pid,
    member_placements.mux_session,
    member_placements.mux_window_id
FROM member_placements
INNER JOIN members ON member_placements.member_id = members.member_id
INNER JOIN fleets ON members.fleet_id = fleets.fleet_id
WHERE
    member_placements.mux_pane_id = :mux_pane_id
    AND members.status <> 'deregistered'
    AND fleets.deleted_at IS NULL
ORDER BY members.member_id;

-- name: list_stored_placements(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = member_placements.member_id, until_id int = member_placements.member_id, limit int
-- returns: StoredPlacementRow
-- plan: primary key
SELECT
    member_placements.member_id,
    member_placements.mux_session,
    member_placements.mux_window_id,
    member_placements.mux_pane_id,
    member_placements.backend,
    member_placements.coding_agent,
    member_placements.created_at,
    member_placements.mux_socket,
    member_placements.screen,
    member_placements.screen_at,
    member_placements.screen_since,
    member_placements.mux_server_pid
FROM member_placements
WHERE member_placements.member_id > :after_id AND member_placements.member_id <= :until_id
ORDER BY member_placements.member_id
LIMIT :limit;

-- name: list_predecessor_placements()
-- Every placement of a database of the published Python program, whose table has these columns.
-- returns: PredecessorPlacementRow
-- scan: member_placements (read once along the primary key, to import them)
SELECT
    member_placements.member_id,
    member_placements.mux_session,
    member_placements.mux_window_id,
    member_placements.mux_pane_id,
    member_placements.backend,
    member_placements.coding_agent,
    member_placements.created_at
FROM member_placements
ORDER BY member_placements.member_id;
