-- name: insert_launch(member_id, coding_agent, model, effort, permission_mode, working_directory, agent_base, worktree, branch, base_commit, prompt, session_id, launch_number, now)!
-- How a member was started.
-- params: member_id int, coding_agent CodingAgent, model str | None, effort str | None, permission_mode str | None, working_directory str, agent_base str, worktree str | None, branch str | None, base_commit str | None, prompt str | None, session_id str | None, launch_number int, now str
INSERT INTO member_launches (
    member_id,
    coding_agent,
    model,
    effort,
    permission_mode,
    working_directory,
    agent_base,
    worktree,
    branch,
    base_commit,
    prompt,
    session_id,
    launch_number,
    launched_at
)
VALUES (
    :member_id,
    :coding_agent,
    :model,
    :effort,
    :permission_mode,
    :working_directory,
    :agent_base,
    :worktree,
    :branch,
    :base_commit,
    :prompt,
    :session_id,
    :launch_number,
    :now
);

-- name: delete_launch(member_id)!
-- Forget the last start of a member with its arguments: another takes its place.
-- params: member_id int
-- plan: primary key
DELETE FROM member_launches
WHERE member_id = :member_id;

-- name: find_launch(member_id)^
-- How a member was started last.
-- params: member_id int
-- returns: LaunchRow
-- plan: primary key
SELECT
    member_launches.member_id,
    member_launches.coding_agent,
    member_launches.model,
    member_launches.effort,
    member_launches.permission_mode,
    member_launches.working_directory,
    member_launches.agent_base,
    member_launches.worktree,
    member_launches.branch,
    member_launches.base_commit,
    member_launches.prompt,
    member_launches.session_id,
    member_launches.launch_number,
    member_launches.launched_at
FROM member_launches
WHERE member_launches.member_id = :member_id;

-- name: list_launch_folders(fleet_id)
-- The folders that the active members of a fleet were started in.
-- params: fleet_id int
-- returns: LaunchFolderRow
-- plan: idx_members_fleet_status, primary key
SELECT
    members.member_id,
    member_launches.working_directory
FROM members
INNER JOIN member_launches ON members.member_id = member_launches.member_id
WHERE members.fleet_id = :fleet_id AND members.status = 'active'
ORDER BY members.member_id;

-- name: list_worktrees(fleet_id)
-- The members of a fleet that were given a work tree, with its folder and its branch.
-- params: fleet_id int
-- returns: WorktreeRow
-- plan: idx_members_fleet_status, primary key
-- sort: a fleet's members, which the index has by their status
SELECT
    members.member_id,
    member_launches.worktree,
    member_launches.branch
FROM members
INNER JOIN member_launches ON members.member_id = member_launches.member_id
WHERE members.fleet_id = :fleet_id AND member_launches.worktree IS NOT NULL
ORDER BY members.member_id;

-- name: set_launch_session(member_id, launch_number, session_id)!
-- The session that an agent has begun; only while the member was not started again.
-- params: member_id int, launch_number int, session_id str | None
-- plan: primary key
UPDATE member_launches
SET session_id = :session_id
WHERE member_id = :member_id AND launch_number = :launch_number;

-- name: list_stored_launches(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = member_launches.member_id, until_id int = member_launches.member_id, limit int
-- returns: LaunchRow
-- plan: primary key
SELECT
    member_launches.member_id,
    member_launches.coding_agent,
    member_launches.model,
    member_launches.effort,
    member_launches.permission_mode,
    member_launches.working_directory,
    member_launches.agent_base,
    member_launches.worktree,
    member_launches.branch,
    member_launches.base_commit,
    member_launches.prompt,
    member_launches.session_id,
    member_launches.launch_number,
    member_launches.launched_at
FROM member_launches
WHERE member_launches.member_id > :after_id AND member_launches.member_id <= :until_id
ORDER BY member_launches.member_id
LIMIT :limit;
