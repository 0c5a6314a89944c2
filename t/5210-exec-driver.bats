# A third party's driver by the contract of cloop-exec(7): t/drivers/cloop-exec-netless, in shell.
# shellcheck shell=bash disable=SC2154
load lib/common
load lib/localhub

setup_file() {
	need root jq sqlite3 unshare setpriv
	localhub_up
	mkdir -m 755 "$T/drivers"
	install -m 755 "$SRC/t/drivers/cloop-exec-netless" "$T/drivers/"
}
teardown_file() { localhub_down; }
setup() { use "$T/drivers/cloop-exec-netless"; }

# use PATH : a hub whose first executor is of that driver.
use() {
	localhub_config "" "  drivers:
    - id: jail
      enabled: true
      driver: $1"
}
jail() { cloop run -p "$P" "$@" </dev/null; }
# broken NAME BODY : another driver.
broken() {
	printf '#!/bin/sh\n%s\n' "$2" > "$T/drivers/cloop-exec-$1"
	chmod 755 "$T/drivers/cloop-exec-$1"
	use "$T/drivers/cloop-exec-$1"
}

@test "at most sixty lines of shell run a workload: no network, own processes, its status" {
	[ "$(wc -l < "$SRC/t/drivers/cloop-exec-netless")" -le 60 ]
	exits 7 jail -- sh -c 'id -u; pwd; ls /sys/class/net /proc/self/ns >/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "; echo $$; exit 7'
	same "$output" "1000
$P
lo
1"
	exits 0 jail -- printf '<%s>' 'a  b' "it's" '$HOME' ''
	same "$output" "<a  b><it's><\$HOME><>"
	exits 0 jq -r '.executor_kind + " " + .executor_id' "$P/.cloop/sandbox-run.json"
	same "$output" "netless jail"
}

@test "runs: listed, shown, logged, stopped, killed by a deadline" {
	R=$(jail -d -- sh -c 'echo out; echo err >&2; sleep 300')
	until_true grep -q out <(cloop runs logs "$R")
	exits 0 cloop runs list
	has "$output" "$R"
	has "$output" jail
	exits 0 cloop runs show --json "$R"
	same "$(jq -r .executor_id <<<"$output")" jail
	exits 0 cloop runs stop --grace 100ms "$R"
	exits 137 jail --timeout 300ms -- sleep 300
	same "$(sql "select driver from handle order by started_at desc limit 1")" netless
}

@test "--place asks it, and refuses what it says it cannot do" {
	exits 0 jail --place -- echo hi
	same "$output" hi
	mkdir -p "$P/.cloop"
	echo 'capabilities: {egress: public}' > "$P/.cloop/sandbox.yaml"
	exits 125 jail --json -- true
	has "$stderr" network_egress
	echo 'setup: ["true"]' > "$P/.cloop/sandbox.yaml"
	exits 125 jail --json -- true
	has "$stderr" sandbox_build
	# What it cannot honour and placement does not know of, it refuses itself.
	echo 'resources: {pids: 100}' > "$P/.cloop/sandbox.yaml"
	exits 0 jail -- true
	rm -rf "$P/.cloop"
}

@test "its workload is adopted when the supervisor dies, also with the driver gone" {
	mkfifo -m 666 "$P/go"
	R=$(jail -d -- sh -c 'echo one; cat go; exit 5')
	H=$(sql "select handle_id from run where id = '$R'")
	until_true grep -q one <(cloop runs logs "$R")
	kill_shim
	mv "$T/drivers/cloop-exec-netless" "$T/drivers/gone"
	exits 0 cloop sweep --only adopt
	has "$output" "adopted $H"
	mv "$T/drivers/gone" "$T/drivers/cloop-exec-netless"
	echo > "$P/go"
	until_true finished
	rm "$P/go"
	same "$(sql "select outcome || exit_code from run where id = '$R'")" exited5
}

@test "a sweep gets along with a driver that has nothing to reap" {
	exits 0 cloop sweep
	same "$stderr" ""
}

@test "only what is root's alone is ever started" {
	chown 1000 "$T/drivers/cloop-exec-netless"
	exits 125 jail -- true
	has "$stderr" "does not belong to root"
	chown 0 "$T/drivers/cloop-exec-netless"
	chmod g+w "$T/drivers"
	exits 125 jail -- true
	has "$stderr" "can be written by others"
	chmod g-w "$T/drivers"
	use "$T/drivers/cloop-exec-missing"
	exits 125 jail -- true
	mkdir -p "$T/drivers/cloop-exec-dir"
	use "$T/drivers/cloop-exec-dir"
	exits 125 jail -- true
	for bad in cloop-exec-netless ./cloop-exec-netless /bin/true /x/cloop-exec- /x/cloop-exec-A; do
		use "$bad"
		exits 78 cloop hub config check
		has "$stderr$output" "$bad"
		exits 125 jail -- true
	done
	use ""
	exits 125 jail -- true
}

@test "a driver that lies, babbles, fails or says nothing runs nothing and is named" {
	caps='[ "$1" != capabilities ] || { echo "{\"isolation\": \"none\", \"shares_host_filesystem\": true}"; exit 0; }'
	broken silent 'exit 1'
	exits 125 jail -- true
	has "$stderr" jail
	broken babble 'echo hello'
	exits 125 jail -- true
	broken unknown 'echo "{\"can_fly\": true}"'
	exits 125 jail -- true
	has "$stderr" can_fly
	broken list 'echo "[1]"'
	exits 125 jail -- true
	broken starts "$caps
[ \$1 != prepare ] || exit 64
echo '{\"handle_id\": \"c-000000000000\"}'"
	exits 125 jail -- true
	has "$stderr" c-000000000000
	broken nothing "$caps
[ \$1 != prepare ] || exit 64
echo '{}'"
	exits 125 jail -- true
	broken refuses "$caps
echo '{\"error\": {\"code\": \"refused\", \"message\": \"full moon\", \"remediation\": \"wait\", \"constraint\": \"moon\"}}' >&2
exit 1"
	exits 125 jail --json -- true
	has "$stderr" moon
	same "$(sql "select count(*) from handle where state = 'live'")" 0
	same "$(sql "select count(*) from run where state <> 'finished'")" 0
}
