# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What the scripts of this directory share: where the kernel source comes
# from, and what memio lays over it. Sourced after ci/lib.sh.
#
# The source is Debian's linux-source-6.12, whatever point release apt offers,
# or what LINUX_SRC names: a tarball or a tree of a plain 6.12.y. It is unpacked
# once into the cache and never written to.
#
# memio's part is its `overlay`: the files of cgroup/, which mirrors the kernel
# tree, and the files that the patches of patches/series change, patched. It
# is made apart from the source, from copies of just those files.

# Where memio's part is; a test may name another place.
memio_cgroup=${MEMIO_CGROUP:-$memio_top/cgroup}
memio_patches=${MEMIO_PATCHES:-$memio_top/patches}

linux_package=linux-source-6.12

# Not unpacked, since no x86 build reads it (a third of the source): the other
# architectures, except for what kconfig reads, and the register headers of a
# graphics driver.
linux_excludes=(
	--anchored --wildcards --no-wildcards-match-slash
	--exclude='*/arch/[!ux]*/[!Kc]*' --exclude='*/arch/[!ux]*/crypto/[!K]*'
	--exclude='*/drivers/gpu/drm/amd/include/asic_reg/*'
)

# linux_source: print the directory with the unpacked source.
linux_source() {
	local from=${LINUX_SRC:-} key

	if [ -z "$from" ]; then
		need "$linux_package" xz-utils
		from=/usr/src/$linux_package.tar.xz
		key=$(dpkg-query -W -f '${Version}' "$linux_package")
	elif [ -d "$from" ]; then
		[ -f "$from/Kbuild" ] || die "LINUX_SRC=$from is no kernel source"
		from=$(cd "$from" && pwd)
		# Its version control and its objects don't count.
		key=$(cd "$from" && find . \( -name .git -o -name '*.o' \) -prune -o \
			-type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
	elif [ -f "$from" ]; then
		need xz-utils
		key=$(sha256sum <"$from")
	else
		die "LINUX_SRC=$from: no such tree or tarball"
	fi
	key=$(printf '%s\n' "$key" "${linux_excludes[*]}" | hash_of)
	cached linux-source "$key" "$memio_top/ci/kernel/unpack" "$from"
}

# patch_list: print the paths of the patches, in the order of patches/series.
patch_list() {
	local name

	[ -f "$memio_patches/series" ] || return 0
	while read -r name; do
		case $name in
		''|'#'*) continue ;;
		esac
		[ -f "$memio_patches/$name" ] ||
			die "patches/series names $name, which does not exist"
		printf '%s\n' "$memio_patches/$name"
	done <"$memio_patches/series"
}

# patched_files PATCH...: print the existing files that the patches touch.
patched_files() {
	sed -n 's/^--- a\/\([^\t]*\).*/\1/p' "$@" | sort -u
}

