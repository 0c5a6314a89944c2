#!/usr/bin/env bats
# cloop worktree and the sweep's worktrees: what is left over goes, and above all what does not.
# shellcheck disable=SC2154
load lib/common
load lib/fleet

setup() {
	need jq sqlite3 git
	fleet_hub
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	export GIT_CONFIG_GLOBAL=/dev/null
	P=$(realpath "$P")
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR"
	as git init -q -b main "$P"
	as git -C "$P" commit -q --allow-empty -m one
}
# As the project's owner, who is not root.
as() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all env HOME=/nonexistent "$@"
	else
		"$@"
	fi
}
# tree NAME [BRANCH] : one with a file that was never committed.
tree() {
	as mkdir -p "$P/.cloop/worktrees"
	as git -C "$P" worktree add -q -b "${2:-cloop/task-$1}" "$P/.cloop/worktrees/$1" 2> /dev/null
	as touch "$P/.cloop/worktrees/$1/unsaved"
}
# aged NAME... : nobody has touched them for three hours.
aged() {
	local n
	for n; do
		find "$P/.cloop/worktrees/$n" "$P/.git/worktrees/$n" -exec touch -h -d '3 hours ago' {} + 2> /dev/null || true
	done
}
stale() { cloop worktree list -p "$P" --json | jq -r 'select(.stale) | .name' | tr '\n' ' '; }
why() { cloop worktree list -p "$P" --json | jq -r --arg n "$1" 'select(.name == $n) | .why'; }

@test "nothing to show, and a directory that is none" {
	exits 0 cloop worktree list -p "$P"
	same "$output" "no worktrees"
	exits 0 cloop worktree prune -p "$P"
	same "$output" "0 removed, 0 kept"
	exits 65 cloop worktree list -p "$P/nowhere"
	mkdir "$D/plain"
	exits 0 cloop worktree list -p "$D/plain"
}

@test "left over: registered or not, with or without a directory" {
	for n in 1-old 2-young 3-gone 4-loose 5-sandbox; do tree $n; done
	aged 1-old 3-gone 4-loose 5-sandbox
	rm -r "$P/.cloop/worktrees/3-gone" "$P/.git/worktrees/4-loose"
	# Made in a sandbox, where the project is /workspace.
	echo /workspace/.cloop/worktrees/5-sandbox/.git > "$P/.git/worktrees/5-sandbox/gitdir"
	aged 3-gone 4-loose 5-sandbox
	same "$(stale)" "1-old 3-gone 4-loose 5-sandbox "
	exits 0 cloop worktree list -p "$P"
	has "$output" "cloop/task-1-old"
	has "$output" "its directory is gone"
	has "$output" "not registered"
	has "$output" "it is young"
	exits 0 cloop worktree prune -p "$P"
	same "$output" "removed 1-old
removed 3-gone
removed 4-loose
removed 5-sandbox
4 removed, 1 kept"
	same "$(ls "$P/.cloop/worktrees")" 2-young
	same "$(ls "$P/.git/worktrees")" 2-young
	[ -e "$P/.cloop/worktrees/2-young/unsaved" ]
	# Every branch is still there.
	same "$(as git -C "$P" branch --list 'cloop/*' | wc -l)" 5
	exits 0 cloop worktree prune -p "$P" --min-age 1ms --json
	same "$(jq -c '[.removed, .branches_deleted, .kept]' <<< "$output")" '[["2-young"],[],0]'
	as git -C "$P" fsck --no-progress > /dev/null
}

@test "what is in doubt stays: locked, a live run, a link, a file, two that claim one" {
	for n in locked mine twice; do tree $n; done
	as git -C "$P" worktree lock "$P/.cloop/worktrees/locked"
	cp -r "$P/.git/worktrees/twice" "$P/.git/worktrees/other"
	mkdir -p "$D/elsewhere/keep"
	ln -s "$D/elsewhere" "$P/.cloop/worktrees/link"
	echo x > "$P/.cloop/worktrees/file"
	find "$P/.git/worktrees" "$P/.cloop/worktrees" -exec touch -h -d '3 hours ago' {} +
	same "$(why locked)" "it is locked"
	same "$(why link)" "it is no directory"
	same "$(why file)" "it is no directory"
	same "$(why twice)" "not all of it can be read"
	same "$(stale)" "mine "
	sql "INSERT INTO run (id, project, executor_id, argv, harness, uid, state, created_at) VALUES ('run_1', '$P', 'box', '[]', 'x', 0, 'running', 1)"
	same "$(why mine)" "a run of the project is live"
	exits 0 cloop worktree prune -p "$P"
	same "$output" "0 removed, 5 kept"
	sql "UPDATE run SET state = 'finished', outcome = 'exited'"
	exits 0 cloop worktree prune -p "$P"
	same "$output" "removed mine
1 removed, 4 kept"
	[ -d "$D/elsewhere/keep" ]
	# The future is no age.
	tree later
	touch -d '3 hours' "$P/.cloop/worktrees/later"
	same "$(why later)" "its age is not known"
}

