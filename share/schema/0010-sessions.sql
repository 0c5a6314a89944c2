-- What the hub has dispatched: one session a run. The handle is the driver's ledger; this is the
-- hub's, which failover claims from. The claim token is rotated by whoever decides a session's
-- fate, so that of two supervisors one finds another token than it read.

CREATE TABLE session (
	id             TEXT PRIMARY KEY,          -- ses_<24 hex>
	run_id         TEXT NOT NULL UNIQUE REFERENCES run (id),
	executor_id    TEXT NOT NULL,
	project        TEXT NOT NULL,
	workload       TEXT NOT NULL,             -- what it is in the project: task:ID, or argv:SHA-256
	isolated       INTEGER NOT NULL,          -- it was kept off the hub's host
	claim_token    TEXT NOT NULL,
	state          TEXT NOT NULL CHECK (state IN ('running', 'requeued', 'replaced', 'finished',
		'failed', 'failover_exhausted', 'quarantined')),
	attempt        INTEGER NOT NULL CHECK (attempt > 0), -- 1: nothing of its kind was lost before
	requeued_from  TEXT REFERENCES session (id),
	replaced_by    TEXT REFERENCES session (id),
	reason         TEXT,
	started_at     INTEGER NOT NULL,
	updated_at     INTEGER NOT NULL,
	ended_at       INTEGER NOT NULL DEFAULT 0,
	CHECK ((state = 'replaced') = (replaced_by IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX session_open ON session (executor_id) WHERE state = 'running';
CREATE INDEX session_requeued ON session (updated_at) WHERE state = 'requeued';

-- Each executor that a workload was lost with: two of them make it a suspect.
CREATE TABLE session_loss (
	session_id     TEXT PRIMARY KEY REFERENCES session (id),
	project        TEXT NOT NULL,
	workload       TEXT NOT NULL,
	executor_id    TEXT NOT NULL,
	lost_at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_loss_workload ON session_loss (project, workload);

-- The end of a run is the end of its session, in the same write. Runs of a hub that was brought up
-- to date while they ran have none.
CREATE TRIGGER run_ends_session AFTER UPDATE OF state ON run WHEN NEW.state = 'finished' BEGIN
	UPDATE session SET state = CASE WHEN NEW.outcome = 'exited' THEN 'finished' ELSE 'failed' END,
		reason = NEW.error, updated_at = NEW.finished_at, ended_at = NEW.finished_at
		WHERE run_id = NEW.id AND state = 'running';
END;
