# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For tests of the packages of a patched kernel: what is in them, and what works where Debian's own QEMU, as
# it comes, has booted a fresh root of this machine's Debian into which apt has installed them. Source it after
# tests/lib.sh and root.sh. There is no counter there: accounting, a limit by IO bytes and the tools work, and
# say that memory bytes are upper bounds.

# shellcheck disable=SC2154 # those of tests/lib.sh and root.sh

need e2fsprogs jq qemu-system-x86

# kernel_packages FLAVOUR: makes them and looks at them; $paths are theirs, $tools those of make deb
kernel_packages() {
	local linux base version

	cd "$memio_top" || exit 1
	run_is "make deb-kernel" 0 ci/kernel/deb "$1"
	[ "$status" = 0 ] || { diag "$(tail -n 30 "$tmp/.err")"; done_testing; }
	mapfile -t paths <<<"$out"
	run_is "make deb" 0 ci/deb
	[ "$status" = 0 ] || done_testing
	mapfile -t tools <<<"$(grep -E '/(memio|libmemio0)_' <<<"$out")"

	image=$(printf '%s\n' "${paths[@]}" | grep /linux-image-)
	package=$(dpkg-deb -f "$image" Package) version=$(dpkg-deb -f "$image" Version)
	release=${package#linux-image-}
	linux=${release%%-*}
	diag "$package $version: $(stat -c %s "$image") bytes, installed $(dpkg-deb -f "$image" Installed-Size) KiB"
	is "there are an image and headers, without debug information" "$(printf '%s\n' "${paths[@]##*/}" | sed 's/_.*//' | xargs)" \
		"linux-headers-$release linux-image-$release"
	older() { dpkg --compare-versions "$1" lt "$2"; }
	check "the version is newer than that of Debian's source" older "$linux-1" "$version"
	check "... and older than that of the next one" older "$version" "${linux%.*}.$((${linux##*.} + 1))-1"
	base=${version%%~git*}
	check "... a commit's is older than its release's" older "$base~git20261129.000000-1" "$base-1"
	check "... and than a later commit's" older "$base~git20261129.000000-1" "$base~git20261129.000001-1"
	mkdir "$tmp/image"
	dpkg-deb -x "$image" "$tmp/image"
	zcat "$tmp/image/usr/share/doc/$package/changelog.Debian.gz" >"$tmp/changelog"
	is "a changelog has that version" "$(dpkg-parsechangelog -l "$tmp/changelog" -S Version)" "$version"
	check "... says which commit it is" grep -q "with memio .*, commit [0-9a-f]\{12\}" "$tmp/changelog"
	check "... and what memio adds" grep -q "memio.stat" "$tmp/changelog"
}

# kernel_root PACKAGE...: a fresh root, with these of Debian's and with ours
kernel_root() {
	debian_root "$(. /etc/os-release && echo "$VERSION_ID")"
	check "the root gets what boots a Debian" \
		in_root apt-get install -y -q --no-install-recommends systemd-sysv udev dbus "$@"
	check "... and keeps nothing more of the archive" in_root apt-get clean
	before=$(there)
	mkdir "$root/debs"
	cp "${paths[@]}" "${tools[@]}" "$root/debs"
	check "apt installs the packages" in_root sh -c 'apt-get install -y -q --no-install-recommends /debs/*.deb'
	rm -r "$root/debs"
	check "the kernel is there" [ -s "$root/boot/vmlinuz-$release" ]
}

# kernel_machine NIC [OPTION]...: boots $tmp/disk in its own machine, with Debian's processor and firmware; the kernel is
# handed over, as a boot loader does. Its CPUs take turns: with a thread for each, QEMU 7.2 may execute the int3 of a
# place that the kernel has patched when the kernel has done with it ("Oops: int3", seen twice in some hundred boots).
kernel_machine() {
	local nic=$1

	shift
	run_is "QEMU ($(qemu-system-x86_64 --version | sed -n 's/.*version //p')) boots it and ends" 0 \
		timeout 1200 qemu-system-x86_64 -accel tcg,thread=single -M q35 -smp 2 -m 1G -display none -no-reboot -serial "file:$tmp/console" \
		-kernel "$root/boot/vmlinuz-$release" -append "root=/dev/vda rw console=ttyS0 panic=-1" \
		-drive "file=$tmp/disk,format=raw,if=virtio,cache=unsafe" -drive "file=$tmp/out.tar,format=raw,if=virtio" \
		-drive "file=$tmp/nvme,format=raw,if=none,id=nvme" -device nvme,drive=nvme,serial=1 \
		-nic "user,model=$nic,guestfwd=tcp:10.0.2.100:80-cmd:cat $tmp/sent" "$@"
}

# kernel_boots NIC [OPTION]...: boots a copy of the root, with this network device and these options of QEMU; there
# deb-kernel-look runs. What it leaves is in the working directory then.
kernel_boots() {
	local start nic=$1

	shift
	cp -a "$root" "$tmp/booted"
	cp ci/more.d/deb-kernel-look "$tmp/booted/root/look"
	echo '/dev/vda / ext4 defaults 0 1' >"$tmp/booted/etc/fstab"
	cat >"$tmp/booted/etc/systemd/system/look.service" <<'UNIT'
[Unit]
After=basic.target systemd-udev-settle.service
Wants=systemd-udev-settle.service
[Service]
Type=oneshot
TimeoutStartSec=infinity
ExecStart=/bin/sh -c 'mkdir -p /root/out && bash /root/look /root/out /dev/nvme0n1'
ExecStopPost=/bin/sh -c 'tar -c -C /root/out . >/dev/vdb; sync; systemctl --no-block poweroff'
[Install]
WantedBy=multi-user.target
UNIT
	ln -s ../look.service "$tmp/booted/etc/systemd/system/multi-user.target.wants/look.service"
	truncate -s 3G "$tmp/disk"
	mke2fs -q -F -t ext4 -d "$tmp/booted" "$tmp/disk"
	rm -rf "$tmp/booted"
	truncate -s 8M "$tmp/out.tar"
	truncate -s 96M "$tmp/nvme"
	head -c 4194304 /dev/zero >"$tmp/sent"
	start=$SECONDS
	kernel_machine "$nic" "$@"
	diag "~ boot_and_look_s $((SECONDS - start))"
	mkdir "$tmp/out"
	check "... what it has found can be unpacked" tar -x -C "$tmp/out" -f "$tmp/out.tar"
	cd "$tmp/out" || exit 1
	# A machine that panics ends, too, and leaves an archive of nothing.
	check "... and is there" [ -s release ]
	[ -s release ] || { diag "$(grep -m 1 -A 40 -E 'BUG:|Oops|WARNING|Kernel panic' "$tmp/console" || tail -n 30 "$tmp/console")"; done_testing; }
}

st() { # NAME STATUS
	is "$1: status" "$(cat "$1.status" 2>/dev/null)" "$2"
	[ "$(cat "$1.status" 2>/dev/null)" = "$2" ] || diag "$(tail -n 5 "$1.err" 2>/dev/null)"
}
# of FILE KEY FIELD: of a memio.stat or membw
of() { sed -n "s/^$2 .*\<$3=\([0-9]*\).*/\1/p" "$1"; }
between() { check "$1: ${2:-nothing}, from $3 to $4" [ "${2:-0}" -ge "$3" -a "${2:-0}" -le "$4" ]; }

# kernel_works: what deb-kernel-look has found
kernel_works() {
	local disk interface

	disk=$(<disk) interface=$(<interface)
	is "the kernel is the package's" "$(<release)" "$release"
	is "systemd is its first process" "$(<first)" systemd
	is "no unit fails" "$(<failed)" ''
	is "the kernel reports no error" "$(grep -cE 'WARNING|BUG:|Oops|Call Trace|rcu.*stall' dmesg)" 0
	is "memio finds no counters" "$(head -n 1 source)" none
	is "... and is off until somebody asks" "$(tail -n 1 source)" 0
	# 64 MiB, and commands and completions
	between "a group's read of a disk" "$(of read.stat "$disk" io_from)" $((64 << 20)) $((64 << 20 | 128 << 10))
	is "... its memory bytes are an upper bound, and marked" "$(of read.stat "$disk" mem_write)" "$(of read.stat "$disk" unpriced_from)"
	is "... one for one" "$(of read.stat "$disk" mem_write)" "$(of read.stat "$disk" io_from)"
	st membw 0
	between "a task's own read, in /proc/self/membw" "$(of membw "$disk" io_from)" $((16 << 20)) $((18 << 20))
	like "... by no counter" "$(head -n 3 membw)" 'source[ :=]+none'
	between "a group's write and fsync" "$(of write.stat total io_to)" $((8 << 20)) $((9 << 20))
	is "what came from the network" "$(<received)" $((4 << 20))
	between "... is the group's that read it" "$(of receive.stat "$interface" io_from)" $((4 << 20)) $(($(<rx_bytes) * 102 / 100))

	st limit 0
	between "a limit of 8 MB/s: 24 MiB take 3.1 s; milliseconds" "$(jq '.interval_ns / 1000000 | floor' limit.json)" 2900 4500
	check "... by stops: $(jq .stopped_usec limit.json) us" [ "$(jq .stopped_usec limit.json)" -gt 1000000 ]
	between "... all bytes are counted" "$(jq '.lines[] | select(.key == "total").io_from_bytes' limit.json)" \
		$((24 << 20)) $((24 << 20 | 128 << 10))
	st free 0
	is "... without one nothing stops" "$(jq .stopped_usec free.json)" 0
	check "a limit of the CPUs' lines is refused, where nobody counts them" [ "$(<cpu.status)" != 0 ]
	like "... with the reason" "$(<cpu.err)" 'does not count what CPUs read'
	is "no scope is left" "$(<left)" 0

	like "doctor says how to switch it on" "$(<before)" 'memio enable|subtree_control'
	st doctor 0
	diag "doctor: $(jq -c '[.findings[] | "\(.check) \(.level) \(.code)"]' doctor)"
	is "... and nothing is wrong" "$(jq -c '[.findings[] | select(.level == "wrong")]' doctor)" '[]'
	is "doctor knows that the kernel has memio" "$(jq -r .backend doctor)" kernel
	st stat 0
	between "memio stat -- dd" "$(jq '.targets[0].lines[] | select(.key == "total").io_from_bytes' stat.json)" \
		$((16 << 20)) $((16 << 20 | 128 << 10))
	st top 0
	like "memio top shows the group with the limit, at its rate" "$(<top)" ' a +[0-9.]+K? +[78]\.[0-9]+M '
	like "... and says that memory bytes are upper bounds" "$(<top)" 'an IO byte counts as a memory byte'
	is "... its reader, as JSON" "$(jq -s '[.[].rows[] | select(.io_from_bps > 1000000)] | length > 0' tasks)" true
	is "limit show" "$(jq -r '.limits[0] | "\(.key)"' shown)" io
}

# kernel_boots_again NIC: the same disk, in which `systemctl enable` was typed: memio's units start with the machine
kernel_boots_again() {
	st enable 0
	cd "$memio_top" || exit 1
	kernel_machine "$1"
	mkdir "$tmp/again"
	check "... what it has found is there" tar -x -C "$tmp/again" -f "$tmp/out.tar"
	cd "$tmp/again" || exit 1
	is "enabled units are active after a boot" "$(paste -sd ' ' boot.active)" 'active active'
	is "... and no unit has failed" "$(<boot.failed)" ''
	is "a rule of /etc/memio.d is a limit" "$(<boot.limit)" 'io bps=8000000'
	between "... 24 MiB are read" "$(of boot.stat "$(<disk)" io_from)" $((24 << 20)) $((24 << 20 | 128 << 10))
	between "... for 3.1 s, most of them stopped; microseconds" "$(sed -n 's/^throttled_usec //p' boot.events)" 1000000 6000000
	like "the exporter answers" "$(<boot.metrics)" '^HTTP/1\.[01] 200 '
	like "... with the limit" "$(grep '^memio_limit.*look.service' boot.metrics)" '8e\+06|8000000'
}

# kernel_purge: nothing is left of them
kernel_purge() {
	cd "$memio_top" || exit 1
	check "apt purges them" in_root sh -c "apt-get purge -y -q 'linux-*-$release' memio libmemio0 && apt-get autoremove -y -q --purge"
	is "... nothing is left" "$(diff <(echo "$before") <(there))" ''
	is "... of which dpkg knows, either" "$(grep -cE '^Package: .*memio' "$root/var/lib/dpkg/status")" 0
}
