#!/usr/bin/env bats
# Every example of the manual page does what it says, typed as it stands, where there are a hub, a
# repository and a sandbox's filter. Those that need none of these are run by 0020-docs as well.
load lib/common
load lib/net

setup_file() {
	need root nft ip jq git unshare sqlite3
	net_up
	export CLOOP_DIR=$BATS_FILE_TMPDIR/hub CLOOP_HUBS=$BATS_FILE_TMPDIR/hubs CLOOP_RUN_DIR=$RUNDIR HOME=$BATS_FILE_TMPDIR
	# What verify and blocked look at: the table and the bridge of a run that is live.
	host ip link add csbx-0123456789 type bridge
	host "$NETTOOL" apply table=cloop_sbx_ci bridge=csbx-0123456789 policy="$POLICY"
	cloop hub bootstrap > /dev/null
	"$BUILD_DIR/t/lib/store-handle" "$CLOOP_DIR/.cloop/state.db" c-00000000000a live run=run_4f1c2a000000000000000000 \
		egress="$POLICY" network=cloop-sbx-ci table=cloop_sbx_ci project=/srv/projects/api \
		bridge=csbx-0123456789 address=10.211.0.2 noted="$RUNDIR"
	cat > "$CLOOP_DIR/.cloop/config.yaml" <<- 'Y'
	executors:
	  container:
	    - id: build-box
	      enabled: true
	      network: bridge
	      egress_filter: {enabled: true, allow_public_internet: true, allow_cidrs: [10.8.0.0/16], allow_ports: [443, 5432], resolvers: ["9.9.9.9:53"]}
	    - id: bench
	      enabled: true
	      network: bridge
	      egress_filter: {enabled: true, allow_public_internet: true, allow_ports: [443]}
	Y
	cloop egress rules set --executor build-box --internet --ports 443 > /dev/null
	a_repository
}
POLICY='{"allow_public_internet":true,"allow_ports":[443]}'
teardown_file() {
	ip netns del "$HOST"
	ip netns del "$WORLD"
}

# What the examples name: files, a branch, and the origin's main one.
a_repository() {
	mkdir "$BATS_FILE_TMPDIR/repo"
	cd "$BATS_FILE_TMPDIR/repo" || return 1
	git init -q -b main
	echo "$POLICY" | tee egress.json policy.json api-egress.yaml > /dev/null
	echo '{allow_cidrs: [10.8.1.0/24], allow_ports: [5432]}' > project.yaml
	mkdir tests
	printf 'tests:\n- drop: metadata\n' > tests/one.yaml
	printf 'policy: %s\ntests:\n- drop: blocked\n' "$POLICY" > firewall-tests.yaml
	git add -A
	git -c user.name=t -c user.email=t@t commit -qm one
	git update-ref refs/remotes/origin/main HEAD
	echo '{"allow_public_internet":true,"allow_ports":[443,8443]}' > egress.json
}

# typed LINE : as a person types it, with /srv/projects/api there; bounded, whatever it does
typed() {
	# shellcheck disable=SC2016 # the inner shell's
	host timeout 60 unshare --mount bash -c 'mount -t tmpfs none /srv && mkdir -p /srv/projects/api && cd "$2" &&
		PATH=$3:$PATH bash -o pipefail -c "$1"' - "$1" "$BATS_FILE_TMPDIR/repo" "$BIN" 3>&- < /dev/null
}

# What an example answers by its status, in words of the manual: 1 is an answer too.
want() {
	case $1 in
	*'--check 10.4.5.6:443' | *'--check 198.18.0.1:443' | *'10.8.1.9:5432 --json' | *'firewall verify --executor'*) echo 1 ;;
	*'firewall diff '* | *'fits - none'*) echo 1 ;;
	*) echo 0 ;;
	esac
}

@test "every example of the manual page does what it says" {
	local line n=0 bad=0
	export CLOOP_DIR=$BATS_FILE_TMPDIR/hub CLOOP_HUBS=$BATS_FILE_TMPDIR/hubs CLOOP_RUN_DIR=$RUNDIR HOME=$BATS_FILE_TMPDIR
	while read -r line; do
		# These two go on until they are told to stop: 3410 and 3610 have them.
		case $line in 'cloop egress watch --all' | *--trace*) continue ;; esac
		run --separate-stderr typed "$line"
		n=$((n + 1))
		[ "$status" = "$(want "$line")" ] && continue
		printf '%s: status %s, not %s\n%s\n%s\n' "$line" "$status" "$(want "$line")" "$output" "$stderr" >&2
		bad=$((bad + 1))
	done < <("$BIN/cloop-egress" --cl-spec | jq -r '.verbs[].examples[]?.line')
	same "$bad" 0
	[ "$n" -ge 30 ]
}

@test "what the examples of README say of a pull request" {
	export HOME=$BATS_FILE_TMPDIR
	exits 1 typed 'cloop egress firewall diff git:origin/main:egress.json egress.json'
	has "$output" "from git:origin/main:egress.json to egress.json"
	has "$output" "8443"
	exits 1 typed 'cloop egress firewall diff --format markdown git:origin/main:egress.json egress.json'
	has "$output" "8443"
	exits 0 typed 'cloop egress firewall diff egress.json git:origin/main:egress.json'
}
