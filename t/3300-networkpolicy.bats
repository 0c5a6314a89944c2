#!/usr/bin/env bats
# cloop egress firewall --format networkpolicy. What the object means is in the unit tests too.
load lib/common

np() { cloop-egress firewall --format networkpolicy "$@"; }
GUIDE=(--internet --ports 443 --resolver 9.9.9.9:53)
EVAL=$BUILD_DIR/t/lib/netpoleval
VALID=$SRC/t/lib/netpolvalid.py
policy() { awk -F'\t' -v p="$1" '$1 == p { print $3 }' "$CASES/egress/policies.tsv"; }

@test "the preview: names, the handle escaped, DNS first, both directions" {
	exits 0 np "${GUIDE[@]}"
	same "$(head -n 35 <<< "$output")" '{
  "apiVersion": "networking.k8s.io/v1",
  "kind": "NetworkPolicy",
  "metadata": {
    "name": "cloop-sbx-preview",
    "namespace": "cloop"
  },
  "spec": {
    "podSelector": {
      "matchLabels": {
        "cloop.dev/handle-id": "\u003chandle\u003e"
      }
    },
    "policyTypes": [
      "Egress",
      "Ingress"
    ],
    "egress": [
      {
        "to": [
          {
            "namespaceSelector": {
              "matchLabels": {
                "kubernetes.io/metadata.name": "kube-system"
              }
            }
          }
        ],
        "ports": [
          {
            "protocol": "UDP",
            "port": 53
          },
          {
            "protocol": "TCP",'
	same "$(jq -c '[.spec.egress[1:][] | [.ports, [.to[].ipBlock.cidr]]]' <<< "$output")" \
		'[[[{"protocol":"TCP","port":443}],["0.0.0.0/0","::/0"]],[[{"protocol":"TCP","port":53}],["9.9.9.9/32"]],[[{"protocol":"UDP","port":53}],["9.9.9.9/32"]]]'
	[ "$(jq '.spec | has("ingress")' <<< "$output")" = false ]
}

@test "names, selectors and DNS as asked" {
	exits 0 np "${GUIDE[@]}" --table cloop_sbx_vx_1 --namespace builds --no-dns \
		--selector app=x --selector cloop.dev/handle-id=c-0123456789ab
	same "$(jq -c '[.metadata, .spec.podSelector.matchLabels, (.spec.egress | length)]' <<< "$output")" \
		'[{"name":"cloop-sbx-vx-1","namespace":"builds"},{"app":"x","cloop.dev/handle-id":"c-0123456789ab"},3]'
	exits 0 np --name a.b --no-dns
	same "$(jq -c '[.metadata.name, .spec]' <<< "$output")" \
		'["a.b",{"podSelector":{"matchLabels":{"cloop.dev/handle-id":"<handle>"}},"policyTypes":["Egress","Ingress"]}]'
	exits 0 np "${GUIDE[@]}" --json
	[ "$(wc -l <<< "$output")" = 1 ]
}

@test "YAML says the same as JSON" {
	local json
	exits 0 np --internet --all-ports --selector on=no --yaml
	same "$(head -n 12 <<< "$output")" 'apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: cloop-sbx-preview
  namespace: cloop
spec:
  podSelector:
    matchLabels:
      "on": "no"
  policyTypes:
  - Egress
  - Ingress'
	has "$output" '        cidr: "::/0"'
	has "$output" '      endPort: 65535'
	lacks "$output" '---'
	exits 0 np --yaml
	has "$output" 'cloop.dev/handle-id: "<handle>"'
	# A reader of YAML 1.1 takes it for the same too.
	need python3
	local args=("${GUIDE[@]}" --block-special-use --cidrs 10.8.0.0/16,fd00:8::/32 --selector on=no --selector n=1_0)
	same "$(np "${args[@]}" --yaml | python3 -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))' | jq -S .)" \
		"$(np "${args[@]}" | jq -S .)"
}

@test "every vector of the policies, by the object, as JSON and as YAML" {
	need jq
	local n p q verdict reason f bad=0 form
	while IFS=$'\t' read -r n p q verdict reason; do
		[[ $n == '#'* || $q == */any ]] && continue
		for form in --no-dns "--no-dns --yaml"; do
			f=$BATS_TEST_TMPDIR/$p${form// /}
			# shellcheck disable=SC2086 # words
			[ -e "$f" ] || policy "$p" | np --policy - $form > "$f"
			[[ $q == */* ]] || q=$q/tcp
			same "$("$EVAL" "$f" "$q")" "$verdict" || { echo "vector $n $form" >&2; bad=1; }
		done
	done < "$CASES/egress/answers.tsv"
	[ "$(find "$BATS_TEST_TMPDIR" -size +0 -name '*yaml' | wc -l)" -ge 10 ]
	return $bad
}

@test "valid by the published schema, and by what an API server asks beyond it" {
	need python3
	local name count auth i=0 flags
	while IFS=$'\t' read -r name count auth; do
		[[ $name == '#'* ]] && continue
		np --policy - <<< "$auth" > "$BATS_TEST_TMPDIR/$name.json"
		np --policy - --no-dns --selector a.b/c=d <<< "$(jq -c '. + {block_special_use: true}' <<< "$auth")" \
			> "$BATS_TEST_TMPDIR/$name-special.json"
		i=$((i + 1))
	done < "$CASES/egress/policies.tsv"
	[ $i -ge 10 ]
	exits 0 "$VALID" "$CASES/netpol/schema.json" "$BATS_TEST_TMPDIR"/*.json
	[ -z "$output" ]
	# The check itself refuses what a server refuses.
	local f=$BATS_TEST_TMPDIR/A.json edit
	for edit in '.spec.egress[1].to[0].ipBlock.except += ["0.0.0.0/0"]' \
		'.spec.egress[1].to[1].ipBlock.except += ["::ffff:0:0/96"]' \
		'.spec.egress[1].to[1].ipBlock.except += ["10.0.0.0/8"]' \
		'.spec.egress[1].ports[0].endPort = 1' '.spec.egress[1].ports[0].port = 0' \
		'.spec.egress[1].ports[0].protocol = "ICMP"' '.spec.egress[1].from = []' \
		'.metadata.name = "a_b"' '.spec.podSelector.matchLabels.x = "a b"' '.spec.deny = []' 'del(.spec)'; do
		jq "$edit" "$f" > "$BATS_TEST_TMPDIR/bad"
		exits 1 "$VALID" "$CASES/netpol/schema.json" "$BATS_TEST_TMPDIR/bad"
	done
}

@test "bad values are 65, name the value and say how to mend it" {
	local args
	for args in "--namespace A" "--namespace a.b" "--name a_b" "--table Up" "--table a." "--selector x" \
		"--selector =v" "--selector a=b=c" "--selector a=b --selector a=c" "--selector a=<x>" \
		"--cidrs 10.0.0.0/8" "--internet"; do
		echo "args: $args" >&2
		# shellcheck disable=SC2086 # words
		exits 65 np $args
		has "$stderr" "  fix: "
		[ -z "$output" ]
	done
	exits 65 np --namespace ""
	has "$stderr" "'' is no name of a namespace"
}

@test "usage errors are 64" {
	local args
	for args in "--format rules --namespace x" "--format nft --yaml" "--selector a=b --format json" "--yaml --json" \
		"--name a --table b" "--bridge br0"; do
		echo "args: $args" >&2
		# shellcheck disable=SC2086 # words
		exits 64 np $args
		[ -z "$output" ]
	done
	exits 64 cloop-egress firewall --no-dns
}

@test "100,000 ranges: rendered whole, with a word about the cluster's store" {
	python3 -c '
import json
r = [f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/24" for i in range(100000)]
print(json.dumps({"allow_public_internet": True, "allow_ports": [443], "allow_cidrs": r[:50000], "deny_cidrs": r}))' \
		> "$BATS_TEST_TMPDIR/big.json"
	exits 0 np --policy "$BATS_TEST_TMPDIR/big.json"
	has "$stderr" "a cluster's store takes 1572864"
	same "$(jq '[.spec.egress[].to[].ipBlock.except // [] | length] | max' <<< "$output")" 100016
}
