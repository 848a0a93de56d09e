# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For benchmarks that compare kernels: source it after ci/lib.sh.

# shellcheck disable=SC2154 # which sets memio_top

# image K: the file of the kernel K, which is a variant of ci/kernel/build, built if it has to be, or a
# file. (ci/vm knows those variants by name that tests run on.)
image() {
	case $1 in
	*/*) echo "$1" ;;
	*) echo "$("$memio_top/ci/kernel/build" "$1")/vmlinux" ;;
	esac
}
