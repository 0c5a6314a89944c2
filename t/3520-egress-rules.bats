#!/usr/bin/env bats
# Levels of rules: what all of them allow, which of them decided, and the stored ones. What a run
# makes of them: 3525-egress-rules-run.
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
rules() { cloop-egress rules "$@"; }

# a_hub : one with an executor that is filtered, one that is not and one without a network.
a_hub() {
	export CLOOP_HUBS=$BATS_TEST_TMPDIR/hubs CLOOP_DIR=$BATS_TEST_TMPDIR/hub
	cloop hub bootstrap > /dev/null
	DB=$CLOOP_DIR/.cloop/state.db P=$BATS_TEST_TMPDIR/shop
	mkdir -p "$P"
	cat > "$CLOOP_DIR/.cloop/config.yaml" <<- 'EOT'
	executors:
	  container:
	    - id: box
	      enabled: true
	      network: bridge
	      egress_filter: {enabled: true, allow_public_internet: true, allow_cidrs: [10.8.0.0/16], allow_ports: [80, 443], resolvers: ["9.9.9.9"]}
	    - id: open
	      enabled: true
	      network: bridge
	    - id: alone
	      enabled: true
	      network: none
	    - id: narrow
	      enabled: true
	      network: bridge
	      egress_filter: {enabled: true, allow_cidrs: [10.9.0.0/24], allow_ports: [22]}
	EOT
}

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
	exits 0 fw --policy levels.json --format networkpolicy
	same "$(jq '[.. | .except? // empty] | length' <<< "$output")" 0
	has "$output" '"cidr": "9.9.9.9/32"'
	lacks "$output" '"cidr": "0.0.0.0/0"'
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

@test "rules are stored, shown, replaced and taken away, a version each" {
	a_hub
	exits 1 rules show --executor box
	same "$output" "rules of executor box: none"
	exits 0 rules set --executor box --internet --ports 443 --resolver 9.9.9.9 --deny 203.0.113.0/24
	same "$output" "rules of executor box: version 1"
	exits 0 rules set --executor box --internet --ports 443 --resolver 9.9.9.9 --deny 203.0.113.0/24
	same "$output" "rules of executor box: version 1, unchanged"
	exits 0 rules set -e box --json --policy - <<< '{allow_public_internet: true, allow_ports: [443]}'
	same "$output" '{"changed":true,"level":"executor","saved":true,"subject":"box","version":2}'
	exits 0 rules show --executor box --json
	same "$(jq -c '[.level, .subject, .version, .rules, .created_by, .key_id, .signature]' <<< "$output")" \
		"[\"executor\",\"box\",2,{\"allow_ports\":[443],\"allow_public_internet\":true},\"uid:$(id -u)\",null,null]"
	exits 0 rules show -e box
	has "$output" "rules of executor box: version 2, since 20"
	exits 0 rules clear -e box
	same "$output" "rules of executor box: version 3, cleared"
	exits 0 rules clear -e box
	has "$output" "unchanged"
	exits 1 rules show -e box --json
	same "$output" null
	exits 0 rules set -e box --internet --ports 443 --json
	same "$(jq .version <<< "$output")" 4
	exits 0 rules show
	has "$output" "executor  box"
	exits 0 rules show --json
	same "$(jq -c 'map([.level, .subject, .version])' <<< "$output")" '[["executor","box",4]]'
}

@test "every change is in the audit trail, with what was before" {
	a_hub
	rules set -e box --internet --ports 443 > /dev/null
	rules set -e box --internet --ports 80 > /dev/null
	rules clear -e box > /dev/null
	rules set -p "$P" --cidrs 198.51.100.0/24 --ports 443 > /dev/null
	exits 0 cloop hub audit list --json
	got=$(jq -sc 'flatten | map(select(.action | endswith(".firewall")) | [.action, .entity_id, .detail.version, .detail.before.allow_ports, .detail.after.allow_ports]) | sort' <<< "$output")
	same "$got" "[[\"executor.firewall\",\"box\",1,null,[443]],[\"executor.firewall\",\"box\",2,[443],[80]],[\"executor.firewall\",\"box\",3,[80],null],[\"project.firewall\",\"$P\",1,null,[443]]]"
	exits 0 cloop hub audit verify
}

