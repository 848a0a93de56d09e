# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What is to be known of a tree of ci/kernel/layout by who removes it. Sourced after
# ci/kernel/lib.sh.

: "${memio_cgroup:?}"

# tree_changed TREE: is there anything in it that refresh has not written back? It may leave
# new files uncommitted.
tree_changed() {
	local file tree=$1

	[ "$(git -C "$tree" rev-parse HEAD refs/memio/clean | uniq | wc -l)" = 1 ] ||
		return 0
	while read -r -d '' file; do
		file=${file:3}
		if [ -e "$tree/$file" ] || [ -e "$memio_cgroup/$file" ]; then
			cmp -s "$tree/$file" "$memio_cgroup/$file" || return 0
		fi
	done < <(git -C "$tree" status --porcelain -z -uall --no-renames)
	return 1
}
