-- An agent can be installed in more than one place, so the place joins the key.
-- The table starts empty: SQL cannot know which place an old row meant, and `cafleet setup`
-- writes the rows anew.
-- Cost: at most three rows are lost, on purpose.
DROP TABLE asset_installs;

CREATE TABLE asset_installs (
    coding_agent TEXT NOT NULL,
    path TEXT NOT NULL,
    cafleet_version TEXT NOT NULL,
    installed_at TEXT NOT NULL,
    PRIMARY KEY (coding_agent, path)
);
