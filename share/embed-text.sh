#!/bin/sh
# usage: embed-text.sh FILE : its lines as C initialisers, one string each.
sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$/\\n",/' "$1"
