#!/usr/bin/env bats
# The front command: finding, becoming, and explaining what it cannot find.
load lib/common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir path
	cat > path/cloop-hello <<'S'
#!/bin/sh
case $1 in
--cl-spec) echo '{"name":"cloop-hello","summary":"greet whoever asks"}'; exit ;;
esac
echo "dir=${CLOOP_DIR-unset} args=$*"
exit 9
S
	chmod 755 path/cloop-hello
	PATH=$BATS_TEST_TMPDIR/path:$PATH
}

@test "a sibling is found without PATH" {
	PATH=/usr/bin:/bin exits 0 "$BIN/cloop" egress --help
	has "$output" "cloop-egress"
}

@test "through a symbolic link the siblings are still those of the real file" {
	ln -s "$BIN/cloop" here
	PATH=/usr/bin:/bin exits 0 ./here egress --help
}

@test "status and output are the command's own: it is become, not run" {
	exits 9 cloop hello a "b c" --json
	same "$output" "dir=unset args=a b c --json"
	echo 'exec kill -9 $$' > path/cloop-dies
	chmod 755 path/cloop-dies
	printf '#!/bin/sh\nkill -9 $$\n' > path/cloop-dies
	exits 137 bash -c 'cloop dies'
}

@test "-C in its four forms reaches the command, and the last one holds" {
	for o in "-C /h" "-C/h" "--dir /h" "--dir=/h" "-C /x -C /h" "--json -C /h"; do
		# shellcheck disable=SC2086 # words on purpose
		exits 9 cloop $o hello
		has "$output" "dir=/h"
	done
	CLOOP_DIR=/env exits 9 cloop hello
	has "$output" "dir=/env"
	CLOOP_DIR=/env exits 9 cloop -C /h hello
	has "$output" "dir=/h"
}

@test "--json in front of the command goes along" {
	exits 9 cloop --json hello x
	same "$output" "dir=unset args=--json x"
	exits 64 cloop --json no-such-thing
	has "$stderr" '"code":"usage"'
	exits 0 cloop --json version
	has "$output" '"protocol":1'
}

@test "a third party's command: on PATH, listed, with what it says of itself" {
	exits 0 cloop list
	has "$output" "greet whoever asks"
	exits 0 cloop list --names
	has "$output" hello
	exits 0 cloop list --json
	jq -es 'map(select(.name == "hello" and .summary == "greet whoever asks")) | length == 1' <<< "$output"
	exits 0 cloop help
	has "$output" "greet whoever asks"
}

@test "a third party's command cannot take the place of ours" {
	printf '#!/bin/sh\necho impostor\n' > path/cloop-egress
	chmod 755 path/cloop-egress
	exits 0 cloop egress --help
	lacks "$output" impostor
}

@test "one that is slow, loud, broken or silent does not spoil the list" {
	printf '#!/bin/sh\nsleep 60\n' > path/cloop-slow
	printf '#!/bin/sh\nyes\n' > path/cloop-loud
	printf '#!/bin/sh\nexit 3\n' > path/cloop-failing
	printf 'not a program' > path/cloop-broken
	printf '#!/bin/sh\necho "{\\"summary\\": 7}"\n' > path/cloop-odd
	printf '#!/bin/sh\nprintf "{\\"summary\\":\\"a\\\\u001b[2Jb\\"}"\n' > path/cloop-escape
	chmod 755 path/cloop-*
	exits 0 cloop list
	for n in slow loud failing broken odd hello; do has "$output" "$n"; done
	lacks "$output" $'\e'
}

@test "what is no command name is never looked up" {
	mkdir -p path/cloop-dir
	touch path/cloop-plain
	for n in ../bin/sh /bin/sh 'a b' '' . dir plain $'x\ny' "$(printf '\xff')"; do
		exits 64 cloop "$n"
		has "$stderr" "is not a cloop command"
		[ "${#stderr_lines[@]}" = 2 ]
	done
	# Nor is the program that runs inside sandboxes a command for people.
	exits 64 cloop init
}

@test "relative entries of PATH are not searched" {
	cp path/cloop-hello cloop-here
	PATH=.:path::$PATH exits 64 cloop here
}

@test "a typo gets the nearest command" {
	exits 64 cloop egres firewall
	same "$stderr" "cloop: 'egres' is not a cloop command
  fix: did you mean 'cloop egress'?"
	exits 64 cloop hlep
	has "$stderr" "did you mean 'cloop help'?"
	exits 64 cloop kubernetes-and-more
	has "$stderr" "'cloop help' lists the commands"
}

@test "bare cloop shows what there is and is a usage error" {
	exits 64 cloop
	has "$output" "Commands:"
	has "$output" egress
	exits 64 cloop -C /tmp
	has "$output" "Commands:"
	exits 64 cloop -C
	has "$stderr" "-C needs a value"
	exits 64 cloop --no-such-option
	has "$stderr" "unknown option '--no-such-option'"
}

@test "help NAME is NAME --help" {
	exits 0 cloop egress --help
	want=$output
	exits 0 cloop help egress
	same "$output" "$want"
	exits 64 cloop help version
	has "$stderr" "part of cloop itself"
	exits 64 cloop help no-such-thing
}

@test "version --json has what a hub compares, where no hub is" {
	cd /
	exits 0 cloop version --json
	jq -e '(.version | test("^[0-9]+\\.[0-9]+\\.[0-9]+$")) and (.protocol | type == "number") and
		(.min_protocol <= .protocol) and (.sequence >= 1) and (.commit | type == "string")' <<< "$output"
	exits 0 cloop version
	[[ $output == "cloop "* ]]
	exits 0 cloop --version
}

@test "installed, the commands are found in libexec and nowhere else" {
	root=$BATS_TEST_TMPDIR/root
	BUILD_DIR=$BUILD_DIR sh "$SRC/share/install.sh" install "$root" /opt/c
	[ -x "$root/opt/c/bin/cloop" ]
	[ "$(ls "$root/opt/c/bin")" = cloop ]
	[ -x "$root/opt/c/libexec/cloop/cloop-egress" ]
	PATH=/usr/bin:/bin exits 0 "$root/opt/c/bin/cloop" egress firewall --help
	PATH=/usr/bin:/bin exits 0 "$root/opt/c/bin/cloop" list --json
	jq -es --arg p "$root/opt/c/libexec/cloop/cloop-egress" \
		'map(select(.name == "egress" and (.path | test("/libexec/cloop/cloop-egress$")))) | length == 1' <<< "$output"
}

@test "every command that is listed says what it is for and has a manual" {
	PATH=/usr/bin:/bin exits 0 "$BIN/cloop" help
	listed=$(sed -n '/^Commands:/,/^$/p' <<< "$output" | sed '1d;$d')
	[ "$(wc -l <<< "$listed")" -gt 10 ]
	while read -r name summary; do
		[ -n "$summary" ] || { echo "$name says nothing" >&2; return 1; }
		[ -e "$SRC/man/cloop-$name.1" ] || { echo "$name has no manual" >&2; return 1; }
	done <<< "$listed"
}
