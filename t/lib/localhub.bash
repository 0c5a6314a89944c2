# A hub without an engine: plain processes of this host, and a third party's driver.
#
#   T   directory of all of it     HUB   the hub     P   the project (uid 1000)
#
# localhub_up in setup_file, localhub_down in teardown_file.
# shellcheck shell=bash
[ -z "${HUB:-}" ] || export CLOOP_DIR=$HUB

localhub_up() {
	T=$(mktemp -d /tmp/cllocal.XXXXXX)
	HUB=$T/hub P=$T/projects/app
	export T HUB P
	export CLOOP_DIR=$HUB CLOOP_RUN_DIR=$T/run CLOOP_HUBS=$T/hubs
	chmod 755 "$T"
	cloop hub bootstrap >/dev/null || return 1
	mkdir -p "$P" && chown 1000:1000 "$P"
	localhub_config
}

# localhub_config [LINES-OF-executors.local [LINES-OF-executors]]
localhub_config() {
	cat > "$HUB/.cloop/config.yaml" <<-E
	executors:
	  allow_host_process: true
	  local:
	    enabled: true
	${1:-}
	${2:-}
	orchestrator:
	  min_free_disk_mb: 16
	E
}

localhub_down() {
	[ -n "${T:-}" ] && [ -d "$T" ] || return 0
	local p
	for p in $(pgrep -f "cloop-sweep -C $HUB" || true) $(of_hub); do
		kill -KILL "$p" 2>/dev/null || true
	done
	rm -rf "$T"
}

# of_hub : pids of supervisors and workloads of this hub.
of_hub() {
	local p
	for p in /proc/[0-9]*; do
		{ tr '\0' '\n' < "$p/environ"; } 2>/dev/null | grep -qx "CLOOP_RUN_DIR=$T/run" &&
			case $(cat "$p/comm" 2>/dev/null) in cloop-shim | cloop-hold) echo "${p#/proc/}" ;; esac
	done
	return 0
}

# sql TEXT : one value of the hub's state.
sql() { sqlite3 -readonly -cmd '.timeout 20000' "$HUB/.cloop/state.db" "$1"; }

# until_true CMD... : polls for a minute.
until_true() {
	local i
	for ((i = 0; i < 600; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	echo "never true: $*" >&2
	return 1
}

# detached CMD... : starts it on the local executor; R is the run, H its handle, RD its folder.
detached() {
	R=$(cloop run -p "$P" -e local -d -- "$@") || return 1
	H=$(sql "select handle_id from run where id = '$R'")
	RD=$T/run/w/$H
}

# no_guardian : so that nothing adopts but the test.
no_guardian() {
	local p
	for p in $(pgrep -f "cloop-sweep -C $HUB" || true); do kill -KILL "$p" 2>/dev/null || true; done
}

# kill_shim : the supervisor of H, and its end is waited for.
kill_shim() {
	local pid
	no_guardian
	pid=$(sql "select shim_pid from handle where id = '$H'")
	kill -KILL "$pid"
	until_true test ! -e "/proc/$pid"
}

finished() { [ "$(sql "select state from run where id = '$R'")" = finished ]; }
ended() { [ "$(sql "select state from handle where id = '$H'")" = ended ]; }