@test "rules that reach further than what is above are not stored" {
	a_hub
	exits 1 rules set -e box --internet --ports 22,443
	has "$stderr" "rules of executor box reach further than executor box allows: port 22 is not one of the ports of executor box (80, 443)"
	exits 1 rules set -e box --internet --ports 22 --json
	same "$(jq -r '.saved, .code, .reasons[0]' <<< "$output")" "false
firewall_exceeds_bound
port 22 is not one of the ports of executor box (80, 443)"
	exits 1 rules set -e box --internet
	has "$stderr" "every port is more than the ports"
	exits 1 rules set -p "$P" --cidrs 10.9.0.0/16 --ports 443
	has "$stderr" "10.9.0.0/16"
	exits 0 rules set -p "$P" --cidrs 10.9.0.0/24 --ports 22 --on narrow
	exits 0 rules clear -p "$P"
	# Below the executor's own rules, not its configuration alone.
	exits 0 rules set -p "$P" --cidrs 10.8.0.0/24 --ports 443
	exits 0 rules set -e box --internet --ports 443
	has "$stderr" "rules of project $P reach further and are cut: 10.8.0.0/24"
	exits 1 rules set -p "$P" --cidrs 10.8.0.0/25 --ports 443
	exits 0 rules set -p "$P" --cidrs 198.51.100.0/24 --ports 443
	same "$(rules show -p "$P" --json | jq .version)" 4
}

@test "rules that nothing would enforce are not stored for an executor, and told for a project" {
	a_hub
	exits 1 rules set -e open --internet --ports 443
	has "$stderr" "executor 'open' has no egress filter, so that nothing would enforce its rules"
	exits 1 rules set -e alone --internet --ports 443
	exits 0 rules set -p "$P" --internet --ports 443 --on open
	has "$stderr" "executor 'open' has no egress filter: it refuses runs of a project with rules"
	exits 78 cloop-egress effective -e open -p "$P" --check 1.1.1.1:443
	has "$stderr" "executor 'open' has no egress filter, so that the stored rules of project $P, version 1, would not be enforced"
}

@test "an executor that is not there, or cannot run anything, has one status in every verb" {
	a_hub
	local x
	for x in bo nobody; do
		for ask in "rules set -e $x --internet --ports 443" "rules set -p $P --on $x --internet --ports 443" \
			"effective -e $x --check 1.1.1.1:443" "firewall --executor $x --check 1.1.1.1:443" \
			"firewall verify --executor $x" "firewall diff executor:$x none" "fits none executor:$x"; do
			# shellcheck disable=SC2086 # the words of a command
			exits 65 cloop-egress $ask
			has "$stderr" "configures no executor '$x'"
			has "$stderr" "fix: "
		done
	done
	has "$stderr" "there are: box, open, alone, narrow"
}

