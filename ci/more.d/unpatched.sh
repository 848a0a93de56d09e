# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For the tests unpatched-*: the same cases (ci/tests/guest/unpatched) on Debian's own kernels, where
# memio counts by BPF programs, and on the patched one, beside the disk's and the interface's own
# counts and the ledger.

# shellcheck disable=SC2154 # those of tests/lib.sh

need bpftool btrfs-progs dmsetup e2fsprogs fio gcc iperf3 iproute2 iputils-ping jq kmod libc6-dev linux-perf mdadm mount \
	python3 tmux util-linux xfsprogs

table=${MEMIO_UNPATCHED_CASES:-$memio_top/ci/more.d/unpatched-cases.tsv}
known=$memio_top/ci/more.d/unpatched-known.tsv
mapfile -t cases < <(sed -n '/^#/!s/\t.*//p' "$table")

# debian_vm RELEASE: sets $vm_with to what ci/vm is to be given for that release's kernel
debian_vm() {
	local guest kernel

	guest=$("$memio_top/ci/guest/build")
	kernel=$("$memio_top/ci/more.d/debian-kernel" "$1")
	# In virtual time, ci/vm has another initramfs, as a descriptor.
	cat "$guest/initramfs.cpio" "$kernel/more.cpio" >"$tmp/initrd"
	# shellcheck disable=SC2034 # for the tests
	vm_with=(--qemu "$(qemu_that "$guest/initramfs.cpio) args+=('$tmp/initrd') ;;
			/proc/self/fd/5) cat /proc/self/fd/5 '$kernel/more.cpio' >'$tmp/initrd.virtual'
				args+=('$tmp/initrd.virtual') ;;")" --append rdinit=/load
		--kernel "$kernel/vmlinuz")
	version=$(cat "$kernel/version") release=$1
}

# cases_in NAME DIR [OPTION]...: runs them all in one machine. Their figures stay in build/more/unpatched,
# for ci/more.d/unpatched-results; DIR is there, too.
cases_in() {
	local name=$1 dir=$2
	shift 2

	rm -rf "$dir"
	mkdir -p "$dir"
	run_is "the cases run" 0 "$memio_top/ci/vm" "$@" --nvme 4G --net e1000e --virtio-blk 64M --net virtio --sata 64M --timeout 3600 \
		--peer "exec python3 '$memio_top/ci/tests/guest/unpatched.py' peer" \
		--ledger "$dir/ledger" --out "$dir" -- \
		bash "$memio_top/ci/tests/guest/unpatched" "$("$memio_top/ci/tools")/memio" "$dir" "$table"
	[ "$status" = 0 ] || diag "$(tail -n 20 "$tmp/.err")"
	[ "$status" = 0 ] || return 0
	[ "$name" = patched ] || cost_in "$dir/cost" "$@"
	# Without them, all would be 0, and alike.
	run "$memio_top/ci/more.d/unpatched-figures" "$dir"
	is "its figures are there" "$status $(jq '.cases | length' <<<"$out")" "0 ${#cases[@]}"
	[ "$status" = 0 ] || diag "$err"
	printf '%s\n' "$out" >"$dir/figures.json"
	mkdir -p "$memio_top/build/more/unpatched"
	cp "$dir/figures.json" "$memio_top/build/more/unpatched/$name.json"
}

# cost_in DIR [OPTION]...: what the programs cost, in a machine that counts instructions
cost_in() {
	local dir=$1
	shift

	mkdir "$dir"
	check "a load builds" gcc -std=gnu11 -O2 -static -o "$tmp/load" "$memio_top/benchmarks/overhead/load.c"
	# An instruction takes a nanosecond, and the disk answers in the machine's time.
	run "$memio_top/ci/vm" "$@" --virtual --smp 1 --nvme 64M --net e1000e --peer-inside --mem 1G --peer 'iperf3 -s -D' --out "$dir" -- \
		bash "$memio_top/ci/tests/guest/unpatched-cost" "$("$memio_top/ci/tools")/memio" "$tmp/load" "$dir"
	is "the costs are measured" "$status" 0
	[ "$status" = 0 ] || { diag "$(tail -n 20 "$tmp/.err")"; rm -f "$dir/cost"; }
	status=0
}

