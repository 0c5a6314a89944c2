-- Installation tokens of GitHub Apps, each from the moment that GitHub gave it until GitHub has said that
-- it is destroyed, or it has ended by itself. Sealed together with the address that it came from, so that
-- whoever has the key can have it destroyed there, whatever became of who asked for it or held it, and
-- who only writes this file cannot send it anywhere else.

CREATE TABLE token (
	id             TEXT PRIMARY KEY,          -- tok_<24 hex>
	key_id         TEXT NOT NULL REFERENCES sealing_key (id),
	wrapped        TEXT NOT NULL,
	sealed         TEXT NOT NULL,
	sum            TEXT NOT NULL,             -- SHA-256 of the token, to know it again
	lease_id       TEXT,                      -- that stands on it; NULL: none has been written yet
	grant_id       TEXT NOT NULL,
	secret_id      TEXT NOT NULL,
	secret_name    TEXT NOT NULL,
	created_at     INTEGER NOT NULL,
	expires_at     INTEGER NOT NULL,
	ends           TEXT,                      -- why it is to be destroyed; NULL: it is in use
	tries          INTEGER NOT NULL DEFAULT 0,
	tried_at       INTEGER NOT NULL DEFAULT 0,
	error          TEXT                       -- of the last try
) STRICT, WITHOUT ROWID;
CREATE INDEX token_key ON token (key_id);
CREATE INDEX token_sum ON token (sum);
CREATE INDEX token_lease ON token (lease_id) WHERE lease_id IS NOT NULL;
CREATE INDEX token_grant ON token (grant_id);