@test "what a set may hold" {
	a_hub
	jq -nc '{allow_ports: [443], allow_cidrs: [range(256) | "10.8.\(.).0/24"]}' > ok.json
	exits 0 rules set -e box --policy ok.json
	jq -nc '{allow_ports: [443], allow_cidrs: [range(257) | "10.8.\(. % 256).\(. / 256 | floor)/32"]}' > many.json
	exits 65 rules set -e box --policy many.json
	has "$stderr" "257 allowed ranges are more than the 256 of a rule set"
	jq -nc '{deny_cidrs: [range(257) | "10.8.\(. % 256).\(. / 256 | floor)/32"]}' > many.json
	exits 65 rules set -e box --policy many.json
	jq -nc '{allow_cidrs: ["10.8.0.0/16"], allow_ports: [range(1; 66)]}' > many.json
	exits 65 rules set -e box --policy many.json
	jq -nc '{resolvers: [range(17) | "10.8.0.\(.)"]}' > many.json
	exits 65 rules set -e box --policy many.json
	has "$stderr" "17 resolvers are more than the 16"
	exits 65 rules set -e box --policy - <<< '{host_patterns: [example.com]}'
	exits 65 rules set -e box --cidrs 0.0.0.0/0 --ports 443
	exits 65 rules set -e box --policy - <<< '{allow_cidrs: [169.254.0.0/16], allow_ports: [80]}'
	has "$stderr" "169.254.169.254"
	exits 65 rules set -e box --policy levels.json
	has "$stderr" "has levels"
	exits 65 rules set -e box --policy - <<< '{x: 1}'
	exits 65 rules set -e box --ports 0
	exits 64 rules set -e box --policy ok.json --internet
	exits 64 rules set --internet --ports 443
	exits 64 rules set -e box -p "$P" --internet --ports 443
	exits 64 rules set -e box --on box --internet --ports 443
	exits 65 rules set -e nobody --internet --ports 443
	exits 65 rules set -p "$BATS_TEST_TMPDIR/nowhere" --internet --ports 443
	# Nothing named is nothing reached.
	rules clear -e box > /dev/null
	exits 0 rules set -p "$P"
	exits 1 cloop-egress effective -p "$P" --check 1.1.1.1:443
	has "$output" "[rules of project $P]"
	# A range that is written with bits beyond its length is taken, and told.
	exits 0 rules set -e narrow --policy - <<< '{allow_cidrs: [10.9.0.7/28], allow_ports: [22]}'
	has "$stderr" "'10.9.0.7/28' is read as 10.9.0.0/28"
	# An address alone is one host.
	exits 0 rules set -e narrow --policy - <<< '{allow_cidrs: [10.9.0.7], allow_ports: [22]}'
	same "$(rules show --json -e narrow | jq -c .rules)" '{"allow_cidrs":["10.9.0.7/32"],"allow_ports":[22]}'
}

@test "a project is its directory, however it is written" {
	a_hub
	ln -s "$P" link
	exits 0 rules set -p link --internet --ports 443
	has "$output" "rules of project $P: version 1"
	(cd "$P" && rules show -p . > /dev/null)
	exits 0 rules show -p link/../link
	rm -r "$P"
	exits 0 rules show -p "$P"
	exits 0 rules clear -p "$P"
}

@test "what a project is bound to is what its rules are held against and answered for" {
	a_hub
	export CLOOP_SECRET_KEY_FILE=$CLOOP_DIR/cloop-secret-key
	exits 1 rules set -p "$P" --cidrs 10.9.0.0/24 --ports 22
	cloop executor bind -p "$P" narrow > /dev/null
	exits 0 rules set -p "$P" --cidrs 10.9.0.0/24 --ports 22
	exits 0 cloop-egress effective -p "$P" --check 10.9.0.1:22
	exits 1 cloop-egress effective -p "$P" -e box --check 10.9.0.1:22
	cloop executor bind --default narrow > /dev/null
	exits 0 cloop-egress effective --policy
	has "$(cloop-egress effective)" "from executor narrow"
}

@test "a feature's directory has its project's rules" {
	a_hub
	mkdir -p "$P/.cloop/features/one"
	rules set -p "$P" --internet --ports 443 > /dev/null
	exits 0 rules show -p "$P/.cloop/features/one"
	has "$output" "rules of project $P: version 1"
	exits 1 cloop-egress effective -p "$P/.cloop/features/one" --check 1.1.1.1:80
	exits 0 cloop-egress fits "rules:project:$P/.cloop/features/one" executor:box
	exits 0 rules set -p "$P/.cloop/features/one" --internet --ports 80
	has "$output" "rules of project $P: version 2"
	exits 0 rules clear -p "$P/.cloop/features/one"
	has "$output" "rules of project $P: version 3, cleared"
}

