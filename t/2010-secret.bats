#!/usr/bin/env bats
# Secrets at rest: what is stored, what is refused, and that no value is anywhere but in its seal.
# shellcheck disable=SC2030,SC2031 # each test is a subshell of its own
load lib/common

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	hub=$D/hub
	db=$hub/.cloop/state.db
	cloop -C "$hub" hub bootstrap >/dev/null
	export CLOOP_DIR=$hub
}

mint() { cloop secret mint "$@"; }
sql() { sqlite3 "$db" "$1"; }
id_of() { cloop secret show "$1" --json | jq -r .id; }
# The guide's output, with ids as they are there.
guide() { sed -E 's/(sec|grant|lease)_[0-9a-f]{24}/\1_ID/g'; }

@test "a root that is not there, or is no directory, is not minted" {
	touch "$D/file"
	ln -sfn loop "$D/loop"
	for root in "$D/nowhere" "$D/file" "$D/file/x" "$D/loop"; do
		run ! --separate-stderr mint far-src --kind local_repo --value "$root"
		has "$stderr" "$root" "fix: name a directory of this host"
	done
	lacks "$(cloop secret list)" far-src
	exits 0 mint empty-src --kind local_repo --value "$D"
	has "$stderr" "there is no git repository in '$D' now"
	mkdir -p "$D/with/one/.git"
	exits 0 mint right-src --kind local_repo --value "$D/with"
	same "$stderr" ""
}

@test "mint as the guide shows it" {
	exits 0 bash -c "echo 'ghp_examplesecrettoken' | cloop secret mint deploy-pat --kind github_pat"
	same "$(guide <<< "$output")" "✓ minted deploy-pat (github_pat) as sec_ID
  no grant yet — nothing can use it until you run 'cloop secret grant'"
	same "$stderr" ""
	exits 0 bash -c "printf '{\"API_KEY\":\"abc\",\"WEBHOOK_SECRET\":\"def\"}' | cloop secret mint app-env --kind env"
	mkdir -p "$D/git/one/.git"
	exits 0 mint host-src --kind local_repo --value "$D/git"
	printf '# rack 3, bench A\nserial0=/dev/ttyUSB0\nanalyser=/dev/ttyACM0:r\n' > "$D/hw"
	exits 0 mint bench-hw --kind host_device --file "$D/hw"
	exits 0 bash -c "printf 'dut=bench-sbx,target=eth1,address=172.31.99.200/24\ncan0=enp3s0,target=eth1\n' |
		cloop secret mint bench-net --kind host_interface --file -"
	echo ghp_x1234567890abcdef > "$D/pat"
	exits 0 mint gh-internal --kind github_pat --github-host git.acme.internal --file "$D/pat"
	same "$(cloop secret show gh-internal --json | jq -c .metadata)" '{"host":"git.acme.internal"}'
	same "$(cloop secret list --json | jq -r .name | xargs)" "app-env bench-hw bench-net deploy-pat gh-internal host-src"
	exits 0 cloop hub audit verify
}

@test "what is shown of a secret has no value in it, and a second copy has another fingerprint" {
	for n in a b; do echo "the same value" | mint $n; done
	exits 0 cloop secret list
	has "$output" "sha256:"
	lacks "$output" "the same value"
	same "$(cloop secret list --json | jq -r .fingerprint | sort -u | wc -l)" 2
	[[ $(cloop secret show a --json | jq -r .fingerprint) =~ ^sha256:[0-9a-f]{16}$ ]]
	same "$(cloop secret show a --json | jq -c 'has("sealed") or has("wrapped") or has("key_id")')" false
	# A rotation leaves the record, and so its fingerprint, as it is.
	before=$(cloop secret show a --json | jq -r .fingerprint)
	cloop hub key rotate >/dev/null
	same "$(cloop secret show a --json | jq -r .fingerprint)" "$before"
}

