#!/usr/bin/env bats
# cloop probe: evidence of the kernel that serves a process, read in places that do not help, and
# the verdict on it.
# shellcheck disable=SC2016 # inner shells expand
load lib/common

setup() {
	P=$BIN/cloop-isolation-probe
	cd "$BATS_TEST_TMPDIR" || return 1
}

# bare CMD... : as root of an empty root file system that holds the probe alone.
bare() {
	mkdir -p root/proc root/sys && cp "$P" root/p
	unshare --mount --pid --fork chroot root "$@"
}

@test "what the kernel here says of itself" {
	exits 0 cloop probe --nonce 0123abcd
	[ "${#lines[@]}" = 1 ]
	same "$(jq -r '.uname | [.release, .version, .machine] | join("|")' <<< "$output")" "$(uname -r)|$(uname -v)|$(uname -m)"
	same "$(jq -r .boot_id <<< "$output")" "$(cat /proc/sys/kernel/random/boot_id)"
	same "$(jq -r .proc_version <<< "$output")" "$(cat /proc/version)"
	jq -e '.evidence == 1 and .nonce == "0123abcd" and .uptime_ms > 0 and .gvisor_boot_log != true' <<< "$output"
	same "$(jq -r 'keys_unsorted | join(" ")' <<< "$output")" \
		"evidence nonce uname proc_version boot_id uptime_ms hypervisor_flag hypervisor_vendor dmi_vendor dmi_product gvisor_boot_log unread"
	exits 0 cloop isolation-probe
	jq -e '.nonce == null' <<< "$output"
	# Whatever is null has its reason.
	jq -e '. as $e | [$e | to_entries[] | select(.value == null and (.key | IN("nonce", "hypervisor_vendor") | not)) | .key] == ($e.unread | keys_unsorted)' <<< "$output"
}

@test "it needs no library, no environment and no file" {
	need root
	lacks "$(readelf -l "$P")" INTERP
	exits 0 bare /p
	jq -e '.uname.release != null and .uptime_ms > 0 and .boot_id == null and
		.unread.boot_id == "No such file or directory"' <<< "$output"
	exits 0 env -i LD_PRELOAD=/nowhere.so "$P"
	exits 0 prlimit --as=400000 --stack=65536 --nofile=16 "$P"
	jq -e '.boot_id != null' <<< "$output"
	# No process may be made beside it.
	open_bin
	exits 0 as_user prlimit --nproc=0 "$BIN/cloop-isolation-probe"
	jq -e '.boot_id != null' <<< "$output"
}

@test "files that an image put where the kernel's should be are no evidence" {
	need root
	mkdir -p root/proc/sys/kernel/random root/sys/class/dmi/id
	echo 0f1e2d3c-4b5a-4697-8879-6a5b4c3d2e1f > root/proc/sys/kernel/random/boot_id
	echo 'Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016' > root/proc/version
	echo QEMU > root/sys/class/dmi/id/sys_vendor
	mkfifo root/sys/class/dmi/id/product_name
	exits 0 bare /p
	jq -e '[.boot_id, .proc_version, .dmi_vendor, .dmi_product] | all(. == null)' <<< "$output"
	jq -e '[.unread | .boot_id, .proc_version, .dmi_vendor, .dmi_product] | all(test("not the kernel"))' <<< "$output"
	# What is bound over a real one is seen through as well.
	echo 0f1e2d3c-4b5a-4697-8879-6a5b4c3d2e1f > id
	exits 0 unshare --mount sh -c 'mount --bind id /proc/sys/kernel/random/boot_id && exec "$0"' "$P"
	jq -e '.boot_id == null and .proc_version != null' <<< "$output"
}

@test "its own command line: a nonce, or what can be typed" {
	for bad in --nonce --what x; do
		exits 64 "$P" "$bad"
		has "$stderr" "fix: usage:"
		same "$output" ""
	done
	for bad in '' ABC xyz $'ab\n' "$(printf 'a%.0s' {1..65})"; do
		exits 64 "$P" --nonce "$bad"
	done
	exits 0 "$P" --help
	has "$output" "usage:"
	run bash -c '"$0" >&-' "$P"
	[ "$status" = 71 ]
	run bash -c '"$0" > /dev/full' "$P"
	[ "$status" = 71 ]
}

# classify ARG... : of `sandbox`, with `reference`.
classify() { cloop probe classify --json "$@" < sandbox; }

@test "every vector, through the command" {
	rows=0
	while IFS= read -r line; do
		jq -j '.sandbox // empty' <<< "$line" > sandbox
		jq -c '.reference // empty' <<< "$line" > reference
		jq -c '.earlier // empty' <<< "$line" > earlier
		args=(--runtime "$(jq -r .runtime <<< "$line")")
		if [ -s reference ]; then args+=(--reference reference); else args+=(--no-reference); fi
		[ ! -s earlier ] || args+=(--earlier earlier)
		release=$(jq -r '.engine_release // empty' <<< "$line")
		agent=$(jq -r '.agent_protocol // empty' <<< "$line")
		[ -z "$release" ] || args+=(--engine-release "$release")
		[ -z "$agent" ] || args+=(--agent-protocol "$agent")
		case $(jq -r .want.standing <<< "$line") in
		contradicted) want=1 ;;
		unverified) want=2 ;;
		*) want=0 ;;
		esac
		exits $want classify "${args[@]}" || { echo "$line"; false; }
		same "$(jq -c '[.verdict, .standing]' <<< "$output")" "$(jq -c '.want | [.verdict, .standing]' <<< "$line")"
		rows=$((rows + 1))
	done < <(cat "$CASES"/isolation/{facts,ours}.case | grep -v '^#')
	[ "$rows" -ge 47 ]
}

@test "an answer reads" {
	"$P" > sandbox
	run -1 --separate-stderr cloop probe classify --runtime kata < sandbox
	same "${lines[0]}" "kata: contradicted (claims vm)"
	has "${lines[1]}" "verdict: host-kernel"
	has "${lines[2]}" "$(cat /proc/sys/kernel/random/boot_id)"
	has "${lines[3]}" "fix: find out what the engine runs under the name 'kata'"
	run -0 --separate-stderr cloop probe classify < sandbox
	same "${lines[0]}" "the engine's default runtime: unclaimed"
}

@test "what is no evidence leaves it unverified, and a wrong command line is refused" {
	for bad in '' 'x' '{"evidence":1,"boot_id":"x"}' $'\x1b[2J\xff'; do
		printf '%s' "$bad" > sandbox
		exits 2 classify --runtime kata
		jq -e '.standing == "unverified" and .verdict == "unknown"' <<< "$output"
	done
	head -c 70000 /dev/zero > sandbox
	exits 2 classify
	has "$output" "no evidence"
	: > sandbox
	exits 78 classify --runtime /usr/bin/kata
	exits 64 classify --no-reference --reference x
	exits 69 classify --reference nowhere
	echo '{}' > reference
	exits 65 classify --reference reference
	exits 65 classify --earlier reference
	exits 64 classify --agent-protocol 0
}
