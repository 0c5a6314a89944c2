# shellcheck shell=bash disable=SC2034
item='cloop version, against /bin/true'
target=1.5
ours=(cloop version)
peer=(/bin/true)
