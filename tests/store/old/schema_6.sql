-- A ledger as the sixth schema wrote it, with a key of 32 zero bytes: one run with a check, one without. Never changes.
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
INSERT INTO "entries" VALUES('old',1,1.0,1,'PauseRequested','{"type":"PauseRequested","reason":"x"}',NULL,X'4496A37D3DCE000C1DA67F3396AC5FD1EFFE2C9BE69E658D78794CEB6ACA2124',NULL);
INSERT INTO "entries" VALUES('old',2,2.0,1,'CheckFinished','{"type":"CheckFinished","evidence":{"id":"E1","revision":"r","revision_after":"r","turn":0,"observation":{"type":"ObservedCommand","command":"ls","exit_code":0,"seconds":0.5,"output":"a"},"scope":[],"scope_digest":""}}','E1',X'454CD95D92061F1D60702D1A08BF284E394BACFA5F9D379820C45FDB9E03F28D',1.0);
INSERT INTO "entries" VALUES('other',1,3.0,1,'RunResumed','{"type":"RunResumed"}',NULL,X'142825958140A8F075E1EFB89792C8B38808401D89C43DC359E081C8C05BA33C',NULL);
CREATE TABLE kept (run_id TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO "kept" VALUES('other');
CREATE TABLE live (run_id TEXT PRIMARY KEY, activity TEXT, alive_at REAL NOT NULL, elapsed REAL NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('codec',3);
INSERT INTO "meta" VALUES('schema',6);
CREATE TABLE removing (run_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE replies (
    request_id INTEGER PRIMARY KEY,
    error TEXT,
    message TEXT,
    result TEXT NOT NULL
);
CREATE TABLE requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    arguments TEXT NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0
, signed TEXT NOT NULL DEFAULT '{}');
INSERT INTO "requests" VALUES(7,'old','stop','{}',0,'{}');
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    mode TEXT NOT NULL,
    title TEXT NOT NULL,
    goal_path TEXT,
    standing TEXT,
    started_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    open_interrupts TEXT NOT NULL
, seal BLOB);
INSERT INTO "runs" VALUES('old','pursue','Title',NULL,'running',1.0,2.0,'["I1"]',X'B57BBA8652FE46FE5917AFC278610621ACA5513C85AA2F447F09CD686797A00F');
CREATE TABLE snapshots (run_id TEXT PRIMARY KEY, sequence INTEGER NOT NULL, version TEXT NOT NULL, body BLOB NOT NULL, seal BLOB NOT NULL);
INSERT INTO "snapshots" VALUES('old',2,'0000000000000000000000000000000000000000000000000000000000000000',X'7B7D',X'8084DE566D28A72F5E7799803835A5E7BC4BF3210D832BA1DADEDD6A0FCAC773');
CREATE INDEX evidence_by_id ON entries (run_id, evidence_id, sequence) WHERE evidence_id IS NOT NULL;
