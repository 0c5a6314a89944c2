-- What a lease writes, in three pages where there were six: its row, what it stands on by grant, its row of
-- the audit trail.

-- The grants that it stands on are named in its row, so that nobody keeps an index of them by lease. Which
-- rows a lease takes with it when it is forgotten, a trigger says: a reference would look for them in all.
ALTER TABLE lease ADD COLUMN grants TEXT NOT NULL DEFAULT '[]'; -- JSON: ids, whose rows of lease_grant are its
UPDATE lease SET grants = (SELECT json_group_array(h.grant_id) FROM lease_grant h WHERE h.lease = lease.seq);
CREATE TABLE new_lease_grant (
	grant_id       TEXT NOT NULL,
	lease          INTEGER NOT NULL,
	how            INTEGER NOT NULL,          -- 1 files, 2 variables, 4 mounts, 8 devices, 16 interfaces
	state          TEXT NOT NULL CHECK (state = 'held' OR state = 'taking' OR state = 'taken'
		OR state = 'failed' OR state = 'superseded'),
	action         TEXT CHECK (action IN ('scrub', 'kill')),
	asked_at       INTEGER NOT NULL DEFAULT 0,
	answered_at    INTEGER NOT NULL DEFAULT 0,
	result         TEXT,                      -- JSON of who held it
	PRIMARY KEY (grant_id, lease)
) STRICT, WITHOUT ROWID;
INSERT INTO new_lease_grant SELECT * FROM lease_grant;
DROP TABLE lease_grant;
ALTER TABLE new_lease_grant RENAME TO lease_grant;
CREATE INDEX lease_grant_taking ON lease_grant (lease) WHERE state = 'taking';
CREATE TRIGGER lease_forgotten AFTER DELETE ON lease BEGIN
	DELETE FROM lease_grant WHERE lease = OLD.seq
		AND grant_id IN (SELECT value FROM json_each(OLD.grants));
END;

-- Live leases are looked for from here on: below it none is. The janitor raises it; a lease that comes
-- to stand below it lowers it again. An index of the live ones was a page of each lease.
DROP INDEX lease_due;
CREATE TABLE lease_floor (
	one            INTEGER PRIMARY KEY CHECK (one = 1),
	seq            INTEGER NOT NULL
) STRICT;
INSERT INTO lease_floor SELECT 1, coalesce(min(seq), 0) FROM lease WHERE state = 'live';
CREATE TRIGGER lease_below AFTER INSERT ON lease
	WHEN NEW.seq < (SELECT seq FROM lease_floor) BEGIN
	UPDATE lease_floor SET seq = NEW.seq;
END;
CREATE TRIGGER lease_back AFTER UPDATE OF state, seq ON lease
	WHEN NEW.state = 'live' AND NEW.seq < (SELECT seq FROM lease_floor) BEGIN
	UPDATE lease_floor SET seq = NEW.seq;
END;

-- The last row of the audit trail says that it is the last, so that a tail that was cut off is missed
-- without a page beside it. audit_head is a row that the trail has passed: it follows now and then.
DROP TRIGGER IF EXISTS audit_no_update;
ALTER TABLE audit ADD COLUMN at_end INTEGER NOT NULL DEFAULT 0; -- 1: no row follows
UPDATE audit SET at_end = 1 WHERE (seq, hash) = (SELECT seq, hash FROM audit_head);
CREATE TRIGGER audit_no_update BEFORE UPDATE OF seq, at, actor, action, entity, entity_id, project, detail,
	prev, hash ON audit BEGIN
	SELECT raise(ABORT, 'audit rows are never changed');
END;
