#!/usr/bin/env bats
# cloop-exec-container prepare: which image runs, judged and pinned (facts 2.3, DECISIONS C17).
load lib/common
load lib/engine
load lib/driver

setup_file() {
	if [ "$(id -u)" = 0 ] && command -v podman >/dev/null && command -v jq >/dev/null; then
		engine_up
		driver_up
		engine_image localhost/harness:1 'LABEL org.cloop.harnesses="claude, git"'
	fi
}
teardown_file() { engine_down; }
setup() { need root podman jq; }

@test "a tag becomes the digest and the id it has now" {
	exits 0 prepare
	id=$(podman image inspect --format '{{.Id}}' "$IMAGE")
	digest=$(podman image inspect --format '{{index .RepoDigests 0}}' "$IMAGE")
	same "$(jq -r .image_id <<< "$output")" "sha256:$id"
	same "$(jq -r .image <<< "$output")" "$digest"
	same "$(jq -r .run <<< "$output")" "sha256:$id"
	same "$(jq -r .requested <<< "$output")" "$IMAGE"
	same "$(jq -c '[.reproducible, .warnings, .harnesses, .setup]' <<< "$output")" '[true,[],[],null]'
	# The digest is a reference too, and it says the same.
	exits 0 prepare ".image = \"$digest\""
	same "$(jq -r .image_id <<< "$output")" "sha256:$id"
	exits 0 prepare ".image = \"${digest/@/:1@}\""
	same "$(jq -r .image_id <<< "$output")" "sha256:$id"
}

@test "the answer is kept until the engine's index changes" {
	engine_image localhost/moving:1 'LABEL v=1'
	# A file as young as the clock's tick is not trusted.
	sleep 0.2
	exits 0 prepare '.image = "localhost/moving:1"'
	same "$(jq -r .cached <<< "$output")" false
	one=$(jq -r .image_id <<< "$output")
	exits 0 prepare '.image = "localhost/moving:1"'
	same "$(jq -r .cached <<< "$output")" true
	same "$(jq -r .image_id <<< "$output")" "$one"
	# With a cached answer the engine is not asked: it need not even work.
	mv "$ENGINE_DIR/libpod" "$ENGINE_DIR/libpod.away"
	: > "$ENGINE_DIR/libpod"
	! podman images > /dev/null 2>&1
	exits 0 prepare '.image = "localhost/moving:1"'
	same "$(jq -r .image_id <<< "$output")" "$one"
	rm "$ENGINE_DIR/libpod"
	mv "$ENGINE_DIR/libpod.away" "$ENGINE_DIR/libpod"
	# The tag moves.
	engine_image localhost/moving:1 'LABEL v=2'
	exits 0 prepare '.image = "localhost/moving:1"'
	same "$(jq -r .cached <<< "$output")" false
	[ "$(jq -r .image_id <<< "$output")" != "$one" ]
	# And goes.
	podman rmi -f localhost/moving:1 > /dev/null
	exits 69 prepare '.image = "localhost/moving:1"'
	[ "$(stat -c %a "$HUB/.cloop/cache")" = 700 ]
}

@test "another store is another answer" {
	sleep 0.2
	exits 0 prepare
	exits 0 prepare
	same "$(jq -r .cached <<< "$output")" true
	for f in containers.conf storage.conf; do
		sed "s|$ENGINE_DIR/graph|$ENGINE_DIR/graph2|; s|$ENGINE_DIR/libpod|$ENGINE_DIR/libpod2|" "$ENGINE_DIR/$f" > "$ENGINE_DIR/2-$f"
	done
	CONTAINERS_CONF=$ENGINE_DIR/2-containers.conf CONTAINERS_STORAGE_CONF=$ENGINE_DIR/2-storage.conf exits 69 prepare
	# The same files with another store in them: their identity is part of the answer.
	for f in containers.conf storage.conf; do
		cp "$ENGINE_DIR/$f" "$ENGINE_DIR/1-$f"
		cp "$ENGINE_DIR/2-$f" "$ENGINE_DIR/$f"
	done
	exits 69 prepare
	for f in containers.conf storage.conf; do cp "$ENGINE_DIR/1-$f" "$ENGINE_DIR/$f"; done
	exits 0 prepare
}

@test "a missing image names the command that would get it, and nothing is pulled" {
	exits 69 prepare '.image = "ghcr.io/acme/tools:1.79"'
	has "$stderr" "image 'ghcr.io/acme/tools:1.79' is not in podman's local store"
	has "$stderr" "fix: nothing is pulled at start: podman pull ghcr.io/acme/tools:1.79"
}

@test "what is no reference is refused before the engine sees it" {
	for ref in '--privileged' '-v' 'a b' 'ghcr.io//x' 'ghcr.io/x:' 'x@sha256:dead' 'http://ghcr.io/x' ''; do
		exits 65 prepare ".image = \"$ref\""
		same "$output" ""
	done
}

