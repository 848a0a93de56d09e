# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What every script here shares: messages, Debian packages, and the build
# cache. Source it, don't run it:
#
#	. "$(dirname "$0")/lib.sh"
#
# The cache is content-addressed: an entry's name is made of what it is and a
# hash of everything that went into it, so an entry is never changed, only
# added, and a changed input is simply another entry. It is built beside its
# final place and renamed into it, so that one which exists is whole, whatever
# interrupted the others.

set -eu
[ -z "${BASH_VERSION:-}" ] || set -o pipefail

# shellcheck disable=SC2034 # for those who source this
memio_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
memio_cache=${MEMIO_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/memio}
export CCACHE_DIR=${CCACHE_DIR:-$memio_cache/ccache}
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-4G}

# Progress and errors go to stderr; stdout is for results.
say() { printf 'memio: %s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# need PACKAGE...: these Debian packages are installed, or get installed.
need() {
	local missing=() p installed

	# All at once: a script asks for dozens, and each call reads dpkg's whole list.
	installed=$'\n'$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
		sed -n 's/^installed //p' || :)$'\n'
	for p; do
		[[ $installed == *$'\n'"$p"$'\n'* ]] || missing+=("$p")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ]; then
		die "missing packages; as root: apt-get install ${missing[*]}"
	fi
	say "installing ${#missing[@]} packages: ${missing[*]}"
	mkdir -p "$memio_cache"
	(
		flock 9
		export DEBIAN_FRONTEND=noninteractive
		if ! apt-get install -y -q --no-install-recommends "${missing[@]}" \
				>"$memio_cache/apt.log" 2>&1; then
			# Package lists may be absent or old: fetch them, once.
			apt-get update -q >"$memio_cache/apt.log" 2>&1 &&
			apt-get install -y -q --no-install-recommends "${missing[@]}" \
				>>"$memio_cache/apt.log" 2>&1
		fi
	) 9>"$memio_cache/apt.lock" || {
		tail -n 20 "$memio_cache/apt.log" >&2
		die "apt-get could not install: ${missing[*]}"
	}
}

# tied COMMAND [ARG...]: a program that ends (SIGTERM) if this shell does, even by SIGKILL.
tied() { setpriv --pdeathsig TERM -- "$@"; }

# hash_of: a short hash of standard input.
hash_of() { sha256sum | cut -c 1-16; }

# hash_tree PATH...: names, modes and contents of all files below the paths.
hash_tree() {
	local p

	for p; do
		find "$p" -type f -printf '%m %P\0' -o -type l -printf 'l %P\0' |
			LC_ALL=C sort -z | tr '\0' '\n'
		find "$p" -type f -print0 | LC_ALL=C sort -z |
			xargs -0 -r sha256sum | cut -d ' ' -f 1
	done | hash_of
}

# recall NAME PATH...: print the directory that `remember NAME` was told of, unless something below
# the PATHs may have changed since (also what was put back with its old time), or a package, or
# PATH, or a day is over. To hash it all takes dozens of processes, and each machine that is
# started asks three times.
recall() {
	local memo=$memio_cache/memo/$1 where dir changed
	shift

	memio_asked=$EPOCHSECONDS
	[ -f "$memo" ] && { IFS= read -r where && IFS= read -r dir; } <"$memo" || return 1
	[ "$where" = "$memio_top $PATH" ] && [ -d "$dir" ] || return 1
	changed=$(find "$memo" /var/lib/dpkg/status "$memio_top/ci/lib.sh" "$@" \
		\( -path "$memo" -mmin +1440 \) -o \( ! -path "$memo" -cnewer "$memo" \) 2>&1 | head -n 1)
	[ -z "$changed" ] || return 1
	touch "$dir"
	printf '%s\n' "$dir"
}

# remember NAME DIR: for `recall NAME`, which was asked before.
remember() {
	local memo=$memio_cache/memo/$1

	mkdir -p "$memio_cache/memo"
	printf '%s\n' "$memio_top $PATH" "$2" >"$memo.$$"
	# What has changed while it was being hashed counts as changed.
	touch -d "@$memio_asked" "$memo.$$"
	mv "$memo.$$" "$memo"
}

# cached NAME KEY COMMAND [ARG...]: print the directory of entry NAME-KEY; if
# there is none yet, COMMAND (a program, so that its own `set -e` holds) builds
# it in the empty directory $out. Its output goes to a log in the cache, shown
# when it fails. Also in $cache_entry, as a subshell that waits for a build would outlive its script.
cached() {
	local name=$1 key=$2 dir log tmp start
	shift 2

	dir=$memio_cache/$name-$key
	# shellcheck disable=SC2034 # for those who call this
	cache_entry=$dir
	if [ ! -d "$dir" ]; then
		mkdir -p "$memio_cache/log" "$memio_cache/lock"
		log=$memio_cache/log/$name-$key
		exec 8>"$memio_cache/lock/$name-$key"
		flock -n 8 || { say "$name: waiting for another build"; flock 8; }
		if [ ! -d "$dir" ]; then
			# The lock is ours: what lies here was interrupted.
			rm -rf "$dir".tmp.*
			tmp=$(mktemp -d "$dir.tmp.XXXXXX")
			chmod 755 "$tmp"
			start=$SECONDS
			say "building $name (log: $log)"
			# Without 8: a daemon left by the build would keep the lock.
			if ! tied env out="$tmp" "$@" >"$log" 2>&1 8>&-; then
				tail -n 30 "$log" >&2
				rm -rf "$tmp"
				die "building $name failed; the log is $log"
			fi
			mv "$tmp" "$dir"
			say "built $name in $((SECONDS - start)) s"
		fi
		exec 8>&-
	fi
	touch "$dir"	# when last used, for \`make clean\`
	printf '%s\n' "$dir"
}
