# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For tests of packages: fresh roots of Debian, which apt fills. Source it after tests/lib.sh.

# shellcheck disable=SC2154 # those of tests/lib.sh

need debootstrap util-linux

# debian_root NUMBER [NAME]: $root is a copy of that release's fresh root, with lists of packages; or the
# test ends
debian_root() {
	run_is "a root of Debian $1" 0 "$memio_top/ci/debian" "$1" --base
	[ "$status" = 0 ] || { diag "$err"; done_testing; }
	root=$tmp/${2:-root}
	cp -a "$out" "$root"
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	check "apt finds Debian's packages" in_root apt-get update -q
}

# in_root COMMAND...: with a /proc, in namespaces that end with it
in_root() {
	# shellcheck disable=SC2016 # for sh
	unshare --mount --propagation private --pid --fork --kill-child sh -c '
		mount -t proc proc "$0/proc" && exec chroot "$0" env -i DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
		"$root" "$@" </dev/null >"$tmp/in-root" 2>&1 || { diag "$(tail -n 15 "$tmp/in-root")"; return 1; }
}

# there: the files of the root, but for what apt, dpkg and ldconfig keep for themselves
there() {
	local name prune=()

	for name in var/lib/{apt,dpkg} var/cache/{apt,debconf,ldconfig} var/log/{alternatives.log,apt,dpkg.log} etc/ld.so.cache; do
		prune+=(-o -path "./$name")
	done
	(cd "$root" && find . \( "${prune[@]:1}" \) -prune -o -print | LC_ALL=C sort)
}
