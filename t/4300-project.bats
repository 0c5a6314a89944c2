#!/usr/bin/env bats
# cloop project: which directories are projects, and what becomes of them.
load lib/common
load lib/fleet

setup() {
	fleet_hub
	ROOT=$D/root
	printf 'ui: {projects_root: %s}\n' "$ROOT" >> "$HUB/.cloop/config.yaml"
	mkdir "$ROOT"
	[ "$(id -u)" != 0 ] || chown 1000:1000 "$ROOT"
}
error_of() { tail -n 1 <<< "$stderr" | jq -r ".error.$1"; }
paths() { cloop project list --json | jq -r .path; }

@test "add, list, show, remove" {
	exits 0 cloop project list
	same "$output" "no projects"
	exits 0 cloop project add "$P"
	same "$output" "registered $P, of $(stat -c %U "$P" | sed 's/UNKNOWN/uid:1000/')"
	exits 0 cloop project list
	same "$(tail -n +2 <<< "$output" | tr -s ' ' | cut -d' ' -f1,3,4)" "$P - 0"
	cloop executor bind -p "$P" bench > /dev/null
	cloop executor limits -p "$P" --cpu 2 > /dev/null
	has "$(cloop project list)" bench
	exits 0 cloop project show app
	has "$(tr -s ' ' <<< "$output")" "executor bench (bound)"
	has "$(tr -s ' ' <<< "$output")" "ceiling cpu 2000m"
	has "$(tr -s ' ' <<< "$output")" "runs may start"
	(cd "$P" && exits 0 cloop project show . --json &&
		same "$(jq -c '[.name, .origin, .made_by_hub, .executor_id, .executor_by, .confined, .live_runs, .ceiling.cpu_milli]' <<< "$output")" \
			'["app","added",false,"bench","bound",true,0,2000]')
	exits 0 cloop project remove app
	same "$output" "forgot $P, and its binding and its ceiling"
	[ -d "$P" ]
	same "$(cloop project list)" "no projects"
	same "$(sql 'SELECT (SELECT count(*) FROM executor_binding) + (SELECT count(*) FROM ceiling)')" 0
	exits 65 cloop project remove app
	exits 65 cloop project show app
	same "$(cloop hub audit list --json --action 'project.*' | jq -r '.action + " " + .detail.decision' | sort)" \
		"$(printf 'project.create allow\nproject.delete allow')"
}

@test "every rule of confinement, on the directory that the kernel would open" {
	cloop project add "$P" > /dev/null
	mkdir -p "$D/hub2/.cloop" "$D/home/p" "$P/sub" "$D/linked" "$D/out" "$D/deep/a/b"
	touch "$D/hub2/.cloop/hub.env"
	ln -s "$HUB" "$ROOT/to-hub"
	ln -s "$P" "$D/to-app"
	ln -s "$D/out" "$D/linked/.cloop"
	mkdir -p "$D/plain/.cloop/y" "$D/plain2"
	local dir rule n=0
	while read -r rule dir; do
		exits 1 cloop project add --json "$dir"
		same "$dir $(error_of rule) $(error_of code)" "$dir confine.$rule project_unconfined"
		n=$((n + 1))
	done <<-EOT
		1 /
		1 /srv
		1 /etc/cloop-no-such
		1 /usr/lib
		1 /proc/self
		1 $D/plain/.cloop/y
		1 $D/plain/.cloop
		2 $ROOT
		3 $HUB
		3 $HUB/x
		3 $ROOT/../hub/x
		3 $ROOT/to-hub
		3 $ROOT/to-hub/deeper/still
		2 $D
		4 $D/hub2
		4 $D/hub2/x
		5 $P
		5 $P/
		5 $P/sub
		5 $D/to-app
		5 $D/to-app/new
		5 $D/projects
		6 $D/linked
	EOT
	[ "$n" = 23 ]
	same "$(cloop hub audit list --json --action project.create | jq -r 'select(.detail.decision == "deny") | .detail.rule' | sort | uniq -c | tr -s ' ' | paste -sd,)" \
		" 7 1, 2 2, 5 3, 2 4, 6 5, 1 6"
	same "$(paths)" "$P"
	exits 65 cloop project add ''
	exits 65 cloop project add /etc/passwd
	exits 65 cloop project add "$D/nowhere"
	has "$stderr" "cloop project add --create $D/nowhere"
	exits 0 cloop project add "$D/plain2"
}

