-- A lease's id says where its row stands: seq is its last 16 digits, so nobody has to keep an index of
-- ids, which each lease wrote a page of. lease_seq(id) is this function, of every connection of cloop's.

CREATE TABLE new_lease (
	seq            INTEGER PRIMARY KEY,       -- lease_seq(id): rises with time
	id             TEXT NOT NULL,             -- lease_<24 hex>
	run_id         TEXT,
	sandbox        TEXT,                      -- c-<12 hex>, once there is one
	project        TEXT NOT NULL,
	executor_id    TEXT NOT NULL,             -- '' for none
	labels         TEXT NOT NULL,             -- of the executor, that it was checked against
	actor          TEXT NOT NULL,
	created_at     INTEGER NOT NULL,
	expires_at     INTEGER NOT NULL,
	renewed_at     INTEGER NOT NULL DEFAULT 0,
	state          TEXT NOT NULL CHECK (state = 'live' OR state = 'released' OR state = 'expired'
		OR state = 'revoked'),
	ended_at       INTEGER NOT NULL DEFAULT 0,
	ended_by       TEXT,
	reason         TEXT,
	CHECK ((state = 'live') = (ended_at = 0))
) STRICT;
CREATE TABLE new_lease_grant (
	grant_id       TEXT NOT NULL,
	lease          INTEGER NOT NULL REFERENCES new_lease (seq) ON DELETE CASCADE,
	how            INTEGER NOT NULL,          -- 1 files, 2 variables, 4 mounts, 8 devices, 16 interfaces
	state          TEXT NOT NULL CHECK (state = 'held' OR state = 'taking' OR state = 'taken'
		OR state = 'failed' OR state = 'superseded'),
	action         TEXT CHECK (action IN ('scrub', 'kill')),
	asked_at       INTEGER NOT NULL DEFAULT 0,
	answered_at    INTEGER NOT NULL DEFAULT 0,
	result         TEXT,                      -- JSON of who held it
	PRIMARY KEY (grant_id, lease)
) STRICT, WITHOUT ROWID;
CREATE TABLE new_app_token (
	lease          INTEGER NOT NULL REFERENCES new_lease (seq) ON DELETE CASCADE,
	grant_id       TEXT NOT NULL,
	secret_id      TEXT NOT NULL,
	secret_name    TEXT NOT NULL,
	file           TEXT NOT NULL,             -- in the lease's directory
	base_url       TEXT NOT NULL,             -- of the API that gave it
	scope          TEXT NOT NULL,             -- JSON: {"repository_ids", "permissions"}
	sum            TEXT NOT NULL,             -- SHA-256 of the token, to know it again
	expires_at     INTEGER NOT NULL,
	spare          INTEGER NOT NULL,          -- 1: the one before it is to be destroyed
	PRIMARY KEY (lease, grant_id)
) STRICT, WITHOUT ROWID;

-- What has an id that no cloop makes was put there by somebody else, and is nobody's lease.
INSERT INTO new_lease SELECT lease_seq(id), id, run_id, sandbox, project, executor_id, labels, actor,
	created_at, expires_at, renewed_at, state, ended_at, ended_by, reason
	FROM lease WHERE lease_seq(id) IS NOT NULL;
INSERT INTO new_lease_grant SELECT h.grant_id, n.seq, h.how, h.state, h.action, h.asked_at, h.answered_at,
	h.result
	FROM lease_grant h JOIN lease l ON l.seq = h.lease
	JOIN new_lease n ON n.seq = lease_seq(l.id) ORDER BY 1, 2;
INSERT INTO new_app_token SELECT n.seq, t.grant_id, t.secret_id, t.secret_name, t.file, t.base_url, t.scope,
	t.sum, t.expires_at, t.spare
	FROM app_token t JOIN lease l ON l.seq = t.lease
	JOIN new_lease n ON n.seq = lease_seq(l.id);
-- Children first, and each of its new parent: what is dropped has none.
DROP TABLE app_token;
DROP TABLE lease_grant;
DROP TABLE lease;
-- References follow.
ALTER TABLE new_lease RENAME TO lease;
ALTER TABLE new_lease_grant RENAME TO lease_grant;
ALTER TABLE new_app_token RENAME TO app_token;

CREATE INDEX lease_due ON lease (expires_at) WHERE state = 'live';
CREATE INDEX lease_ended ON lease (ended_at) WHERE state <> 'live';
CREATE INDEX lease_run ON lease (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX lease_sandbox ON lease (sandbox) WHERE sandbox IS NOT NULL;
CREATE INDEX lease_grant_lease ON lease_grant (lease);
CREATE INDEX lease_grant_taking ON lease_grant (lease) WHERE state = 'taking';
