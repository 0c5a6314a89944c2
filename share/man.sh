#!/bin/sh
# usage: man.sh BUILD_DIR OUT COMMAND... : makes OUT/COMMAND.1 from BUILD_DIR/spec/COMMAND.json and
# the command's prose. docgen learns which pages there are, so that none points to nowhere.
set -eu
build=$1
out=$2
shift 2
all=
for c; do all="$all $c.1"; done
for m in man/*.[2-8]; do [ ! -e "$m" ] || all="$all $(basename "$m")"; done
for c; do
	prose=-
	[ ! -e "cmd/$c/man.mdoc" ] || prose=cmd/$c/man.mdoc
	# shellcheck disable=SC2086 # a list of names
	"$build/docgen" man "$build/spec/$c.json" "$prose" $all > "$out/$c.1"
done
