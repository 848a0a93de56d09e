# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For tests in whose machine tools/top/test/record --containers has run: source it after tests/lib.sh.

# shellcheck disable=SC2154 # those of tests/lib.sh, and $memio

need gcc jq libc6-dev

# recorded FILE STORED NAME...: memio top finds these containers in the recording FILE, which has the files of
# groups that STORED has, a recording in tools/top/test. MEMIO_RECORDINGS names a directory that gets it.
recorded() {
	local file=$1 stored=$2
	shift 2

	printf '#include "tree.h"\nint main(int n, char **v) { return n != 3 || !tree_unpack(v[1], v[2]); }\n' |
		gcc -D_GNU_SOURCE -I"$memio_top/tools/libmemio/test" -o "$tmp/unpack" -x c -
	mkdir "$tmp/recorded"
	check "a recording of that can be unpacked" "$tmp/unpack" "$file" "$tmp/recorded"
	is "... memio top finds the names of containers in it" \
		"$("$memio" top --json -n 1 --root "$tmp/recorded" | jq -r '.rows[].container // empty' | sort -u | xargs)" "$*"
	is "... it has the files that tools/top/test/$stored has (or store it there: MEMIO_RECORDINGS)" \
		"$(recorded_files "$file")" "$(recorded_files "$memio_top/tools/top/test/$stored")"
	[ -z "${MEMIO_RECORDINGS:-}" ] || cp "$file" "$MEMIO_RECORDINGS/$stored"
}

# recorded_files FILE: of groups of containers, and podman's lists
recorded_files() {
	sed -En 's/[0-9a-f]{64}/ID/g; s,^== .*/(libpod-[a-z]*ID[^/]*/.*),\1,p; s,^== .*/([a-z]+-containers/.*),\1,p' "$1" |
		LC_ALL=C sort -u
}
