#!/bin/sh
# usage: BUILD_DIR=build install.sh install|uninstall DESTDIR PREFIX
# Installs the executables, manual pages, completions and data below DESTDIR/PREFIX and keeps the
# list of what it put there in share/cloop/manifest; uninstall removes exactly that list. Installing
# over an older release removes what the new one no longer has.
set -eu
umask 022
cd "$(dirname "$0")/.."
[ $# = 3 ] || { sed -n '2s/^# //p' "$0" >&2; exit 64; }
verb=$1
case $3 in
/*) root=$2$3 prefix=${3%/} ;;
*) echo "install.sh: PREFIX '$3' is not an absolute path" >&2; exit 64 ;;
esac
manifest=share/cloop/manifest
build=${BUILD_DIR:-build}

# Lines of "MODE SOURCE TARGET", targets below PREFIX.
what() {
	for d in cmd/*/; do
		n=$(basename "$d")
		[ "$n" = cloop ] || echo "755 $build/bin/$n libexec/cloop/$n"
	done
	echo "755 $build/bin/cloop bin/cloop"
	for f in man/*.[1-8]; do
		echo "644 $f share/man/man${f##*.}/$(basename "$f")"
	done
	echo "644 completions/cloop.bash share/bash-completion/completions/cloop"
	echo "644 completions/_cloop share/zsh/site-functions/_cloop"
	echo "644 completions/cloop.fish share/fish/vendor_completions.d/cloop.fish"
	for d in seccomp json-schema systemd cron udev sudoers examples; do
		[ -d "share/$d" ] || continue
		find "share/$d" -type f | sort | while read -r f; do
			echo "644 $f share/cloop/${f#share/}"
		done
	done
	echo "644 LICENSE share/cloop/LICENSE"
}

# Removes the listed files, then the folders that are empty because of it and are cloop's own.
take_away() {
	while read -r f; do
		case $f in
		/* | *..* | '') echo "install.sh: $root/$manifest holds '$f', left alone" >&2 ;;
		*) rm -f "$root/$f" ;;
		esac
	done
	for d in libexec/cloop share/cloop; do
		[ ! -d "$root/$d" ] || find "$root/$d" -depth -type d -empty -delete
	done
}

case $verb in
install)
	list=$(mktemp)
	trap 'rm -f "$list" "$list.old"' EXIT
	what > "$list"
	while read -r mode from to; do
		[ -f "$from" ] || { echo "install.sh: $from is not built: run 'make all'" >&2; exit 69; }
	done < "$list"
	[ ! -f "$root/$manifest" ] || cp "$root/$manifest" "$list.old"
	while read -r mode from to; do
		install -D -m "$mode" "$from" "$root/$to"
		# A unit starts the cloop that was installed with it.
		case $to in
		share/cloop/systemd/*) sed -i "s|=/usr/local/bin/|=$prefix/bin/|" "$root/$to" ;;
		esac
	done < "$list"
	[ ! -f "$list.old" ] || {
		cut -d' ' -f3 "$list" | grep -vxFf - "$list.old" | grep -vxF "$manifest" | take_away
	} || true
	{ cut -d' ' -f3 "$list"; echo "$manifest"; } > "$root/$manifest"
	;;
uninstall)
	[ -f "$root/$manifest" ] || { echo "install.sh: nothing of cloop is installed below $root" >&2; exit 1; }
	list=$(cat "$root/$manifest")
	echo "$list" | take_away
	;;
*)
	echo "install.sh: '$verb' is neither install nor uninstall" >&2
	exit 64
	;;
esac
