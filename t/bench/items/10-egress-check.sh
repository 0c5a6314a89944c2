# shellcheck shell=bash disable=SC2034
item='cloop-egress firewall --check, against /bin/true'
target=2.0
ours=(cloop-egress firewall --internet --ports 443 --check 93.184.215.14:443)
peer=(/bin/true)
