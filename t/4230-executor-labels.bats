#!/usr/bin/env bats
# cloop executor labels and show: what is signed, what counts, and what hostile text does.
load lib/common
load lib/fleet

setup() { fleet_hub; }
labels() { cloop executor labels "$1" --json | jq -c .labels; }

@test "stored labels lie over those of the configuration" {
	same "$(cloop executor labels box)" "box: no labels"
	exits 0 cloop executor labels bench gpu=true zone=b 'note=two words'
	same "$output" "$(printf 'gpu=true\nzone=b\nnote=two words')"
	same "$(labels bench)" '{"gpu":"true","note":"two words","zone":"b"}'
	same "$(cloop executor labels bench --json | jq -c .from)" '{"gpu":"stored","note":"stored","zone":"stored"}'
	exits 0 cloop executor labels bench zone- note- gpu=false
	same "$(labels bench)" '{"gpu":"false","zone":"a"}'
	same "$(cloop executor labels bench | tr -s ' ')" "$(printf 'gpu false stored\nzone a configuration')"
	exits 0 cloop executor labels bench gpu=false --json
	same "$(jq .changed <<< "$output")" false
	exits 0 cloop executor labels bench --clear
	same "$(labels bench)" '{"zone":"a"}'
	exits 0 cloop executor labels bench --clear
	same "$output" "bench: no stored labels"
	same "$(cloop hub audit list --json --action executor.labels | wc -l)" 3
}

@test "those of the configuration are there, and nothing says otherwise" {
	# One of them is broken on purpose.
	exits 78 cloop hub config check
	lacks "$output$stderr" labels
	same "$(cloop executor show bench --json | jq -c .labels)" '{"zone":"a"}'
}

@test "they reach placement, and grants to a label" {
	printf 'x' > "$D/payload"
	cloop secret mint tok --kind env --file "$D/payload" > /dev/null 2>&1 ||
		cloop secret mint tok --kind generic --file "$D/payload" > /dev/null
	exits 0 cloop secret grant tok --to label:gpu=true
	has "$output" "no executor as it is configured now"
	cloop executor labels box gpu=true > /dev/null
	exits 0 cloop secret grant tok --to label:gpu=true
	has "$output" "reaches:     box"
	sql "UPDATE executor_labels SET executor_id = 'bench'"
	exits 0 cloop secret grant tok --to label:gpu=true
	has "$output" "no executor as it is configured now"
	run --separate-stderr cloop run --trace-steps --place -p "$P" -- true < /dev/null
	for x in bench box; do
		has "$stderr" "the stored labels of executor '$x' are not as this hub signed them"
	done
	step=$(grep 'cloop place' <<< "$stderr")
	same "$(bash -c "${step% | cloop place*}" | jq -c '.candidates | map(.labels) | .[:2]')" '[null,null]'
	same "$(cloop hub audit list --json --action executor.forged_labels | jq -r .entity_id | sort -u | xargs)" "bench box"
}

@test "labels that were written around the key do not count, and are not carried over" {
	cloop executor labels box gpu=true > /dev/null
	sql "UPDATE executor_labels SET labels = '{\"gpu\":\"true\",\"admin\":\"yes\"}'"
	exits 0 cloop executor labels box --json
	same "$(jq -c '[.labels, .forged]' <<< "$output")" '[{},true]'
	has "$stderr" "not as this hub signed them"
	has "$(cloop executor show box)" "(forged)"
	exits 0 cloop executor labels box region=eu
	has "$stderr" "is dropped"
	same "$(labels box)" '{"region":"eu"}'
	for text in 'x' '[]' '{"a":1}' '{"a":"b","a":"c"}'; do
		sql "UPDATE executor_labels SET labels = '$text'"
		exits 0 cloop executor labels box --json
		same "$(jq -c '[.labels, .forged]' <<< "$output")" '[{},true]'
	done
	# The key is needed to set, not to see or to take away.
	mv "$HUB/cloop-secret-key" "$D/key"
	exits 78 cloop executor labels box a=b
	exits 0 cloop executor labels box
	exits 0 cloop executor labels box --clear
}

@test "labels that are absurd, huge or no text" {
	for l in = =x a '' - 'a b=c' 'a,b=c' 'a=b,c' "$(printf 'a=\033[2J')" "$(printf 'a\n=b')" "$(printf 'a=\xff')" "$(printf '\xc3=b')" \
		"k=$(head -c 257 /dev/zero | tr '\0' x)" "$(head -c 257 /dev/zero | tr '\0' x)=v" "$(head -c 100000 /dev/zero | tr '\0' x)=v"; do
		exits 65 cloop executor labels box "$l"
		lacks "$stderr" $'\033'
	done
	# shellcheck disable=SC2046 # words
	exits 1 cloop executor labels box $(seq -f 'k%g=v' 65)
	has "$stderr" "64 are the most"
	# shellcheck disable=SC2046 # words
	exits 0 cloop executor labels box $(seq -f 'k%g=v' 64)
	exits 1 cloop executor labels box more=1
	exits 0 cloop executor labels box k1- k2- 'größe=große Maschine' 'a==b'
	same "$(cloop executor labels box --json | jq -r '.labels | .["größe"] + " " + .a')" 'große Maschine =b'
	exits 65 cloop executor labels nosuch a=b
	exits 64 cloop executor labels box a=b --clear
	exits 64 cloop executor labels
	same "$(sql 'SELECT count(*) FROM executor_labels')" 1
}

@test "of many who label one executor at once no label is lost" {
	for i in 1 2 3 4 5 6 7 8; do
		cloop executor labels box "k$i=v" > /dev/null 2> "$D/err.$i" 3>&- &
	done
	wait
	same "$(cat "$D"/err.*)" ""
	same "$(labels box | jq length)" 8
	exits 0 cloop hub audit verify
}

@test "show has it all" {
	cloop executor labels box gpu=true > /dev/null
	cloop executor limits box --pids 512 --cpu 1.5 > /dev/null
	cloop executor access box --add "user:$(id -un)" > /dev/null
	cloop executor bind -p "$P" box > /dev/null
	cloop executor bind --default box > /dev/null
	cloop executor cordon box --reason dust > /dev/null
	exits 0 cloop executor show box --json
	same "$(jq -c '[.executor_id, .kind, .isolation, .state, .reason, .labels.gpu, .ceiling.pids, (.access | length), .bound_projects, .live_runs]' <<< "$output")" \
		"[\"box\",\"container\",\"container\",\"cordoned\",\"dust\",\"true\",512,1,[\"(default)\",\"$P\"],[]]"
	exits 0 cloop executor show box
	has "$(tr -s ' ' <<< "$output")" "state cordoned: dust (for "
	has "$(tr -s ' ' <<< "$output")" "ceiling cpu 1500m, pids 512"
	has "$(tr -s ' ' <<< "$output")" "bound (default), $P"
	sql "UPDATE executor_binding SET created_by = 'x' WHERE project <> ''"
	has "$(cloop executor show box | tr -s ' ')" "bound (default)"
	lacks "$(cloop executor show box)" "$P"
	has "$(cloop executor show broken)" "out of service"
	exits 65 cloop executor show nosuch
}
