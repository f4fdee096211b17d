-- The ledger of applied migrations, made by the driver before the first of them.
-- Why: an adopted database never runs V1, so the ledger cannot be a part of it.
-- Cost: one row per migration; read by primary key in front of every command.
CREATE TABLE schema_migrations (
    version INTEGER PRIMARY KEY,
    file_name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at TEXT NOT NULL
);
