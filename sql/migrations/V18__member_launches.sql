-- What is kept of a member's start, so that the member can be started again.
-- Why: a member is a name and an inbox; the process in its pane ends with tmux or with the machine.

-- The last start of a member. `agent_base` is the configuration folder of the coding agent, and
-- `prompt` the text that the agent was given, with its placeholders filled in. A Director was
-- started by a person, so it has no prompt. The row stays when the placement goes.
-- Members from before this version have no row; they count as started once.
-- Cost: an empty table; one row per member from now on.
CREATE TABLE member_launches (
    member_id INTEGER PRIMARY KEY REFERENCES members (member_id) ON DELETE CASCADE,
    coding_agent TEXT NOT NULL,
    model TEXT,
    effort TEXT,
    permission_mode TEXT,
    working_directory TEXT NOT NULL,
    agent_base TEXT NOT NULL,
    worktree TEXT,
    branch TEXT,
    base_commit TEXT,
    prompt TEXT,
    session_id TEXT,
    launch_number INTEGER NOT NULL,
    launched_at TEXT NOT NULL
);

-- The arguments that the user gave for the coding agent, in their order. `kind` is the option of
-- `member create` that gave it: agent-arg or allow.
-- Cost: an empty table; a row per argument.
CREATE TABLE member_launch_arguments (
    argument_id INTEGER PRIMARY KEY,
    member_id INTEGER NOT NULL REFERENCES member_launches (member_id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    argument TEXT NOT NULL
);

-- The arguments of one member in their order. Cost: one entry per row of a small table.
CREATE INDEX idx_member_launch_arguments_member ON member_launch_arguments (member_id, position);