# cost_of KEY: instructions
cost_of() { jq --arg k "$1" '.cost[$k] // -1' "$dir/figures.json"; }

# of CASE KEY: a figure of the run in $dir
of() { jq --arg c "$1" --arg k "$2" '.cases[$c][$k] // 0' "$dir/figures.json"; }

# between TEXT GOT LEAST MOST
between() {
	check "$1: $2, from $3 to $4" [ "$2" -ge "$3" -a "$2" -le "$4" ]
}

# near TEXT GOT WANTED PERMILLE
near() { between "$1" "$2" $(($3 - $3 * $4 / 1000)) $(($3 + $3 * $4 / 1000)); }

# known_of CASE GROUP: what that group is known to have, and how much that may differ; nothing: as the others
known_of() {
	awk -F '\t' -v name="$1" -v group="$2" -v release="$release" \
		'$1 == name && $2 == group && index("," $3 ",", "," release ",") { print $4, $5 }' "$known"
}

# differs TEXT CASE GROUP WANTED PERMILLE OF MORE: as the table has it of what is known to differ. What is
# right by now is to leave that table.
differs() {
	local got wanted whole

	got=$(of "$2" "$3") whole=$(of "$2" device)
	case $4 in
	0)	wanted=0 ;;
	all)	wanted=$whole ;;
	read)	wanted=$(of "$2" datagrams) ;;
	*)	wanted=$(($4 << 10)) ;;
	esac
	[ "$wanted" = 0 ] || whole=$wanted
	[ "$whole" -gt 0 ] || whole=1
	between "$1 (of 1000), as is known" $((got * 1000 / whole)) $(($6 - $7)) $(($6 + $7))
	check "... which is not what it should have" \
		[ $(((got > wanted ? got - wanted : wanted - got) * 1000)) -gt $(($5 * whole)) ]
}

# owned TEXT CASE GROUP WANTED PERMILLE: what the group is to have, as the table has it
owned() {
	local of more

	read -r of more < <(known_of "$2" "$3") || :
	[ -z "$of" ] || { differs "$@" "$of" "$more"; return; }
	case $4 in
	all)	near "$1, of what the device moved" "$(of "$2" "$3")" "$(of "$2" device)" "$5" ;;
	# What came when nobody read any more has no owner. iperf3's control is TCP's.
	read)	near "$1, of datagrams that were read" "$(of "$2" "$3")" "$(of "$2" datagrams)" "$5" ;;
	*)	is "$1" "$(of "$2" "$3")" $(($4 << 10)) ;;
	esac
}

# compare: the figures in $dir with the table, and prints them
compare() {
	local name device a b permille

	is "the kernel" "$(jq -r .kernel "$dir/figures.json")" "$version"
	while read -r name device _ a b permille; do
		diag "$name: $(jq -c --arg c "$name" '.cases[$c]' "$dir/figures.json")"
		check "$name: it has moved something" [ "$(of "$name" counter)" -ge 262144 ]
		near "$name: $device, by its own count" "$(of "$name" device)" "$(of "$name" counter)" 1
		# The ledger has descriptors and completions.
		near "$name: ... by the ledger" "$(of "$name" device)" "$(of "$name" ledger)" 30
		owned "$name: the group" "$name" a "$a" "$permille"
		owned "$name: ... and the other" "$name" b "$b" "$permille"
	done < <(grep -v '^#' "$table")
	memory
	diag "instructions: $(jq -c .cost "$dir/figures.json")"
	costs
	# All, and those of the programs, are two measurements: of each, two runs may differ, as costs() has it. A read
	# has two switches besides.
	for name in read packet; do
		between "... of these in the programs" "$(cost_of ${name}_programs)" $(($(cost_of $name) / 3)) \
			$(($(cost_of $name) * 115 / 100))
	done
	between "from the command to the first figure, in ms of a CPU of 10^9 instructions a second" \
		"$(jq '.first_ms // -1' "$dir/figures.json")" 1 5000
	between "8000 switches run a program each" "$(cost_of switch_runs)" 8000 8400
}

