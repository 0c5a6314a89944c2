-- Where a token is destroyed, for who has it and no key to open the sealed address with: signed, so that
-- who only writes this file cannot have it sent anywhere else. What has no signature is sent nowhere
-- without the key.

ALTER TABLE token ADD COLUMN base_url TEXT;   -- NULL: from before
ALTER TABLE token ADD COLUMN signature TEXT;  -- Ed25519 over sum and base_url, hex
