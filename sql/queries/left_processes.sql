-- name: insert_left_process(member_id, pid, started, boot, name, now)!
-- Note a process that has outlived the pane of a member.
-- params: member_id int, pid int, started str, boot str, name str, now str
INSERT INTO left_processes (member_id, pid, started, boot, name, noted_at)
VALUES (:member_id, :pid, :started, :boot, :name, :now);

-- name: list_left_processes(member_id)
-- The processes that have outlived the pane of a member and were not ended since.
-- params: member_id int
-- returns: LeftProcessRow
-- plan: idx_left_processes_member
SELECT
    left_processes.left_id,
    left_processes.pid,
    left_processes.started,
    left_processes.boot,
    left_processes.name
FROM left_processes
WHERE left_processes.member_id = :member_id
ORDER BY left_processes.left_id;

-- name: delete_left_processes(member_id)!
-- Forget the processes of a member: they have ended, or are noted anew.
-- params: member_id int
-- plan: idx_left_processes_member
DELETE FROM left_processes
WHERE member_id = :member_id;

-- name: list_stored_left_processes(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = left_processes.left_id, until_id int = left_processes.left_id, limit int
-- returns: StoredLeftProcessRow
-- plan: primary key
SELECT
    left_processes.left_id,
    left_processes.pid,
    left_processes.started,
    left_processes.boot,
    left_processes.name,
    left_processes.member_id,
    left_processes.noted_at
FROM left_processes
WHERE left_processes.left_id > :after_id AND left_processes.left_id <= :until_id
ORDER BY left_processes.left_id
LIMIT :limit;
