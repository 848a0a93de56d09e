# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For scripts in the guest that let groups, tasks and devices come and go while IO goes on.
# Source it, with `set -eu`.
#
# Programs are slow to start here, so that most of this is the shell's own.

# shellcheck disable=SC2034 # for those who source this
cg=/sys/fs/cgroup memio=/sys/kernel/memio
samples=/sys/kernel/debug/memio/samples
shopt -s globstar nullglob

# What CPUs read is counted, too
[ ! -w $cg/memio.cpu ] || echo on >$cg/memio.cpu

# It sleeps by reading what never comes.
exec 9<> <(:)
pause() { read -rt "$1" -u 9 || :; }

# all FILE PREFIX: its lines, each after the prefix
all() {
	local lines

	mapfile -t lines <"$1" || return
	printf -- "$2%s\n" "${lines[@]}"
}

# figures: what memio and the kernel's own statistics say now, in lines as those of
# ci/tests/guest/measure: `FILE LINE`. FILE is a group's path, or "root", for its memio.stat
# and memio.events.local ("events no_slot=N").
figures() {
	local f g n

	for f in "$cg"/**/memio.stat; do
		g=${f%/memio.stat}
		g=${g#"$cg"}
		all "$f" "${g:-root} "
		read -r _ n <"${f%stat}events.local"
		echo "${g:-root} events no_slot=$n"
	done
	for f in /sys/block/*/stat; do
		all "$f" "disk $f "
	done
	for f in /sys/class/net/*/statistics/[rt]x_{bytes,packets}; do
		all "$f" "net $f "
	done
}

# group PATH: makes it, with all above it
group() {
	local at=$cg name names

	IFS=/ read -r -a names <<<"$1"
	for name in "${names[@]}"; do
		echo +memio >"$at/cgroup.subtree_control"
		at=$at/$name
		[ -d "$at" ] || mkdir "$at"
	done
}

# in_group PATH COMMAND...
in_group() {
	local to=$cg/$1/cgroup.procs

	shift
	(echo 0 >"$to"; exec "$@")
}

# start PATH COMMAND...: goes on by itself; its PID is $!
start() {
	local to=$cg/$1/cgroup.procs

	shift
	(echo 0 >"$to"; exec "$@") &
}

# until_is VALUE FILE: waits for it, a minute at most, and prints what it is then
until_is() {
	local i value

	for ((i = 0; i < 600; i++)); do
		read -r value <"$2"
		[ "$value" != "$1" ] || break
		pause 0.1
	done
	echo "$value"
}

# membw_valid: what a task's own file says of prices
membw_valid() {
	local line lines

	mapfile -t lines </proc/self/membw
	for line in "${lines[@]}"; do
		case $line in 'valid '*) echo "${line#valid }" ;; esac
	done
}

# until_membw_valid: waits until it is 1, a minute at most, and prints what it is then
until_membw_valid() {
	local i value

	for ((i = 0; i < 600; i++)); do
		value=$(membw_valid)
		[ "$value" != 1 ] || break
		pause 0.1
	done
	echo "$value"
}

# wait_for FILE: 30 s at most
wait_for() {
	local i

	for ((i = 0; i < 300; i++)); do
		[ ! -e "$1" ] || return 0
		pause 0.1
	done
}

stopped() {
	local state=

	until [ "$state" = T ]; do
		pause 0.05
		read -r _ _ state _ <"/proc/$1/stat"
	done
}

# remove PATH: as soon as its tasks are gone
remove() {
	until rmdir "$cg/$1" 2>/dev/null; do
		pause 0.01
	done
}
