-- The history tables of the two published programs, as refinery and alembic make them. Never run
-- on anyone's database: `cafleet setup` reads such a table where it finds one, and the checks of
-- the queries need it to be there. INT4 is no name for the rowid, so that key has an index.
CREATE TABLE refinery_schema_history (
    version INT4 PRIMARY KEY,
    name VARCHAR(255),
    applied_on VARCHAR(255),
    checksum VARCHAR(255)
);

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL PRIMARY KEY
);
