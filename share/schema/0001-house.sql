-- Times are Unix milliseconds, 0 or NULL where there is none. Columns that hold JSON say so.

CREATE TABLE run (
	id             TEXT PRIMARY KEY,          -- run_<24 hex>
	project        TEXT NOT NULL,             -- directory
	executor_id    TEXT NOT NULL,
	handle_id      TEXT,                      -- c-<12 hex> once there is one
	argv           TEXT NOT NULL,             -- JSON array
	harness        TEXT NOT NULL,             -- base name of argv[0]
	task           TEXT,                      -- label of --task
	uid            INTEGER NOT NULL,          -- who asked
	detached       INTEGER NOT NULL DEFAULT 0,
	state          TEXT NOT NULL CHECK (state IN ('starting', 'running', 'finished')),
	outcome        TEXT,
	exit_code      INTEGER,
	error          TEXT,
	created_at     INTEGER NOT NULL,
	started_at     INTEGER NOT NULL DEFAULT 0,
	finished_at    INTEGER NOT NULL DEFAULT 0,
	deadline       INTEGER NOT NULL DEFAULT 0,
	image_requested TEXT,
	image          TEXT,                      -- pinned
	image_digest   TEXT,
	reproducible   INTEGER NOT NULL DEFAULT 0,
	spec_sha256    TEXT,
	setup_sha256   TEXT,
	egress         TEXT,                      -- JSON: the policy in force
	clamps         TEXT,                      -- JSON array
	limits         TEXT,                      -- JSON
	CHECK ((state = 'finished') = (outcome IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX run_created ON run (created_at);
CREATE INDEX run_project ON run (project, created_at);
CREATE INDEX run_live ON run (state) WHERE state <> 'finished';

CREATE TABLE handle (
	id             TEXT PRIMARY KEY,          -- c-<12 hex>
	run_id         TEXT REFERENCES run (id),
	executor_id    TEXT NOT NULL,
	driver         TEXT NOT NULL,
	container      TEXT,                      -- name
	external_id    TEXT,                      -- the engine's
	project        TEXT NOT NULL,
	image          TEXT,
	cgroup         TEXT,
	netns          TEXT,
	bridge         TEXT,
	nft_table      TEXT,
	network        TEXT,                      -- full name
	shim_pid       INTEGER NOT NULL DEFAULT 0,
	shim_start     INTEGER NOT NULL DEFAULT 0, -- clock ticks since boot
	boot_id        TEXT NOT NULL DEFAULT '',
	runtime_dir    TEXT,
	started_at     INTEGER NOT NULL,
	deadline       INTEGER NOT NULL DEFAULT 0,
	disk_limit_mb  INTEGER NOT NULL DEFAULT 0,
	disk_limit_source TEXT,
	disk_baseline  INTEGER NOT NULL DEFAULT -1, -- bytes of .cloop at the start, -1 unmeasured
	disk_breach    TEXT,                      -- JSON
	kill_cause     TEXT,
	state          TEXT NOT NULL CHECK (state IN ('live', 'ended')),
	ended_at       INTEGER NOT NULL DEFAULT 0,
	meta           TEXT                       -- JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX handle_live ON handle (state) WHERE state = 'live';
CREATE INDEX handle_run ON handle (run_id);

CREATE TABLE journal (
	seq            INTEGER PRIMARY KEY AUTOINCREMENT,
	at             INTEGER NOT NULL,
	project        TEXT NOT NULL,
	run_id         TEXT,
	kind           TEXT NOT NULL,             -- disk_limit, resource_ceiling, ...
	text           TEXT NOT NULL,
	data           TEXT                       -- JSON
) STRICT;
CREATE INDEX journal_project ON journal (project, seq);
CREATE INDEX journal_run ON journal (run_id, seq);

CREATE TABLE counter (
	name           TEXT NOT NULL,
	label          TEXT NOT NULL,
	value          INTEGER NOT NULL,
	PRIMARY KEY (name, label)
) STRICT, WITHOUT ROWID;

-- One hash chain: hash = SHA-256(prev, newline, canonical JSON of the row without prev and hash).
CREATE TABLE audit (
	seq            INTEGER PRIMARY KEY,
	at             INTEGER NOT NULL,
	actor          TEXT NOT NULL,
	action         TEXT NOT NULL,
	entity         TEXT NOT NULL,
	entity_id      TEXT NOT NULL,
	project        TEXT NOT NULL,
	detail         TEXT NOT NULL,             -- JSON object
	prev           TEXT NOT NULL,
	hash           TEXT NOT NULL
) STRICT;
CREATE INDEX audit_action ON audit (action, seq);
CREATE INDEX audit_entity ON audit (entity, entity_id, seq);

-- Where the chain ends, so that a tail that was cut off is missed.
CREATE TABLE audit_head (
	one            INTEGER PRIMARY KEY CHECK (one = 1),
	seq            INTEGER NOT NULL,
	hash           TEXT NOT NULL
) STRICT;
INSERT INTO audit_head VALUES (1, 0, '');

CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN
	SELECT raise(ABORT, 'audit rows are never changed');
END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN
	SELECT raise(ABORT, 'audit rows are never deleted');
END;
