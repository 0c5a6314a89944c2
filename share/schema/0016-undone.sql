-- An end that somebody took out of a row again is still in the audit trail: by the grant that a row is
-- about ("grant_id":"grant_<24 hex>" of its detail), and by the secret or the lease. These are few, so
-- that nothing else pays for it.

CREATE INDEX audit_grant_end ON audit (substr(detail, instr(detail, '"grant_id":"') + 12, 30))
	WHERE action = 'secret.revoke' OR action = 'secret.unguarded_ack';
CREATE INDEX audit_end ON audit (entity_id)
	WHERE action = 'secret.delete' OR action = 'lease.revoke_sent';
