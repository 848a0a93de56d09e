# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# TAP for tests in shell: source it, `check TEXT COMMAND...` for each check,
# `finish` at the end (the plan and the exit status).

tap_count=0 tap_failed=0

# check TEXT COMMAND [ARG...]: it holds when COMMAND succeeds.
check() {
	local text=$1
	shift

	tap_count=$((tap_count + 1))
	if "$@"; then
		echo "ok $tap_count - $text"
	else
		echo "not ok $tap_count - $text"
		echo "# failed: $*"
		tap_failed=$((tap_failed + 1))
	fi
}

# check_not TEXT COMMAND [ARG...]: it holds when COMMAND fails.
check_not() {
	local text=$1
	shift

	check "$text" not "$@"
}

not() { ! "$@"; }

finish() {
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ] || exit 1
}
