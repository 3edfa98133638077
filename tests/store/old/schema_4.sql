-- A ledger as the fourth schema wrote it: one run with a check, one without. Never changes.
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (
    run_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    at REAL NOT NULL,
    version INTEGER NOT NULL,
    type TEXT NOT NULL,
    body TEXT NOT NULL,
    evidence_id TEXT,
    checksum INTEGER,
    seconds REAL,
    UNIQUE (run_id, sequence)
);
CREATE INDEX evidence_by_id ON entries (run_id, evidence_id, sequence) WHERE evidence_id IS NOT NULL;
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    mode TEXT NOT NULL,
    title TEXT NOT NULL,
    goal_path TEXT,
    standing TEXT,
    started_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    open_interrupts TEXT NOT NULL
);
CREATE TABLE requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    arguments TEXT NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE replies (
    request_id INTEGER PRIMARY KEY,
    error TEXT,
    message TEXT,
    result TEXT NOT NULL
);
CREATE TABLE live (run_id TEXT PRIMARY KEY, activity TEXT, alive_at REAL NOT NULL, elapsed REAL NOT NULL DEFAULT 0) WITHOUT ROWID;
INSERT INTO meta VALUES ('schema', 4), ('codec', 1);
INSERT INTO entries VALUES
    ('old', 1, 1.0, 1, 'PauseRequested', '{"type":"PauseRequested","reason":"x"}', NULL, NULL, NULL),
    ('old', 2, 2.0, 1, 'CheckFinished', '{"type":"CheckFinished","evidence":{"id":"E1","revision":"r","revision_after":"r","turn":0,"observation":{"type":"ObservedCommand","command":"ls","exit_code":0,"seconds":0.5,"output":"a"},"scope":[],"scope_digest":""}}', 'E1', NULL, 1.0),
    ('other', 1, 3.0, 1, 'RunResumed', '{"type":"RunResumed"}', NULL, NULL, NULL);
INSERT INTO runs VALUES ('old', 'pursue', 'Title', NULL, 'running', 1.0, 2.0, '["I1"]');
INSERT INTO requests VALUES (7, 'old', 'stop', '{}', 0);
