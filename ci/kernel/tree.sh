# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What is to be known of a tree of ci/kernel/layout by who writes to it or removes it. Sourced
# after ci/kernel/lib.sh.

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

# note_origins TREE: takes lines `COMMIT NAME`: where in patches/ a commit lives. In one commit of
# notes: `git notes add` for each takes longer than the patches do.
note_origins() {
	local commit name

	{
		printf 'commit refs/notes/memio\ncommitter memio <memio@localhost> %s +0000\ndata 0\n' \
			"$EPOCHSECONDS"
		! git -C "$1" rev-parse -q --verify refs/notes/memio >/dev/null ||
			echo 'from refs/notes/memio^0'
		while read -r commit name; do
			printf 'N inline %s\ndata %d\n%s\n' "$commit" $((${#name} + 1)) "$name"
		done
	} | git -C "$1" fast-import --quiet
}
