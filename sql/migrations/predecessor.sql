-- The history table of the published predecessor, as refinery makes it. Never run on anyone's
-- database: `cafleet setup` reads such a table where it finds one, and the checks of the
-- queries need it to be there.
CREATE TABLE refinery_schema_history (
    version INTEGER PRIMARY KEY,
    name TEXT,
    applied_on TEXT,
    checksum TEXT
);
