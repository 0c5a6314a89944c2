-- The fleet: which directories are projects, what people have said of executors, and how the
-- executors are. What is configured of an executor stays in config.yaml; nothing here makes one.

CREATE TABLE project (
	path           TEXT PRIMARY KEY,          -- as the kernel opens it: absolute, no link in it
	name           TEXT NOT NULL,
	owner          TEXT NOT NULL,             -- a user of this host
	origin         TEXT NOT NULL CHECK (origin IN ('added', 'created', 'run')),
	made           TEXT,                      -- device:inode:birth of the directory the hub made
	created_at     INTEGER NOT NULL,
	created_by     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A directory that is being made or deleted: nothing else may begin at, in or above it meanwhile.
CREATE TABLE project_claim (
	path           TEXT PRIMARY KEY,
	token          TEXT NOT NULL,             -- claim_<24 hex>
	created_at     INTEGER NOT NULL,
	expires_at     INTEGER NOT NULL,          -- whoever held it was killed
	created_by     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- No row: nobody has probed or held it. A change names the version that it was made from.
CREATE TABLE executor_health (
	executor_id    TEXT PRIMARY KEY,
	state          TEXT NOT NULL CHECK (state IN
		('ready', 'degraded', 'unreachable', 'cordoned', 'draining')),
	reason         TEXT NOT NULL,
	failures       INTEGER NOT NULL,          -- consecutive
	last_seen      INTEGER NOT NULL,          -- when a probe last succeeded
	last_probe     INTEGER NOT NULL,
	next_probe     INTEGER NOT NULL,
	changed_at     INTEGER NOT NULL,          -- of the state
	changed_by     TEXT NOT NULL,
	version        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Signed, as grants are: where a project's work runs, and what grants and placement may read
-- from an executor's labels. The project '' is the default of those that have no row.
CREATE TABLE executor_binding (
	project        TEXT PRIMARY KEY,
	executor_id    TEXT NOT NULL,
	created_at     INTEGER NOT NULL,
	created_by     TEXT NOT NULL,
	signature      TEXT NOT NULL              -- hex, Ed25519 over all of the above
) STRICT, WITHOUT ROWID;
CREATE INDEX executor_binding_executor ON executor_binding (executor_id);

CREATE TABLE executor_labels (
	executor_id    TEXT PRIMARY KEY,
	labels         TEXT NOT NULL,             -- JSON object of strings, over the configured ones
	created_at     INTEGER NOT NULL,
	created_by     TEXT NOT NULL,
	signature      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may use an executor; without a row, everybody.
CREATE TABLE executor_access (
	executor_id    TEXT NOT NULL,
	entry          TEXT NOT NULL,             -- user:NAME, group:NAME
	created_at     INTEGER NOT NULL,
	created_by     TEXT NOT NULL,
	PRIMARY KEY (executor_id, entry)
) STRICT, WITHOUT ROWID;

-- Ceilings below the fleet's; 0 says nothing.
CREATE TABLE ceiling (
	level          TEXT NOT NULL CHECK (level IN ('executor', 'project')),
	subject        TEXT NOT NULL,             -- the executor's id, or the project's directory
	cpu_milli      INTEGER NOT NULL CHECK (cpu_milli >= 0),
	memory_mb      INTEGER NOT NULL CHECK (memory_mb >= 0),
	disk_mb        INTEGER NOT NULL CHECK (disk_mb >= 0),
	pids           INTEGER NOT NULL CHECK (pids >= 0),
	created_at     INTEGER NOT NULL,
	created_by     TEXT NOT NULL,
	PRIMARY KEY (level, subject)
) STRICT, WITHOUT ROWID;
