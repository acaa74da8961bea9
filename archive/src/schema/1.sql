-- The version of these tables.
CREATE TABLE archive (version BIGINT PRIMARY KEY);

-- A machine as far as a history tells machines apart.
CREATE TABLE machine (
    id {id},
    host TEXT NOT NULL,
    cpu TEXT NOT NULL,
    cpus BIGINT NOT NULL,
    UNIQUE (host, cpu, cpus)
);

-- What can differ between two runs: environment, program, settings. Most runs of a machine share one.
CREATE TABLE facts (
    id {id},
    digest TEXT NOT NULL UNIQUE,
    document TEXT NOT NULL
);

-- A row as it is defined: its id, parameters and metrics.
CREATE TABLE definition (
    id {id},
    digest TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    document TEXT NOT NULL
);

-- A run. identity is the same for all states of one run, digest that of this state's file.
CREATE TABLE run (
    id {id},
    digest TEXT NOT NULL UNIQUE,
    identity TEXT NOT NULL,
    form TEXT NOT NULL CHECK (form IN ('events', 'document')),
    bytes BIGINT NOT NULL,
    name TEXT NOT NULL,
    started BIGINT NOT NULL,
    started_at TEXT NOT NULL,
    added_at TEXT NOT NULL,
    machine BIGINT NOT NULL REFERENCES machine,
    facts BIGINT NOT NULL REFERENCES facts,
    kernel TEXT NOT NULL,
    program TEXT NOT NULL,
    status TEXT NOT NULL,
    launches BIGINT NOT NULL
);
CREATE INDEX run_identity ON run (identity);
CREATE INDEX run_started ON run (started);
CREATE INDEX run_machine ON run (machine, started);
CREATE INDEX run_kernel ON run (kernel, started);

-- An earlier state of a run that was continued: no query but `list` with --all sees it.
CREATE TABLE superseded (
    run BIGINT PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    later BIGINT NOT NULL
);

-- The labels of a run.
CREATE TABLE label (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    run BIGINT NOT NULL REFERENCES run ON DELETE CASCADE,
    PRIMARY KEY (name, value, run)
){clustered};
CREATE INDEX label_run ON label (run);

-- The own figure of a row in a run, with the value of every launch; or the reason for which there is none. place is that of
-- the row in the run's tables.
CREATE TABLE result (
    definition BIGINT NOT NULL REFERENCES definition,
    run BIGINT NOT NULL REFERENCES run ON DELETE CASCADE,
    place BIGINT NOT NULL,
    reason TEXT,
    median DOUBLE PRECISION,
    low DOUBLE PRECISION,
    high DOUBLE PRECISION,
    confidence DOUBLE PRECISION,
    launches TEXT,
    blocks TEXT,
    PRIMARY KEY (definition, run)
){clustered};
CREATE INDEX result_run ON result (run);

-- The run's file as it was written, in parts that are compressed by zlib.
CREATE TABLE part (
    run BIGINT NOT NULL REFERENCES run ON DELETE CASCADE,
    number BIGINT NOT NULL,
    content {bytes} NOT NULL,
    PRIMARY KEY (run, number)
);

-- Every launch's value, for queries by hand.
CREATE VIEW launch AS
SELECT d.name AS row_name, r.run AS run, CAST(e.value AS DOUBLE PRECISION) AS value
FROM result r JOIN definition d ON d.id = r.definition, {elements} AS e
WHERE r.launches IS NOT NULL;
