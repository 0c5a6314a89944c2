-- A thousand grants and a million live leases that stand on them, for the figures about many.
PRAGMA synchronous = OFF;
BEGIN;
INSERT INTO "grant" (id, secret_id, secret_name, kind, scope, subject, constraints, expires_at, created_at,
	created_by, owner, signature)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
SELECT printf('grant_%024x', i), printf('sec_%024x', i), 's' || i, 'env', '', 'project:/srv/p' || i, '{}',
	4000000000000, 1800000000000, 'cli:root', '', 'none' FROM n;
INSERT INTO lease (seq, id, run_id, project, executor_id, labels, actor, created_at, expires_at, state,
	grants)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
SELECT i + 1, printf('lease_%08x%016x', (i * 2654435761) & 4294967295, i + 1), printf('run_%08x%016x', (i * 40503) & 4294967295, i),
	'/srv/p' || (i % 1000), 'container', '', 'cli:root', 1800000000000 + i, 3900000000000 + i, 'live',
	json_array(printf('grant_%024x', i % 1000)) FROM n;
INSERT INTO lease_grant (grant_id, lease, how, state)
SELECT printf('grant_%024x', (seq - 1) % 1000), seq, 2, 'held' FROM lease ORDER BY (seq - 1) % 1000, seq;
COMMIT;
PRAGMA wal_checkpoint(TRUNCATE);
