-- A clock that jumps forward ends no token: one whose hour is over by this host's clock is asked for too,
-- until GitHub says that it is gone, or nobody has answered for as often as takes an hour by itself.

ALTER TABLE token ADD COLUMN late INTEGER NOT NULL DEFAULT 0; -- how often, since its end
