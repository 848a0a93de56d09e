#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boots the emulated machine of this archive: `./run.sh --help`.

set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
	cat <<'EOF'
usage: ./run.sh [OPTION]... [--] COMMAND [ARG...]
       ./run.sh [OPTION]...			(a shell, on a terminal)

Boots an emulated Xeon E5 v3 (Haswell-EP) and runs COMMAND in it, as root, in the same directory. The
guest sees the files of this machine, and what it writes is gone afterwards, except for --out DIR.
The status is COMMAND's, or 124 to 125 if the machine failed. All options: ./run.sh --help-all

  --nvme SIZE         an NVMe disk, empty (as 512M): /dev/nvme0n1
  --net virtio        a network device; the other end is 192.0.2.1, where --peer CMD runs
  --smp N             CPUs (default 2)
  --boxes N           slices of the last-level cache, each with counters (default 8)
  --llc SIZE          the last-level cache (default 2560K per slice)
  --ddio WAYS         how many of its 20 ways devices may fill (default 2)
  --cpu-cache on      loads and stores of the CPUs use the caches, too
  --dram-bw BYTES/S   a DRAM that moves no more; needs --cpu-cache on
  --virtual           virtual time: each run is the same
  --ledger FILE       the exact account of all cache lines, as JSON, when the machine ends
  --out DIR           DIR is this machine's own in the guest, writable
  --kernel FILE       your own vmlinux or bzImage, in place of the memio kernel
  --append memio=off  memio leaves the counters alone: for code of your own that programs them

  ./run.sh --nvme 256M
  ./run.sh --nvme 256M --ledger l.json -- dd if=/dev/nvme0n1 of=/dev/null bs=1M iflag=direct
  ./run.sh --nvme 256M --append memio=off -- ./victims /dev/nvme0n1
EOF
}

case ${1:-} in
--help|-h) usage; exit ;;
--help-all) set -- --help ;;
esac
exec "$here/ci/vm" "$@"
