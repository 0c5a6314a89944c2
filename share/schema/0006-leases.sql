-- What was lent to whom and until when. Never material: a lease's payloads live in the memory of who
-- holds it. Rows are by time, so that a sweep over many touches neighbours.

CREATE TABLE lease (
	seq            INTEGER PRIMARY KEY,
	id             TEXT NOT NULL UNIQUE,      -- lease_<24 hex>
	run_id         TEXT,
	sandbox        TEXT,                      -- c-<12 hex>, once there is one
	project        TEXT NOT NULL,
	executor_id    TEXT NOT NULL,             -- '' for none
	labels         TEXT NOT NULL,             -- of the executor, that it was checked against
	actor          TEXT NOT NULL,
	created_at     INTEGER NOT NULL,
	expires_at     INTEGER NOT NULL,
	renewed_at     INTEGER NOT NULL DEFAULT 0,
	state          TEXT NOT NULL CHECK (state IN ('live', 'released', 'expired', 'revoked')),
	ended_at       INTEGER NOT NULL DEFAULT 0,
	ended_by       TEXT,
	reason         TEXT,
	CHECK ((state = 'live') = (ended_at = 0))
) STRICT;
CREATE INDEX lease_due ON lease (expires_at) WHERE state = 'live';
CREATE INDEX lease_ended ON lease (ended_at) WHERE state <> 'live';
CREATE INDEX lease_run ON lease (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX lease_sandbox ON lease (sandbox) WHERE sandbox IS NOT NULL;

-- Which grants a lease stands on, and whether its holder still has what they deliver:
-- held; taking, the holder is asked to give it up; taken, it did, or it is gone; failed, it could
-- not. superseded: the lease stands on the successor.
CREATE TABLE lease_grant (
	grant_id       TEXT NOT NULL,
	lease          INTEGER NOT NULL REFERENCES lease (seq) ON DELETE CASCADE,
	how            INTEGER NOT NULL,          -- 1 files, 2 variables, 4 mounts, 8 devices, 16 interfaces
	state          TEXT NOT NULL CHECK (state IN ('held', 'taking', 'taken', 'failed', 'superseded')),
	action         TEXT CHECK (action IN ('scrub', 'kill')),
	asked_at       INTEGER NOT NULL DEFAULT 0,
	answered_at    INTEGER NOT NULL DEFAULT 0,
	result         TEXT,                      -- JSON of who held it
	PRIMARY KEY (grant_id, lease)
) STRICT, WITHOUT ROWID;
CREATE INDEX lease_grant_lease ON lease_grant (lease);
CREATE INDEX lease_grant_taking ON lease_grant (lease) WHERE state = 'taking';
