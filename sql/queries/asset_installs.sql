-- name: list_asset_installs()
-- Where skills and presets were installed, and by which version of the program.
-- returns: AssetInstallRow
-- plan: primary key
-- scan: asset_installs (a handful of rows, all asked for, in the order of their key)
SELECT
    asset_installs.rowid AS install_id,
    asset_installs.coding_agent,
    asset_installs.path,
    asset_installs.cafleet_version,
    asset_installs.installed_at
FROM asset_installs
ORDER BY asset_installs.coding_agent, asset_installs.path;

-- name: count_asset_installs()$
-- How many installations are recorded: what a migration says that it leaves out.
-- returns: int
-- plan: primary key
-- scan: asset_installs (a handful of rows)
SELECT count(*) FROM asset_installs;

-- name: upsert_asset_install(coding_agent, path, cafleet_version, now)!
-- Record an installation; a second one at the same place takes the place of the first.
-- params: coding_agent CodingAgent, path str, cafleet_version str, now str
INSERT INTO asset_installs (coding_agent, path, cafleet_version, installed_at)
VALUES (:coding_agent, :path, :cafleet_version, :now)
ON CONFLICT (coding_agent, path) DO UPDATE
SET cafleet_version = excluded.cafleet_version, installed_at = excluded.installed_at;

-- name: delete_asset_installs(install_ids)!
-- Forget installations, by rowid: the key of a damaged row may be nothing that can be asked for.
-- params: install_ids list[int]
-- plan: primary key
DELETE FROM asset_installs
WHERE rowid IN (SELECT asked.value FROM json_each(:install_ids) AS asked);
