#!/usr/bin/env bats
# One run that is granted something of every kind: its sandbox has what the guide says, exactly.
# shellcheck disable=SC2016 # what stands in single quotes is for the sandbox's shell
# shellcheck disable=SC2154

load lib/common
load lib/engine
load lib/hub
load lib/forge

setup_file() {
	need root podman nft ip jq sqlite3 python3 openssl
	hub_up
	export F=$T/forge FORGE_NS=$NSNAME
	forge_start "$F"
	hub_config_none
	printf 'secrets:\n  key_file: %s\n  github:\n    ca_file: %s\n' "$HUB/cloop-secret-key" "$F/ca.pem" >> "$HUB/.cloop/config.yaml"
	mkdir -p "$T/src"/{api-service,shared-proto,private}/.git && chown -R 1000:1000 "$T/src"
	modes
}
teardown_file() {
	forge_stop "$F"
	hub_down
}

grant() { cloop secret grant "$@" --to "project:$P" --json | jq -r .id; }
mint() { cloop secret mint "$1" --kind "$2" > /dev/null; }

# all_granted : one grant of each kind, narrowed as the guide narrows it.
all_granted() {
	echo ghp_plantedallkinds01 | mint deploy-pat github_pat
	forge_app "$F" | mint deploy-app github_app
	mint prod-kube kubeconfig < "$CASES/secret/kube/three.yaml"
	printf 'user:planted-login-02' | mint ghcr-login registry
	printf '{"API_KEY":"planted-env-03","WEBHOOK_SECRET":"planted-env-04"}' | mint app-env env
	printf 'http://u:planted-proxy-05@proxy.test:3128' | mint way-out egress_proxy
	echo "$T/src" | mint local-src local_repo
	grant deploy-pat --repos 'myorg/*' --permissions contents:read
	grant deploy-app --repos acme/tool --permissions contents:write
	grant prod-kube --contexts prod --verbs get,list,watch,create,update,patch,delete,deletecollection
	grant ghcr-login --registries ghcr.io
	grant app-env --env-keys API_KEY
	grant way-out --hosts api.github.com,'*.pypi.org'
	grant local-src --repos 'api-service,shared-*'
}

# What a shell finds: its variables, the lease's files with mode and owner, what is bound.
LOOK='env | grep -vE "^(PATH|HOME|PWD|OLDPWD|SHLVL|HOSTNAME|TERM|container|_)=" | sort
cd "$CLOOP_LEASE_DIR" && stat -c "%a %u:%g %s %n" -- *
ls -A /repos; grep -E " /repos| $CLOOP_LEASE_DIR " /proc/mounts | cut -d " " -f 2,4 | cut -d , -f 1,2,3 | sort
cat gitconfig; ls -A /run/cloop'

@test "the variables, files and mounts of seven kinds in one lease, and no others" {
	all_granted > /dev/null
	exits 0 run_in -- sh -c "$LOOK"
	same "$stderr" ''
	got=$(sed -E 's/(lease|run)_[0-9a-f]{24}/\1_ID/; s/cloop-lease-[0-9a-f]{24}/cloop-lease-ID/g
		s/20[0-9]{2}-[0-9-]+T[0-9:]+Z/DATE/; s/c-[0-9a-f]{12}/c-ID/; s/^([67]00 1000:1000) [0-9]+ /\1 N /' <<< "$output")
	same "$got" "$(cat "$CASES/guide/all-kinds.txt")"
	same "$(leftovers)" ''
	lacks "$output" planted-
}
