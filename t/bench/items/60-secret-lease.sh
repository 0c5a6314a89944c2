# shellcheck shell=bash disable=SC2034,SC2154
item='cloop-secret lease, one env grant, against /bin/true'
target=5
runs=60
setup() {
	export CLOOP_HUBS=$tmp/hubs CLOOP_DIR=$tmp/hub
	unset CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	cloop -C "$tmp/hub" hub bootstrap
	echo '{"KEY":"value"}' | cloop secret mint app-env
	cloop secret grant app-env --to project:/srv/app
}
measure() {
	export CLOOP_HUBS=$tmp/hubs CLOOP_DIR=$tmp/hub
	"$RATIO" "$runs" cloop-secret lease --project /srv/app -- /bin/true
}
