#!/usr/bin/env bats
# What a change of a policy opens and closes, from files, git and executors.
load lib/common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	echo '{"allow_public_internet": true, "allow_ports": [443]}' > a.json
	cat > b.yaml <<- 'EOT'
	allow_public_internet: true
	allow_ports: [443]
	allow_cidrs: [10.8.0.0/24]
	deny_cidrs: [198.51.100.0/24]
	EOT
}
diff_() { cloop-egress firewall diff "$@"; }
# repo : a repository here with a.json in it, and the work tree's own one wider.
repo() {
	need git
	mkdir -p repo/sub && cd repo && git init -q . && cp ../a.json policy.json && cp ../b.yaml sub/p.yaml && git add . &&
		git -c user.name=t -c user.email=t@t.invalid commit -qm one && cp ../b.yaml policy.json
}

@test "the same policy, however it is written, opens nothing" {
	exits 0 diff_ a.json a.json
	same "$output" "from a.json to a.json

newly allowed: nothing

newly dropped: nothing"
	echo '{allow_public_internet: true, allow_ports: [443], allow_cidrs: [93.184.216.0/24]}' > same.yaml
	exits 0 diff_ a.json same.yaml
	exits 0 diff_ - a.json < a.json
	has "$output" "from standard input to a.json"
}

@test "what is newly allowed comes first, with counts, an example and both rules" {
	exits 1 diff_ a.json b.yaml
	same "$output" "from a.json to b.yaml

newly allowed: 256 IPv4 addresses (256 destinations)
  tcp 443, 256 addresses: 10.8.0.0/24
    10.8.0.0:443/tcp was dropped by rule 26: private (RFC1918/ULA)
    and is allowed by rule 9: granted CIDR (waives private (RFC1918/ULA))

newly dropped: 256 IPv4 addresses (256 destinations)
  tcp 443, 256 addresses: 198.51.100.0/24
    198.51.100.0:443/tcp was allowed by rule 35: public Internet
    and is dropped by rule 3: operator deny list"
	# The rules that it names are those of the listings.
	exits 0 cloop-egress firewall --policy a.json --json
	same "$(jq -r '.rules[25] | .prefix + " " + .reason' <<< "$output")" "10.0.0.0/8 private (RFC1918/ULA)"
	same "$(jq -r '.rules[34] | .prefix + " " + .reason' <<< "$output")" "0.0.0.0/0 public Internet"
}

@test "what only gets narrower is status 0" {
	exits 0 diff_ b.yaml <(echo '{"allow_public_internet": true, "allow_ports": [443], "deny_cidrs": ["198.51.100.0/24"]}')
	has "$output" "newly allowed: nothing"
	has "$output" "newly dropped: 256 IPv4"
	exits 0 diff_ a.json none
	exits 1 diff_ none a.json
	has "$output" "about 2^128 IPv6 addresses"
}

@test "JSON says the same exactly" {
	exits 1 diff_ a.json b.yaml --json
	same "$(jq -c '.newly_allowed | del(.groups[].before, .groups[].after)' <<< "$output")" \
		'{"groups":[{"addresses":256,"example":"10.8.0.0:443/tcp","family":4,"nranges":1,"ports":[[443,443]],"protocol":"tcp","ranges":["10.8.0.0/24"]}],"ipv4":{"addresses":256,"destinations":256},"ipv6":{"addresses":"0","destinations":"0"}}'
	same "$(jq -c '.newly_allowed.groups[0] | .before, .after' <<< "$output")" \
		'{"level":null,"reason":"private (RFC1918/ULA)","rule":26,"verdict":"drop"}
{"level":null,"reason":"granted CIDR (waives private (RFC1918/ULA))","rule":9,"verdict":"allow"}'
	exits 1 diff_ none <(echo '{allow_cidrs: ["2001:db8::/64"], all_ports: true}') --json
	same "$(jq -r '.newly_allowed.ipv6.addresses, .newly_allowed.ipv6.destinations' <<< "$output")" \
		"18446744073709551616
1208925819614629174706176"
}

@test "Markdown is a table in which nothing of the input is markup" {
	exits 1 diff_ a.json b.yaml --format markdown
	has "$output" "### Egress policy: something is newly allowed"
	has "$output" "#### Newly allowed: 256 IPv4 addresses (256 destinations)"
	has "$output" "| 10.8.0.0/24 | tcp 443 | 256 | 10.8.0.0:443/tcp | dropped by rule 26: private (RFC1918/ULA) | allowed by rule 9: granted CIDR (waives private (RFC1918/ULA)) |"
	cp b.yaml '<b>|@me`[x](y).yaml'
	exits 1 diff_ a.json '<b>|@me`[x](y).yaml' --format markdown
	has "$output" 'to \<b\>\|&#64;me\`\[x\](y).yaml'
	exits 0 diff_ a.json a.json --format markdown
	has "$output" "### Egress policy: no difference"
	exits 0 diff_ b.yaml none --format markdown
	has "$output" "it only gets narrower"
	exits 64 diff_ a.json b.yaml --format markdown --json
}

