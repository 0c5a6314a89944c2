-- Starting again what was lost with its executor.

-- When somebody last took a requeued session on: whoever finds it young leaves it to them.
ALTER TABLE session ADD COLUMN tried_at INTEGER NOT NULL DEFAULT 0;

-- A workload that ended by itself has shown that it takes no executor with it. A suspect stays one
-- until a person lets it go.
CREATE TRIGGER run_clears_loss AFTER UPDATE OF state ON run
WHEN NEW.state = 'finished' AND NEW.outcome = 'exited' BEGIN
	DELETE FROM session_loss WHERE (project, workload) =
		(SELECT project, workload FROM session WHERE run_id = NEW.id)
		AND (SELECT count(DISTINCT l.executor_id) FROM session_loss AS l
			WHERE l.project = session_loss.project AND l.workload = session_loss.workload) < 2;
END;
