# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What ci/vm shares with scripts that build, in the archive of `make image`, where nothing is built and
# nothing is installed.

set -eu
set -o pipefail
# shellcheck disable=SC2034 # for ci/vm
memio_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf 'memio: %s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# need PACKAGE: only ci/vm --net asks, for iproute2
need() { [ "$1" != iproute2 ] || command -v ip >/dev/null || die "no program ip: install iproute2"; }
