#!/usr/bin/env bats
# Manual pages and completions are what the tables make of them, and they work.
load lib/common

setup_file() {
	export MADE=$BATS_FILE_TMPDIR
	cd "$SRC" || return 1
	make -s "${BUILD_DIR#"$SRC"/}/docgen" 2>/dev/null || make -s build/docgen
	gen=$BUILD_DIR/docgen
	[ -x "$gen" ] || gen=$SRC/build/docgen
	mkdir "$MADE/spec"
	ln -s "$gen" "$MADE/docgen"
	names=() specs=()
	for d in cmd/*/spec.c; do
		n=$(basename "$(dirname "$d")")
		"$BIN/$n" --cl-spec > "$MADE/spec/$n.json"
		names+=("$n")
		specs+=("$MADE/spec/$n.json")
	done
	sh share/man.sh "$MADE" "$MADE" "${names[@]}"
	"$gen" bash "${specs[@]}" > "$MADE/cloop.bash"
	"$gen" zsh "${specs[@]}" > "$MADE/_cloop"
	"$gen" fish "${specs[@]}" > "$MADE/cloop.fish"
}

@test "man pages are what the tables make" {
	for d in "$SRC"/cmd/*/spec.c; do
		n=$(basename "$(dirname "$d")")
		same "$(cat "$SRC/man/$n.1")" "$(cat "$MADE/$n.1")"
	done
}

@test "there is no page of a command that is gone, and none without a command or a hand" {
	for m in "$SRC"/man/cloop*.1; do
		[ -e "$SRC/cmd/$(basename "$m" .1)/spec.c" ]
	done
}

@test "completions are what the tables make" {
	for f in cloop.bash _cloop cloop.fish; do
		same "$(cat "$SRC/completions/$f")" "$(cat "$MADE/$f")"
	done
}

@test "mandoc has nothing to say about any page" {
	need mandoc
	exits 0 mandoc -T lint -W warning "$SRC"/man/*.[1-8]
}

@test "every page that a page points to exists" {
	while read -r name section; do
		[ -e "$SRC/man/$name.$section" ] || { echo "no man/$name.$section" >&2; false; }
	done < <(sed -n 's/^\.Xr \(cloop[^ ]*\) \([0-9]\).*/\1 \2/p' "$SRC"/man/*.[1-8] | sort -u)
}

# Completes the words given (the last is the one under the cursor) and prints the answers sorted.
in_bash() {
	bash --norc -c 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cloop
		printf "%s\n" "${COMPREPLY[@]}"' "$SRC/completions/cloop.bash" "$@" | sort
}
in_zsh() {
	zsh -f -c 'compdef() { : }; compadd() { shift; print -l -- "$@" }; _files() { print -r FILES "$@" }
		fpath=("$0"); autoload -U _cloop; words=("$@"); CURRENT=$#; _cloop' "$SRC/completions" "$@" |
		grep -F -- "${*: -1}" | sort
}
in_fish() {
	fish --no-config -c 'source $argv[1]; complete -C (string join " " -- $argv[2..-1])' \
		"$SRC/completions/cloop.fish" "$@" | cut -f1 | sort
}

@test "bash, zsh and fish complete commands" {
	need zsh fish
	for sh in bash zsh fish; do
		same "$(in_$sh cloop egr)" egress
		has "$(in_$sh cloop '')" version
		has "$(in_$sh cloop '')" egress
		has "$(in_$sh cloop help '')" egress
	done
}

@test "bash, zsh and fish complete verbs" {
	need zsh fish
	for sh in bash zsh fish; do
		has "$(in_$sh cloop egress '')" firewall
		# A verb that another goes on from.
		same "$(in_$sh cloop egress firewall tes)" test
		same "$(in_$sh cloop egress firewall test --form)" --format
		same "$(in_$sh cloop egress firew)" firewall
		same "$(in_$sh cloop -C /tmp egress firew)" firewall
	done
}

@test "bash, zsh and fish complete options and the values of an option" {
	need zsh fish
	for sh in bash zsh fish; do
		same "$(in_$sh cloop egress firewall --form)" --format
		same "$(in_$sh cloop egress firewall --internet --form)" --format
		same "$(in_$sh cloop egress firewall --format nft-b)" nft-bridge
	done
	same "$(in_bash cloop egress firewall --format = nft-b)" nft-bridge
	same "$(in_bash cloop egress firewall --format =)" "$(in_bash cloop egress firewall --format '')"
}

@test "bash, zsh and fish offer files and folders where one is wanted" {
	need zsh fish
	cd "$BATS_TEST_TMPDIR"
	mkdir -p folder
	touch file
	same "$(in_bash cloop -C fo)" folder
	same "$(in_bash cloop egress firewall --policy fi)" file
	has "$(in_zsh cloop -C '')" FILES
	has "$(in_fish cloop egress firewall -C fo)" folder/
	same "$(in_fish cloop egress firewall -C fi)" ""
}

@test "in a live zsh the first Tab already completes" {
	need zsh
	cat > "$BATS_TEST_TMPDIR/live.zsh" <<-'Z'
	zmodload zsh/zpty
	zpty z "TERM=dumb zsh -f -i"
	zpty -w z "PS1='> '; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; bindkey -e; echo REA''DY"
	zpty -r -m z line '*READY*'
	zpty -w -n z $'cloop egress firew\t\C-a print -r -- "[\C-e]"\n'
	zpty -r -m z line $'*\n*\[cloop egress firewall ]*' && print completed
	zpty -d z
	Z
	run timeout 60 zsh -f "$BATS_TEST_TMPDIR/live.zsh" "$SRC/completions"
	has "$output" completed
}

@test "after --, words are the workload's: nothing of ours is offered" {
	need zsh
	same "$(in_bash cloop egress -- fire)" ""
	same "$(in_zsh cloop egress -- fire)" ""
}
