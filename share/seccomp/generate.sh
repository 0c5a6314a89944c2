#!/bin/sh
# usage: generate.sh [DEFAULT] : writes strict.json and userns.json beside this file, each also as
# -raw, with packet sockets, from
# the engine's default profile (containers-common's), and its hash to default.sha256. With
# --check it writes nothing: status 1 when they are not what DEFAULT makes of them, 3 when
# DEFAULT is another one than they were made of.
set -eu
check=
[ "${1:-}" != --check ] || { check=1; shift; }
default=${1:-/usr/share/containers/seccomp.json}
here=$(dirname "$0")
sum=$(sha256sum < "$default" | cut -d' ' -f1)
if [ -z "$check" ]; then
	echo "$sum" > "$here/default.sha256"
elif [ "$sum" != "$(cat "$here/default.sha256")" ]; then
	echo "$default is another profile" >&2
	exit 3
fi
for mode in strict strict-raw userns userns-raw; do
	made=$(jq -S --arg mode "${mode%-raw}" --arg raw "${mode#"${mode%-raw}"}" -f "$here/profile.jq" "$default")
	if [ -n "$check" ]; then
		printf '%s\n' "$made" | cmp -s - "$here/$mode.json" || { echo "$mode.json differs" >&2; exit 1; }
	else
		printf '%s\n' "$made" > "$here/$mode.json"
	fi
done
