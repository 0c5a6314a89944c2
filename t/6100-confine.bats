#!/usr/bin/env bats
# cloop confine test: every attempt fails in our sandboxes, and the test is loud where one does not.
load lib/common
load lib/engine
load lib/hub

setup_file() {
	need root podman nft ip
	hub_up
}
teardown_file() { hub_down; }
setup() { rm -rf "$P/.cloop" "$P"/* "$P"/.cloop-confine*; }

tries() { host timeout 300 cloop confine test -p "$P" "$@" < /dev/null; }
# holds JSON : nothing got out, and at least 100 attempts were made.
holds() {
	jq -r '.attempts[] | select(.outcome == "reached") | .family + "." + .name + ": " + .detail' <<< "$1"
	jq -e '.holds and .reached == 0 and .held >= 100 and .total >= 300' <<< "$1" > /dev/null
}

@test "at least a hundred attempts, each with a name of its own and what it proves" {
	exits 0 cloop confine list
	[ "${#lines[@]}" -ge 300 ]
	same "$(cut -d: -f1 <<< "$output" | sort | uniq -d)" ''
	lacks "$output" '/var/lib/docker'
	exits 0 cloop confine list --json mounts
	same "$(jq -r .family <<< "$output" | sort -u)" mounts
	exits 64 cloop confine list nosuch
	exits 64 "$BIN/cloop-confine-test" --nosuch
	# What is misspelt beside what is not was asked for too.
	exits 64 "$BIN/cloop-confine-test" --list mounts nosuch
	has "$stderr" "'nosuch' is no option, family or attempt"
	has "$stderr" "fix: usage:"
	lacks "$(readelf -l "$BIN/cloop-confine-test")" INTERP
}

@test "a file of the sandbox's own image is no leak, on whatever its layers lie" {
	local d=$BATS_TEST_TMPDIR/o
	mkdir "$d"
	# shellcheck disable=SC2016 # the inner shell's
	run --separate-stderr timeout 60 unshare --mount bash -ec '
		mount -t tmpfs low "$1" && cd "$1"
		mkdir low up top low/etc low/proc
		mount -t tmpfs up up
		mkdir up/u up/w
		echo secret > low/etc/shadow
		cp "$2" low/try
		mount -t overlay -o "xino=off,lowerdir=low,upperdir=up/u,workdir=up/w" over top
		# Two devices, one mount: else this shows nothing.
		[ "$(stat -c %d top)" != "$(stat -c %d top/etc/shadow)" ]
		chroot top /try paths.shadow
		# What somebody binds there is another mount.
		mount --bind up/.. top/proc
		echo theirs > up/../hosts.shadow; mount --bind hosts.shadow top/etc/shadow
		! chroot top /try paths.shadow' - "$d" "$BIN/cloop-confine-test"
	same "$status" 0
	has "$output" 'ok 1 - paths.shadow'
	has "$output" '# 1 attempts: 1 failed as they should'
	has "$output" 'not ok'
}

@test "runc without a network: every attempt fails" {
	hub_config_none
	exits 0 tries --json
	holds "$output"
	same "$(find "$P" -name '.cloop-confine*')" ''
	exits 0 tries rights
	has "$output" "TAP version 13"
	lacks "$output" "not ok"
}

@test "runc with the public Internet: private addresses and the host are out of reach" {
	hub_config_public
	need socat
	nsenter --net="/run/netns/$WORLD" socat TCP-LISTEN:80,fork,reuseaddr OPEN:/dev/null 3>&- &
	server=$!
	for ((i = 0; i < 60; i++)); do
		host "$BIN/cloop-confine-test" egress.private-192 > "$T/o" || break
		sleep 1
	done
	# The host itself reaches what the sandbox must not.
	has "$(cat "$T/o")" "not ok"
	exits 0 tries --json
	holds "$output"
	kill $server
}

@test "gVisor: every attempt fails" {
	need runsc
	hub_config '    network: none
    oci_runtime: runsc'
	exits 0 tries --json
	holds "$output"
}

@test "a privileged container does not hold, and it is said aloud" {
	run --separate-stderr timeout 300 podman run -i --rm --privileged --network none \
		-v "$BIN/cloop-confine-test:/t:ro" --entrypoint /t "$IMAGE" --json < /dev/null
	[ "$status" = 1 ]
	jq -e '.holds == false and .reached >= 40' <<< "$output"
	for f in proc sys mounts namespaces devices kernel rights sockets; do
		jq -e --arg f $f '[.attempts[] | select(.family == $f and .outcome == "reached")] | length > 0' <<< "$output"
	done
	run --separate-stderr timeout 300 podman run -i --rm --privileged --network none \
		-v "$BIN/cloop-confine-test:/t:ro" --entrypoint /t "$IMAGE" rights < /dev/null
	[ "$status" = 1 ]
	has "$output" "THIS SANDBOX DOES NOT HOLD"
	has "$output" "# REACHED: this is the host's root"
}

@test "what the shared workspace holds is told, and counted when asked" {
	hub_config_none
	mkdir -p "$P/.git/hooks" && touch "$P/.envrc" && chown -R 1000:1000 "$P"
	exits 0 tries --json later
	same "$(jq -r '.attempts[] | select(.outcome == "shared") | .name' <<< "$output" | sort | xargs)" "envrc git-hooks"
	exits 1 tries --strict later
	has "$output" "not ok"
	rm -rf "$P/.git" "$P/.envrc"
}
