-- Keys, and what is sealed under them. The columns of one sealed row: key_id names the
-- key-encryption key, wrapped is the row's data key under it (hex), sealed is the payload under the
-- data key (base64). Each begins with its nonce and ends with its tag.

CREATE TABLE sealing_key (
	id             TEXT PRIMARY KEY,          -- kek_<24 hex>
	state          TEXT NOT NULL CHECK (state IN ('primary', 'active', 'retired')),
	method         TEXT NOT NULL CHECK (method IN ('hkdf', 'scrypt')),
	salt           TEXT NOT NULL,             -- hex; '' once retired: it cannot be derived again
	proof          TEXT NOT NULL,             -- hex: a known text sealed under it
	created_at     INTEGER NOT NULL,
	created_by     TEXT NOT NULL,
	retired_at     INTEGER NOT NULL DEFAULT 0,
	CHECK ((state = 'retired') = (salt = ''))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX sealing_key_primary ON sealing_key (state) WHERE state = 'primary';

CREATE TABLE rotation (
	id             TEXT PRIMARY KEY,          -- rot_<24 hex>
	target         TEXT NOT NULL REFERENCES sealing_key (id),
	state          TEXT NOT NULL CHECK (state IN ('running', 'completed', 'interrupted', 'failed')),
	rewrapped      INTEGER NOT NULL DEFAULT 0,
	skipped        INTEGER NOT NULL DEFAULT 0, -- another process had moved them
	failed         INTEGER NOT NULL DEFAULT 0,
	started_at     INTEGER NOT NULL,
	ended_at       INTEGER NOT NULL DEFAULT 0,
	actor          TEXT NOT NULL,
	error          TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX rotation_started ON rotation (started_at);

-- The private half that signs grants (Ed25519).
CREATE TABLE signing_key (
	id             TEXT PRIMARY KEY,          -- sign_<24 hex>
	public         TEXT NOT NULL,             -- hex
	key_id         TEXT NOT NULL REFERENCES sealing_key (id),
	wrapped        TEXT NOT NULL,
	sealed         TEXT NOT NULL,
	created_at     INTEGER NOT NULL,
	created_by     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX signing_key_key ON signing_key (key_id);

CREATE TABLE secret (
	id             TEXT PRIMARY KEY,          -- sec_<24 hex>
	kind           TEXT NOT NULL,
	name           TEXT NOT NULL UNIQUE,
	key_id         TEXT NOT NULL REFERENCES sealing_key (id),
	wrapped        TEXT NOT NULL,
	sealed         TEXT NOT NULL,
	metadata       TEXT NOT NULL,             -- JSON object of strings, no secret
	owner          TEXT NOT NULL,             -- '' for a shared one
	created_at     INTEGER NOT NULL,
	created_by     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX secret_key ON secret (key_id);

-- What is left of a secret that was deleted.
CREATE TABLE tombstone (
	secret_id      TEXT PRIMARY KEY,
	name           TEXT NOT NULL,
	kind           TEXT NOT NULL,
	owner          TEXT NOT NULL,
	deleted_at     INTEGER NOT NULL,
	deleted_by     TEXT NOT NULL,
	cause          TEXT NOT NULL CHECK (cause IN ('deleted', 'offboarded')),
	reason         TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstone_name ON tombstone (name, deleted_at);
