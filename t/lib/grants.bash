# A hub and a project of the test's own, and secrets to grant.
# shellcheck shell=bash disable=SC2034 # the suites use what is set here
#
#   D  directory of all of it    hub, db  the hub, its state file    app  the project
#
# grants_hub in setup; leasetool_here, for suites that take leases with $D/bin/leasetool.

grants_hub() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	hub=$D/hub app=$D/app
	db=$hub/.cloop/state.db
	cloop -C "$hub" hub bootstrap >/dev/null
	export CLOOP_DIR=$hub
	mkdir "$app"
}

leasetool_here() {
	mkdir "$D/bin"
	ln -s "$BIN"/cloop-secret "$D/bin/"
	cp "$BUILD_DIR/t/lib/leasetool" "$D/bin/"
}

mint() { cloop secret mint "$@" >/dev/null; }
grant() { cloop secret grant "$@"; }
# The id of the grant that is made.
granted() { grant "$@" --json | jq -r .id; }
lease() { cloop secret lease --project "$app" "$@"; }
sql() { sqlite3 "$db" "$1"; }
# Ids and times as the guide's reader skips them.
guide() { sed -E 's/(sec|grant|lease)_[0-9a-f]{24}/\1_ID/g; s/20[0-9]{2}-[0-9-]+T[0-9:]+Z/TIME/g'; }

pat() { echo 'ghp_examplesecrettoken' | mint deploy-pat --kind github_pat; }
vars() { printf '{"API_KEY":"abc","WEBHOOK_SECRET":"def"}' | mint app-env --kind env; }