@test "a directory that is made is its owner's, and of all that the hub made only that is deleted" {
	exits 64 cloop project add
	exits 0 cloop project add --create --name Web web --json
	same "$(jq -c '[.path, .name, .origin, .made_by_hub]' <<< "$output")" "[\"$ROOT/web\",\"Web\",\"created\",true]"
	same "$(stat -c %u "$ROOT/web")" "$(stat -c %u "$ROOT")"
	echo x > "$ROOT/web/file" && mkdir -p "$ROOT/web/a/b" && ln -s /etc "$ROOT/web/a/etc"
	exits 0 cloop project remove --delete-root Web
	same "$output" "deleted $ROOT/web"
	same "$(ls -A "$ROOT")" ""
	[ -e /etc/passwd ]
	# Made outside the root: registered, never deleted. Nor is what was only registered.
	mkdir "$D/other" && chown --reference="$ROOT" "$D/other"
	exits 0 cloop project add --create "$D/other/p"
	exits 1 cloop project remove --delete-root "$D/other/p"
	has "$stderr" "the hub did not make it"
	cloop project add "$P" > /dev/null
	exits 1 cloop project remove --delete-root "$P"
	same "$(paths)" "$(printf '%s\n%s' "$D/other/p" "$P")"
	# Something else stands where it was: neither a new directory nor a link is deleted.
	cloop project add --create web > /dev/null
	mv "$ROOT/web" "$D/moved" && mkdir "$ROOT/web" && touch "$ROOT/web/keep"
	exits 1 cloop project remove --delete-root web
	has "$stderr" "another directory than the one the hub made"
	rm -r "$ROOT/web" && ln -s "$P" "$ROOT/web"
	exits 1 cloop project remove --delete-root "web"
	[ -d "$P" ] && [ -d "$D/moved" ]
	exits 0 cloop project remove web
	same "$(cloop hub audit list --json --action project.delete | jq -r .detail.decision | sort | uniq -c | tr -s ' ')" \
		"$(printf ' 2 allow\n 4 deny')"
}

@test "what is mounted in a directory stays, and what is to be typed then removes the rest" {
	need root
	cloop project add --create web > /dev/null
	mkdir "$ROOT/web/m" && touch "$ROOT/web/f" && mkdir "$D/data" && touch "$D/data/keep"
	mount --bind "$D/data" "$ROOT/web/m"
	run --separate-stderr cloop project remove --delete-root web
	umount "$ROOT"/.cloop-deleted-*/m || umount "$ROOT/web/m"
	same "$status" 75
	[ -e "$D/data/keep" ]
	has "$stderr" "something is mounted there"
	fix=$(grep -o 'rm -r --one-file-system .*' <<< "$stderr")
	sh -c "$fix"
	same "$(ls -A "$ROOT")" ""
	[ -e "$D/data/keep" ]
}

@test "names that cannot be made, and places that are not there" {
	for name in . .. .hidden "$(printf 'a\nb')" "$(printf '\xff')" "$(head -c 200 /dev/zero | tr '\0' x)"; do
		exits 65 cloop project add --create "$name"
	done
	exits 1 cloop project add --create "$P"
	has "$stderr" "leave out --create"
	exits 65 cloop project add --create "$D/no/such/parent"
	exits 65 cloop project add --create --owner no-such-user web
	same "$(ls -A "$ROOT")" ""
	same "$(sql 'SELECT count(*) FROM project_claim')" 0
	sed -i '/^ui:/d' "$HUB/.cloop/config.yaml"
	exits 78 cloop project add --create web
	has "$stderr" "ui.projects_root"
}

@test "of many who make one directory, or one in the other, one does" {
	mkdir -p "$ROOT/race"
	chown --reference="$ROOT" "$ROOT/race"
	for i in 1 2 3 4 5 6; do
		cloop project add --create "$ROOT/race/a" > "$D/out.$i" 2>&1 3>&- &
		cloop project add "$ROOT/race" > "$D/up.$i" 2>&1 3>&- &
	done
	wait
	same "$(paths | wc -l)" 1
	same "$(cat "$D"/out.* "$D"/up.* | grep -cE '^(made|registered)')" 1
	same "$(sql 'SELECT count(*) FROM project_claim')" 0
	# Nothing is left of those that lost.
	[ "$(paths)" = "$ROOT/race/a" ] || [ ! -e "$ROOT/race/a" ]
	exits 0 cloop hub audit verify
}