# overlay BASE DIR: fill the empty DIR with the files that memio adds to the
# source BASE and those it changes. A patch has to fit: lines may have moved, but
# the context must be the same.
overlay() {
	local base=$1 dir=$2 patches file patch reject

	mapfile -t patches < <(patch_list)
	# A failure inside <() is not seen.
	patch_list >/dev/null

	if [ ${#patches[@]} -gt 0 ]; then
		patched_files "${patches[@]}" |
		while read -r file; do
			[ -f "$base/$file" ] || continue
			mkdir -p "$dir/$(dirname "$file")"
			cp -p "$base/$file" "$dir/$file"
		done
	fi
	if [ -d "$memio_cgroup" ]; then
		(cd "$memio_cgroup" && find . -type f -printf '%P\n') |
		while read -r file; do
			[ ! -e "$base/$file" ] ||
				die "cgroup/$file is a file of the kernel: change it by a patch"
			mkdir -p "$dir/$(dirname "$file")"
			cp "$memio_cgroup/$file" "$dir/$file"
		done
	fi
	for patch in "${patches[@]}"; do
		reject=$(mktemp)
		if ! patch -d "$dir" -p1 -F0 -f --no-backup-if-mismatch \
				-r "$reject" <"$patch"; then
			echo "--- rejected:"
			cat "$reject"
			rm -f "$reject"
			echo "patch ${patch#"$memio_patches"/} does not apply to" \
				"$(linux_version "$base")"
			return 1
		fi
		rm -f "$reject"
	done
}

# sync_source BASE OVERLAY SOURCE: make SOURCE the files of BASE with those of
# OVERLAY over them. Only files that differ are written, and those get a new
# time, also where they go back to what they were: make has to see it.
sync_source() {
	local base=$1 overlay=$2 source=$3 list file new

	list=$source/.memio-files
	if [ ! -e "$list" ] || [ "$(cat "$source/.memio-base")" != "$base" ]; then
		rm -rf "$source"
		cp -alH "$base" "$source" 2>/dev/null || {
			rm -rf "$source"
			cp -aH "$base" "$source"
		}
		echo "$base" >"$source/.memio-base"
		: >"$list"
	fi
	new=$(cd "$overlay" && find . -type f -printf '%P\n')
	# The list holds the old and the new ones until all is done.
	printf '%s\n' "$new" >>"$list"
	sort -u "$list" | while read -r file; do
		[ -n "$file" ] || continue
		if [ -f "$overlay/$file" ]; then
			cmp -s "$overlay/$file" "$source/$file" && continue
			mkdir -p "$(dirname "$source/$file")"
			cp --remove-destination "$overlay/$file" "$source/$file"
		elif [ -f "$base/$file" ]; then
			cmp -s "$base/$file" "$source/$file" && continue
			cp --remove-destination "$base/$file" "$source/$file"
		else
			rm -f "$source/$file"
		fi
	done
	printf '%s\n' "$new" >"$list"
}

# stock_key: a hash of what the stock kernel's path lengths depend on: the source's version, the
# compiler's, and the configuration of kernels that tests run on. Sets $stock_source, $stock_compiler
# and $stock_configuration, too.
stock_key() {
	local fragments=("$memio_top/ci/kernel/config" "$memio_top/ci/kernel/config.tested")

	stock_source=$([ -n "${LINUX_SRC:-}" ] || dpkg-query -W -f '${Package} ${Version}' "$linux_package" 2>/dev/null)
	[ -n "$stock_source" ] || stock_source=$(linux_version "$(linux_source)")
	stock_compiler=$(gcc --version | head -n 1)
	stock_configuration=$(sed -n '/^CONFIG_/p' "${fragments[@]}" | sort | hash_of)
	printf '%s\n' "$stock_source" "$stock_compiler" "$stock_configuration" | hash_of
}

# linux_version SOURCE: print its version, as 6.12.34.
linux_version() {
	sed -n '/^VERSION/s/.*= */Linux /p; /^PATCHLEVEL/s/.*= */./p;
		/^SUBLEVEL/s/.*= */./p' "$1/Makefile" | tr -d '\n'
	echo
}

# progress LOG: until killed, say now and then how far the compiler has come with $variant.
# shellcheck disable=SC2154 # the caller's
progress() {
	local start=$SECONDS

	while sleep 15; do
		say "kernel $variant: $(grep -c '^  \(CC\|AS\|HOSTCC\) ' "$1" || :) files" \
			"compiled, $((SECONDS - start)) s, now at $(tail -n 1 "$1" |
				sed 's/^  [A-Z]* *//')" 2>&3
	done
}

# enter_work BASE: get hold of the work tree of $variant and bring its files up to date; configure it
# by $fragments, if there are any. Sets $source and $objects, for kbuild.
# shellcheck disable=SC2154 # the caller's, and ci/lib.sh's
enter_work() {
	local base=$1 work=$memio_cache/trees/kernel-$variant

	mkdir -p "$work"
	exec 7>"$work/lock"
	flock -n 7 || {
		say "kernel $variant: waiting for another build" 2>&3
		flock 7
	}
	source=$work/source objects=$work/source/build unfinished=$work/unfinished

	rm -rf "$work/overlay"
	mkdir "$work/overlay"	# and so $work is as old as its last use
	[[ $variant = *stock ]] || overlay "$base" "$work/overlay"
	sync_source "$base" "$work/overlay" "$source"
	if [ -e "$unfinished" ]; then
		echo "an earlier build was interrupted: from the beginning"
		rm -rf "$objects"
	fi
	mkdir -p "$objects"
	touch "$unfinished"

	PATH=$memio_top/ci/kernel/ccache:$PATH
	export CCACHE_SLOPPINESS=time_macros,include_file_mtime,include_file_ctime
	export KBUILD_BUILD_TIMESTAMP='Thu Jan 1 00:00:00 UTC 1970'
	export KBUILD_BUILD_USER=memio KBUILD_BUILD_HOST=memio KBUILD_BUILD_VERSION=1
	unset MAKEFLAGS MAKELEVEL MFLAGS
	[ ${#fragments[@]} = 0 ] ||
		"$memio_top/ci/kernel/configure" "$source" "$objects" "${fragments[@]}" 7>&-
}

# Only between enter_work and leave_work.
kbuild() { tied make -C "$source" O="$objects" -j "$(nproc)" "$@" 7>&-; }
leave_work() { rm "$unfinished"; }
