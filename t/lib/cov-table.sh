#!/bin/bash
# usage: gcov -n FILE.gcda... | cov-table.sh : one line a source file of lib/ and cmd/, the least
# covered first, then a line for each folder and one for all.
awk '
	/^File / { f = $0; sub(/^File .(\.\/)?/, "", f); sub(/.$/, "", f); next }
	/^Lines executed:/ && f ~ /^(lib|cmd)\/.*\.c$/ && !(f in n) {
		split($2, p, /[:%]/); lines = $4
		n[f] = lines; hit[f] = lines * p[2] / 100
		d = f; sub(/\/[^\/]*$/, "", d)
		dn[d] += lines; dh[d] += hit[f]; an += lines; ah += hit[f]
	}
	/^$/ { f = "" }
	END {
		for (f in n) printf "1 %6.1f%% %6d  %s\n", n[f] ? 100 * hit[f] / n[f] : 100, n[f], f
		for (d in dn) printf "2 %6.1f%% %6d  %s/\n", dn[d] ? 100 * dh[d] / dn[d] : 100, dn[d], d
		if (!an) { print "3 no coverage was recorded"; exit }
		printf "3 %6.1f%% %6d  all\n", 100 * ah / an, an
	}
' | sort -k1,1n -k2,2n -k4,4 | cut -c3- | { echo "covered  lines"; cat; }