@test "ports, protocols, resolvers and levels are told apart" {
	exits 1 diff_ a.json <(echo '{allow_public_internet: true, allow_ports: [80, 443], resolvers: [9.9.9.9]}')
	has "$output" "udp 53, 1 address: 9.9.9.9/32"
	has "$output" "tcp 80, 3987603453 addresses: 0.0.0.1-9.9.9.8, 9.9.9.10-9.255.255.255"
	echo '{"levels":[{"level":"box","policy":{"allow_public_internet":true,"all_ports":true}},{"level":"shop","policy":{"allow_cidrs":["198.51.100.0/25"],"allow_ports":[8443]}}]}' > levels.json
	exits 1 diff_ a.json levels.json
	has "$output" "tcp 8443, 128 addresses: 198.51.100.0/25"
	has "$output" "and is allowed by rule 33: granted CIDR [shop]"
	has "$output" "and is dropped by rule 34: default deny [shop]"
}

@test "--limit bounds what is shown, never what is counted" {
	jq -nc '{allow_ports: [443], allow_cidrs: [range(20) | "10.\(. * 2).0.0/16"]}' > many.json
	exits 1 diff_ none many.json
	has "$output" "10.8.0.0/16 and 15 more"
	has "$output" "1310720 IPv4 addresses"
	exits 1 diff_ none many.json --limit 0
	has "$output" "10.38.0.0/16"
	exits 1 diff_ none many.json --json
	same "$(jq '.newly_allowed.groups[0].ranges | length' <<< "$output")" 20
	exits 1 diff_ none many.json --json --limit 2
	same "$(jq -c '.newly_allowed.groups[0] | [(.ranges | length), .nranges]' <<< "$output")" "[2,20]"
}

@test "a file at a git revision" {
	repo
	exits 1 diff_ git:HEAD:policy.json policy.json
	has "$output" "from git:HEAD:policy.json to policy.json"
	has "$output" "newly allowed: 256 IPv4 addresses"
	exits 0 diff_ git:HEAD:sub/p.yaml policy.json
	cd sub && exits 0 diff_ git:HEAD:sub/p.yaml ../policy.json
	# The change that brings the file opens all that it allows; one that takes it away is asked.
	exits 1 diff_ git:HEAD:nowhere.json p.yaml
	has "$stderr" "warning: the revision has no file 'HEAD:nowhere.json': compared with a policy that allows nothing"
	same "$(sed 1d <<< "$output")" "$(diff_ none p.yaml | sed 1d)"
	exits 65 diff_ p.yaml git:HEAD:nowhere.json
	has "$stderr" "fix: write the path from the top of the work tree; 'none' stands for"
	exits 65 cloop-egress fits git:HEAD:nowhere.json p.yaml
	exits 65 diff_ git:v9:policy.json p.yaml
	has "$stderr" "git has no 'v9:policy.json'"
	has "$stderr" "fix: fetch the revision (a shallow clone has few: git fetch --unshallow; actions/checkout: fetch-depth: 0)"
	exits 69 diff_ HEAD:policy.json p.yaml
	has "$stderr" "or git:HEAD:policy.json for one at a revision"
	for bad in git:HEAD git::x 'git:HEAD:'; do exits 64 diff_ "$bad" p.yaml; done
	for bad in git:--help:x git:HEAD:/etc/passwd git:HEAD:../x 'git:HEAD..x:y' 'git:a b:y'; do exits 65 diff_ "$bad" p.yaml; done
	cd / && exits 65 diff_ git:HEAD:x "$BATS_TEST_TMPDIR/a.json"
	has "$stderr" "no git repository"
}

@test "a hostile repository runs nothing, reads nothing else and fetches nothing" {
	repo
	printf '#!/bin/sh\ntouch "%s"\n' "$BATS_TEST_TMPDIR/ran" > "$BATS_TEST_TMPDIR/evil"
	chmod 755 "$BATS_TEST_TMPDIR/evil"
	local e=$BATS_TEST_TMPDIR/evil
	git config core.fsmonitor "$e"; git config core.hooksPath "$BATS_TEST_TMPDIR"; git config core.pager "$e"
	git config pager.cat-file "$e"; git config core.sshCommand "$e"; git config filter.x.smudge "$e"
	git config diff.x.textconv "$e"; git config core.alternateRefsCommand "$e"; git config alias.cat-file "!$e"
	git config remote.origin.url "ext::$e"; git config remote.origin.promisor true; git config protocol.ext.allow always
	git config extensions.partialClone origin; git config core.repositoryFormatVersion 1
	echo '* filter=x diff=x' > .gitattributes
	exits 1 diff_ git:HEAD:policy.json policy.json
	# An object that is missing would be fetched by such a repository.
	blob=$(git rev-parse HEAD:policy.json); rm -f ".git/objects/${blob:0:2}/${blob:2}"
	exits 65 diff_ git:HEAD:policy.json policy.json
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	mkdir -p .git/objects/info && echo /elsewhere > .git/objects/info/alternates
	exits 77 diff_ git:HEAD:sub/p.yaml policy.json
	has "$stderr" "objects/info/alternates takes the repository elsewhere"
	rm .git/objects/info/alternates
	for dir in objects/pack objects; do
		mv ".git/$dir" ../elsewhere && ln -s "$PWD/../elsewhere" ".git/$dir"
		exits 77 diff_ git:HEAD:sub/p.yaml policy.json
		has "$stderr" ".git/$dir takes the repository elsewhere"
		rm ".git/$dir" && mv ../elsewhere ".git/$dir"
	done
	mv .git ../real && echo "gitdir: ../real" > .git
	exits 77 diff_ git:HEAD:sub/p.yaml policy.json
	has "$stderr" ".git is a file"
	rm .git && ln -s ../real .git
	exits 77 diff_ git:HEAD:sub/p.yaml policy.json
	has "$stderr" ".git is a link"
}

