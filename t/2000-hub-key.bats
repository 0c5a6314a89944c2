#!/usr/bin/env bats
# The root key: where it comes from, what a wrong one is told, rotation, retiring, escrow.
# shellcheck disable=SC2030,SC2031 # each test is a subshell of its own
load lib/common

setup() {
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	hub=$D/hub
	db=$hub/.cloop/state.db
	file=$hub/cloop-secret-key
	cloop -C "$hub" hub bootstrap >/dev/null
	export CLOOP_DIR=$hub
	pass="correct horse battery"
}

key() { cloop hub key "$@"; }
status_of() { cloop hub key status --json | jq -r "$1"; }
# What makes the first key.
touch_keys() { printf '%s' "$pass" | key escrow export >/dev/null; }
sql() { sqlite3 "$db" "$1"; }

@test "before the first use there is a root key and no other, and status makes none" {
	exits 0 key status
	has "$output" "root key   '$file' (hkdf)"
	has "$output" "primary    none yet"
	exits 0 key status
	same "$(status_of '.keys | length')" 0
	same "$(sql 'select count(*) from sealing_key')" 0
}

@test "the first key is made once and proves itself" {
	touch_keys
	touch_keys
	same "$(status_of '.keys | map(select(.primary and .openable)) | length')" 1
	same "$(status_of '.keys[0].created_by')" "cli:$(id -un)"
	exits 0 cloop hub audit verify
}

@test "a verb of two words that ends after the first is answered with those that go on" {
	exits 64 cloop hub key
	has "$stderr" "fix: 'cloop hub key' goes on with one of: status, rotate, retire, escrow export, escrow import"
	exits 64 cloop secret app
	has "$stderr" "fix: 'cloop secret app' goes on with one of: installations, repositories"
}

@test "no key: what needs one says what is not set, status still works" {
	touch_keys
	mv "$file" "$D/away"
	sed -i '/^secrets:/,+1d' "$hub/.cloop/config.yaml"
	exits 78 key rotate
	has "$stderr" "CLOOP_SECRET_KEY is not set"
	has "$stderr" "  fix: export CLOOP_SECRET_KEY_FILE=FILE"
	# The one that bootstrap wrote is named, and what is named works.
	cp "$D/away" "$hub/cloop-secret-key"
	exits 78 key rotate
	has "$stderr" "  fix: export CLOOP_SECRET_KEY_FILE='$hub/cloop-secret-key'"
	(eval "$(sed -n 's/^  fix: //p' <<< "$stderr")" && exits 0 key rotate)
	rm "$hub/cloop-secret-key"
	exits 0 key status
	has "$output" "root key   none: CLOOP_SECRET_KEY is not set"
	same "$(status_of '.keys[] | select(.state == "primary").openable' | tail -n 1)" "null"
	same "$(status_of .root.source)" "null"
	CLOOP_SECRET_KEY_FILE=$D/away exits 0 key status
	has "$output" "yes"
}

# refused SLUG PIECE : what every keyed verb then says, in both forms, and nothing was made.
refused() {
	local before
	before=$(sql 'select count(*) from sealing_key')
	exits "${3:-78}" key rotate
	has "$stderr" "$2"
	[ "${#stderr_lines[@]}" = 2 ]
	exits "${3:-78}" key rotate --json
	same "$(jq -r .error.code <<< "$stderr")" "$1"
	same "$(sql 'select count(*) from sealing_key')" "$before"
	lacks "$output$stderr" "$(cat "$D/secret-text" 2>/dev/null || echo none-at-all)"
}