@test "the effective policy has every level, and says which decides" {
	a_hub
	exits 0 cloop-egress effective -p "$P"
	has "$output" "from executor box for project $P"
	lacks "$output" "[executor box]"
	rules set -e box --internet --ports 443 --resolver 9.9.9.9 --deny 203.0.113.0/24 > /dev/null
	rules set -p "$P" --cidrs 198.51.100.0/24 --ports 443 --resolver 9.9.9.9 > /dev/null
	exits 1 cloop-egress effective -p "$P" --check 198.51.100.1:443 --check 203.0.113.1:443 --check 10.8.0.1:443 --check 1.1.1.1:22 --check 9.9.9.9:53/udp
	same "$output" "ALLOW 198.51.100.1 198.51.100.1:443/tcp — granted CIDR [rules of project $P]
DROP  203.0.113.1 203.0.113.1:443/tcp — operator deny list [rules of executor box]
DROP  10.8.0.1 10.8.0.1:443/tcp — private (RFC1918/ULA) [rules of executor box]
DROP  1.1.1.1 1.1.1.1:22/tcp — default deny [executor box]
ALLOW 9.9.9.9 9.9.9.9:53/udp — DNS resolver [rules of project $P]"
	exits 0 cloop-egress effective -p "$P" --policy
	same "$(jq -c '.levels | map([.level, .version])' <<< "$output")" \
		"[[\"executor box\",null],[\"rules of executor box\",1],[\"rules of project $P\",1]]"
	cloop-egress effective -p "$P" --policy > e.json
	exits 1 cloop-egress firewall --policy e.json --check 1.1.1.1:443
	exits 1 bash -c 'echo 1.1.1.1:443 | cloop-egress effective -p "$1" --check-file - --json' - "$P"
	same "$(jq -r .level <<< "$output")" "rules of project $P"
	# What the sandbox asks for is the last level.
	mkdir "$P/.cloop"; printf 'capabilities: {egress: public}\n' > "$P/.cloop/sandbox.yaml"
	rules set -p "$P" --internet --ports 443 --resolver 9.9.9.9 > /dev/null
	exits 0 cloop-egress effective -p "$P" --check 1.1.1.1:443
	same "$output" "ALLOW 1.1.1.1 1.1.1.1:443/tcp — public Internet [sandbox]"
	printf 'capabilities: {egress: none}\n' > "$P/.cloop/sandbox.yaml"
	exits 78 cloop-egress effective -p "$P"
	has "$stderr" "no network at all"
	exits 78 cloop-egress effective -e open
	exits 78 cloop-egress effective -e alone
}

@test "stored rules are operands of diff and fits" {
	a_hub
	rules set -e box --internet --ports 443 > /dev/null
	rules set -p "$P" --cidrs 198.51.100.0/24 --ports 443 > /dev/null
	exits 0 cloop-egress fits "rules:project:$P" rules:executor:box
	exits 0 cloop-egress fits rules:executor:box executor:box
	exits 1 cloop-egress firewall diff "rules:project:$P" rules:executor:box
	has "$output" "from rules of project $P to rules of executor box"
	exits 65 cloop-egress firewall diff rules:executor:open none
	has "$stderr" "there are no rules of executor open"
	exits 64 cloop-egress firewall diff rules:box none
}

@test "a row that somebody altered is not enforced, and can be replaced" {
	need sqlite3
	a_hub
	rules set -e box --internet --ports 443 > /dev/null
	sqlite3 "$DB" "UPDATE egress_rules SET rules = replace(rules, '443', '80')"
	exits 78 cloop-egress effective -e box
	has "$stderr" "the stored egress rules of executor 'box', version 1, are not as they were written"
	exits 78 rules show -e box
	exits 78 rules set -p "$P" --internet --ports 443
	exits 0 rules set -e box --internet --ports 443
	has "$stderr" "not as they were written"
	has "$output" "version 2"
	exits 0 cloop-egress effective -e box --check 1.1.1.1:443
}

