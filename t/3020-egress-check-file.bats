#!/usr/bin/env bats
# cloop egress firewall --check-file: a line in, a line out.
load lib/common

GUIDE=(--internet --ports 443 --resolver 9.9.9.9:53)
fw() { cloop-egress firewall "$@"; }
policy() { awk -F'\t' -v p="$1" '$1 == p { print $3 }' "$CASES/egress/policies.tsv"; }

@test "a line in, a line out, in order" {
	exits 1 fw "${GUIDE[@]}" --check-file - <<< '93.184.216.34:443
10.4.5.6:443/tcp
9.9.9.9:53/UDP
[::ffff:10.0.0.1]:443
[2606:4700::1111]:443
1.1.1.1:0/any'
	same "$output" 'ALLOW 93.184.216.34 93.184.216.34:443/tcp — public Internet
DROP  10.4.5.6 10.4.5.6:443/tcp — private (RFC1918/ULA)
ALLOW 9.9.9.9 9.9.9.9:53/udp — DNS resolver
DROP  ::ffff:10.0.0.1 [::ffff:10.0.0.1]:443/tcp — private (RFC1918/ULA)
ALLOW 2606:4700::1111 [2606:4700::1111]:443/tcp — public Internet
DROP  1.1.1.1 1.1.1.1:0/any — default deny'
	printf '1.1.1.1:443\n1.0.0.1:443' > "$BATS_TEST_TMPDIR/q"
	exits 0 fw "${GUIDE[@]}" --check-file "$BATS_TEST_TMPDIR/q" --format nft
	same "$(wc -l <<< "$output")" 2
	exits 0 fw "${GUIDE[@]}" --check-file - < /dev/null
	same "$output" ""
}

@test "objects, a line each" {
	exits 1 fw "${GUIDE[@]}" --json --check-file - <<< $'10.4.5.6:443\n1.1.1.1:22\n1.1.1.1:443'
	same "$(jq -c '[.query,.verdict,.reason,.rule,.level]' <<< "$output")" \
		'["10.4.5.6:443/tcp","drop","private (RFC1918/ULA)",28,"flags"]
["1.1.1.1:22/tcp","drop","default deny",null,"flags"]
["1.1.1.1:443/tcp","allow","public Internet",37,"flags"]'
	printf '{"allow_public_internet":true,"allow_ports":[443]}' > "$BATS_TEST_TMPDIR/a \"b\".json"
	exits 0 fw --policy "$BATS_TEST_TMPDIR/a \"b\".json" --json --check-file - <<< 1.1.1.1:443
	same "$(jq -r .level <<< "$output")" "$BATS_TEST_TMPDIR/a \"b\".json"
}

@test "every vector of every policy answers as --check does, in both forms" {
	local p json
	for p in $(cut -f1 "$CASES/egress/policies.tsv" | grep -v '^#'); do
		policy "$p" > "$BATS_TEST_TMPDIR/p"
		cut -f3 "$CASES/egress/answers.tsv" | grep -v '^#' | grep : > "$BATS_TEST_TMPDIR/q"
		local -a all=()
		mapfile -t all < <(sed 's/^/--check=/' "$BATS_TEST_TMPDIR/q")
		fw --policy "$BATS_TEST_TMPDIR/p" "${all[@]}" > "$BATS_TEST_TMPDIR/one" || [ $? = 1 ]
		fw --policy "$BATS_TEST_TMPDIR/p" --check-file "$BATS_TEST_TMPDIR/q" > "$BATS_TEST_TMPDIR/many" || [ $? = 1 ]
		[ "$(wc -l < "$BATS_TEST_TMPDIR/one")" -gt 40 ]
		diff "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/many"
		for json in one many; do
			local -a how=(--check-file "$BATS_TEST_TMPDIR/q")
			[ $json = many ] || how=("${all[@]}")
			{ fw --policy "$BATS_TEST_TMPDIR/p" --json "${how[@]}" || [ $? = 1 ]; } |
				jq -c '[.query,.verdict,.reason,.rule]' > "$BATS_TEST_TMPDIR/$json"
		done
		diff "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/many"
	done
}