# in_bounds CASE MORE: the ledger's memory bytes are within the bounds that memio gives, but for MORE bytes and the
# error of sampling: boxes that do not count have other lines of a ring than those that do, and no bound knows that.
# $inside counts the cases that need neither.
in_bounds() {
	local way got low high error strictly=1

	for way in read write; do
		got=$(of "$1" ledger_$way) low=$(of "$1" mem_${way}_min) high=$(of "$1" mem_${way}_max) error=$(of "$1" sampling_$way)
		between "$1: memory bytes $way, by the ledger; memio's bounds $low and $high, $2 bytes, and sampling's $error" "$got" \
			$((low - $2 - (error > 0 ? error : 0))) $((high + $2 - (error < 0 ? error : 0)))
		[ "$got" -ge "$low" ] && [ "$got" -le "$high" ] || strictly=0
	done
	inside=$((${inside:-0} + strictly))
}

# memory: the estimates of memory bytes, by perf's counters, beside the ledger: within 3 % of what the device
# moved. Three of the eight boxes of the cache count reads, so what they do not see alike is no fault. Bounds hold but
# for lines between a mark and the first or last sample, and say something in most cases.
memory() {
	local name way bound error wanted narrow=0

	for name in "${cases[@]}"; do
		bound=$(($(of "$name" ledger) * 30 / 1000))
		for way in read write; do
			error=$(of "$name" sampling_$way) wanted=$(of "$name" ledger_$way)
			between "$name: memory bytes $way, ledger $wanted, by these boxes $((wanted + error))" "$(of "$name" mem_$way)" \
				$((wanted + (error < 0 ? error : 0) - bound)) $((wanted + (error > 0 ? error : 0) + bound))
		done
		in_bounds "$name" 1024
		[ $(($(of "$name" mem_read_max) - $(of "$name" mem_read_min) + $(of "$name" mem_write_max) - $(of "$name" mem_write_min))) -gt \
			$(($(of "$name" ledger) / 4)) ] || narrow=$((narrow + 1))
	done
	diag "~ cases_in_bounds $inside of ${#cases[@]}"
	check "bounds are no further apart than a quarter of what the device moved: $narrow of ${#cases[@]} cases" \
		[ $narrow -ge $((${#cases[@]} / 2)) ]
}

# costs: what a read and packets take, in instructions
costs() {
	# As docs/RESULTS.md has them; two runs differ by 30 at most.
	if [[ $version == 6.1.* ]]; then
		near "a direct read takes, with its two switches" "$(cost_of read)" 1696 150
		near "... a switch" "$(cost_of switch)" 421 150
		near "... a packet, from one interface to another" "$(cost_of packet)" 1519 150
		near "... one that is received, in programs" "$(cost_of received_programs)" 1072 150
		near "... a segment of TCP" "$(cost_of segment_programs)" 1329 150
		near "... a page that is made dirty and written back" "$(cost_of page_programs)" 718 150
		return
	fi
	near "a direct read takes, with its two switches" "$(cost_of read)" 1791 150
	near "... a switch" "$(cost_of switch)" 469 150
	near "... a packet, from one interface to another" "$(cost_of packet)" 1332 150
	near "... one that is received, in programs" "$(cost_of received_programs)" 981 150
	near "... a segment of TCP" "$(cost_of segment_programs)" 1211 150
	near "... a page that is made dirty and written back" "$(cost_of page_programs)" 733 150
}

# has_ended NAME STATUS: so a command of guest/unpatched ended
has_ended() {
	is "$1: status" "$(cat "$dir/everyday-$1.status")" "$2"
	[ "$(cat "$dir/everyday-$1.status")" = "$2" ] || diag "$(head -n 5 "$dir/everyday-$1.err")"
}
all_of() { cat "$dir/everyday-$1.out" "$dir/everyday-$1.err"; }

# on_terminal: memio top by tmux, on both backends
on_terminal() {
	like "top on a terminal shows the group that reads" "$(grep ' a ' "$dir/screen-groups")" '[0-9][KM] '
	like "... the key d shows the disk" "$(grep nvme0n1 "$dir/screen-devices")" '[0-9][KM] '
	like "... the key q ends it, with status 0" "$(cat "$dir/screen-end")" 'status=0'
}

# everyday: each command, as far as this kernel can
everyday() {
	on_terminal
	has_ended run 0
	like "run says what its command moved" "$(all_of run)" 'command dd, .*nvme0n1 .* 8\.[34][0-9]* MB'
	has_ended run-limit 77
	like "... with a limit it can't, and says why" "$(all_of run-limit)" 'memio run: .*kernel'
	check "... and does not run the command" test ! -e "$dir/ran"
	for name in limit-show limit-set; do
		has_ended $name 77
		like "... and says why" "$(all_of $name)" 'memio limit: .*kernel'
	done
	has_ended interval 0
	is "stat -I: three intervals" "$(awk -F, 'NR > 1 { print $2 }' "$dir/everyday-interval.out" | sort -u | wc -l)" 3
	has_ended table 0
	like "stat of a command" "$(all_of table)" 'command dd, .*nvme0n1 .*8\.[34][0-9]* MB'
	is "... whenever its command ends, of eight" "$(grep -cE 'nvme0n1 .* 8\.[34][0-9]* MB' "$dir/tables")" 8
	has_ended record 0
	has_ended replay 0
	like "what was recorded is shown" "$(all_of replay)" 'memio replay  groups, .*3 of 3'
	has_ended doctor 0
	like "doctor says what the patched kernel would add" "$(all_of doctor)" 'hint .*-> '
}

# watched: doctor --watch, while a disk is read: what the memory controllers counted is no more than the ledger has,
# whose marks are outside; and memio explains no more than that, and most of what is written
watched() {
	local counted explained lines

	has_ended watch 0
	like "doctor --watch says what the memory controllers counted" "$(all_of watch)" \
		'ok +in 3 seconds the memory controllers counted .* written, of which memio explains '
	read -r counted explained < <(jq -r '.watch.write | "\(.controllers_bytes // 0) \(.bytes)"' "$dir/watched")
	lines=$(jq -r -L "$memio_top/ci/tests" 'include "ledger"; inner("watch") | .dram.write_lines * 64 | floor' "$dir/ledger")
	between "... written: $counted bytes, in the ledger $lines" "$counted" 100000 "$lines"
	between "... of which memio explains $explained" "$explained" $((counted * 8 / 10)) $((counted * 102 / 100))
	is "... in each of the seconds" \
		"$(jq -r '.watch | "\(.seconds) \(.controllers_seconds) \([.write.rates[].seconds] | add)"' "$dir/watched")" '3 3 3'
}

# left_alone: what doctor and top say, and what is left of the programs
left_alone() {
	is "doctor finds nothing wrong" "$(cat "$dir/doctor.status")" 0
	is "... and says which backend it is" "$(jq -r .backend "$dir/doctor")" bpf
	is "... and what a patched kernel would add" \
		"$(jq -r '.findings[] | select(.check == "kernel") | "\(.level) \(.code)"' "$dir/doctor")" 'hint bpf'
	like "top shows the disk's reader" "$(cat "$dir/top")" ' a +0 +[0-9.]+[KMG] +[0-9.]+[KM]?~? +[0-9.]+[KMG]?~? +[0-9.]+[KMG]? '
	is "... as JSON, a task that reads" "$(jq -s '[.[].rows[] | select(.io_from_bps > 1000000)] | length > 0' "$dir/top.json")" true
	is "stat has memory bytes, by perf's counters" "$(jq -c '[.targets[0].memory, (.targets[0].lines[0].mem_read_bytes | type)]' \
		"$dir/fsync.json")" '[null,"number"]'
	is "doctor says where memory bytes are from" \
		"$(jq -r '.findings[] | select(.check == "source") | "\(.level) \(.code)"' "$dir/doctor")" 'ok perf'
	is "without the driver of the counters, memory bytes are absent" \
		"$(jq -c '[.targets[0].memory, .targets[0].lines[0].mem_read_bytes]' "$dir/without.json")" '["absent",null]'
	is "no program is left" "$(cat "$dir/left")" 0
	everyday
	like "another user is told what to type" "$(cat "$dir/user")" 'type: sudo .*stat --seconds 1'
	like "... by status 77" "$(tail -n 1 "$dir/user")" 'status 77'
	has_ended doctor-user 77
	like "... doctor says it, too" "$(all_of doctor-user)" $'unable +this kernel has no memio, and this user may not load .*\n +-> sudo memio doctor'
	watched
}
