#!/bin/sh
# usage: embed-schema.sh FILE... : the numbered migrations as C initialisers, in order.
# Each is {number, "name", "sha256 of the file", "text"}.
for f; do
	name=$(basename "$f" .sql)
	sum=$(sha256sum < "$f" | cut -d' ' -f1)
	printf '{%s, "%s", "%s",\n' "$(echo "$name" | sed 's/-.*//; s/^0*//')" "$name" "$sum"
	sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$/\\n"/' "$f"
	printf '},\n'
done
