PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE claims (
        job TEXT PRIMARY KEY NOT NULL REFERENCES jobs (id),
        owner TEXT NOT NULL,
        until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
INSERT INTO "claims" VALUES('01KJVKTDCK0000000000000001','s1',1772600768891011);
CREATE TABLE events (
        job TEXT NOT NULL REFERENCES jobs (id),
        version INTEGER NOT NULL CHECK (version >= 1),
        at TEXT NOT NULL,
        actor TEXT NOT NULL,
        nonce TEXT NOT NULL,
        schema INTEGER NOT NULL,
        event TEXT NOT NULL,
        PRIMARY KEY (job, version)
    ) STRICT, WITHOUT ROWID;
INSERT INTO "events" VALUES('01KJVKTDCK0000000000000001',1,'2026-03-04T05:06:07.891011Z','{"user":"ada","host":"login1","role":"operator"}','v1-1',1,'{"event":"accepted","id":"01KJVKTDCK0000000000000001","job":{"command":["python","train.py","--name=Žofie"],"env":{"A":"x\"y\\z\n"}},"specHash":"abababababababababababababababababababababababababababababababab","plan":{},"cluster":{"alias":"big","adapter":"memory","name":"big-1"},"store":"01KJVKTDCK0000000000000000","declarations":{}}');
INSERT INTO "events" VALUES('01KJVKTDCK0000000000000001',2,'2026-03-04T05:06:07.891011Z','{"user":"ada","host":"login1","role":"operator"}','v1-2',1,'{"event":"holdAsked","instance":2,"by":"ada","why":"look at Žofie''s   logs"}');
INSERT INTO "events" VALUES('01KJVKTDCK0000000000000002',1,'2026-03-04T05:06:07.891011Z','{"user":"ada","host":"login1","role":"operator"}','v1-3',1,'{"event":"accepted","id":"01KJVKTDCK0000000000000002","job":{"command":["python","train.py","--name=Žofie"],"env":{"A":"x\"y\\z\n"}},"specHash":"abababababababababababababababababababababababababababababababab","plan":{},"cluster":{"alias":"big","adapter":"memory","name":"big-1"},"store":"01KJVKTDCK0000000000000000","declarations":{}}');
INSERT INTO "events" VALUES('01KJVKTDCK0000000000000002',2,'2026-03-04T05:06:07.891011Z','{"user":"ada","host":"login1","role":"operator"}','v1-4',1,'{"event":"holdAsked","instance":2,"by":"ada","why":"look at Žofie''s   logs"}');
INSERT INTO "events" VALUES('01KJVKTDCK0000000000000002',3,'2026-03-04T05:06:07.891011Z','{"user":"ada","host":"login1","role":"operator"}','v1-5',1,'{"event":"ended","verdict":{"state":"Succeeded"}}');
CREATE TABLE heartbeats (
        id TEXT PRIMARY KEY NOT NULL,
        host TEXT NOT NULL,
        pid INTEGER NOT NULL,
        version TEXT NOT NULL,
        seen INTEGER NOT NULL,
        clusters TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
INSERT INTO "heartbeats" VALUES('s1','login1',7,'0.1.0',1772600767891011,'["big"]');
CREATE TABLE jobs (
        id TEXT PRIMARY KEY NOT NULL,
        version INTEGER NOT NULL CHECK (version >= 1),
        schema INTEGER NOT NULL,
        name TEXT NOT NULL,
        cluster TEXT NOT NULL,
        user TEXT NOT NULL,
        state TEXT NOT NULL,
        cause TEXT,
        accepted_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        key TEXT,
        spec_hash TEXT NOT NULL,
        submission INTEGER NOT NULL,
        labels TEXT NOT NULL,
        finished INTEGER NOT NULL CHECK (finished IN (0, 1)),
        due INTEGER,
        why TEXT NOT NULL
    ) STRICT;
INSERT INTO "jobs" VALUES('01KJVKTDCK0000000000000001',2,1,'train','big','ada','Pending',NULL,1772600767891011,1772600767891011,'nightly','',0,'{}',0,1772600767891011,'');
INSERT INTO "jobs" VALUES('01KJVKTDCK0000000000000002',3,1,'train','big','ada','Succeeded',NULL,1772600768891011,1772600767891011,NULL,'',0,'{"team":"vision"}',1,NULL,'it ended');
CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT;
INSERT INTO "meta" VALUES('store_id','01KJVKTDCKCZYCWBYTW4GGHX6C');
INSERT INTO "meta" VALUES('host_id','0123456789abcdef0123456789abcdef');
CREATE TABLE nonces (
        nonce TEXT PRIMARY KEY NOT NULL,
        job TEXT NOT NULL,
        version INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
INSERT INTO "nonces" VALUES('v1-1','01KJVKTDCK0000000000000001',1);
INSERT INTO "nonces" VALUES('v1-2','01KJVKTDCK0000000000000001',2);
INSERT INTO "nonces" VALUES('v1-3','01KJVKTDCK0000000000000002',1);
INSERT INTO "nonces" VALUES('v1-4','01KJVKTDCK0000000000000002',2);
INSERT INTO "nonces" VALUES('v1-5','01KJVKTDCK0000000000000002',3);
CREATE UNIQUE INDEX jobs_key ON jobs (key) WHERE key IS NOT NULL;
CREATE INDEX jobs_name ON jobs (name, accepted_at, id);
CREATE INDEX jobs_newest ON jobs (accepted_at, id);
CREATE INDEX jobs_unfinished ON jobs (accepted_at, id) WHERE finished = 0;
CREATE INDEX jobs_due ON jobs (due, id) WHERE finished = 0 AND due IS NOT NULL;
CREATE TRIGGER an_event_is_never_rewritten BEFORE UPDATE ON events
        BEGIN SELECT RAISE (ABORT, 'an event is never rewritten'); END;
CREATE INDEX claims_owner ON claims (owner);
COMMIT;
PRAGMA user_version = 1;
PRAGMA application_id = 1685286961;
