# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For tests that make many checks: prints TAP, and runs ci/vm. Source it:
#
#	. "$(dirname "$0")/lib.sh"
#	is "one and one" "$((1 + 1))" 2
#	done_testing
#
# $tmp is an empty directory, removed at the end. A check that fails says what
# it got; the test goes on. MEMIO_TEST_KERNEL names another kernel than the patched one.
#
# A test whose machines are in virtual time (ci/vm --virtual) has the comment `# virtual: yes`. It
# prints what is the same on every host by figure(), what is not by diag() as `~ NAME VALUE`, and
# `make test-same` compares. Its $tmp has the same name each time, in a mount namespace of
# its own, as the guest's kernel hashes names. There is no bound in seconds of the host in such
# a test; a wait is for a condition, with a deadline in the machine's time; amounts
# are in operations, not in seconds.

if grep -qsx '# virtual: yes' "$0" && [ "${test_namespace:-}" != "$$" ]; then
	unshare_with=(--mount)
	[ "$(id -u)" = 0 ] || unshare_with+=(--map-root-user)
	test_namespace=$$ exec unshare "${unshare_with[@]}" "$BASH" "$0" "$@"
fi

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# Without pgrep there would be no stray process, ever.
need procps

tmp=$(mktemp -d "${TMPDIR:-/tmp}/memio-test.XXXXXX")
tmp=$(cd "$tmp" && pwd -P)
tmp_elsewhere=$tmp
# at_end COMMAND: is run when the test ends, before its files go
at_ends=()
at_end() { at_ends+=("$1"); }
ended() {
	local command

	# A child that a signal ends before it has become a program runs its parent's trap, too.
	[ "$BASHPID" = $$ ] || return 0
	for command in "${at_ends[@]}"; do eval "$command" || :; done
	rm -rf "$tmp_elsewhere"
}
trap ended EXIT
if [ -n "${test_namespace:-}" ]; then
	unset test_namespace
	mkdir -p /tmp/memio-test
	mount --bind "$tmp" /tmp/memio-test
	tmp=/tmp/memio-test
fi
# A signal's default action would skip that.
trap 'exit 1' INT TERM HUP

checks=0 bad_checks=0

ok() {
	checks=$((checks + 1))
	echo "ok $checks - $*"
}

not_ok() {
	checks=$((checks + 1)) bad_checks=$((bad_checks + 1))
	echo "not ok $checks - $*"
}

# figure NAME VALUE: one that is the same on every host
figure() { echo "# = $1 $2"; }

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# is TEXT GOT WANTED
is() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1"
		diag "got: $2"
		diag "wanted: $3"
	fi
}

# like TEXT GOT REGEX (extended)
like() {
	if [[ $2 =~ $3 ]]; then
		ok "$1"
	else
		not_ok "$1"
		diag "got: $2"
		diag "wanted a match of: $3"
	fi
}

# check TEXT COMMAND [ARG...]: it succeeds.
check() {
	local text=$1
	shift
	if "$@"; then
		ok "$text"
	else
		not_ok "$text"
		diag "failed: $*"
	fi
}

# skip TEXT WHY: a check that is left out, of which ci/tests/SKIPS has to list the reason
skip() {
	checks=$((checks + 1))
	echo "ok $checks - ${1//#/} # SKIP $2"
}

# quick TEXT COMMAND...: a check that a kernel with its own checks on, which takes most of the time
# for itself, can't keep
quick() {
	if [ "${MEMIO_TEST_PATIENCE:-1}" = 1 ]; then
		check "$@"
	else
		skip "$1" "this kernel is slow"
	fi
}

done_testing() {
	echo "1..$checks"
	[ $bad_checks = 0 ] || exit 1
	exit 0
}

# The kernel for tests that are not of memio: the patched one, which is there, with memio switched
# off. `make test-more PART=stock` runs them on stock's, and on Debian's own.
test_kernel=(--kernel patched --append memio=off)
[ -z "${MEMIO_TEST_KERNEL:-}" ] || test_kernel=(--kernel "$MEMIO_TEST_KERNEL")

