#!/usr/bin/env bats
# What `make install` puts where, and that `make uninstall` leaves the rest alone.
load lib/common

put() { BUILD_DIR=$BUILD_DIR sh "$SRC/share/install.sh" "$1" "$BATS_TEST_TMPDIR/root" "${2:-/usr}"; }

setup() {
	root=$BATS_TEST_TMPDIR/root
}

@test "every part stands where its reader looks" {
	put install
	for f in bin/cloop libexec/cloop/cloop-egress share/man/man1/cloop.1 share/man/man1/cloop-egress.1 \
		share/bash-completion/completions/cloop share/zsh/site-functions/_cloop \
		share/fish/vendor_completions.d/cloop.fish; do
		[ -f "$root/usr/$f" ]
	done
	for d in "$SRC"/cmd/*/; do
		n=$(basename "$d")
		[ "$n" = cloop ] || [ -x "$root/usr/libexec/cloop/$n" ]
	done
	for m in "$SRC"/man/*.[1-8]; do
		[ -f "$root/usr/share/man/man${m##*.}/$(basename "$m")" ]
	done
}

@test "a unit starts the cloop that was installed with it" {
	put install
	for u in "$root"/usr/share/cloop/systemd/*.service; do
		while IFS= read -r cmd; do [ -x "$root${cmd%% *}" ]; done < <(sed -n 's/^ExecStart=//p' "$u")
		grep -q '^ExecStart=/usr/bin/cloop ' "$u"
	done
	[ "$(stat -c %a "$u")" = 644 ]
}

@test "modes do not depend on the umask, and nothing is set-id" {
	(umask 077 && put install)
	[ "$(stat -c %a "$root/usr/bin/cloop")" = 755 ]
	[ "$(stat -c %a "$root/usr/share/man/man1/cloop.1")" = 644 ]
	[ "$(stat -c %a "$root/usr/libexec/cloop")" = 755 ]
	[ -z "$(find "$root" -perm /6000)" ]
	[ -z "$(find "$root" -type f -perm /022)" ]
}

@test "uninstall removes exactly what install put there" {
	mkdir -p "$root/usr/bin" "$root/usr/share/man/man1" "$root/usr/libexec/cloop"
	echo other > "$root/usr/bin/other"
	echo theirs > "$root/usr/libexec/cloop/cloop-theirs"
	(cd "$root" && find . | sort) > "$BATS_TEST_TMPDIR/before"
	put install
	put uninstall
	(cd "$root" && find . -not -type d | sort) > "$BATS_TEST_TMPDIR/after"
	same "$(cat "$BATS_TEST_TMPDIR/after")" "./usr/bin/other
./usr/libexec/cloop/cloop-theirs"
	[ ! -e "$root/usr/share/cloop" ]
}

@test "a second install changes nothing, and removes what an older one had more" {
	put install
	(cd "$root" && find . | sort) > "$BATS_TEST_TMPDIR/first"
	echo old > "$root/usr/libexec/cloop/cloop-gone"
	echo libexec/cloop/cloop-gone >> "$root/usr/share/cloop/manifest"
	echo 'libexec/../../../../../etc/hostname' >> "$root/usr/share/cloop/manifest"
	put install
	(cd "$root" && find . | sort) > "$BATS_TEST_TMPDIR/second"
	same "$(cat "$BATS_TEST_TMPDIR/second")" "$(cat "$BATS_TEST_TMPDIR/first")"
	[ -e /etc/hostname ]
}

@test "wrong use is refused" {
	exits 64 sh "$SRC/share/install.sh" install "$root" relative
	exits 64 sh "$SRC/share/install.sh" remove "$root" /usr
	exits 64 sh "$SRC/share/install.sh"
	exits 1 sh "$SRC/share/install.sh" uninstall "$root" /usr
	exits 69 env BUILD_DIR=/nonexistent sh "$SRC/share/install.sh" install "$root" /usr
	[ ! -e "$root" ]
}

@test "the stamp of the commit is written anew only when it is another one" {
	local b=$BATS_TEST_TMPDIR/b
	stamp() { env -u MAKEFLAGS make -s -C "$SRC" BUILD="$b" COMMIT="$1" "$b/commit"; }
	stamp aaa
	touch -d @5 "$b/commit"
	stamp aaa
	same "$(stat -c %Y "$b/commit")" 5
	stamp bbb
	same "$(cat "$b/commit")" bbb
}
