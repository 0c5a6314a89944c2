#!/bin/sh
# usage: embed-schema.sh FILE... : the numbered migrations as C initialisers, in order.
# Each is {number, "name", "sha256 of the file", "text"}. They count from 1: two of one number, as two
# branches make them, would only be found by whoever opens a state file.
n=0
for f; do
	name=$(basename "$f" .sql)
	n=$((n + 1))
	case $name in
	"$(printf '%04d' $n)"-*) ;;
	*)
		echo "$f: number $n comes next" >&2
		exit 1
		;;
	esac
	sum=$(sha256sum < "$f" | cut -d' ' -f1)
	printf '{%s, "%s", "%s",\n' "$(echo "$name" | sed 's/-.*//; s/^0*//')" "$name" "$sum"
	sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$/\\n"/' "$f"
	printf '},\n'
done