@test "a broken line is 65 with its number, and the lines before it have their answers" {
	local bad
	for bad in '' nonsense 1.1.1.1 1.1.1.1:0 1.1.1.1:0443 1.1.1.1:65536 01.1.1.1:443 1.1.1.256:443 ' 1.1.1.1:443' \
		'1.1.1.1:443 ' $'1.1.1.1:443\r' 1.1.1.1:443/sctp 1.1.1.1:443/ example.com:443 '[fe80::1%eth0]:80' \
		'[::1]' ::1:443 1.1.1.1:443-444 1.1.1.0/24:443 '# comment' "$(printf 'x%.0s' {1..100})"; do
		echo "bad: $bad" >&2
		exits 65 fw "${GUIDE[@]}" --check-file - <<< $'1.1.1.1:443\n10.0.0.1:443\n'"$bad"$'\n1.1.1.1:443'
		has "$stderr" "standard input:3:1: --check-file: "
		has "$stderr" "  fix: "
		same "$(wc -l <<< "$output")" 2
	done
	exits 65 fw "${GUIDE[@]}" --check-file - < <(printf '1.1.1.1:443\n\n')
	has "$stderr" "standard input:2:1: --check-file: there is nothing to ask"
	exits 65 fw "${GUIDE[@]}" --check-file - < <(printf '1.1.1.1:443\r\n')
	has "$stderr" "standard input:1:1: --check-file: '1.1.1.1:443?' ends in a carriage return"
	exits 65 fw "${GUIDE[@]}" --check-file - < <(printf '1.1.1.1:443\n1.1.1.1:4\0003\n')
	exits 65 fw "${GUIDE[@]}" --check-file - < <(printf '1.1.1.1:443\n\xff\xfe\n')
	exits 65 fw "${GUIDE[@]}" --check-file - < <(printf '1.1.1.1:443\n'; head -c 300000 /dev/zero | tr '\0' x)
	has "$stderr" "standard input:2:1: "
	same "$(wc -l <<< "$output")" 1
	exits 65 fw "${GUIDE[@]}" --json --check-file - <<< x
	same "$(jq -r '.error | .code, .line' <<< "$stderr" | tr '\n' ' ')" "bad_input 1 "
}

@test "what contradicts itself or cannot be opened" {
	exits 64 fw "${GUIDE[@]}" --check-file - --check 1.1.1.1:443 < /dev/null
	exits 64 fw --policy - --check-file - < /dev/null
	exits 64 fw --from-spec - --check-file - < /dev/null
	exits 69 fw "${GUIDE[@]}" --check-file "$BATS_TEST_TMPDIR/none"
	exits 71 fw "${GUIDE[@]}" --check-file "$BATS_TEST_TMPDIR"
	exits 71 bash -c '"$0" firewall --internet --ports 443 --check-file - > /dev/full' "$BIN/cloop-egress" <<< 1.1.1.1:443
}

@test "an answer comes before the next question" {
	coproc ASK { cloop-egress firewall "${GUIDE[@]}" --check-file -; }
	local pid=$ASK_PID line i in out
	exec {out}<&"${ASK[0]}" {in}>&"${ASK[1]}"
	eval "exec ${ASK[1]}>&-"
	for i in 1 2 3; do
		echo "1.1.1.$i:443" >&"$in"
		read -r -t 20 line <&"$out"
		same "$line" "ALLOW 1.1.1.$i 1.1.1.$i:443/tcp — public Internet"
	done
	printf '10.0.0.1:443' >&"$in"
	exec {in}>&-
	read -r -t 20 line <&"$out"
	same "$line" 'DROP  10.0.0.1 10.0.0.1:443/tcp — private (RFC1918/ULA)'
	local rc=0
	wait "$pid" || rc=$?
	[ $rc = 1 ]
}

@test "a hundred thousand lines under a hundred thousand ranges" {
	python3 -c '
import json, sys
r = [f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/25" for i in range(100000)]
json.dump({"allow_cidrs": r, "allow_ports": [443]}, open(sys.argv[1], "w"))
with open(sys.argv[2], "w") as f:
	for i in range(100000):
		f.write(f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.{i * 7 % 256}:443\n")' \
		"$BATS_TEST_TMPDIR/p" "$BATS_TEST_TMPDIR/q"
	exits 1 fw --policy "$BATS_TEST_TMPDIR/p" --check-file "$BATS_TEST_TMPDIR/q"
	same "$(awk -F'[. :]+' '{ print (($5 < 128) == ($1 == "ALLOW")) }' <<< "$output" | sort | uniq -c | tr -s ' ')" " 100000 1"
}
