-- Which kernel serves the sandboxes of an executor under a runtime, as the isolation probe found it.
-- An attempt that could not run keeps the verdict that was found before.
CREATE TABLE isolation_evidence (
	executor_id    TEXT NOT NULL,
	runtime        TEXT NOT NULL,             -- as configured; '': the engine's default
	verdict        TEXT NOT NULL,             -- unknown, host-kernel, userspace-kernel, vm
	standing       TEXT NOT NULL,             -- verified, contradicted, unverified, unclaimed
	reason         TEXT NOT NULL,             -- of the verdict
	evidence       TEXT,                      -- JSON: read in the sandbox
	reference      TEXT,                      -- JSON: of the executing machine
	engine_release TEXT NOT NULL,
	runtime_path   TEXT NOT NULL,
	identity       TEXT NOT NULL,             -- hash of engine, runtime, configuration and kernel
	taken_at       INTEGER NOT NULL,          -- when the verdict was found; 0: never
	attempted_at   INTEGER NOT NULL,
	failure        TEXT,                      -- why the last attempt could not run; NULL: it ran
	PRIMARY KEY (executor_id, runtime)
) STRICT, WITHOUT ROWID;