@test "root reads somebody's repository as that account, and nobody reads a stranger's" {
	need root setpriv
	open_bin
	repo
	chmod 755 "$BATS_TEST_TMPDIR"
	chown -R 65534:65534 .
	exits 1 diff_ git:HEAD:policy.json policy.json
	# What that account cannot read, root does not read for it.
	chmod 000 .git/HEAD; chown root .git/HEAD
	exits 65 diff_ git:HEAD:policy.json policy.json
	chown 65534 .git/HEAD; chmod 644 .git/HEAD
	chown 0 .
	exits 77 diff_ git:HEAD:policy.json policy.json
	has "$stderr" "belongs to uid 65534"
	chown -R 0 .; chmod -R a+rX .
	exits 77 as_user "$BIN/cloop-egress" firewall diff git:HEAD:policy.json policy.json
	has "$stderr" "belongs to uid 0"
}

@test "an executor's filter is an operand" {
	export HOME=$BATS_TEST_TMPDIR CLOOP_DIR=$BATS_TEST_TMPDIR/hub
	mkdir "$CLOOP_DIR"
	cloop -C "$CLOOP_DIR" hub bootstrap > /dev/null
	cat > "$CLOOP_DIR/.cloop/config.yaml" <<- 'EOT'
	executors:
	  container:
	    id: box
	    enabled: true
	    network: bridge
	    egress_filter: {enabled: true, allow_public_internet: true, allow_ports: [443]}
	EOT
	exits 1 diff_ executor:box b.yaml
	has "$output" "from executor box to b.yaml"
	has "$output" "newly allowed: 256 IPv4"
	exits 0 diff_ a.json executor:box
	exits 65 diff_ executor:nobody b.yaml
}

@test "bad operands say what is wrong with them" {
	exits 69 diff_ nowhere.json a.json
	exits 64 diff_ - -
	has "$stderr" "both policies cannot be standard input"
	exits 64 diff_ a.json
	exits 65 diff_ a.json <(echo '{allow_public_internet: true}')
	has "$stderr" "names no port"
	exits 65 diff_ a.json <(echo '{x: 1}')
	exits 65 diff_ a.json <(echo '{"allow_ports": [443]')
	exits 65 diff_ a.json <(echo 'allow_ports: &a [443]')
	exits 65 diff_ a.json /dev/null
	exits 65 diff_ a.json <(printf 'allow_ports:\n- 443\n- 0\n')
	has "$stderr" ":3:"
}

@test "100,000 ranges on both sides" {
	python3 -c '
import json
r = [f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/24" for i in range(0, 200000, 2)]
json.dump({"allow_cidrs": r, "allow_ports": [443]}, open("one.json", "w"))
r[50000] = "150.0.0.0/24"
json.dump({"allow_cidrs": r, "allow_ports": [443]}, open("two.json", "w"))'
	exits 1 diff_ one.json two.json
	has "$output" "newly allowed: 256 IPv4 addresses"
	has "$output" "newly dropped: 256 IPv4 addresses"
}

@test "names that are typed reach no terminal raw" {
	local name=$'c\e[31m\nd'
	cp b.yaml "$name"
	exits 1 diff_ a.json "$name"
	lacks "$output" $'\e'
	same "$(head -1 <<< "$output")" "from a.json to c?[31m?d"
}

@test "a stored set without a subject is a slip, and a fix survives a shell" {
	need root
	export CLOOP_HUBS=$PWD/hubs CLOOP_DIR=$PWD/hub
	cloop hub bootstrap > /dev/null
	exits 64 diff_ none rules:executor:
	exits 64 diff_ none rules:project:
	mkdir "it's one"
	exits 65 diff_ none "rules:project:it's one"
	has "$stderr" "cloop egress rules set --project '$PWD/it'\\''s one'"
}
