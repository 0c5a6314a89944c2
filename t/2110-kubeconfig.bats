#!/usr/bin/env bats
# The kubeconfig that a lease delivers, read by other readers of YAML and by kubectl itself.
load lib/common

setup() {
	need jq python3
	TOOL=$BUILD_DIR/t/lib/secrettool
	L=$BATS_TEST_TMPDIR/lease
	mkdir -m 700 "$L"
	export KUBECONFIG=$L/kubeconfig
}

# grant ID SECRET FILE CONSTRAINTS
grant() {
	jq -nc --arg id "$1" --arg s "$2" --rawfile p "$CASES/secret/kube/$3" --argjson c "$4" \
		'{id: $id, secret: $s, kind: "kubeconfig", payload: $p, constraints: $c, unguarded: true}'
}
lease() { jq -sc . | "$TOOL" lease "$L" > "$BATS_TEST_TMPDIR/lease.json"; }
value() { jq -r ".vars.$1 // \"\"" "$BATS_TEST_TMPDIR/lease.json"; }

guide() {
	grant g1 prod-kube three.yaml '{"contexts":["prod"],"namespaces":["team-a"]}'
	grant g2 prod-kube three.yaml '{"contexts":["prod"],"namespaces":["team-b"],"verbs":["get","list","watch","create"]}'
	grant g3 staging-kube three.yaml '{"contexts":["staging"]}'
}

@test "several grants are one document with a context a grant" {
	guide | lease
	exits 0 python3 - "$KUBECONFIG" <<-'END'
		import sys, yaml
		d = yaml.safe_load(open(sys.argv[1]))
		assert d["apiVersion"] == "v1" and d["kind"] == "Config", d
		assert d["current-context"] == "prod-kube"
		c = {x["name"]: x["context"] for x in d["contexts"]}
		assert list(c) == ["prod-kube", "prod-kube-2", "staging-kube"], c
		assert [c[n].get("namespace") for n in c] == ["team-a", "team-b", "staging-ns"]
		users = {x["name"]: x["user"] for x in d["users"]}
		assert users["prod-kube-2"] == {"token": "prod-token-000000"}, users
		assert users["staging-kube"] == {"token": "staging-token-1111"}, users
		assert len(d["clusters"]) == 3 and "dev" not in str(d)
	END
	same "$(value CLOOP_K8S_CONTEXTS)" prod-kube,prod-kube-2,staging-kube
	same "$(value CLOOP_K8S_NAMESPACE) $(value CLOOP_K8S_ALLOWED_NAMESPACES) $(value CLOOP_K8S_VERBS)" \
		"team-a team-a get,list,watch"
	same "$(value CLOOP_K8S_GRANTS | jq -c '[.[].secret]')" '["prod-kube","prod-kube","staging-kube"]'
}

@test "kubectl reads it: contexts, namespaces, credentials, and nothing of another cluster" {
	need kubectl
	guide | lease
	same "$(kubectl config current-context)" prod-kube
	same "$(kubectl config get-contexts -o name | paste -sd,)" prod-kube,prod-kube-2,staging-kube
	same "$(kubectl --context prod-kube-2 config view --raw --minify -o 'jsonpath={..namespace} {.users[0].user.token}')" \
		"team-b prod-token-000000"
	same "$(kubectl config view --raw -o 'jsonpath={.clusters[*].cluster.server}')" \
		"https://prod.example.test:6443 https://prod.example.test:6443 https://staging.example.test:6443"
}

@test "kubectl reads one grant under its own names, and what stays is as it stood" {
	need kubectl
	grant g1 prod-kube 04-proxy-url-token-and-basic.yaml '{"contexts":["*"]}' | lease
	same "$(kubectl config current-context)" selected-context
	same "$(kubectl config view --raw -o 'jsonpath={.users[0].user.password} {.clusters[0].cluster.proxy-url}')" \
		"config-1-user-pa33word socks5://proxy.config-1.example.com"
	rm "$KUBECONFIG"
	grant g2 zeros two.yaml '{"contexts":["inside"]}' | lease
	same "$(kubectl config view --raw -o 'jsonpath={.users[0].user.token}')" 00012
}

@test "a plugin is refused by its name and the others are delivered" {
	{ grant g1 aks-kube 01-eks-exec-aws.yaml '{"contexts":["*"]}'; grant g2 other two.yaml '{"contexts":["bare"]}'; } | lease
	has "$(jq -r '.refused[0].reason' "$BATS_TEST_TMPDIR/lease.json")" "signs in through aws"
	same "$(jq -r '.materials[].secret' "$BATS_TEST_TMPDIR/lease.json")" other
}
