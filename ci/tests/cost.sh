# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What a kernel takes for things that memio adds to: sourced by memio-cost and by ci/stock-figures,
# after ci/lib.sh, with an empty directory $tmp.

# shellcheck disable=SC2154 # $tmp

need gcc libc6-dev

gcc -std=gnu11 -O2 -Wall -Wextra -Werror -static -o "$tmp/switch" \
	"$memio_top/ci/tests/guest/switch.c"
cat >"$tmp/cost" <<'END'
set -eu
[ -z "$2" ] || echo "$2" >/sys/kernel/memio/enabled
echo "switch $("$1" 20)"
awk '$1 ~ /^(skbuff_head_cache|skbuff_fclone_cache|bio-[0-9]*|task_struct|TCP|UDP)$/ {
	print $1, $4 }' /proc/slabinfo | sort
END

# cost_of KERNEL ENABLED [OPTION]...: prints `switch N`, the instructions of a context switch by way
# of a pipe (ci/vm --virtual: one takes a nanosecond of the guest's time), and lines `CACHE BYTES` of
# the sizes of objects. ENABLED is written to memio's switch, unless it is empty.
cost_of() {
	local kernel=$1 enabled=$2
	shift 2

	"$memio_top/ci/vm" --kernel "$kernel" --no-model --virtual --smp 1 "$@" -- \
		sh "$tmp/cost" "$tmp/switch" "$enabled"
}
