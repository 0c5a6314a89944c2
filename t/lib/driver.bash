# A hub's directory and specs for cloop-exec-container. Loaded after lib/engine.
# shellcheck shell=bash
#
# driver_up makes HUB (with a state file), PROJECT (owned by 1000:1000) and CLOOP_RUN_DIR.

driver_up() {
	HUB=$ENGINE_DIR/hub PROJECT=$ENGINE_DIR/project CLOOP_RUN_DIR=$ENGINE_DIR/r
	export HUB PROJECT CLOOP_RUN_DIR
	mkdir -p "$HUB/.cloop" "$PROJECT"
	chown 1000:1000 "$PROJECT"
}

# executor [JQ] : the executor's configuration, changed by a jq expression.
executor() {
	jq -nc --arg image "$IMAGE" "{enabled: true, image: \$image, network: \"none\"} | ${1:-.}"
}

# ask VERB [EXECUTOR-JQ [WHOLE-JQ]] : a verb without a workload.
ask() {
	executor "${2:-.}" | jq -c --arg hub "$HUB" "{executor: ., hub: \$hub} | ${3:-.}" |
		cloop-exec-container "$1"
}

# spec [JQ] : a spec for prepare and start.
spec() {
	executor | jq -c --arg hub "$HUB" --arg project "$PROJECT" \
		"{executor: ., hub: \$hub, project: \$project, argv: [\"sh\", \"-c\", \"true\"]} | ${1:-.}"
}
prepare() { spec "${1:-.}" | cloop-exec-container prepare; }
