-- A ledger as the eighth schema wrote it: one run with a check, one without. Never changes.
CREATE TABLE entries (
    run_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    at REAL NOT NULL,
    version INTEGER NOT NULL,
    type TEXT NOT NULL,
    body TEXT NOT NULL,
    evidence_id TEXT,
    digest INTEGER,
    seconds REAL,
    UNIQUE (run_id, sequence)
);
INSERT INTO "entries" VALUES('old',1,1.0,1,'PauseRequested','{"type":"PauseRequested","reason":"x"}',NULL,X'13E4A98767D395A6FC06FA5BB1A5611160336B0CA3D37418582564F0DABB8627',NULL);
INSERT INTO "entries" VALUES('old',2,2.0,1,'CheckFinished','{"type":"CheckFinished","evidence":{"id":"E1","revision":"r","revision_after":"r","turn":0,"observation":{"type":"ObservedCommand","command":"ls","exit_code":0,"seconds":0.5,"output":"a"},"scope":[],"scope_digest":""}}','E1',X'8B13A7FC85EC12761549716F84801415CB22FCF77A57F1726633D4BC371D88DB',1.0);
INSERT INTO "entries" VALUES('other',1,3.0,1,'RunResumed','{"type":"RunResumed"}',NULL,X'A1FEFE5928ACF217A07D1E936A3BC552BB40D11B49F888DEF94EE2C6397FB728',NULL);
CREATE TABLE kept (run_id TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO "kept" VALUES('other');
CREATE TABLE live (run_id TEXT PRIMARY KEY, activity TEXT, alive_at REAL NOT NULL, elapsed REAL NOT NULL DEFAULT 0, silent INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('codec',3);
INSERT INTO "meta" VALUES('schema',8);
CREATE TABLE removing (run_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    mode TEXT NOT NULL,
    title TEXT NOT NULL,
    goal_path TEXT,
    standing TEXT,
    started_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    open_interrupts TEXT NOT NULL
, last_digest BLOB);
INSERT INTO "runs" VALUES('old','pursue','Title',NULL,'running',1.0,2.0,'["I1"]',X'8B13A7FC85EC12761549716F84801415CB22FCF77A57F1726633D4BC371D88DB');
CREATE TABLE snapshots (run_id TEXT PRIMARY KEY, sequence INTEGER NOT NULL, version TEXT NOT NULL, body BLOB NOT NULL, digest BLOB NOT NULL);
CREATE INDEX evidence_by_id ON entries (run_id, evidence_id, sequence) WHERE evidence_id IS NOT NULL;
