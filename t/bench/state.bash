# shellcheck shell=bash disable=SC2154 # tmp is t/bench/run's
# For items that need a hub and no engine: one of their own, and what there is to lend in it. Whose
# million leases come from sqlite3 says skip_unless itself.

# bare_hub : made and named in the environment; nobody's key is.
bare_hub() {
	export CLOOP_HUBS=$tmp/hubs CLOOP_DIR=$tmp/hub
	unset CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	cloop -C "$tmp/hub" hub bootstrap
}

# lend_env : one env secret, granted to /srv/app
lend_env() {
	bare_hub
	echo '{"KEY":"value"}' | cloop secret mint app-env
	cloop secret grant app-env --to project:/srv/app
	sync # what a build or another item left to be written is no part of it
}

# lend_many : a million live leases of a thousand grants
lend_many() {
	bare_hub
	sqlite3 "$tmp/hub/.cloop/state.db" < "$CLOOP_SRC/t/bench/leases.sql"
	echo "the state file has $(stat -c %s "$tmp/hub/.cloop/state.db") bytes"
}
