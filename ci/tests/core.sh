# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For the tests of the cores' counters: source it after lib.sh. $core is the program
# ci/tests/guest/core.c.

# shellcheck disable=SC2154 # which are these

need gcc libc6-dev jq

key=$({
	gcc --version | head -n 1
	cat "$memio_top/ci/tests/guest/"{core.c,check.h,core-msr.h,core-work.S,core-work.h,ledger.h,membw.h} "$memio_top/ci/guest/pci.h"
} | hash_of)
# shellcheck disable=SC2016,SC2034 # $out is cached's
core=$(cached test-core "$key" sh -c 'cd "$1" && gcc -std=gnu11 -O2 -Wall -Wextra -Werror -static \
	-pthread -o "$out/core" core.c core-work.S' sh "$memio_top/ci/tests/guest")/core