@test "refusals of mint: each names what is wrong, none says the payload again" {
	planted=planted-0e51c1b7
	refuse() {
		local want=$1 piece=$2
		shift 2
		exits "$want" bash -c 'printf "%s" "$0" | cloop secret mint "$@"' "$planted" "$@"
		has "$stderr" "$piece"
		lacks "$stderr$output" "$planted"
	}
	refuse 65 "nonsense" x --kind nonsense
	has "$stderr" "github_pat"
	refuse 65 "' '" "a b"
	refuse 65 "" ""
	refuse 65 "" "$(printf 'n%.0s' {1..129})"
	refuse 65 "" x --kind github_app
	# These are no credentials: what is wrong with them is quoted.
	for k in local_repo host_device host_interface; do
		exits 65 bash -c "echo relative/path | cloop secret mint x --kind $k"
	done
	refuse 65 "" x --kind kubeconfig
	refuse 64 "--github-host is for github_pat" x --github-host a.b
	refuse 64 "process table" x --value v
	refuse 64 "neither an e-mail address" x --owner nobody
	refuse 69 "/nonexistent" x --file /nonexistent
	exits 65 bash -c "cloop secret mint x < /dev/null"
	exits 65 bash -c "printf '  \n ' | cloop secret mint x"
	exits 65 bash -c "head -c 1048577 /dev/zero | tr '\\0' x | cloop secret mint x"
	same "$(sql 'select count(*) from secret')" 0
	same "$(cloop hub audit list --action secret.mint --json | jq -r .detail.decision | sort | uniq -c | xargs)" "16 deny"
	lacks "$(cloop hub audit list --json)" "$planted"
}

@test "a name is one secret's, and is free again once that is deleted" {
	echo one | mint app
	exits 1 bash -c "echo two | cloop secret mint app --json"
	same "$(jq -r .error.code <<< "$stderr")" name_taken
	exits 0 cloop secret delete app --reason "was wrong"
	has "$output" "✓ deleted app (env)"
	exits 65 cloop secret show app
	has "$stderr" "the secret 'app' (env) was deleted on "
	has "$stderr" "was wrong"
	exits 65 cloop secret delete app
	echo two | mint app
	exits 0 cloop secret show app
	same "$(sql "select count(*) from tombstone where name = 'app' and cause = 'deleted'")" 1
}

@test "an unknown reference is not said again whole: people paste tokens" {
	exits 65 cloop secret show ghp_abcdefghijklmnopqrstuvwxyz0123456789
	has "$stderr" "'[redacted]'"
	lacks "$stderr" abcdefgh
	exits 65 cloop secret show a-long-name-that-nobody-has
	has "$stderr" "'a-long-name-…'"
	lacks "$stderr" nobody
	exits 65 cloop secret delete "sec_000000000000000000000000"
}

@test "a token in the place of a name or an id is not taken, and not said again" {
	local t=ghp_0123456789abcdefghij0123456789abcdef hex=0123456789abcdef0123456789abcdef01234567 what
	exits 65 bash -c "echo v | cloop secret mint $t"
	has "$stderr" "the secret's name has the form of a credential" "  fix: replace it where it was issued"
	lacks "$stderr" "$t"
	for what in "secret revoke" "secret holders" "secret grant edit" "secret leases --run" "hub grant unguarded --reason x" \
		"runs show" "runs stop"; do
		# shellcheck disable=SC2086 # words of a command
		exits 65 cloop $what "$t"
		lacks "$stderr" "${t:0:12}"
		has "$stderr" "  fix: "
		# shellcheck disable=SC2086
		exits 65 cloop $what "$hex"
		lacks "$stderr" "${hex:0:13}"
	done
	lacks "$(cloop hub audit list --json)" "${t:0:12}"
}

@test "a payload is not typed where it is shown, and the way that hides it keeps the kind" {
	need script
	st=0
	got=$(timeout 60 script -qec "cloop secret mint tok --kind github_pat --github-host ghes.example.com" /dev/null < /dev/null) || st=$?
	same "$st" 64
	has "$got" "standard input is a terminal"
	fix=$(sed -n 's/.*type it unseen: //p' <<< "$got" | tr -d '\r')
	has "$fix" "cloop secret mint tok --kind github_pat --github-host ghes.example.com; unset V"
	bash -c "$fix" <<< ghp_typedbyhand1234567890
	same "$(cloop secret list --json | jq -r '.name + " " + .kind + " " + .metadata.host')" "tok github_pat ghes.example.com"
}