# vm [OPTION]... -- COMMAND...: ci/vm with that kernel, and without the models: tests that want them
# say `vm_model`.
vm() { "$memio_top/ci/vm" "${test_kernel[@]}" --no-model "$@"; }
vm_model() { "$memio_top/ci/vm" "${test_kernel[@]}" "$@"; }

# qemu_that BRANCH: for ci/vm --qemu, of which it has no option: a QEMU that changes its arguments,
# each by a branch of a `case` which adds to $args
qemu_that() {
	local qemu

	qemu=$("$memio_top/ci/testbed/build")
	mkdir "$tmp/qemu"
	ln -s "$qemu/share" "$tmp/qemu/share"
	cat >"$tmp/qemu/qemu-system-x86_64" <<-END
		#!/bin/bash
		args=()
		for arg; do
			case \$arg in
			$1
			*) args+=("\$arg") ;;
			esac
		done
		exec $qemu/qemu-system-x86_64 "\${args[@]}"
	END
	chmod +x "$tmp/qemu/qemu-system-x86_64"
	echo "$tmp/qemu"
}

# qemu_with_sata SLOT: in place of the virtio disk of that slot, it has a controller with a SATA
# disk
qemu_with_sata() {
	# shellcheck disable=SC2016 # its own
	qemu_that "virtio-blk-pci,*,addr=$1)"'
		disk=${arg#*,drive=}
		args+=(ich9-ahci,id=ahci,addr='"$1"')
		args+=(-device "ide-hd,bus=ahci.0,drive=${disk%%,*}") ;;'
}

# run COMMAND...: sets $status, $out, $err (whole, without final newlines) and
# $last, the last line on stderr, and $took, seconds.
# shellcheck disable=SC2034
run() {
	local start=$SECONDS

	status=0
	"$@" >"$tmp/.out" 2>"$tmp/.err" || status=$?
	took=$((SECONDS - start))
	out=$(tr -d '\0' <"$tmp/.out")
	err=$(tr -d '\0' <"$tmp/.err")
	last=$(tail -n 1 "$tmp/.err" | tr -d '\0')
}

# explain: shows the last run's stderr when its status is not what was wanted.
run_is() {
	local text=$1 wanted=$2
	shift 2
	run "$@"
	is "$text" "$status" "$wanted"
	[ "$status" = "$wanted" ] || diag "$(tail -n 15 "$tmp/.err")"
}

# take_over COMMAND...: runs it in a machine, and takes over the checks that it prints
# there without numbers (ok TEXT, not ok TEXT).
take_over() {
	local line

	run "$@"
	while IFS= read -r line; do
		case $line in
		'ok '*) ok "${line#ok }" ;;
		'not ok '*) not_ok "${line#not ok }" ;;
		'') ;;
		*) echo "# ${line#\# }" ;;
		esac
	done <<<"$out"
	# 1: a check has failed, and is not to be counted twice.
	case $status in
	0) ;;
	1) [[ $out == *"not ok "* ]] || not_ok "status 1: $last" ;;
	*) not_ok "the machine: status $status"; diag "$(tail -n 15 "$tmp/.err")" ;;
	esac
}

# strays TOKEN: processes that have it in their command line, apart from this
# test's own shells; waits a moment for the kernel to bury the dead.
strays() {
	local i pid list=

	for ((i = 0; i < 50; i++)); do
		list=
		for pid in $(pgrep -f -- "$1" || :); do
			case $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || :) in
			''|*ci/tests/*|*pgrep*) ;;
			*) list+="$pid " ;;
			esac
		done
		[ -n "$list" ] || return 0
		sleep 0.1
	done
	# shellcheck disable=SC2086
	ps -o pid,ppid,stat,args $list | cut -c 1-150
}

# namespace_users INODE: processes that are in the namespace net:[INODE] or
# have it mounted.
namespace_users() {
	local p

	case $1 in net:*) ;; *) return 0 ;; esac
	for p in /proc/[0-9]*; do
		if [ "$(readlink "$p/ns/net" 2>/dev/null)" = "$1" ] ||
				grep -qF "$1" "$p/mountinfo" 2>/dev/null; then
			echo "${p#/proc/}"
		fi
	done
}
