-- What a workload tried to reach and was refused, read from the kernel's record. One row a
-- destination; a run keeps its newest, and rows are forgotten after a while.
CREATE TABLE blocked (
	handle_id      TEXT NOT NULL REFERENCES handle (id),
	run_id         TEXT,                      -- NULL: a workload that is no run's
	project        TEXT NOT NULL,
	executor_id    TEXT NOT NULL,
	source         TEXT NOT NULL,             -- the sandbox's address
	destination    TEXT NOT NULL,
	proto          INTEGER NOT NULL,          -- IPPROTO_*
	port           INTEGER NOT NULL,          -- 0: a protocol without ports
	packets        INTEGER NOT NULL,
	bytes          INTEGER NOT NULL,
	first_at       INTEGER NOT NULL,
	last_at        INTEGER NOT NULL,
	PRIMARY KEY (handle_id, destination, proto, port)
) STRICT, WITHOUT ROWID;
CREATE INDEX blocked_run ON blocked (run_id, last_at);
CREATE INDEX blocked_project ON blocked (project, last_at);
CREATE INDEX blocked_last ON blocked (last_at);

-- JSON: {"destinations","packets","unrecorded"} of all that was refused, also of rows that went.
ALTER TABLE run ADD COLUMN blocked TEXT;

-- Which rows of a shared record are this workload's, and what found no room before it started.
ALTER TABLE handle ADD COLUMN address TEXT;
ALTER TABLE handle ADD COLUMN address6 TEXT;
ALTER TABLE handle ADD COLUMN unrecorded_before INTEGER NOT NULL DEFAULT 0;
