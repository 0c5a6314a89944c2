# A hub with executors that nothing is started on.
# shellcheck shell=bash disable=SC2034

fleet_hub() {
	D=$BATS_TEST_TMPDIR HUB=$BATS_TEST_TMPDIR/hub
	P=$D/projects/app
	DB=$HUB/.cloop/state.db
	export CLOOP_DIR=$HUB CLOOP_RUN_DIR=$D/run
	mkdir -p "$P"
	[ "$(id -u)" != 0 ] || chown 1000:1000 "$P"
	cloop hub bootstrap > /dev/null
	config '    - {id: box, enabled: true, network: none}
    - {id: bench, enabled: true, network: bridge, oci_runtime: runsc, labels: {zone: a}}
    - {id: "off", enabled: false}
    - {id: broken, enabled: true, oci_runtime: "/bin/kata"}'
}
config() {
	printf 'secrets: {key_file: %s}\nexecutors:\n  container:\n%s\n' "$HUB/cloop-secret-key" "$1" > "$HUB/.cloop/config.yaml"
}
sql() { sqlite3 "$DB" "$1"; }
# live HANDLE EXECUTOR : a workload whose supervisor is this very shell, so that no sweep takes it
# for dead; ended HANDLE.
live() {
	local start
	start=$(sed 's/.*) //' "/proc/$$/stat" | cut -d' ' -f20)
	sql "INSERT INTO handle (id, executor_id, driver, project, started_at, state, shim_pid, shim_start, boot_id)
		VALUES ('$1', '$2', 'container', '/p', 1, 'live', $$, $start, '$(cat /proc/sys/kernel/random/boot_id)')"
}
ended() { sql "UPDATE handle SET state = 'ended' WHERE id = '$1'"; }
# spec_of : what --trace-steps in $stderr has for the driver.
spec_of() {
	local spec
	eval "$(grep '^spec=' <<< "$stderr")"
	printf '%s\n' "$spec"
}
# went ARG... : the executor that a run which is let through goes to; it ends at its image, which
# no engine has.
went() {
	run --separate-stderr cloop run --trace-steps -p "$P" "$@" -- true < /dev/null
	[ "$status" = 125 ]
	spec_of | jq -r .executor.id
}
