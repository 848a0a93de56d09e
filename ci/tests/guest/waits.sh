# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For scripts of the guest in virtual time, in front of which it is put: waits for conditions. Who
# looks costs as much as what is looked at, so $more, the program more.c, does what it can.

more=${0%/*}/more

# Nothing ever comes from it.
mkfifo /run/never
exec 7<>/run/never

# nap SECONDS: a pause of the machine's time, between two looks
nap() { read -rt "$1" -u 7 _ || :; }

# by SECONDS CONDITION: waits until the condition is true; false, and said, after so many seconds of the
# machine's. It looks each 10 ms, and later each eighth of what it has waited for.
by() {
	local began=${EPOCHREALTIME/./} waited us
	local deadline=$(($1 * 1000000))
	shift

	until eval "$*"; do
		waited=$((${EPOCHREALTIME/./} - began))
		[ $waited -lt $deadline ] || {
			echo "# not in time: $*" >&2
			return 1
		}
		us=$((waited / 8))
		[ $us -ge 10000 ] || us=10000
		[ $us -le 500000 ] || us=500000
		printf -v us %06d $us
		nap "0.$us"
	done
}

# more GROUP BYTES [KEY]: waits until so many more memory bytes are charged, of KEY or in all
more() { $more 600 charged "$1" "${3:-total}" "$2"; }

# reads_of DISK: $n, requests that have read it
reads_of() { read -r n _ <"/sys/block/${1##*/}/stat"; }
# read_more DISK N: waits until there are so many more
read_more() { $more 600 reads "${1##*/}" "$2"; }

# events_more GROUP NAME N: waits until the event has been so often more
events_more() { $more 60 event "$1" "$2" "$3"; }

# event_of GROUP NAME: $n
# shellcheck disable=SC2034 # which is who calls it's
event_of() {
	local key value

	n=
	while read -r key value; do [ "$key" != "$2" ] || n=$value; done <"/sys/fs/cgroup/$1/memio.events"
}
