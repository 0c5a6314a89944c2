#!/usr/bin/env bats
# Levels of rules: what all of them allow, and which of them decided.
load lib/common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	cat > levels.json <<- 'EOT'
	{"levels": [
		{"level": "executor build-box", "policy": {"allow_public_internet": true, "allow_ports": [80, 443],
			"resolvers": ["9.9.9.9"], "deny_cidrs": ["198.51.100.0/24"]}},
		{"level": "rules of project /srv/shop", "version": 3, "policy": {"allow_public_internet": true,
			"allow_ports": [443, 22], "resolvers": ["9.9.9.9", "8.8.8.8"], "deny_cidrs": ["203.0.113.0/24"]}}]}
	EOT
}
fw() { cloop-egress firewall "$@"; }

@test "a policy of levels allows what all of them allow, and names the one that decides" {
	exits 0 fw --policy levels.json --check 93.184.216.34:443
	same "$output" "ALLOW 93.184.216.34 93.184.216.34:443/tcp — public Internet [rules of project /srv/shop]"
	exits 1 fw --policy levels.json --check 93.184.216.34:80
	same "$output" "DROP  93.184.216.34 93.184.216.34:80/tcp — default deny [rules of project /srv/shop]"
	exits 1 fw --policy levels.json --check 93.184.216.34:22 --json
	same "$(jq -r '.level, .reason' <<< "$output")" "executor build-box"$'\n'"default deny"
	exits 1 fw --policy levels.json --check 198.51.100.1:443
	has "$output" "operator deny list [executor build-box]"
	exits 1 fw --policy levels.json --check 203.0.113.1:443
	has "$output" "operator deny list [rules of project /srv/shop]"
	exits 1 fw --policy levels.json --check 8.8.8.8:53/udp
	has "$output" "[executor build-box]"
	exits 0 fw --policy levels.json --check 9.9.9.9:53/udp
}

@test "a file of questions says the level of each answer" {
	exits 1 bash -c 'printf "%s\n" 93.184.216.34:443 203.0.113.1:443 1.1.1.1:22 | cloop-egress firewall --policy levels.json --check-file - --json'
	same "$(jq -r .level <<< "$output")" "rules of project /srv/shop
rules of project /srv/shop
executor build-box"
	exits 1 bash -c 'echo 1.1.1.1:22 | cloop-egress firewall --policy levels.json --check-file -'
	same "$output" "DROP  1.1.1.1 1.1.1.1:22/tcp — default deny [executor build-box]"
}

@test "the listing, its JSON and the script of levels are one policy's" {
	exits 0 fw --policy levels.json
	has "$output" "mode filtered, "
	has "$output" "operator deny list [executor build-box]"
	has "$output" "default deny [executor build-box]"
	exits 0 fw --policy levels.json --json
	same "$(jq -c '.levels' <<< "$output")" '["executor build-box","rules of project /srv/shop"]'
	same "$(jq '[.rules[] | select(.local | not) | has("level")] | all' <<< "$output")" true
	exits 0 fw --policy levels.json --format nft-bridge --bridge br0
	has "$output" "table inet"
	exits 1 fw --policy levels.json --format networkpolicy
	has "$stderr" "2 levels of rules"
}

@test "levels that are wrong are refused with their place" {
	exits 65 fw --policy - <<< '{"levels":[]}'
	exits 65 fw --policy - <<< '{"levels":[{"level":"a","policy":{"allow_public_internet":true}}]}'
	has "$stderr" "a: the policy allows the public Internet and names no port"
	exits 65 fw --policy - <<< '{"levels":[{"level":"a","policy":{}},{"level":"a","policy":{}}]}'
	has "$stderr" "twice"
	exits 65 fw --policy - <<< "$(jq -nc '{levels: [range(17) | {level: "l\(.)", policy: {}}]}')"
	has "$stderr" "17 levels"
}

@test "tests of a policy take levels too" {
	jq '{policy: ., tests: [{allow: "93.184.216.34:443"}, {drop: "203.0.113.0/24"}]}' levels.json > suite.json
	exits 0 fw test suite.json
	has "$output" "ok 2"
}