@test "each mistake with a key file has its own message" {
	touch_keys
	cp "$file" "$D/secret-text"
	chmod 644 "$file"
	refused key_mode "has mode 0644, not 0400 or 0600"
	has "$stderr" "others may have read it"
	eval "$(key rotate 2>&1 | sed -n 's/^  fix: //p')"
	exits 0 key rotate
	chmod 400 "$file"
	exits 0 key rotate
	rm "$file"
	refused key_missing "cannot open the key file '$file'"
	exits 78 key rotate
	has "$stderr" "  fix: see how the path is spelt" "cloop hub key escrow import FILE"
	mkdir "$file"
	refused key_missing "is no regular file"
	rmdir "$file"
	install -m 600 /dev/null "$file"
	refused key_empty "is empty"
	install -m 600 "$D/secret-text" "$hub/.cloop/key"
	CLOOP_SECRET_KEY_FILE=$hub/.cloop/key refused key_inside_hub "lies inside .cloop"
	(eval "$(CLOOP_SECRET_KEY_FILE=$hub/.cloop/key key rotate 2>&1 | sed -n 's/^  fix: //p')" && exits 0 key rotate)
	# What is said to help is a command, whatever the file is called; .cloop may be its own name.
	mv "$hub/key" "$hub/.cloop/it's"
	(eval "$(CLOOP_SECRET_KEY_FILE="$hub/.cloop/it's" key rotate 2>&1 | sed -n 's/^  fix: //p')" && exits 0 key rotate)
	mv "$hub/it's" "$D/.cloop"
	CLOOP_SECRET_KEY_FILE=$D/.cloop exits 0 key rotate
	mv "$D/.cloop" "$hub/.cloop/key"
	rm "$file"
	ln -s "$hub/.cloop/key" "$file"
	refused key_inside_hub "lies inside .cloop"
	rm "$file"
	install -m 600 "$D/secret-text" "$file"
	CLOOP_SECRET_KEY=other refused key_differs "two different keys"
	CLOOP_SECRET_KEY=$(cat "$file") exits 0 key rotate
	sed -i '/^secrets:/,+1d' "$hub/.cloop/config.yaml"
	CLOOP_SECRET_KEY='' refused key_empty "the root key of CLOOP_SECRET_KEY is empty"
	CLOOP_SECRET_KEY='' exits 78 key rotate
	has "$stderr" "  fix: unset CLOOP_SECRET_KEY, and name the key's file: export CLOOP_SECRET_KEY_FILE=FILE"
	export CLOOP_SECRET_KEY_FILE=$file
	if [ "$(id -u)" = 0 ]; then
		chown 12345 "$file"
		refused key_owner "belongs to uid 12345"
	fi
}

@test "a wrong key never starts a registry of its own" {
	touch_keys
	id=$(status_of .primary)
	cp "$file" "$D/right"
	head -c 32 /dev/urandom | base64 -w0 | tr '+/' '-_' | tr -d = > "$file"
	refused key_wrong "1 key ($id) cannot be derived from it"
	has "$stderr" "CLOOP_SECRET_KEY"
	echo "a passphrase instead" > "$file"
	refused key_wrong "$id"
	rm "$file"
	CLOOP_SECRET_KEY=wrong refused key_missing "$file"
	exits 0 cloop hub bootstrap
	has "$stderr" "the root key '$file' is not there, and something is sealed with it"
	[ ! -e "$file" ]
	cp "$D/right" "$file" && chmod 600 "$file"
	exits 0 key rotate
}

@test "a passphrase works, from a file and from the environment" {
	sed -i '/^secrets:/,+1d' "$hub/.cloop/config.yaml"
	export CLOOP_SECRET_KEY="my own words"
	touch_keys
	same "$(status_of '.root.method, .keys[0].method, .keys[0].openable' | xargs)" "scrypt scrypt true"
	unset CLOOP_SECRET_KEY
	printf 'my own words\n' > "$D/words" && chmod 600 "$D/words"
	CLOOP_SECRET_KEY_FILE=$D/words exits 0 key rotate
	CLOOP_SECRET_KEY="my own words " exits 78 key rotate
	has "$stderr" "cannot be derived"
}

@test "a passphrase works for a user who may lock only a few mebibytes" {
	need root
	open_bin
	u=$D/theirs
	install -d -o 65534 -g 65534 "$u"
	# 8 MiB is what the kernel gives by default; scrypt takes 128.
	limited() {
		as_user env -u CLOOP_DIR HOME="$u" CLOOP_HUBS="$u/hubs" \
			bash -c 'ulimit -l 8192 && exec cloop "$@"' - -C "$u/hub" "$@"
	}
	exits 0 limited hub bootstrap
	printf 'my own words' > "$u/hub/cloop-secret-key"
	echo '{"K":"v"}' > "$D/payload"
	exits 0 limited secret mint of-theirs < "$D/payload"
	same "$(limited hub key status --json | jq -r '.keys[0] | .method, .openable' | xargs)" "scrypt true"
	exits 0 limited hub key rotate
}

@test "rotate makes a new primary, the old one stays active until it is retired" {
	touch_keys
	old=$(status_of .primary)
	exits 0 key rotate --dry-run
	has "$output" "nothing was done"
	same "$(status_of .primary)" "$old"
	exits 0 key rotate
	has "$output" "✓ completed"
	new=$(status_of .primary)
	[ "$old" != "$new" ]
	exits 0 key rotate --continue --json
	same "$(jq -r '.target_key_id, .rewrapped, .complete' <<< "$output" | xargs)" "$new 0 true"
	exits 1 key retire "$new"
	has "$stderr" "is the primary"
	exits 65 key retire kek_000000
	exits 65 key retire legacy
	exits 0 key retire "${old:0:12}"
	has "$output" "--yes"
	same "$(status_of ".keys[] | select(.id == \"$old\").state")" active
	exits 0 key retire "$old" --yes
	same "$(status_of ".keys[] | select(.id == \"$old\") | .state, .openable" | xargs)" "retired false"
	same "$(sql "select salt from sealing_key where id = '$old'")" ""
	exits 1 key retire "$old" --yes
	has "$stderr" "retired already"
	exits 0 cloop hub audit verify
	same "$(cloop hub audit list --action 'sealing_key.*' --json | jq -r .action | sort | uniq -c | xargs)" \
		"1 sealing_key.escrow_export 1 sealing_key.retire 2 sealing_key.rotate"
}

@test "two rotations at once leave one primary and a whole registry" {
	touch_keys
	for i in 1 2 3 4; do
		key rotate > "$D/out.$i" 2> "$D/err.$i" &
	done
	wait
	same "$(status_of '[.keys[] | select(.primary)] | length')" 1
	exits 0 key rotate --continue
	same "$(status_of '[.sets[].awaiting_rotation] | add')" 0
}

@test "an escrow says what it is, opens with its passphrase alone and brings the key back" {
	touch_keys
	printf '%s\n' "$pass" > "$D/pass"
	exits 0 key escrow export --out "$D/esc" --passphrase-file "$D/pass"
	same "$(stat -c %a "$D/esc")" 600
	jq -e --arg k "$(status_of .primary)" '.cloop_escrow == 1 and .keys == [$k] and (.hub | startswith("hub_")) and
		(.about | test("escrow import"))' "$D/esc"
	lacks "$(cat "$D/esc")" "$(cat "$file")"
	lacks "$(cat "$D/esc")" "$pass"
	exits 0 key escrow import "$D/esc" --check --passphrase-file "$D/pass"
	has "$output" "1 of 1 keys"
	cp "$file" "$D/was"
	rm "$file"
	exits 77 bash -c "echo 'another passphrase' | cloop hub key escrow import '$D/esc'"
	has "$stderr" "another passphrase, or the file was altered"
	[ ! -e "$file" ]
	exits 0 key escrow import "$D/esc" --passphrase-file "$D/pass"
	has "$output" "wrote $file"
	same "$(stat -c %a "$file")" 600
	cmp <(tr -d '\n' < "$D/was") "$file"
	exits 0 key rotate
	exits 0 key escrow import "$D/esc" --passphrase-file "$D/pass"
	has "$output" "kept $file"
}

@test "a passphrase of the root key comes back from its escrow too" {
	printf ' two  words ' > "$file"
	touch_keys
	exits 0 bash -c "printf '%s' '$pass' | cloop hub key escrow export --out '$D/esc'"
	rm "$file"
	exits 0 bash -c "printf '%s' '$pass' | cloop hub key escrow import '$D/esc'"
	same "$(cat "$file")" " two  words "
	exits 0 key rotate
}

@test "an escrow that was altered anywhere is refused" {
	touch_keys
	printf '%s' "$pass" > "$D/pass"
	key escrow export --out "$D/esc" --passphrase-file "$D/pass"
	# Whoever writes it anew and changes nothing has not altered it.
	jq . "$D/esc" > "$D/bad"
	exits 0 key escrow import "$D/bad" --check --passphrase-file "$D/pass"
	for f in '.hub = "hub_000000000000000000000000"' '.keys = []' '.created_at = "2020-01-01T00:00:00Z"' \
		'.about = "x"' '.n = 262144' '.salt = ("0" * 64)' '.sealed |= ("AAAA" + .[4:])'; do
		jq "$f" "$D/esc" > "$D/bad"
		exits 77 key escrow import "$D/bad" --check --passphrase-file "$D/pass"
	done
	for f in '.cloop_escrow = 2' 'del(.sealed)' 'del(.salt)' '.n = 1024' '.n = 131073' '.n = 1099511627776' \
		'.r = 1024' '.p = 9' '.kdf = "none"' '.sealed = ""' '.sealed = "AAAA"' '.sealed = "!"' \
		'.more = 1' '.keys = {}' '.created_at = "soon"' '[.]' '"x"' 'null'; do
		jq "$f" "$D/esc" > "$D/bad"
		exits 65 key escrow import "$D/bad" --check --passphrase-file "$D/pass"
	done
	head -c 100 "$D/esc" > "$D/bad"
	exits 65 key escrow import "$D/bad" --check --passphrase-file "$D/pass"
	exits 69 key escrow import "$D/none" --check --passphrase-file "$D/pass"
	exits 65 key escrow import /dev/zero --check --passphrase-file "$D/pass"
}

@test "the escrow of another hub writes nothing here" {
	touch_keys
	printf '%s' "$pass" > "$D/pass"
	cloop -C "$D/other" hub bootstrap >/dev/null
	cloop -C "$D/other" hub key escrow export --out "$D/esc" --passphrase-file "$D/pass"
	before=$(sha256sum "$file")
	exits 78 key escrow import "$D/esc" --passphrase-file "$D/pass"
	has "$stderr" "opens 0 of the 1 keys of this hub"
	same "$(sha256sum "$file")" "$before"
	exits 78 key escrow import "$D/esc" --passphrase-file "$D/pass" --out "$D/new"
	[ ! -e "$D/new" ]
}

@test "an import never writes over another key, nor into .cloop" {
	touch_keys
	printf '%s' "$pass" > "$D/pass"
	key escrow export --out "$D/esc" --passphrase-file "$D/pass"
	echo other > "$D/there" && chmod 600 "$D/there"
	exits 1 key escrow import "$D/esc" --passphrase-file "$D/pass" --out "$D/there"
	has "$stderr" "holds another key"
	same "$(cat "$D/there")" other
	exits 78 key escrow import "$D/esc" --passphrase-file "$D/pass" --out "$hub/.cloop/key"
	has "$stderr" "inside .cloop"
	[ ! -e "$hub/.cloop/key" ]
	exits 71 key escrow export --out "$D/esc" --passphrase-file "$D/pass"
	has "$stderr" "name a file that is not there yet"
}

@test "short, empty and endless passphrases" {
	exits 65 bash -c "echo short | cloop hub key escrow export"
	has "$stderr" "take 12 or more"
	exits 65 bash -c "cloop hub key escrow export < /dev/null"
	has "$stderr" "is empty"
	exits 65 bash -c "cloop hub key escrow export < /dev/zero"
	has "$stderr" "more than 4096 bytes"
}

@test "the key is in no argument, no environment of a child and no message" {
	touch_keys
	CLOOP_SECRET_KEY=$(cat "$file") exits 0 bash -c "printf '%s' '$pass' |
		ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=execve,write -s 9999 -o '$D/trace' cloop hub key escrow export"
	has "$(cat "$D/trace")" '"key", "escrow", "export"'
	lacks "$(cat "$D/trace")" "$(cat "$file")"
	lacks "$output" "$(cat "$file")"
	lacks "$(cat "$db" | tr -d '\0')" "$(cat "$file")"
}

@test "help and usage are of cloop hub, whoever runs it" {
	exits 0 cloop hub key escrow import --help
	has "$output" "Usage: cloop hub key escrow import"
	exits 64 cloop hub key
	exits 64 cloop hub key rotate --no-such
	has "$stderr" "cloop-hub: unknown option"
	exits 0 cloop-hub key status
	exits 0 cloop -C "$hub" --json hub key status
	jq -e .keys <<< "$output"
	exits 64 cloop hub-key status
	has "$stderr" "is not a cloop command"
	lacks "$(cloop list --names)" hub-key
}
