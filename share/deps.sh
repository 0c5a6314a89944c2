#!/bin/sh
# usage: deps.sh GOAL : installs the Debian packages that a make target needs.
# What is already there is left alone; a machine without apt must have them already.
set -eu

build="gcc libc6-dev musl-tools libjansson-dev libyaml-dev libsqlite3-dev libsodium-dev libbearssl-dev libnftnl-dev libmnl-dev libssl-dev libcurl4-openssl-dev git ca-certificates"
engine="podman runc conmon netavark catatonit nftables iproute2 busybox-static jq"
tests="bats python3-jsonschema python3-yaml btrfs-progs crun runsc strace mandoc docker.io docker-registry iptables python3 socat util-linux procps curl sqlite3 zsh fish nginx-light fcgiwrap openssl apache2-utils"
# A kubectl of another origin serves as well, and its package does not go together with Debian's.
command -v kubectl >/dev/null || tests="$tests kubernetes-client"
lint="clang clang-format libclang-rt-14-dev cppcheck shellcheck universal-ctags mandoc zsh fish"

case ${1:-check} in
demo) want="$build $engine" ;;
check | san | cov | bench) want="$build $engine $tests" ;;
fuzz) want="$build clang libclang-rt-14-dev" ;;
lint | docs) want="$build $lint" ;;
*) want="$build $engine $tests $lint" ;;
esac

missing=
for p in $want; do
	dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
	echo "missing packages, and no apt-get to install them:$missing" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "missing packages; as root run: apt-get install -y --no-install-recommends$missing" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq -o Acquire::Retries=3
# Nothing that a package brings may start services here: we start what we need ourselves.
policy=/usr/sbin/policy-rc.d
made=
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' > $policy
	chmod 755 $policy
	made=1
fi
# shellcheck disable=SC2086 # a list of names
apt-get install -y -qq -o Acquire::Retries=3 --no-install-recommends $missing >/dev/null || rc=$?
[ -z "$made" ] || rm -f $policy
exit "${rc:-0}"
