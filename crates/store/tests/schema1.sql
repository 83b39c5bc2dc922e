-- A store that schema 1 wrote, as `sqlite3 FILE .dump` prints it, with the two numbers of its header.
-- Every later writ has to open it. From the first release on it is not edited: stores on disks are not either.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE agents (
    name TEXT PRIMARY KEY,
    focus_task_id TEXT,
    focus_project_id TEXT,
    last_active_at INTEGER NOT NULL
);
INSERT INTO "agents" VALUES('claude','task_01kdwpvng0fk0vxtwdm5jrxv37','p1',1767268800000);
INSERT INTO "agents" VALUES('codex','task_01kdwpvng0ex399nwq7he2mh4w',NULL,1767268800000);
CREATE TABLE attempts (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    begun TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    heartbeat_at INTEGER,
    outcome TEXT,
    UNIQUE (task_id, number)
);
INSERT INTO "attempts" VALUES('attempt_01kdwpvng0edd815sh9p9sedqr','task_01kdwpvng0fmcap9x1e6z5p4sw','run_4s1kbgp4p58229carscz4gf2dt',1,'succeeded','{"id":"attempt_01kdwpvng0edd815sh9p9sedqr","task_id":"task_01kdwpvng0fmcap9x1e6z5p4sw","run_id":"run_4s1kbgp4p58229carscz4gf2dt","number":1,"executor":"shell","owner":{"pid":7,"start_time":1,"boot_id":"boot-1"}}',1767268800000,1767268800000,NULL,'{"exit_code":0,"signal":null,"code":null,"message":"","stdout_digest":null,"stderr_digest":null,"checks":[],"cost":null,"tokens":null,"leftovers_killed":0}');
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
);
INSERT INTO "counters" VALUES('fencing',2);
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    stream TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    event_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    intent TEXT NOT NULL,
    corr TEXT NOT NULL,
    reply_to TEXT,
    priority TEXT NOT NULL,
    requires TEXT,
    payload TEXT NOT NULL,
    kind TEXT NOT NULL,
    agent TEXT NOT NULL,
    project_id TEXT,
    task_id TEXT,
    run_id TEXT,
    message TEXT NOT NULL,
    is_change INTEGER NOT NULL,
    UNIQUE (stream, seq)
);
INSERT INTO "events" VALUES(1,'project:p1',1,'sha256:7bc5632250ddb72e0d323593615bc24bdcffabbca0ecf5b8a64820f0b103f3da','evt_01kdwpvng0enfb3gc6j3q45j8b',1767268800000,'event','agent.claude','log.writ','writ.task_created','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'high',NULL,'{"change":"task_created","depends_on":[],"description":"","part":null,"priority":5,"project_id":"p1","task_id":"task_01kdwpvng0fk0vxtwdm5jrxv37","title":"Write the parser"}','task_created','claude','p1','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'Task created: Write the parser',1);
INSERT INTO "events" VALUES(2,'store',1,'sha256:316fe557d32214ddb670de1954c1f74c5a7945bf9e1998c019e70119df6541c8','evt_01kdwpvng0fjjrbsxv1w92f1bn',1767268800000,'event','agent.setup','log.writ','writ.task_created','task_01kdwpvng0epwr6k8bzy81a0m0',NULL,'normal',NULL,'{"change":"task_created","depends_on":[],"description":"","part":null,"priority":0,"project_id":null,"task_id":"task_01kdwpvng0epwr6k8bzy81a0m0","title":"Review it"}','task_created','setup',NULL,'task_01kdwpvng0epwr6k8bzy81a0m0',NULL,'Task created: Review it',1);
INSERT INTO "events" VALUES(3,'project:p1',2,'sha256:d0d82509719151e737f3b611601c767ee1d4b3e539d92131e03f58c16491680c','evt_01kdwpvng0fpm8pgtwhst62swp',1767268800000,'event','agent.claude','log.writ','writ.task_status','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'high',NULL,'{"change":"task_moved","evidence":null,"from":"todo","reason":null,"task_id":"task_01kdwpvng0fk0vxtwdm5jrxv37","to":"in_progress"}','task_status','claude','p1','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'Task started',1);
INSERT INTO "events" VALUES(4,'project:p1',3,'sha256:acdf0689174838d6a81756e7d3767d753645aafccae1aa0b37b940ce7b7df6dd','evt_01kdwpvng0fxgsnz6m9macz2zy',1767268800000,'event','agent.claude','log.writ','writ.task_claimed','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'high',NULL,'{"change":"task_claimed","claim":{"agent":"claude","lease":{"boot_id":"boot-1","until_millis":1500000},"token":1},"task_id":"task_01kdwpvng0fk0vxtwdm5jrxv37"}','task_claimed','claude','p1','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'Task started',1);
INSERT INTO "events" VALUES(5,'project:p1',4,'sha256:e6a7481ba314e02005106b7d1e483a34955e906025eb0862c5bd34b4949dc024','evt_01kdwpvng0fq08fct1tt8df8ma',1767268800000,'event','agent.claude','log.writ','writ.agent_focus','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'high',NULL,'{"agent":"claude","change":"agent_focused","project_id":"p1","task_id":"task_01kdwpvng0fk0vxtwdm5jrxv37"}','agent_focus','claude','p1','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'Agent focus set',1);
INSERT INTO "events" VALUES(6,'project:p1',5,'sha256:3a4fedb7263fe4e0b841ba6626513f9c596c59e2f16f07e44f72c144cf668538','evt_01kdwpvng0eymangpe2yjqjjhv',1767268800000,'event','agent.claude','log.writ','writ.task_status','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'high',NULL,'{"change":"task_moved","evidence":"claimed","from":"in_progress","reason":null,"task_id":"task_01kdwpvng0fk0vxtwdm5jrxv37","to":"done"}','task_status','claude','p1','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'Status changed to: completed',1);
INSERT INTO "events" VALUES(7,'project:p1',6,'sha256:2655ec443f431cbecdc942a3eb0cd4c2954e4bf38b534bf67a399edabab92ae5','evt_01kdwpvng0fdhs1epgv9bjqaqh',1767268800000,'event','agent.claude','log.writ','writ.task_closed','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'high',NULL,'{"label":null,"outcome":"done","summary":"what was done"}','task_closed','claude','p1','task_01kdwpvng0fk0vxtwdm5jrxv37',NULL,'what was done',0);
INSERT INTO "events" VALUES(8,'store',2,'sha256:0eee1b7be5b08af90079e1ad2019b6ee3fe80a7e7d30353bb013935cf819da30','evt_01kdwpvng0f7qa4rrr6xsyys88',1767268800000,'event','agent.codex','log.writ','writ.task_status','task_01kdwpvng0epwr6k8bzy81a0m0',NULL,'normal',NULL,'{"change":"task_moved","evidence":null,"from":"todo","reason":null,"task_id":"task_01kdwpvng0epwr6k8bzy81a0m0","to":"blocked"}','task_status','codex',NULL,'task_01kdwpvng0epwr6k8bzy81a0m0',NULL,'Status changed to: blocked',1);
INSERT INTO "events" VALUES(9,'store',3,'sha256:6d4d78ee521dc9ec58c4ea629c9ffbd45671f15092b31e5c3776882bdef4b05a','evt_01kdwpvng0fz6sz10gcczf61nc',1767268800000,'event','agent.setup','log.writ','writ.task_created','task_01kdwpvng0ex399nwq7he2mh4w',NULL,'normal',NULL,'{"change":"task_created","depends_on":[],"description":"","part":null,"priority":0,"project_id":null,"task_id":"task_01kdwpvng0ex399nwq7he2mh4w","title":"Say it"}','task_created','setup',NULL,'task_01kdwpvng0ex399nwq7he2mh4w',NULL,'Task created: Say it',1);
INSERT INTO "events" VALUES(10,'store',4,'sha256:472795b049d749b964519f22ebd8e17fe8b7b0896be1c5f5886523b96768692a','evt_01kdwpvng0f6frrgt0fq0qfdqq',1767268800000,'event','agent.codex','log.writ','writ.task_status','task_01kdwpvng0ex399nwq7he2mh4w',NULL,'normal',NULL,'{"change":"task_moved","evidence":null,"from":"todo","reason":null,"task_id":"task_01kdwpvng0ex399nwq7he2mh4w","to":"in_progress"}','task_status','codex',NULL,'task_01kdwpvng0ex399nwq7he2mh4w',NULL,'Task started',1);
INSERT INTO "events" VALUES(11,'store',5,'sha256:726cfd1443a3eacdf8d7592603c8dee4517d6cf70974d8c7fc85471fa33fba6c','evt_01kdwpvng0e4tvdedexw6jvxxb',1767268800000,'event','agent.codex','log.writ','writ.task_claimed','task_01kdwpvng0ex399nwq7he2mh4w',NULL,'normal',NULL,'{"change":"task_claimed","claim":{"agent":"codex","lease":{"boot_id":"boot-1","until_millis":1500000},"token":2},"task_id":"task_01kdwpvng0ex399nwq7he2mh4w"}','task_claimed','codex',NULL,'task_01kdwpvng0ex399nwq7he2mh4w',NULL,'Task started',1);
INSERT INTO "events" VALUES(12,'store',6,'sha256:da4d3a0972a97167857c765d0dd3ed0c6dadcefe6511248b11ae641e85d65cfb','evt_01kdwpvng0fmkvyv37x0cgjxwa',1767268800000,'event','agent.codex','log.writ','writ.agent_focus','task_01kdwpvng0ex399nwq7he2mh4w',NULL,'normal',NULL,'{"agent":"codex","change":"agent_focused","project_id":null,"task_id":"task_01kdwpvng0ex399nwq7he2mh4w"}','agent_focus','codex',NULL,'task_01kdwpvng0ex399nwq7he2mh4w',NULL,'Agent focus set',1);
INSERT INTO "events" VALUES(13,'run:run_4s1kbgp4p58229carscz4gf2dt',1,'sha256:9cb2365ddce84d5b5ac3fbde9de9d0641bfded8c6507bbb3e5914482906a3a49','evt_01kdwpvng0fgbrf7he49bfxzrc',1767268800000,'task','agent.setup','service.writ','writ.run.submit','corr_01kdwpvng0fhpv0rbf5x4dsr0w',NULL,'normal',NULL,'{"document":"plan","document_digest":"sha256:build-test","objective":"do build, test","tasks":2}','writ.run.submit','setup',NULL,NULL,'run_4s1kbgp4p58229carscz4gf2dt','do build, test',0);
INSERT INTO "events" VALUES(14,'run:run_4s1kbgp4p58229carscz4gf2dt',2,'sha256:47a308568d6b20926910aae6a19123ca5b001ae1fa785ddc77af66afc6c807cc','evt_01kdwpvng0e3tvz32sqc03amy1',1767268800000,'event','agent.setup','log.writ','writ.run_submitted','corr_01kdwpvng0fhpv0rbf5x4dsr0w','evt_01kdwpvng0fgbrf7he49bfxzrc','normal',NULL,'{"change":"run_submitted","run":{"corr":"corr_01kdwpvng0fhpv0rbf5x4dsr0w","depth":1,"document_digest":"sha256:build-test","id":"run_4s1kbgp4p58229carscz4gf2dt","intent":null,"kind":"plan","objective":"do build, test","origin_id":"evt_01kdwpvng0fgbrf7he49bfxzrc","parent_run":null,"plan":{"max_parallel":2,"objective":"do build, test","tasks":[{"backoff_ms":[],"budget":{"cost":null,"tokens":null},"checks":[],"command":["true"],"depends_on":[],"env":{},"executor":"shell","id":"build","priority":"normal","prompt":null,"reads":[],"retries":0,"retry_safe":false,"scratch":[],"shell":false,"timeout_ms":1800000,"title":"build","writes":[]},{"backoff_ms":[],"budget":{"cost":null,"tokens":null},"checks":[],"command":["true"],"depends_on":["build"],"env":{},"executor":"shell","id":"test","priority":"normal","prompt":null,"reads":[],"retries":0,"retry_safe":false,"scratch":[],"shell":false,"timeout_ms":1800000,"title":"test","writes":[]}],"workspace":null},"requested_by":"agent.setup","workspace":"/workspace"}}','run_submitted','setup',NULL,NULL,'run_4s1kbgp4p58229carscz4gf2dt','Run submitted: do build, test',1);
INSERT INTO "events" VALUES(15,'run:run_4s1kbgp4p58229carscz4gf2dt',3,'sha256:860ba28740b5b232457ca93a7e2d3446ef105452245d610818721ccda53e92e8','evt_01kdwpvng0e5htfzrd7238fzxj',1767268800000,'event','agent.setup','log.writ','writ.task_created','corr_01kdwpvng0fhpv0rbf5x4dsr0w','evt_01kdwpvng0fgbrf7he49bfxzrc','normal',NULL,'{"change":"task_created","depends_on":[],"description":"","part":{"number":1,"run_id":"run_4s1kbgp4p58229carscz4gf2dt","spec":{"backoff_ms":[],"budget":{"cost":null,"tokens":null},"checks":[],"command":["true"],"depends_on":[],"env":{},"executor":"shell","id":"build","priority":"normal","prompt":null,"reads":[],"retries":0,"retry_safe":false,"scratch":[],"shell":false,"timeout_ms":1800000,"title":"build","writes":[]}},"priority":0,"project_id":null,"task_id":"task_01kdwpvng0fmcap9x1e6z5p4sw","title":"build"}','task_created','setup',NULL,'task_01kdwpvng0fmcap9x1e6z5p4sw','run_4s1kbgp4p58229carscz4gf2dt','Task created: build',1);
INSERT INTO "events" VALUES(16,'run:run_4s1kbgp4p58229carscz4gf2dt',4,'sha256:aa586e29cfdf56d53cee4bc555da07b268a9b1eb5d6a86c8eb5ab1c081c51f1d','evt_01kdwpvng0e20sdqkasm9cgzhr',1767268800000,'event','agent.setup','log.writ','writ.task_created','corr_01kdwpvng0fhpv0rbf5x4dsr0w','evt_01kdwpvng0fgbrf7he49bfxzrc','normal',NULL,'{"change":"task_created","depends_on":["task_01kdwpvng0fmcap9x1e6z5p4sw"],"description":"","part":{"number":2,"run_id":"run_4s1kbgp4p58229carscz4gf2dt","spec":{"backoff_ms":[],"budget":{"cost":null,"tokens":null},"checks":[],"command":["true"],"depends_on":["build"],"env":{},"executor":"shell","id":"test","priority":"normal","prompt":null,"reads":[],"retries":0,"retry_safe":false,"scratch":[],"shell":false,"timeout_ms":1800000,"title":"test","writes":[]}},"priority":0,"project_id":null,"task_id":"task_01kdwpvng0fj3bajsw8241wa87","title":"test"}','task_created','setup',NULL,'task_01kdwpvng0fj3bajsw8241wa87','run_4s1kbgp4p58229carscz4gf2dt','Task created: test',1);
INSERT INTO "events" VALUES(17,'run:run_4s1kbgp4p58229carscz4gf2dt',5,'sha256:f80837fce8879e0f2c08f2e89a7e7cf06e8b5095b5316bdd73907c09a7ffb386','evt_01kdwpvng0f1fahfzsx8r4v7wp',1767268800000,'event','agent.writ','log.writ','writ.run_owned','corr_01kdwpvng0fhpv0rbf5x4dsr0w','evt_01kdwpvng0fgbrf7he49bfxzrc','normal',NULL,'{"change":"run_owned","owner":{"boot_id":"boot-1","pid":7,"start_time":1},"run_id":"run_4s1kbgp4p58229carscz4gf2dt"}','run_owned','writ',NULL,NULL,'run_4s1kbgp4p58229carscz4gf2dt','Run taken by an engine',1);
INSERT INTO "events" VALUES(18,'run:run_4s1kbgp4p58229carscz4gf2dt',6,'sha256:122aad12c741dc1af4cbea8bb7912a1bcb0781705e7e5f3e42c67558fe59569a','evt_01kdwpvng0e1stk9gg0hgyvnbt',1767268800000,'event','agent.writ','log.writ','writ.run_status','corr_01kdwpvng0fhpv0rbf5x4dsr0w','evt_01kdwpvng0fgbrf7he49bfxzrc','normal',NULL,'{"change":"run_moved","from":"submitted","result":null,"run_id":"run_4s1kbgp4p58229carscz4gf2dt","to":"running"}','run_status','writ',NULL,NULL,'run_4s1kbgp4p58229carscz4gf2dt','Run is running',1);
INSERT INTO "events" VALUES(19,'run:run_4s1kbgp4p58229carscz4gf2dt',7,'sha256:e3fc3930a7ef95f0aebc64ed46f0ccabc2db16f79b97d7c38d9bcde899b194e6','evt_01kdwpvng0enta3bwczn64sfq5',1767268800000,'event','agent.writ','log.writ','writ.task_status','corr_01kdwpvng0fhpv0rbf5x4dsr0w','evt_01kdwpvng0fgbrf7he49bfxzrc','normal',NULL,'{"change":"task_moved","evidence":null,"from":"todo","reason":null,"task_id":"task_01kdwpvng0fmcap9x1e6z5p4sw","to":"in_progress"}','task_status','writ',NULL,'task_01kdwpvng0fmcap9x1e6z5p4sw','run_4s1kbgp4p58229carscz4gf2dt','build: in_progress',1);
INSERT INTO "events" VALUES(20,'run:run_4s1kbgp4p58229carscz4gf2dt',8,'sha256:f821ea7fb70baf224b8f2dc123cd8d1313ed680fbd4986e8f95a1855c5d17fd8','evt_01kdwpvng0f3wb1bswwgmwm5wg',1767268800000,'event','agent.writ','log.writ','writ.attempt_started','corr_01kdwpvng0fhpv0rbf5x4dsr0w','evt_01kdwpvng0fgbrf7he49bfxzrc','normal',NULL,'{"attempt":{"executor":"shell","id":"attempt_01kdwpvng0edd815sh9p9sedqr","number":1,"owner":{"boot_id":"boot-1","pid":7,"start_time":1},"run_id":"run_4s1kbgp4p58229carscz4gf2dt","task_id":"task_01kdwpvng0fmcap9x1e6z5p4sw"},"change":"attempt_started"}','attempt_started','writ',NULL,'task_01kdwpvng0fmcap9x1e6z5p4sw','run_4s1kbgp4p58229carscz4gf2dt','Attempt 1 started',1);
INSERT INTO "events" VALUES(21,'run:run_4s1kbgp4p58229carscz4gf2dt',9,'sha256:26420a6e131058da57c4cfeab7e72941107afb9020ad9be773e07be3fcd301ca','evt_01kdwpvng0fa7scxc74wkn3v5f',1767268800000,'event','agent.writ','log.writ','writ.attempt_ended','corr_01kdwpvng0fhpv0rbf5x4dsr0w','evt_01kdwpvng0fgbrf7he49bfxzrc','normal',NULL,'{"attempt_id":"attempt_01kdwpvng0edd815sh9p9sedqr","change":"attempt_ended","outcome":{"checks":[],"code":null,"cost":null,"exit_code":0,"leftovers_killed":0,"message":"","signal":null,"stderr_digest":null,"stdout_digest":null,"tokens":null},"state":"succeeded"}','attempt_ended','writ',NULL,'task_01kdwpvng0fmcap9x1e6z5p4sw','run_4s1kbgp4p58229carscz4gf2dt','Attempt succeeded',1);
INSERT INTO "events" VALUES(22,'run:run_4s1kbgp4p58229carscz4gf2dt',10,'sha256:ed1d9121ab6f9196268b071b46de74d7d65904029bd42d5f97ef23a7b3c887f5','evt_01kdwpvng0faqtfkazkv4cd56c',1767268800000,'event','agent.writ','log.writ','writ.task_status','corr_01kdwpvng0fhpv0rbf5x4dsr0w','evt_01kdwpvng0fgbrf7he49bfxzrc','normal',NULL,'{"change":"task_moved","evidence":"claimed","from":"in_progress","reason":null,"task_id":"task_01kdwpvng0fmcap9x1e6z5p4sw","to":"done"}','task_status','writ',NULL,'task_01kdwpvng0fmcap9x1e6z5p4sw','run_4s1kbgp4p58229carscz4gf2dt','build: done',1);
INSERT INTO "events" VALUES(23,'run:run_4s1kbgp4p58229carscz4gf2dt',11,'sha256:e4720cb5b817b6c2645f47d4dae29c3f11855cce3c074b08a7eb4fa16ba2d0eb','evt_01kdwpvng0e99a0a2jj9d4vj2j',1767268800000,'event','agent.writ','log.writ','writ.run_status','corr_01kdwpvng0fhpv0rbf5x4dsr0w','evt_01kdwpvng0fgbrf7he49bfxzrc','normal',NULL,'{"change":"run_moved","from":"running","result":null,"run_id":"run_4s1kbgp4p58229carscz4gf2dt","to":"stopped"}','run_status','writ',NULL,NULL,'run_4s1kbgp4p58229carscz4gf2dt','Run stopped',1);
CREATE TABLE heads (
    stream TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    anchor_seq INTEGER NOT NULL,
    anchor_hash TEXT NOT NULL
);
INSERT INTO "heads" VALUES('project:p1',6,'sha256:2655ec443f431cbecdc942a3eb0cd4c2954e4bf38b534bf67a399edabab92ae5',0,'sha256:0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "heads" VALUES('store',6,'sha256:da4d3a0972a97167857c765d0dd3ed0c6dadcefe6511248b11ae641e85d65cfb',0,'sha256:0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "heads" VALUES('run:run_4s1kbgp4p58229carscz4gf2dt',11,'sha256:e4720cb5b817b6c2645f47d4dae29c3f11855cce3c074b08a7eb4fa16ba2d0eb',0,'sha256:0000000000000000000000000000000000000000000000000000000000000000');
CREATE TABLE requests (
    agent TEXT NOT NULL,
    request_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    answer TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (agent, request_id)
);
INSERT INTO "requests" VALUES('claude','r-1','task.create','sha256:ea7d01b7b0fe674b13c86e31492abe39f0333aa51f9f93133be61fed12c65c49','{"event_id":1,"task":{"created_at":"2026-01-01T12:00:00.000Z","description":"","id":"task_01kdwpvng0fk0vxtwdm5jrxv37","priority":5,"project_id":"p1","status":"pending","title":"Write the parser","updated_at":"2026-01-01T12:00:00.000Z","version":1}}',1767268800000);
INSERT INTO "requests" VALUES('setup','make Review it','task.create','sha256:fbefa38d984e9352664d0bfb38430d39506d1c84dd935970e7165816a284e016','{"event_id":2,"task":{"created_at":"2026-01-01T12:00:00.000Z","description":"","id":"task_01kdwpvng0epwr6k8bzy81a0m0","priority":0,"status":"pending","title":"Review it","updated_at":"2026-01-01T12:00:00.000Z","version":1}}',1767268800000);
INSERT INTO "requests" VALUES('claude','r-2','task.begin','sha256:66abf219048b414c1edf07ca9e31cc4f3bf2af2ba7cd46c121006a4e735abedd','{"focus_event_id":5,"status_event_id":3,"task":{"created_at":"2026-01-01T12:00:00.000Z","description":"","id":"task_01kdwpvng0fk0vxtwdm5jrxv37","priority":5,"project_id":"p1","status":"in_progress","title":"Write the parser","updated_at":"2026-01-01T12:00:00.000Z","version":3}}',1767268800000);
INSERT INTO "requests" VALUES('claude','r-3','task.complete','sha256:da244af78a1c341da2656db425a062d10a9dc57b36f444afabf92bd92651deca','{"close_event_id":7,"status_event_id":6,"task":{"created_at":"2026-01-01T12:00:00.000Z","description":"","evidence":"claimed","id":"task_01kdwpvng0fk0vxtwdm5jrxv37","priority":5,"project_id":"p1","status":"completed","title":"Write the parser","updated_at":"2026-01-01T12:00:00.000Z","version":4}}',1767268800000);
INSERT INTO "requests" VALUES('codex','r-4','task.set_status','sha256:4dcb064c06f6c2a5243a4a7ad75775b7b54d7c7268ddb57be38ae6163a99848a','{"event_id":8,"task":{"created_at":"2026-01-01T12:00:00.000Z","description":"","id":"task_01kdwpvng0epwr6k8bzy81a0m0","priority":0,"status":"blocked","title":"Review it","updated_at":"2026-01-01T12:00:00.000Z","version":2}}',1767268800000);
INSERT INTO "requests" VALUES('setup','make Say it','task.create','sha256:684400ec4a0a7bd2f68e4c9261cf7e7829769c6bc7ead1e0c66d5e96daa68d4d','{"event_id":9,"task":{"created_at":"2026-01-01T12:00:00.000Z","description":"","id":"task_01kdwpvng0ex399nwq7he2mh4w","priority":0,"status":"pending","title":"Say it","updated_at":"2026-01-01T12:00:00.000Z","version":1}}',1767268800000);
INSERT INTO "requests" VALUES('codex','r-5','task.begin','sha256:a50b467221db70f59ef013456c069d80980c5bcb83cad058ab708b73ea2da275','{"focus_event_id":12,"status_event_id":10,"task":{"created_at":"2026-01-01T12:00:00.000Z","description":"","id":"task_01kdwpvng0ex399nwq7he2mh4w","priority":0,"status":"in_progress","title":"Say it","updated_at":"2026-01-01T12:00:00.000Z","version":3}}',1767268800000);
INSERT INTO "requests" VALUES('setup','run build test','run.submit','sha256:0a12306d849e6a0ec48ca5b66d7ebf4d69edd7b63fa11e1ae69c27e6aee36d40','{"corr":"corr_01kdwpvng0fhpv0rbf5x4dsr0w","run_id":"run_4s1kbgp4p58229carscz4gf2dt"}',1767268800000);
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    corr TEXT NOT NULL,
    state TEXT NOT NULL,
    asked TEXT NOT NULL,
    owner TEXT,
    lease_boot_id TEXT,
    lease_until INTEGER,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    result TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER
);
INSERT INTO "runs" VALUES('run_4s1kbgp4p58229carscz4gf2dt','corr_01kdwpvng0fhpv0rbf5x4dsr0w','stopped','{"id":"run_4s1kbgp4p58229carscz4gf2dt","corr":"corr_01kdwpvng0fhpv0rbf5x4dsr0w","origin_id":"evt_01kdwpvng0fgbrf7he49bfxzrc","kind":"plan","objective":"do build, test","workspace":"/workspace","plan":{"objective":"do build, test","workspace":null,"max_parallel":2,"tasks":[{"id":"build","title":"build","executor":"shell","command":["true"],"shell":false,"prompt":null,"writes":[],"reads":[],"scratch":[],"env":{},"depends_on":[],"priority":"normal","timeout_ms":1800000,"retries":0,"backoff_ms":[],"retry_safe":false,"budget":{"cost":null,"tokens":null},"checks":[]},{"id":"test","title":"test","executor":"shell","command":["true"],"shell":false,"prompt":null,"writes":[],"reads":[],"scratch":[],"env":{},"depends_on":["build"],"priority":"normal","timeout_ms":1800000,"retries":0,"backoff_ms":[],"retry_safe":false,"budget":{"cost":null,"tokens":null},"checks":[]}]},"intent":null,"requested_by":"agent.setup","depth":1,"parent_run":null,"document_digest":"sha256:build-test"}',NULL,NULL,NULL,0,NULL,1767268800000,NULL);
CREATE TABLE task_dependencies (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    depends_on TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    PRIMARY KEY (task_id, depends_on)
);
INSERT INTO "task_dependencies" VALUES('task_01kdwpvng0fj3bajsw8241wa87','task_01kdwpvng0fmcap9x1e6z5p4sw');
CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL,
    evidence TEXT,
    priority INTEGER NOT NULL,
    project_id TEXT,
    blocked_reason TEXT,
    version INTEGER NOT NULL,
    claim_agent TEXT,
    claim_token INTEGER,
    claim_boot_id TEXT,
    claim_until INTEGER,
    run_id TEXT REFERENCES runs (id),
    number INTEGER,
    name TEXT,
    spec TEXT,
    open_dependencies INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
INSERT INTO "tasks" VALUES('task_01kdwpvng0fk0vxtwdm5jrxv37','Write the parser','','done','claimed',5,'p1',NULL,4,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,1767268800000,1767268800000);
INSERT INTO "tasks" VALUES('task_01kdwpvng0epwr6k8bzy81a0m0','Review it','','blocked',NULL,0,NULL,NULL,2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,1767268800000,1767268800000);
INSERT INTO "tasks" VALUES('task_01kdwpvng0ex399nwq7he2mh4w','Say it','','in_progress',NULL,0,NULL,NULL,3,'codex',2,'boot-1',1500000,NULL,NULL,NULL,NULL,0,1767268800000,1767268800000);
INSERT INTO "tasks" VALUES('task_01kdwpvng0fmcap9x1e6z5p4sw','build','','done','claimed',0,NULL,NULL,3,NULL,NULL,NULL,NULL,'run_4s1kbgp4p58229carscz4gf2dt',1,'build','{"id":"build","title":"build","executor":"shell","command":["true"],"shell":false,"prompt":null,"writes":[],"reads":[],"scratch":[],"env":{},"depends_on":[],"priority":"normal","timeout_ms":1800000,"retries":0,"backoff_ms":[],"retry_safe":false,"budget":{"cost":null,"tokens":null},"checks":[]}',0,1767268800000,1767268800000);
INSERT INTO "tasks" VALUES('task_01kdwpvng0fj3bajsw8241wa87','test','','todo',NULL,0,NULL,NULL,1,NULL,NULL,NULL,NULL,'run_4s1kbgp4p58229carscz4gf2dt',2,'test','{"id":"test","title":"test","executor":"shell","command":["true"],"shell":false,"prompt":null,"writes":[],"reads":[],"scratch":[],"env":{},"depends_on":["build"],"priority":"normal","timeout_ms":1800000,"retries":0,"backoff_ms":[],"retry_safe":false,"budget":{"cost":null,"tokens":null},"checks":[]}',0,1767268800000,1767268800000);
CREATE UNIQUE INDEX events_by_event_id ON events (event_id);
CREATE INDEX events_by_corr ON events (corr, id);
CREATE INDEX events_by_task ON events (task_id, id) WHERE task_id IS NOT NULL;
CREATE INDEX events_by_agent ON events (agent, id);
CREATE INDEX events_by_kind ON events (kind, id);
CREATE INDEX runs_by_corr ON runs (corr, created_at, id);
CREATE INDEX runs_by_time ON runs (created_at, id);
CREATE INDEX runs_by_state ON runs (state, created_at, id);
CREATE INDEX tasks_by_run ON tasks (run_id, number) WHERE run_id IS NOT NULL;
CREATE INDEX tasks_by_priority ON tasks (priority DESC, created_at DESC, id DESC);
CREATE INDEX tasks_by_status ON tasks (status, priority DESC, created_at DESC, id DESC);
CREATE INDEX tasks_by_project ON tasks (project_id, status, priority DESC, created_at DESC, id DESC)
    WHERE project_id IS NOT NULL;
CREATE INDEX tasks_claimed ON tasks (claim_agent, id) WHERE claim_agent IS NOT NULL;
CREATE INDEX tasks_ready ON tasks (status, priority DESC, created_at, id)
    WHERE status = 'todo' AND open_dependencies = 0;
CREATE INDEX task_dependents ON task_dependencies (depends_on, task_id);
CREATE INDEX attempts_open ON attempts (run_id, id) WHERE state = 'started';
CREATE INDEX requests_by_time ON requests (created_at) WHERE answer IS NOT NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',23);
COMMIT;
PRAGMA application_id = 1465010516;
PRAGMA user_version = 1;
