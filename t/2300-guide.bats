#!/usr/bin/env bats
# The guide on secrets, played from top to bottom: what its commands print here is what it shows.

load lib/common

setup() {
	need root jq openssl
	D=$BATS_TEST_TMPDIR
	export CLOOP_HUBS=$D/hubs HOME=$D/home
	unset XDG_STATE_HOME XDG_CONFIG_HOME CLOOP_SECRET_KEY CLOOP_SECRET_KEY_FILE
	mkdir -p "$HOME/.kube" "$HOME/.docker"
	cp "$CASES/secret/kube/three.yaml" "$HOME/.kube/config"
	echo '{"auths":{"ghcr.io":{"auth":"dTpwYXNzd29yZDE="},"quay.io":{"auth":"dTpwYXNzd29yZDI="}}}' > "$HOME/.docker/config.json"
}

# mask : ids and dates are nobody's.
mask() {
	sed -E 's/\b(sec|grant|lease|run)_[0-9a-f]{16,24}/\1_ID/g
		s/20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z/DATE/g'
}

# new_hub TITLE : each part of the guide starts with nothing.
new_hub() {
	title=$1
	work=$D/part$((++parts))
	mkdir "$work"
	cloop -C "$work/hub" hub bootstrap > /dev/null
	export CLOOP_DIR=$work/hub
	openssl genrsa -out "$work/app.pem" 2048 2> /dev/null
}

# check COMMAND STATUS WANT : plays one and compares.
check() {
	local got st=0 want
	got=$(cd "$work" && bash -c "$1" 2> "$D/err") || st=$?
	want=$(sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' <<< "$3" | mask)
	got=$(mask <<< "$got")
	if [[ $want == *'...' ]]; then
		want=${want%...}
		want=${want%$'\n'}
		got=$(head -n "$(wc -l <<< "$want")" <<< "$got")
	fi
	played=$((played + 1))
	[ "$st" = "$2" ] && same "$got" "$want" && return 0
	printf 'in "%s": %s\nstatus %s, stderr: %s\n' "$title" "$1" "$st" "$(cat "$D/err")" >&2
	return 1
}

# play FILE : stops at nothing, so that all differences are seen at once; bad has how many.
play() {
	local line cmd= want= status=0 state=text bad=0 end
	while IFS= read -r line || [ -n "$line" ]; do
		if [ $state = command ]; then
			cmd+=$'\n'$line
			[[ $line == *\\ || ( -n $end && $line != "$end" ) ]] || state=output
			continue
		fi
		if [[ $line == '## '* || $line =~ ^(![0-9]+\ )?'$ ' ]]; then
			[ -z "$cmd" ] || check "$cmd" "$status" "$want" || bad=$((bad + 1))
			cmd='' want='' status=0
		fi
		case $line in
		'## '*) new_hub "${line#\#\# }" ;;
		'!'[0-9]*' $ '* | '$ '*)
			[[ $line != '!'* ]] || status=${line%% *} status=${status#!} line=${line#* }
			cmd=${line#\$ } state=output end=''
			[[ $cmd != *"<<'EOF'"* ]] || end=EOF
			[[ $cmd != *\\ && -z $end ]] || state=command
			;;
		'#'*) [ -n "$cmd" ] && want+=$line$'\n' ;;
		*) [ -z "$cmd" ] || want+=$line$'\n' ;;
		esac
	done < "$1"
	[ -z "$cmd" ] || check "$cmd" "$status" "$want" || bad=$((bad + 1))
	return "$bad"
}

@test "what the guide shows is what is printed" {
	parts=0 played=0
	play "$CASES/guide/secrets.txt"
	[ "$played" -gt 45 ]
}