@test "a checkout of the operator's own is out of reach, whatever is registered of it" {
	as git -C "$P" worktree add -q -b cloop/task-9 "$P/mine" 2> /dev/null
	find "$P/mine" "$P/.git/worktrees" -exec touch -h -d '9 hours ago' {} +
	for to in "$P/mine/.git" "$P/.cloop/worktrees/../../mine/.git" "$P/.cloop/worktrees/./.git" "$P/.cloop/worktrees//.git" \
		"$P/.cloop/worktrees/a/b/.git" "$P/.cloop/worktrees/../.git" /etc/.git; do
		echo "$to" > "$P/.git/worktrees/mine/gitdir"
		exits 0 cloop worktree prune -p "$P" --min-age 1ms
		[ -d "$P/mine" ]
		[ -d "$P/.git/worktrees/mine" ]
	done
}

@test "folders that are links lead nowhere" {
	tree old
	aged old
	mkdir -p "$D/trap/worktrees/victim" "$D/trap/old"
	find "$D/trap" -exec touch -h -d '9 hours ago' {} +
	mv "$P/.git/worktrees" "$P/.git/kept"
	ln -s "$D/trap" "$P/.git/worktrees"
	same "$(stale)" ""
	rm "$P/.git/worktrees"
	mv "$P/.cloop" "$P/.kept"
	ln -s "$D/trap" "$P/.cloop"
	run cloop worktree prune -p "$P"
	[ -d "$D/trap/worktrees/victim" ] && [ -d "$D/trap/old" ]
	rm "$P/.cloop"
	mv "$P/.kept" "$P/.cloop"
	mv "$P/.git" "$D/realgit"
	echo "gitdir: $D/realgit" > "$P/.git"
	same "$(why old)" "not all of it can be read"
	exits 77 cloop worktree prune -p "$P" --delete-branches
}

@test "--delete-branches: only those that are merged, of ours, and checked out nowhere" {
	for n in "done" open used; do tree $n; done
	as git -C "$P" branch cloop/other
	as git -C "$P" branch mine
	as git -C "$P/.cloop/worktrees/open" commit -q --allow-empty -m work
	aged open
	aged done
	exits 0 cloop worktree prune -p "$P" --delete-branches
	same "$output" "removed done
removed open
deleted the branch cloop/task-done
2 removed, 1 kept"
	same "$(as git -C "$P" branch --format='%(refname:short)' | tr '\n' ' ')" "cloop/other cloop/task-open cloop/task-used main mine "
}

@test "a repository that wants to run something runs nothing" {
	tree old
	aged old
	for h in reference-transaction post-checkout pre-auto-gc fsmonitor-watchman; do
		printf '#!/bin/sh\ntouch %s/ran-%s\n' "$D" "$h" > "$P/.git/hooks/$h"
		chmod 755 "$P/.git/hooks/$h"
	done
	chmod 777 "$D"
	cat >> "$P/.git/config" <<-C
	[core]
		fsmonitor = "touch $D/ran-fsmonitor"
		hooksPath = $P/.git/hooks
		pager = "touch $D/ran-pager"
		editor = "touch $D/ran-editor"
		sshCommand = "touch $D/ran-ssh"
		alternateRefsCommand = "touch $D/ran-alternate"
		worktree = /
	[alias]
		branch = "!touch $D/ran-alias"
		for-each-ref = "!touch $D/ran-alias"
	[gc]
		auto = 1
	[filter "x"]
		smudge = "touch $D/ran-filter"
	[gpg]
		program = "touch $D/ran-gpg"
	C
	exits 0 cloop worktree prune -p "$P" --delete-branches
	has "$output" "deleted the branch cloop/task-old"
	same "$(find "$D" -maxdepth 1 -name 'ran-*')" ""
	mkdir -p "$D/objects"
	echo "$D/objects" > "$P/.git/objects/info/alternates"
	exits 77 cloop worktree prune -p "$P" --delete-branches
	rm "$P/.git/objects/info/alternates"
	mv "$P/.git/refs" "$P/.git/moved"
	ln -s moved "$P/.git/refs"
	exits 77 cloop worktree prune -p "$P" --delete-branches
}

@test "names that are no text reach no terminal" {
	mkdir -p "$P/.cloop/worktrees/$(printf 'a\033[2Jb')" "$P/.cloop/worktrees/$(printf '\377\n')"
	[ "$(id -u)" != 0 ] || chown -R 1000:1000 "$P/.cloop"
	exits 0 cloop worktree list -p "$P"
	lacks "$output" $'\033'
	exits 0 cloop worktree list -p "$P" --json
	same "$(jq -s length <<< "$output")" 2
	find "$P/.cloop/worktrees" -exec touch -h -d '3 hours ago' {} +
	exits 0 cloop worktree prune -p "$P"
	lacks "$output" $'\033'
	same "$(find "$P/.cloop/worktrees" -mindepth 1 | wc -l)" 0
}

@test "the sweep: every project that is registered, and no branch" {
	tree old
	tree young
	aged old
	exits 0 cloop sweep --only worktrees
	lacks "$output" removed
	cloop project add "$P" > /dev/null
	exits 0 cloop sweep --only worktrees
	has "$output" "removed the worktree old of $P"
	same "$(ls "$P/.cloop/worktrees")" young
	same "$(as git -C "$P" branch --list 'cloop/*' | wc -l)" 2
	rm -rf "$P"
	exits 0 cloop sweep --only worktrees
}