@test "the image policy is for what a project names" {
	policy='.image_policy = {allowed_registries: ["ghcr.io"]}'
	exits 1 prepare "$policy | .image = \"localhost/harness:1\" | .image_from = \"project\""
	has "$stderr" "localhost"
	exits 1 bash -c 'cloop-exec-container prepare --json < "$1"' - <(spec "$policy | .image = \"localhost/harness:1\" | .image_from = \"project\"")
	same "$(jq -r '.error.rule + " " + .error.code' <<< "$stderr")" "registry-allowlist sandbox_image_denied"
	# The operator's own image is the operator's affair, unless the policy says otherwise.
	exits 0 prepare "$policy"
	exits 1 prepare '.image_policy = {allowed_registries: ["ghcr.io"], govern_operator_images: true}'
	exits 0 prepare '.image_policy = {allowed_registries: ["localhost"]} | .image_from = "project"'
	same "$(jq -c .warnings <<< "$output")" '[]'
	exits 1 prepare '.image_policy = {require_digest: true} | .image_from = "project"'
	has "$stderr" digest
	exits 78 prepare '.image_policy = {allowed_registries: ["ghcr.io/x"]} | .image_from = "project"'
	exits 1 prepare '.image_policy = {require_signature: true, cosign_public_keys: ["/k.pub"]} | .image_from = "project"'
	has "$stderr" "signature"
}

@test "an image must carry the harness when its label lists programs" {
	exits 1 prepare '.image = "localhost/harness:1"'
	has "$stderr" "does not carry 'sh'"
	has "$stderr" "claude, git"
	exits 0 prepare '.image = "localhost/harness:1" | .argv = ["/opt/bin/CLAUDE", "-p"]'
	same "$(jq -c .harnesses <<< "$output")" '["claude","git"]'
	exits 1 bash -c 'cloop-exec-container prepare --json < "$1"' - <(spec '.image = "localhost/harness:1" | .argv = ["copilot"]')
	same "$(jq -r .error.code <<< "$stderr")" sandbox_image_lacks_harness
	has "$(jq -r .error.remediation <<< "$stderr")" cloop-harness-copilot
}

@test "an ENTRYPOINT is refused, an emptied one and a VOLUME are not" {
	engine_image localhost/entry:1 'ENTRYPOINT ["/bin/sh", "-c"]'
	exits 1 prepare '.image = "localhost/entry:1"'
	has "$stderr" "ENTRYPOINT (/bin/sh -c)"
	engine_image localhost/vol:1 'VOLUME /data' 'ENTRYPOINT []'
	exits 0 prepare '.image = "localhost/vol:1"'
	has "$(jq -r '.warnings[0]' <<< "$output")" "/data"
}

@test "an image whose /tmp the sandbox could not write to is warned about" {
	chmod 755 "$ENGINE_DIR/rootfs/tmp"
	engine_image localhost/tmp755:1
	chmod 1777 "$ENGINE_DIR/rootfs/tmp"
	exits 0 prepare '.image = "localhost/tmp755:1"'
	has "$(jq -r '.warnings[0]' <<< "$output")" "/tmp of 'localhost/tmp755:1' has mode 0755"
	exits 0 ask preflight '.image = "localhost/tmp755:1"'
	same "$(jq -r '.findings[] | select(.check == "image").status' <<< "$output")" warn
}

@test "docker: pinned by id, and kept the same way" {
	need docker dockerd
	echo '{}' > "$ENGINE_DIR/daemon.json"
	engine_docker_up
	sleep 0.2
	id=$(docker image inspect --format '{{.Id}}' "$IMAGE")
	exits 0 prepare '.executor.runtime = "docker"'
	same "$(jq -r .image_id <<< "$output")" "$id"
	# No registry has given it a digest: the next machine may have another image of the name.
	same "$(jq -r .reproducible <<< "$output")" false
	exits 0 prepare '.executor.runtime = "docker"'
	same "$(jq -r .cached <<< "$output")" true
	docker tag "$IMAGE" localhost/other:1
	exits 0 prepare '.executor.runtime = "docker"'
	same "$(jq -r .cached <<< "$output")" false
	printf 'FROM %s\nVOLUME /data\n' "$IMAGE" | DOCKER_BUILDKIT=0 docker build -q -t localhost/vol:1 - > /dev/null
	exits 1 prepare '.executor.runtime = "docker" | .image = "localhost/vol:1"'
	has "$stderr" "declares volumes (/data)"
	exits 69 prepare '.executor.runtime = "docker" | .image = "ghcr.io/acme/tools:1"'
	has "$stderr" "docker pull ghcr.io/acme/tools:1"
	engine_docker_down
}

@test "a spec that is broken is refused whole" {
	exits 65 bash -c 'cloop-exec-container prepare < /dev/null'
	exits 65 prepare '.argv = []'
	exits 65 prepare '.argv = "sh"'
	exits 65 prepare '.bogus = 1'
	exits 65 prepare '.project = "relative"'
	exits 65 prepare '.setup = [1]'
	exits 65 prepare '.image_policy = []'
}
