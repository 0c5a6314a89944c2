-- Rule sets of the levels below an executor's configuration. One row a version; the newest of a
-- subject is in force, and the others say what earlier runs had.

CREATE TABLE egress_rules (
	level          TEXT NOT NULL CHECK (level IN ('executor', 'device', 'virtual', 'project')),
	subject        TEXT NOT NULL,             -- the executor's id, or the project's directory
	version        INTEGER NOT NULL CHECK (version > 0),
	rules          TEXT,                      -- JSON authorisation; NULL: no rules from here on
	sha256         TEXT NOT NULL,             -- of the row's canonical text, which is what is signed
	created_at     INTEGER NOT NULL,
	created_by     TEXT NOT NULL,
	key_id         TEXT,                      -- that signed it; NULL: unsigned
	signature      TEXT,
	PRIMARY KEY (level, subject, version),
	CHECK ((key_id IS NULL) = (signature IS NULL))
) STRICT, WITHOUT ROWID;
