-- When an executor's labels were last changed, so that an older row that was put back is known.

CREATE INDEX audit_labels ON audit (entity_id) WHERE action = 'executor.labels';
