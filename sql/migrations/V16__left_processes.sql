-- The processes that have outlived the pane of a member that was deleted, so that they can be ended
-- later by the member's id. A process is known by its id, its start and the run of the system: ids
-- are given out again.
-- Cost: an empty table; later a row per such process.
CREATE TABLE left_processes (
    left_id INTEGER PRIMARY KEY,
    member_id INTEGER NOT NULL REFERENCES members (member_id) ON DELETE RESTRICT,
    pid INTEGER NOT NULL,
    started TEXT NOT NULL,
    boot TEXT NOT NULL,
    name TEXT NOT NULL,
    noted_at TEXT NOT NULL
);

-- Cost: an entry per row.
CREATE INDEX idx_left_processes_member ON left_processes (member_id);
