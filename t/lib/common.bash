# Loaded by every suite: load lib/common
# shellcheck shell=bash disable=SC2154 # bats sets status and the rest
bats_require_minimum_version 1.5.0
: "${BUILD_DIR:=$BATS_TEST_DIRNAME/../build}"
BIN=${BIN:-$BUILD_DIR/bin}
SRC=${CLOOP_SRC:-$(cd "$BATS_TEST_DIRNAME/.." && pwd)}
CASES=$SRC/t/cases
export BIN SRC CASES
export PATH=$BIN:$PATH
unset CLOOP_DIR NO_COLOR
# Never the machine's own list of hubs.
export CLOOP_HUBS=${BATS_RUN_TMPDIR:-/tmp}/cloop-hubs

# exits WANT CMD... : runs it with stderr kept apart and checks the status exactly.
exits() {
	local want=$1
	shift
	run --separate-stderr "$@"
	[ "$status" = "$want" ] && return 0
	printf 'status %s, not %s: %s\nstdout: %s\nstderr: %s\n' "$status" "$want" "$*" "$output" "$stderr" >&2
	return 1
}

# has TEXT PIECE, lacks TEXT PIECE
has() { [[ $1 == *"$2"* ]] || { printf 'no "%s" in:\n%s\n' "$2" "$1" >&2; return 1; }; }
lacks() { [[ $1 != *"$2"* ]] || { printf '"%s" found in:\n%s\n' "$2" "$1" >&2; return 1; }; }
# same GOT WANT : equal, or the difference is shown.
same() { [ "$1" = "$2" ] || { diff <(printf '%s\n' "$2") <(printf '%s\n' "$1") >&2; return 1; }; }

# until_ok CMD... : waits for it to succeed, for a minute at most.
until_ok() { local i; for ((i = 0; i < 600; i++)); do "$@" && return 0; sleep 0.1; done; return 1; }
# listens NETNS tcp|udp PORT : something has that port there.
listens() { nsenter --net="/run/netns/$1" ss -H -nl "--$2" "sport = :$3" | grep -q .; }

# Waits, as cloop does, for whoever has the file: a supervisor writes when it will.
sqlite3() { command sqlite3 -cmd '.timeout 10000' "$@"; }

# need THING... : skips when the machine lacks one, or fails under CLOOP_TEST_REQUIRE.
need() {
	local n
	for n; do
		case $n in
		root) [ "$(id -u)" = 0 ] && continue ;;
		*) type -P "$n" >/dev/null && continue ;;
		esac
		if [[ ,${CLOOP_TEST_REQUIRE:-}, == *,$n,* ]]; then
			echo "needs $n, and CLOOP_TEST_REQUIRE has it" >&2
			return 1
		fi
		skip "needs $n"
	done
}

# as_user CMD... : as a user who is nobody. open_bin : BIN is where such a user can read it, which
# a clone below /root is not.
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
open_bin() {
	local d=$BATS_TEST_TMPDIR/open
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR"
	as_user test -x "$BIN/cloop" && return 0
	mkdir -p "$d/build" && cp -r "$BIN" "$d/build/bin" && cp -r "$SRC/share" "$d/share" &&
		chmod -R a+rX "$d" && BIN=$d/build/bin && PATH=$BIN:$PATH
}