# sql SQL
sql() { sqlite3 -cmd ".timeout 10000" "$DB" "$@"; }
# What of the state is not in its file yet goes along.
keep() { sql ".backup '$PWD/$1'"; }
put_back() { sql ".restore '$PWD/$1'"; }
# forge LEVEL SUBJECT RULES : the newest row, as somebody would write it who knows the format
forge() {
	local row
	row=$(sql -json "SELECT level, subject, version, created_at, created_by FROM egress_rules
		WHERE level = '$1' AND subject = '$2' ORDER BY version DESC LIMIT 1" | jq -cSj --arg r "$3" '.[0] + {rules: $r}')
	sql "UPDATE egress_rules SET rules = '$3', sha256 = '$(printf %s "$row" | sha256sum | cut -d' ' -f1)'
		WHERE level = '$1' AND subject = '$2' AND version = $(jq .version <<< "$row")"
}

@test "what is written to the state file past the commands is not enforced" {
	a_hub
	need sqlite3
	rules set -e box --internet --ports 443 > /dev/null
	rules set -p "$P" --internet --ports 443 --deny 203.0.113.0/24 > /dev/null
	rules set -p "$P" --internet --ports 443 --deny 198.51.100.0/24 > /dev/null
	keep good.db
	refused() {
		exits 78 cloop-egress effective -p "$P" --check 1.1.1.1:443
		has "$stderr" "$1"
		has "$stderr" "fix: restore state.db and .cloop/egress-rules from one backup, or set them again (cloop egress rules set --project $P) or take them away (rules clear)"
		exits 78 rules show -p "$P"
		exits 78 cloop-egress fits "rules:project:$P" executor:box
		put_back good.db
		exits 0 cloop-egress effective -p "$P" --check 1.1.1.1:443
	}
	# An altered row with the digest that it should have; an older one; none at all.
	forge project "$P" '{"allow_ports":[443],"allow_public_internet":true}'
	refused "the stored egress rules of project '$P' are not those that were set: nothing vouches for version 2"
	sql "DELETE FROM egress_rules WHERE level = 'project' AND version = 2"
	refused "nothing vouches for version 1"
	sql "INSERT INTO egress_rules SELECT level, subject, 3, NULL, sha256, created_at, created_by, NULL, NULL FROM egress_rules WHERE level = 'project' AND version = 2"
	exits 78 cloop-egress effective -p "$P"
	has "$stderr" "are not as they were written"
	put_back good.db
	sql "DELETE FROM egress_rules"
	exits 78 cloop-egress effective -e box
	has "$stderr" "the stored egress rules of executor 'box' are gone from the state file"
	put_back good.db
	# The list says so of each, and shows what there is.
	forge executor box '{}'
	exits 0 rules show
	has "$stderr" "the stored egress rules of executor 'box' are not those that were set"
	lacks "$stderr" project
	# Below what nothing vouches for, nothing is judged; set again, or taken away, it is good.
	exits 78 rules set -p "$P" --internet --ports 443
	exits 0 rules set -e box --internet --ports 443
	has "$stderr" "nothing vouches for version 1"
	same "$output" "rules of executor box: version 2"
	exits 0 cloop-egress effective -p "$P" --check 1.1.1.1:443
	sql "DELETE FROM egress_rules WHERE level = 'executor'"
	exits 0 rules clear -e box
	exits 0 cloop-egress effective -p "$P" --check 1.1.1.1:443
}

@test "who vouches: a file that only its owner may write, and both rows while one is replaced" {
	a_hub
	need sqlite3
	local f=$CLOOP_DIR/.cloop/egress-rules
	[ ! -e "$f" ]
	rules set -e box --internet --ports 443 > /dev/null
	same "$(stat -c %a "$f")" 644
	same "$(grep -vc '^#' "$f")" 1
	chmod 666 "$f"
	exits 78 cloop-egress effective -e box
	has "$stderr" "others may write to '$f'"
	chmod 644 "$f"
	mv "$f" there; ln -s "$PWD/there" "$f"
	exits 78 cloop-egress effective -e box
	has "$stderr" "is a symbolic link"
	rm "$f"
	exits 78 cloop-egress effective -e box
	has "$stderr" "nothing vouches for version 1"
	mv there "$f"
	# One that died before its commit, and one that died after it: both states stand.
	keep one.db
	cp "$f" one
	rules set -e box --internet --ports 80 > /dev/null
	sed "\$s/\$/ $(tail -n 1 one | cut -d' ' -f3)/" "$f" > both
	cp both "$f"
	exits 0 cloop-egress effective -e box --check 1.1.1.1:80
	put_back one.db
	exits 0 cloop-egress effective -e box --check 1.1.1.1:443
	# The next set settles it.
	exits 0 rules set -e box --internet --ports 443,80
	same "$(tail -n 1 "$f" | wc -w)" 3
	# Garbage vouches for nothing.
	echo 'executor box' > "$f"
	exits 78 cloop-egress effective -e box
}

@test "rules of the device and of the virtual executor bound what is below them" {
	a_hub
	exits 0 rules set -e box --level device --internet --cidrs 10.8.0.0/16 --ports 80,443 --deny 203.0.113.0/24 --resolver 9.9.9.9
	same "$output" "rules of device box: version 1"
	# Inside the configuration, the device's rules and the executor's own.
	exits 0 rules set -e box --internet --ports 443 --resolver 9.9.9.9
	exits 1 rules set -e box --level virtual --internet --ports 80
	has "$stderr" "port 80 is not one of the ports of executor box (443)"
	exits 0 rules set -e box --level virtual --internet --ports 443
	same "$output" "rules of virtual executor box: version 1"
	exits 1 rules set -p "$P" --cidrs 10.8.0.0/24 --ports 443
	exits 0 rules set -p "$P" --internet --ports 443
	exits 0 cloop-egress effective -p "$P" --policy
	same "$(jq -c '.levels | map(.level)' <<< "$output")" \
		"[\"executor box\",\"rules of device box\",\"rules of executor box\",\"rules of virtual executor box\",\"rules of project $P\"]"
	exits 1 cloop-egress effective -p "$P" --check 203.0.113.7:443 --check 9.9.9.9:53/udp
	has "$output" "DROP  203.0.113.7 203.0.113.7:443/tcp — operator deny list [rules of device box]"
	has "$output" "[rules of virtual executor box]"
	# What is above is told what it cuts: of this executor, and of projects.
	exits 0 rules set -e box --level device --internet --ports 80 --resolver 9.9.9.9
	has "$stderr" "rules of executor box reach further and are cut"
	has "$stderr" "rules of virtual executor box reach further and are cut"
	has "$stderr" "rules of project $P reach further and are cut"
	exits 0 rules show --json
	same "$(jq -c 'map([.level, .subject])' <<< "$output")" "[[\"device\",\"box\"],[\"executor\",\"box\"],[\"project\",\"$P\"],[\"virtual\",\"box\"]]"
	exits 1 cloop-egress firewall diff rules:device:box rules:virtual:box
	exits 64 cloop-egress firewall diff rules:host:box none
	exits 64 rules set -p "$P" --level device
	has "$stderr" "--level goes with --executor"
	exits 64 rules set -e box --level host
	# Another executor has none of these.
	exits 0 cloop-egress effective -e narrow --policy
	lacks "$output" box
	exits 0 rules clear -e box --level device
	exits 0 rules clear -e box --level virtual
	exits 1 rules show -e box --level virtual
	same "$output" "rules of virtual executor box: none"
	exits 0 cloop-egress effective -p "$P" --check 203.0.113.7:443
}

@test "one set, many writers: every version is somebody's" {
	a_hub
	for i in {1..12}; do rules set -e box --internet --ports 443 --deny "203.0.113.$i/32" --json > "out.$i" & done
	wait
	same "$(cat out.* | jq -s 'map(.version) | sort == [range(1; 13)]')" true
	exits 0 cloop hub audit verify
}

@test "what bootstrap writes takes the rules that anybody types first" {
	export CLOOP_HUBS=$BATS_TEST_TMPDIR/hubs CLOOP_DIR=$BATS_TEST_TMPDIR/hub
	cloop hub bootstrap > /dev/null
	mkdir "$BATS_TEST_TMPDIR/shop"
	exits 0 rules set -e container --internet --ports 443 --resolver 9.9.9.9 --deny 203.0.113.0/24
	exits 0 rules set -p "$BATS_TEST_TMPDIR/shop" --internet --ports 443
	# The level above blocks it still.
	exits 1 cloop-egress effective -p "$BATS_TEST_TMPDIR/shop" --check 198.18.0.1:443
	exits 0 rules clear -e contianer
	same "$output" "rules of executor contianer: none stored, nothing to clear"
}
