# shellcheck shell=bash disable=SC2034
item='the same through cloop, against /bin/true'
target=2.5
ours=(cloop egress firewall --internet --ports 443 --check 93.184.215.14:443)
peer=(/bin/true)
