# shellcheck shell=bash disable=SC2034
item='cloop-sandbox check of the guide'"'"'s full example, against /bin/true'
target=2.5
ours=(cloop-sandbox check "$CLOOP_SRC/t/cases/sandbox/guide.yaml")
peer=(/bin/true)