@test "a claim keeps others away while it lasts, and no longer" {
	sql "INSERT INTO project_claim VALUES ('$ROOT/web', 'claim_x', 1, $(($(date +%s) + 600))000, 'x')"
	exits 1 cloop project add --create web
	same "$(ls -A "$ROOT")" ""
	mkdir "$ROOT/web"
	exits 1 cloop project add "$ROOT/web"
	has "$stderr" "is one, or is becoming one"
	sql "UPDATE project_claim SET expires_at = 1"
	exits 0 cloop project add "$ROOT/web"
}

@test "a run registers its directory, under the same rules" {
	exits 125 cloop run -p "$P" -- true
	same "$(paths)" ""
	need root
	sed -i 's/^ui:/  local: {enabled: true}\nui:/' "$HUB/.cloop/config.yaml"
	exits 0 cloop run -p "$P" -e local -- /bin/true
	same "$(cloop project list --json | jq -c '[.path, .origin, .owner]')" "[\"$P\",\"run\",\"$(stat -c %U "$P" | sed 's/UNKNOWN/uid:1000/')\"]"
	exits 0 cloop run -p "$P" -e local -- /bin/true
	same "$(paths | wc -l)" 1
	mkdir "$P/sub" && chown 1000:1000 "$P/sub"
	exits 125 cloop run --json -p "$P/sub" -e local -- /bin/true
	same "$(error_of rule)" confine.5
	# Of a directory and one inside it that start at once, one becomes a project.
	mkdir -p "$D/race/in" && chown -R 1000:1000 "$D/race"
	for i in 1 2 3; do
		cloop run -p "$D/race" -e local -- /bin/true > /dev/null 2>&1 3>&- &
		cloop run -p "$D/race/in" -e local -- /bin/true > /dev/null 2>&1 3>&- &
	done
	wait
	same "$(paths | grep -c race)" 1
}

@test "a project with runs that are not finished stays" {
	cloop project add "$P" > /dev/null
	sql "INSERT INTO run (id, project, executor_id, argv, harness, uid, state, created_at)
		VALUES ('run_00000000000000000000000a', '$P/.cloop/features/x', 'box', '[]', 'x', 0, 'running', 1)"
	same "$(cloop project show app --json | jq .live_runs)" 1
	exits 1 cloop project remove app
	has "$stderr" "has runs that are not finished"
	same "$(paths)" "$P"
	sql "UPDATE run SET state = 'finished', outcome = 'exited'"
	exits 0 cloop project remove app
}

@test "one that may no longer be a project is shown with the reason" {
	cloop project add "$P" > /dev/null
	mkdir "$D/evil" && ln -s "$D/evil" "$P/.cloop"
	exits 0 cloop project show app --json
	same "$(jq -c '[.confined, (.refused | contains("link out of it"))]' <<< "$output")" '[false,true]'
	rm -r "$P" && ln -s "$D/evil" "$P"
	exits 0 cloop project show "app" --json
	same "$(jq -c .confined <<< "$output")" false
	rm "$P"
	exits 0 cloop project show "$P"
	has "$output" "there is no directory"
	exits 0 cloop project remove "$P"
}

@test "what its owner puts in the place of a directory that is being made is never one the hub made" {
	need root setpriv
	local theirs precious made
	mkdir -p "$ROOT/mine/keep"
	chown -R 1000:1000 "$ROOT/mine"
	precious=$(stat -c %i "$ROOT/mine/keep")
	echo dear > "$ROOT/mine/keep/file"
	# As fast as can be: away with what is made, and the other in its place.
	timeout 120 setpriv --reuid 1000 --regid 1000 --clear-groups bash -c 'cd "$1" || exit
		while [ ! -e stop ]; do [ -d new ] && mv -T new made.$((n += 1)) && mv -T keep new; [ -e new/file ] && sleep 0.02 && mv -T new keep; done 2>/dev/null' \
		- "$ROOT/mine" 3>&- &
	theirs=$!
	for _ in {1..15}; do
		timeout 60 cloop project add --create "$ROOT/mine/new" > /dev/null 2>&1 || true
		made=$(sql "SELECT coalesce(made, '') FROM project WHERE path = '$ROOT/mine/new'")
		lacks ":$made:" ":$precious:"
		cloop project remove "$ROOT/mine/new" > /dev/null 2>&1 || true
	done
	: > "$ROOT/mine/stop"
	wait "$theirs" || true
	same "$(cat "$ROOT"/mine/*/file)" dear
}
