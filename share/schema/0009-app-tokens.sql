-- Installation tokens of GitHub Apps that a live lease has out: how wide the first one was, where its
-- holder has it, and when it ends, so that another can be asked for and each be destroyed. Never the
-- token itself.

CREATE TABLE app_token (
	lease          INTEGER NOT NULL REFERENCES lease (seq) ON DELETE CASCADE,
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