@test "an id that is none is answered with the command that lists those there are" {
	exits 65 cloop secret revoke deploy-pat
	has "$stderr" "'deploy-pat' is no id of a grant" "'cloop secret grants --all' shows them"
	exits 65 cloop secret holders grant_000000
	has "$stderr" "'cloop secret grants --all' shows every grant of this hub"
	exits 65 cloop secret revoke lease_000000
	has "$stderr" "'cloop secret leases --all -n 0' shows every lease"
	exits 0 cloop secret leases --all -n 0
	exits 65 cloop secret leases --run foo
	has "$stderr" "'cloop runs list -n 0' shows them"
}

@test "without the key: list, show and delete work, mint does not" {
	echo v | mint app
	mv "$hub/cloop-secret-key" "$D/away"
	exits 0 cloop secret list
	exits 0 cloop secret show app
	exits 78 bash -c "echo v | cloop secret mint other"
	has "$stderr" "cloop-secret-key"
	exits 0 cloop secret delete app
	exits 0 cloop hub audit list
	exits 0 cloop hub audit verify
}

@test "owners are recorded as they are compared later" {
	exits 0 bash -c "echo v | cloop secret mint a --owner ' Alice@Example.COM '"
	same "$(cloop secret show a --json | jq -r .owner)" alice@example.com
	exits 0 bash -c "echo v | cloop secret mint b --owner 'sub:AbC'"
	same "$(cloop secret show b --json | jq -r .owner)" sub:AbC
}

@test "a planted value is in no file of the hub, no trace of calls and no message" {
	planted=$(printf 'planted-%s' "$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')")
	printf '{"TOKEN":"%s"}' "$planted" > "$D/payload"
	CLOOP_SECRET_KEY=$(cat "$hub/cloop-secret-key") exits 0 bash -c \
		"ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=execve,write,pwrite64,sendto -s 99999 -o '$D/trace' cloop secret mint app < '$D/payload'"
	lacks "$(cat "$D/trace")" "$planted"
	lacks "$(cat "$D/trace")" "$(cat "$hub/cloop-secret-key")"
	lacks "$output$stderr" "$planted"
	b64=$(printf '%s' "$planted" | base64 -w0)
	hex=$(printf '%s' "$planted" | od -An -tx1 | tr -d ' \n')
	while read -r f; do
		for p in "$planted" "${b64:0:20}" "$hex"; do
			if grep -qaF -- "$p" "$f"; then
				echo "found in $f" >&2
				false
			fi
		done
	done < <(find "$hub" -type f)
}

@test "no core is left by a process that had a key, whatever the limit was" {
	ulimit -c unlimited
	cd "$D"
	exits 0 bash -c "echo v | ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=prlimit64,setrlimit,prctl -o '$D/trace' cloop secret mint app"
	grep -q 'RLIMIT_CORE, {rlim_cur=0, rlim_max=0}' "$D/trace"
	grep -q 'PR_SET_DUMPABLE, SUID_DUMP_DISABLE' "$D/trace"
}

@test "many at once: each is stored once, names stay unique, rotations go on meanwhile" {
	echo seed | mint seed
	for i in 1 2 3 4 5 6; do
		(for n in 1 2 3; do echo "v$n" | mint "n$n" > "$D/o.$i.$n" 2>&1; done) &
	done
	cloop hub key rotate > /dev/null
	wait
	same "$(cat "$D"/o.* | grep -c '^✓')" 3
	same "$(sql 'select count(*) from secret')" 4
	exits 0 cloop hub key rotate --continue
	same "$(cloop hub key status --json | jq '[.sets[].awaiting_rotation] | add')" 0
	exits 0 cloop hub audit verify
}
