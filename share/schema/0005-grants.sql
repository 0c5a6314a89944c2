-- Who may use a secret, narrowed and until when. A grant is never changed: an edit is a new grant that
-- retires the old one. Everything that gives it authority is signed; what takes authority away
-- (revoked_at and what explains it) is not, so that it works without the key.

CREATE TABLE "grant" (
	id             TEXT PRIMARY KEY,          -- grant_<24 hex>
	secret_id      TEXT NOT NULL,             -- no reference: the row outlives its secret
	secret_name    TEXT NOT NULL,
	kind           TEXT NOT NULL,
	scope          TEXT NOT NULL,             -- a label for people
	subject        TEXT NOT NULL,             -- project:PATH, executor:ID, label:K=V,..., any
	constraints    TEXT NOT NULL,             -- canonical JSON
	expires_at     INTEGER NOT NULL,
	created_at     INTEGER NOT NULL,
	created_by     TEXT NOT NULL,
	owner          TEXT NOT NULL,
	signature      TEXT NOT NULL,             -- hex, Ed25519 over all of the above
	revoked_at     INTEGER NOT NULL DEFAULT 0,
	revoked_by     TEXT,
	revoked_cause  TEXT,                      -- NULL by hand, superseded, secret_deleted, owner_offboarded
	superseded_by  TEXT,
	unguarded      TEXT                       -- JSON: by, at, reason and their signature
) STRICT, WITHOUT ROWID;
CREATE INDEX grant_secret ON "grant" (secret_id) WHERE revoked_at = 0;
CREATE INDEX grant_subject ON "grant" (subject) WHERE revoked_at = 0;
CREATE INDEX grant_created ON "grant" (created_at);
