#!/bin/sh
# usage: cflags.sh CC FLAG... : prints the flags that CC takes, one a line (a response file).
cc=$1
shift
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
echo 'int main(void) { return 0; }' > "$tmp/x.c"
for flag; do
	case $flag in
	-W[a-z]* | -f*) "$cc" -Werror "$flag" -c -o "$tmp/x.o" "$tmp/x.c" 2>/dev/null || continue ;;
	esac
	printf '%s\n' "$flag"
done
