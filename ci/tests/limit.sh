# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For the tests of memio.limit: source it after lib.sh. machine() runs parts of the guest's
# script below; held() and its like compare with the ledger what the groups have moved.

# shellcheck disable=SC2034,SC2154 # which are those that source it, and lib.sh

. "$(dirname "$0")/core.sh"
need fio gcc iperf3 libc6-dev liburing-dev util-linux xfsprogs linux-perf

kernel=$("$memio_top/ci/kernel/build" "${MEMIO_TEST_KERNEL:-patched}")
tick_us=$((1000000 / $(sed -n 's/^CONFIG_HZ=//p' "$kernel/config")))
mkdir "$tmp/out"
for program in more diskio pollring attach boosted briefly evade execs wqring wqchain; do
	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -static -pthread -o "$tmp/$program" \
		"$memio_top/ci/tests/guest/$program.c" -luring
done
cat "$memio_top/ci/tests/guest/waits.sh" - >"$tmp/guest" <<'END_GUEST'
set -Eeu
trap 'echo "# line $LINENO: status $? of $BASH_COMMAND" >&2' ERR
out=$1 core=$2 programs=${0%/*} M=$((1 << 20))
mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null || :
cg=/sys/fs/cgroup
# Numbers come in no order.
slot() { readlink -f /dev/disk/by-path/pci-0000:00:0$1.0* || :; }
disk=$(slot 3) other=$(slot 4)
echo +memio >$cg/cgroup.subtree_control
echo on >$cg/memio.cpu
mkdir $cg/io $cg/cpu $cg/mix $cg/outer $cg/free $cg/evade
for g in outer evade; do echo +memio >$cg/$g/cgroup.subtree_control; done
mkdir $cg/outer/inner $cg/evade/a $cg/evade/b

# in_group GROUP COMMAND...: in the background; $pid
in_group() {
	local g=$1
	shift
	(echo 0 >$cg/$g/cgroup.procs; exec "$@") >/dev/null &
	pid=$!
	# Who is to be killed with the group has to be there.
	by 60 "is_in $g $pid || [ ! -e /proc/$pid ] || grep -qs '^State:.Z' /proc/$pid/status"
}
is_in() {
	local procs

	mapfile -t procs <$cg/$1/cgroup.procs
	[[ " ${procs[*]} " == *" $2 "* ]]
}
# window NAME GROUP COMMAND...: two marks and the group's events, around what the command waits for
window() {
	local name=$1 g=$cg/$2/memio.events
	shift 2

	ledger-mark "$name:begin" >/dev/null
	sed "s/^/$name:begin /" "$g" "${g%events}stat" >>"$out/events"
	"$@"
	sed "s/^/$name:end /" "$g" "${g%events}stat" >>"$out/events"
	ledger-mark "$name:end" >/dev/null
}
# twice NAME GROUP BYTES: two windows, NAME.1 and NAME.2, in each of which so much is charged
twice() {
	for i in 1 2; do window "$1.$i" "$2" more "$2" "$3"; done
}
disk_io() { # GROUP read|write KIB: 8 requests are under way at a time; tag 30
	in_group "$1" $programs/diskio $disk $2 $(($3 * 1024)) 8 30
	# The first of them are paid.
	$more 600 $2s ${disk##*/} 16
}
end() { kill "$@"; wait "$@" 2>/dev/null || :; }
# beside_it GROUP: a task that can be stopped, $keeper: a limit for real-time tasks alone is refused
beside_it() { in_group "$1" sleep 10000; keeper=$pid; }
# Until CPUs are counted
counted() { by 20 "grep -q '^cpu .*valid=1' $cg/memio.stat"; }
# stream GROUP TAG: reads memory until it is killed; its buffer, which was made dirty, is paid for
stream() {
	counted
	in_group "$1" "$core" task "$2" load 8388608 1000000
	more "$1" $((3 * 8 * M)) cpu
}

disk_limits() {
	echo "io bps=20000000" >$cg/io/memio.limit
	disk_io io read 128
	twice read20 io $((22 * M))
	echo "io bps=50000000" >$cg/io/memio.limit
	more io $M; twice read50 io $((22 * M))
	echo "io bps=max" >$cg/io/memio.limit
	# What a disk reads is written to memory. Of what is read there it has commands only.
	echo "default rbps=1000000 wbps=10000000" >$cg/io/memio.limit
	more io $M; twice default10 io $((22 * M))
	# It has a line of its own from now on.
	echo "${disk##*/} wbps=20000000" >$cg/io/memio.limit
	more io $M; twice named20 io $((22 * M))
	end $pid
	echo "${disk##*/} wbps=max" >$cg/io/memio.limit
	echo "default rbps=max wbps=max" >$cg/io/memio.limit
	echo "${disk##*/} rbps=30000000" >$cg/io/memio.limit
	disk_io io write 128
	twice write30 io $((22 * M))
	cat $cg/io/memio.limit >"$out/limit"
	echo "${disk##*/} rbps=max" >$cg/io/memio.limit
	echo "io rbps=10000000 wbps=1000000" >$cg/io/memio.limit
	more io $M; twice write10 io $((22 * M))
	end $pid
	echo "io rbps=max wbps=max" >$cg/io/memio.limit

	# under another's limit, with its own that is higher
	echo "total bps=25000000" >$cg/outer/memio.limit
	echo "io bps=10000000000" >$cg/outer/inner/memio.limit
	disk_io outer/inner read 128
	twice nested25 outer $((22 * M))
	# each stop, and how long it was, as tracers see it
	trace=/sys/kernel/tracing
	mountpoint -q $trace || mount -t tracefs none $trace
	frozen() { grep -q "frozen $1" $cg/outer/cgroup.events; }
	# none is under way while it is switched
	echo 1 >$cg/outer/cgroup.freeze
	by 10 "frozen 1"
	settled outer
	cp $cg/outer/memio.events "$out/traced-begin"
	: >$trace/trace
	echo 1 >$trace/events/memio/memio_throttle/enable
	echo 1 >$trace/events/memio/memio_unthrottle/enable
	echo 0 >$cg/outer/cgroup.freeze
	events_more outer throttled 40
	echo 1 >$cg/outer/cgroup.freeze
	by 10 "frozen 1"
	settled outer
	echo 0 >$trace/events/memio/enable
	cp $cg/outer/memio.events "$out/traced-end"
	grep -o "memio_.*throttle: group=$(stat -c %i $cg/outer).*" $trace/trace >"$out/traced" || :
	echo 0 >$cg/outer/cgroup.freeze
	end $pid
	echo "total bps=max" >$cg/outer/memio.limit
	echo "io bps=max" >$cg/outer/inner/memio.limit
}
# settled GROUP: until its events are the same for as long as it could owe something
settled() {
	local was now

	now=$(<$cg/$1/memio.events)
	until was=$now; nap 0.2; now=$(<$cg/$1/memio.events); [ "$was" = "$now" ]; do :; done
}

# iperf3 in both directions
net_limits() {
	local way name bps option

	# What is under way when a window begins is a TCP window.
	echo "4096 131072 262144" >/proc/sys/net/ipv4/tcp_rmem
	echo "4096 65536 131072" >/proc/sys/net/ipv4/tcp_wmem
	for way in receive:5000000:-R send:2000000:; do
		IFS=: read -r name bps option <<-END
			$way
		END
		echo "io bps=$bps" >$cg/io/memio.limit
		in_group io iperf3 -c 192.0.2.1 -t 6000 $option
		more io $((M / 4)); twice net-$name io $((22 * M / 4))
		end $pid
		echo "io bps=max" >$cg/io/memio.limit
	done
}

# evading KIND TAG: it has begun, and so is tagged; its parent is $pid
evading() {
	rm -f /tmp/evading
	in_group free "$programs/evade" "$1" "$2" $cg/evade
	by 60 "[ -e /tmp/evading ] || ! kill -0 $pid"
	kill -0 $pid
}
# evades KIND TAG BPS BYTES [MS]: what it has without a limit, and with one; a mark each MS
evades() {
	local marks=

	# Not reached, and CPUs are counted.
	echo "cpu bps=1000000000000" >$cg/evade/memio.limit
	counted
	evading "$1" "$2"
	window "free-$1" evade more evade $((4 * M)) cpu
	# Refused while all of its tasks are in a class that no limit holds.
	by 60 "echo 'cpu bps=$3' 2>/dev/null >$cg/evade/memio.limit"
	more evade $M cpu
	if [ -n "${5:-}" ]; then "$core" marks "$5" & marks=$!; fi
	window "$1" evade more evade "$4" cpu
	[ -z "$marks" ] || end $marks
	end $pid
	echo 1 >$cg/evade/cgroup.kill
	by 60 "grep -q 'populated 0' $cg/evade/cgroup.events"
}
# Processes that have asked a disk for something, and are gone: what it moves for them is their
# group's.
io_evasions() {
	local kind bps under_way maker

	for kind in reads:800000:4 aio:2000000:32 uring:2000000:32; do
		IFS=: read -r kind bps under_way <<-END
			$kind
		END
		under_way=$((under_way * 65536))
		# Not reached
		echo "io bps=1000000000000" >$cg/evade/memio.limit
		in_group free "$programs/briefly" $kind $disk $cg/evade/a
		maker=$pid
		read_more $disk 100
		window free-$kind evade more evade $((4 * M))
		echo "io bps=$bps" >$cg/evade/memio.limit
		# what it owes for what was under way
		more evade $under_way; window $kind evade more evade $((22 * under_way))
		end $maker
		by 60 "echo 1 >$cg/evade/cgroup.kill; grep -q 'populated 0' $cg/evade/cgroup.events"
		echo "io bps=max" >$cg/evade/memio.limit
	done
}
# With one CPU
evasions() {
	local tag=10 kind stat

	for kind in naps forks classes groups; do
		evades $kind $tag 20000000 $((8 * M))
		tag=$((tag + 1))
	done
	# One that is not stopped: it is accounted, and the rest of its group pays.
	echo "cpu bps=20000000" >$cg/evade/memio.limit
	sed 's/^/paid:begin /' $cg/evade/memio.events >>"$out/events"
	evading rt $tag
	mapfile -t stat <$cg/evade/memio.stat
	window rt evade more evade $((64 * M)) cpu
	sed 's/^/paid:end /' $cg/evade/memio.events >>"$out/events"
	printf 'begin %s\n' "${stat[@]}" >"$out/rt"
	mapfile -t stat <$cg/evade/memio.stat
	printf 'end %s\n' "${stat[@]}" >>"$out/rt"
	end $pid
	echo "cpu bps=max" >$cg/evade/memio.limit
}
# With two, between which it goes to and fro
cpu_evasions() {
	# What interrupts and ends of switches read in its address space, 6 to 8 lines for each stop, no group
	# pays: of the bytes of a stop at 10 MB/s that is not yet much.
	evades cpus 20 10000000 $((12 * M))
	evades threads 21 10000000 $((6 * M)) 2
	echo "cpu bps=max" >$cg/evade/memio.limit
}

# A disk reads 128 KiB each 32 ms into a buffer that the cache has room for, until somebody reads
# so much memory that it has not. A budget is to be more than a request.
pollution() {
	local io

	echo 100000 >/sys/kernel/memio/period_us
	echo "io bps=4500000" >$cg/io/memio.limit
	in_group io fio --name=io --filename=$disk --rw=read --bs=128k --ioengine=psync --direct=1 \
		--thinktime=32000 --size=512m --time_based --runtime=6000
	io=$pid
	read_more $disk 8
	window alone io read_more $disk 60
	in_group free "$core" run load 1000000
	read_more $disk 15
	window polluted io read_more $disk 30
	# It is stopped for that, if there is no room for it.
	echo "io bps=1000000" >$cg/io/memio.limit
	read_more $disk 4; window no-room io read_more $disk 8
	end $pid $io
	echo "io bps=max" >$cg/io/memio.limit
	echo 1000 >/sys/kernel/memio/period_us
}

# What CPUs write back is shared out by what they read: one that only reads beside one that stores
# to all that it reads. Each is limited in turn; the other has a rate, too, or nearly all were its.
neighbours() {
	local reader storer

	echo 20000 >/sys/kernel/memio/period_us
	echo "cpu bps=max rbps=15000000" >$cg/cpu/memio.limit
	echo "cpu bps=max rbps=15000000" >$cg/mix/memio.limit
	counted
	in_group cpu "$core" task 17 load 8388608 1000000; reader=$pid
	in_group mix "$core" task 18 store 8388608 1000000; storer=$pid
	# Their buffers, which were made dirty, are paid for.
	more cpu $((30 * M)) cpu
	# of NAME GROUP: the first bytes are at the limit before
	of() { more $2 800000 cpu; window $1 $2 more $2 6000000 cpu; }
	echo "cpu bps=4000000" >$cg/cpu/memio.limit
	of reader cpu
	echo "cpu bps=max rbps=4000000" >$cg/cpu/memio.limit
	of reader-rbps cpu
	echo "cpu rbps=15000000" >$cg/cpu/memio.limit
	echo "cpu bps=4000000" >$cg/mix/memio.limit
	of storer mix
	echo "cpu bps=max wbps=800000" >$cg/mix/memio.limit
	of storer-wbps mix
	end $reader
	echo "cpu wbps=4000000" >$cg/mix/memio.limit
	# Who looked would read, and so pay a part.
	nap 0.5; window storer-alone mix nap 1.5
	end $storer
	echo "cpu rbps=max" >$cg/cpu/memio.limit
	echo "cpu rbps=max wbps=max" >$cg/mix/memio.limit
	echo 1000 >/sys/kernel/memio/period_us
}

cpu_limits() {
	# Of bps it would pay a part of what others write back (memio.rst, Limits).
	echo "cpu rbps=20000000" >$cg/cpu/memio.limit
	stream cpu 1
	twice cpu20 cpu $((16 * M))
	end $pid
	echo "cpu rbps=max" >$cg/cpu/memio.limit
	echo "total bps=60000000" >$cg/mix/memio.limit
	disk_io mix read 512; first=$pid
	stream mix 2
	twice mix60 mix $((22 * 4 * M))
	end $first $pid
	echo "total bps=max" >$cg/mix/memio.limit
}

# any_10ms NAME BPS [signals]: the most that is read in any of them
any_10ms() {
	echo "cpu bps=$2" >$cg/cpu/memio.limit
	(echo 0 >$cg/cpu/cgroup.procs; exec "$core" windows 1 10 $((80 * M)) ${3:+"$3"}) >"$out/$1" &
	pid=$!
	# first it pays for its buffer, which was made dirty
	more cpu $((32 * M)) cpu; window "$1" cpu more cpu $((40 * M)) cpu
	wait $pid
}

# All of the time is there: the guest's own. Most of it the task is stopped, which costs
# nothing.
exact() {
	echo "cpu bps=20000000" >$cg/cpu/memio.limit
	stream cpu 1
	window exact20 cpu more cpu $((64 * M)) cpu
	echo "cpu bps=max rbps=100000000" >$cg/cpu/memio.limit
	more cpu $((16 * M)); window exact100 cpu more cpu $((128 * M)) cpu
	# 80 % of what the memory gives
	echo "cpu bps=max rbps=107374182" >$cg/cpu/memio.limit
	more cpu $((16 * M)); window exact107 cpu more cpu $((128 * M)) cpu
	end $pid
	any_10ms any20 20000000
	any_10ms any100 100000000
	# one without a limit reads before it, fast
	in_group free "$core" bursts 2 262144 10; beside=$pid
	any_10ms any21 21000000
	end $beside
	# one whose signals keep it from user mode's edge, each for a moment
	any_10ms any22 22000000 signals
}

ok() { echo "ok $*"; }
not_ok() { echo "not ok $*"; }
yes() { local text=$1; shift; if eval "$*"; then ok "$text"; else not_ok "$text"; fi; }
# soon TEXT COMMAND: in a minute of the machine's; left alone, it would never be
soon() {
	local text=$1
	shift
	if by 60 "$*"; then ok "$text"; else not_ok "$text"; fi
}
dirty() { awk '/^(Dirty|Writeback):/ { kb += $2 } END { print kb * 1024 }' /proc/meminfo; }
event() { event_of dirt "$1"; echo $n; }
sectors() { awk '{ print $7 }' /sys/block/${1##*/}/stat; }	# written to DISK
# periods N: so long nothing is to happen
periods() { nap $(($1 / 1000)).$(printf %03d $(($1 % 1000))); }

# What is written to files: the flusher writes nothing before it is told to. (With 0
# instead it looks each time a disk gets its first dirty page.)
all_buffered() {
	local before dirty name stopped stops sectors to us

	echo 1000000 >/proc/sys/vm/dirty_writeback_centisecs
	echo 80 >/proc/sys/vm/dirty_ratio
	echo 70 >/proc/sys/vm/dirty_background_ratio
	mkfs.xfs -q $other
	mkdir -p /run/e $cg/dirt
	mount -o noatime $other /run/e
	dd if=/dev/zero of=/run/e/f bs=1M count=64 status=none
	sync
	echo "io bps=5000000" >$cg/dirt/memio.limit
	exec 8<>$disk # who closes it last writes its pages
	for to in file:/run/e/f disk:$disk; do
		name=${to%%:*} to=${to#*:}
		ledger-mark "buffered-$name:begin" >/dev/null
		stops=$(event throttled) before=$(dirty)
		LC_ALL=C in_group dirt dd if=/dev/zero of=$to bs=24M count=1 conv=notrunc 2>/tmp/took
		by 60 "[ \$((\$(dirty) - before)) -gt 1000000 ]"
		us=${EPOCHREALTIME/./} dirty=$(dirty)
		by 60 "[ \$((\$(dirty) - dirty)) -gt 18000000 ]"
		dirty=$(($(dirty) - dirty)) us=$((${EPOCHREALTIME/./} - us))
		# Folios are charged as they are: of xfs they have up to 2 MiB.
		yes "$dirty more are dirty after $us us" \
			"[ $dirty -le $((us * 515 / 100 + 2 * M)) -a $dirty -ge $((us * 485 / 100 - 2 * M)) ]"
		wait $pid
		ledger-mark "buffered-$name:end" >/dev/null
		us=$(awk '/copied/ { for (i = 1; i < NF; i++) if ($(i + 1) == "s,") printf "%d", $i * 1e6 }' /tmp/took)
		yes "24 MiB in one write() to $to take $us us" "[ $us -ge 4880000 -a $us -le 5190000 ]"
		yes "the group was stopped meanwhile" "[ $(event throttled) -gt $stops ]"
		stopped=$(event throttled_usec)
		ledger-mark "synced-$name:begin" >/dev/null
		sync
		ledger-mark "synced-$name:end" >/dev/null
		periods 200
		stopped=$(($(event throttled_usec) - stopped))
		# but for the last bytes, and the journal
		yes "nor is it again when they are written, but for $stopped us" "[ $stopped -lt 200000 ]"
	done
	# What is dirtied while it is being written, again and again
	for to in file:/run/e/f disk:$disk; do
		name=${to%%:*} to=${to#*:}
		case $name in file) sectors=$(sectors $other) ;; disk) sectors=$(sectors $disk) ;; esac
		in_group dirt fio --name=again --filename=$to --rw=write --bs=64k --size=1m --overwrite=1 \
			--sync_file_range=write:1 --time_based --runtime=6000
		case $name in
		file) soon "fio writes to $to" "[ \$(sectors $other) -gt $((sectors + 2048)) ]" ;;
		disk) soon "fio writes to $to" "[ \$(sectors $disk) -gt $((sectors + 2048)) ]" ;;
		esac
		more dirt $M; window "again-$name" dirt more dirt $((8 * M))
		end $pid
		sync
	done
	exec 8>&-
	yes "no debt was forgiven" "[ $(event forgiven_bytes) = 0 ]"

	# those that were dirty before
	in_group dirt dd if=/dev/zero of=/run/e/f bs=64k count=16 conv=notrunc status=none
	wait $pid
	# at the price of what was moved last, which came from the cache: so once more
	free=1 paid=0
	for i in 1 2 3 4 5; do
		echo "io bps=max" >$cg/dirt/memio.limit
		in_group dirt dd if=/dev/zero of=/run/e/f bs=4M count=1 conv=notrunc status=none
		wait $pid
		echo "io bps=2000000" >$cg/dirt/memio.limit
		stopped=$(event throttled)
		in_group dirt dd if=/dev/zero of=/run/e/f bs=4M count=1 conv=notrunc status=none
		wait $pid
		[ "$(event throttled)" = "$stopped" ] || free=0
		sync
		periods 20
		[ "$(event throttled)" = "$stopped" ] || { paid=1; break; }
	done
	yes "what is dirty already is free" "[ $free = 1 ]"
	yes "but then what nobody has paid for is paid" "[ $paid = 1 ]"
	# fails-on: af7a0f9, where the group owed what was never written
	sync
	echo "io bps=max" >$cg/dirt/memio.limit
	echo "io bps=50000" >$cg/dirt/memio.limit
	before=$(dirty)
	in_group dirt dd if=/dev/zero of=/run/e/more bs=1M count=1 status=none
	soon "1 MiB is dirty, 20 s of the limit" "[ \$((\$(dirty) - before)) -ge 1000000 ]"
	us=${EPOCHREALTIME/./}
	truncate -s 0 /run/e/more
	wait $pid
	us=$((${EPOCHREALTIME/./} - us))
	yes "truncated before it is written it is not owed: $us us" "[ $us -lt 5000000 ]"
	rm /run/e/more
	echo "io bps=20000000" >$cg/dirt/memio.limit

	in_group dirt fio --name=ring --filename=/run/e/ring --rw=write --bs=64k --size=8m \
		--ioengine=io_uring --fallocate=none
	yes "io_uring's requests, which must not wait, are done" "wait $pid && [ \$(stat -c %s /run/e/ring) = 8388608 ]"

	# stuck TEXT: one that waits in write(); $pid
	stuck() {
		# who went on to the end has left all of it dirty, which is free
		sync
		echo "io bps=max" >$cg/dirt/memio.limit
		echo "io bps=1000" >$cg/dirt/memio.limit
		in_group dirt dd if=/dev/zero of=/run/e/f bs=32M count=1 conv=notrunc status=none
		soon "$1" "grep -q '^State:.D' /proc/$pid/status"
	}
	gone() { kill -KILL $pid 2>/dev/null || :; wait $pid 2>/dev/null || :; }
	stuck "who is stopped in write() sleeps"
	kill -KILL $pid
	soon "... and can be killed" "! [ -e /proc/$pid/stat ] || grep -q ') Z' /proc/$pid/stat"
	gone
	stuck "another one sleeps"
	yes "... and does not keep the file system from being frozen" "timeout 60 fsfreeze -f /run/e"
	fsfreeze -u /run/e
	gone
	stuck "one sleeps"
	kill -STOP $pid
	soon "... and SIGSTOP reaches it" "grep -q '^State:.T' /proc/$pid/status"
	gone
	stuck "and one"
	echo 1 >$cg/dirt/cgroup.freeze
	soon "... can be frozen" "grep -q 'frozen 1' $cg/dirt/cgroup.events"
	echo 0 >$cg/dirt/cgroup.freeze
	gone
	stuck "and one"
	yes "... can be traced" "timeout 60 $programs/attach $pid"
	gone
	# waiting HOW: the write of a ring's worker waits; its task does not
	waiting() {
		rm -f /tmp/wq.*
		sync
		echo "io bps=max" >$cg/dirt/memio.limit
		beside_it dirt
		in_group dirt $programs/wqring write /run/e/f $1 /tmp/wq
		by 60 "[ -e /tmp/wq.ready ]"
		echo "io bps=1000" >$cg/dirt/memio.limit
		end $keeper
		: >/tmp/wq.begin
		soon "a worker of io_uring waits ($1)" worker_waits
	}
	worker_waits() {
		local worker
		worker=$(grep -ls '^iou-wrk' /proc/$pid/task/*/comm) || return 1
		grep -qs '^State:.D' "${worker%comm}status"
	}
	waiting exec
	: >/tmp/wq.end
	soon "... and its task can become another program" "[ -e /tmp/wq.done ]"
	gone
	waiting close
	: >/tmp/wq.end
	soon "... the file is in use no more when the ring is closed" "umount /run/e 2>/dev/null"
	yes "... while its process lives" "kill -0 $pid"
	gone

	# without counters, as perf has pinned one before
	echo "io bps=max" >$cg/dirt/memio.limit
	echo never >/sys/kernel/memio/sampling
	soon "nobody samples" "! grep -q armed=1 /sys/kernel/debug/memio/samples"
	# another opcode than memio has in this box
	perf stat -a -e uncore_cbox_0/event=0x35,umask=0x1,filter_opc=0x180/D -- sh -c ': >/tmp/counting; exec sleep 600' 2>/dev/null &
	first=$!
	by 60 "[ -e /tmp/counting ]"
	echo auto >/sys/kernel/memio/sampling
	echo "io bps=1000000" >$cg/dirt/memio.limit
	disk_io dirt read 128
	soon "perf has the counters" "grep -qx 0 /sys/kernel/memio/valid"
	stopped=$(event throttled)
	soon "IO bytes are limited then" "[ \$(event throttled) -gt $((stopped + 3)) ]"
	echo lift >/sys/kernel/memio/without_counters
	# its debt
	read_more $disk 100
	stopped=$(event throttled) us=${EPOCHREALTIME/./}
	read_more $disk 100
	us=$((${EPOCHREALTIME/./} - us))
	yes "... or not at all, if so wanted" "[ $(event throttled) = $stopped ]"
	yes "... 12.5 MiB in $us us" "[ $us -lt 1000000 ]"
	echo io >/sys/kernel/memio/without_counters
	end $first $pid
}
buffered() { all_buffered >"$out/buffered" 2>&1; }

# A stop goes to the CPUs where the group's tasks have run since the one before: a few may have been
# anywhere in the beginning. fails-on: 61c7c74
few_cpus() {
	local trace=/sys/kernel/tracing

	mountpoint -q $trace || mount -t tracefs none $trace
	mkdir $cg/places
	in_group places taskset -c 1 $programs/diskio $disk read 131072 8 30
	read_more $disk 100
	: >$trace/trace
	echo 1 >$trace/events/memio/memio_throttle/enable
	echo "io bps=4000000" >$cg/places/memio.limit
	events_more places throttled 20
	echo 0 >$trace/events/memio/memio_throttle/enable
	grep -o "memio_throttle: group=$(stat -c %i $cg/places) .*" $trace/trace |
		sed 's/.*cpus=//' >"$out/places"
	echo "io bps=max" >$cg/places/memio.limit
	end $pid
}

# A task without a limit is not interrupted for the limits of others. fails-on: 61c7c74
nmis() { awk '$1 == "NMI:" { print $2 + $3 }' /proc/interrupts; }
cpu_bytes() { awk '$1 == "cpu" { sub("mem_read=", "", $2); print $2 }' $cg/$1/memio.stat; }
beside_limits() {
	local before bytes

	echo "cpu bps=1000000000000" >$cg/cpu/memio.limit
	stream free 22
	before=$(nmis) bytes=$(cpu_bytes free)
	more free $((256 * M)) cpu
	echo "$(($(nmis) - before)) $(($(cpu_bytes free) - bytes))" >"$out/beside"
	end $pid
	echo "cpu bps=max" >$cg/cpu/memio.limit
}

# Stopped for as long as we like: a real-time task, which is not stopped, sees to it that
# there is always debt for ten seconds.
g=$cg/mix
cat >/tmp/spin <<'END_SPIN'
trap ': >/tmp/caught' USR1
i=0
while :; do
	i=$((i + 1))
	[ $((i % 1000)) != 0 ] || : >/tmp/running
done
END_SPIN
ticks() { local s; s=$(</proc/$pid/stat); s=${s##*) }; set -- $s; echo $((${12} + ${13})); }
centiseconds() { sed 's/ .*//; s/[.]//' /proc/uptime; }
# It stands still, and does not come back to user mode. Every 10 s it may run for some
# milliseconds, whatever the group owes; so it is looked at up to three times.
still() {
	local text=$1 a b i
	a=$(ticks)
	for ((i = 0; i < 100; i++)); do
		debts 1
		b=$(ticks)
		[ "$a" != "$b" ] || break
		a=$b
	done
	for i in 1 2 3; do
		rm -f /tmp/running
		a=$(ticks)
		debts 3
		b=$(ticks)
		if [ "$a" = "$b" ] && [ ! -e /tmp/running ]; then ok "$text"; return; fi
	done
	not_ok "$text: $((b - a)) ticks"
}
# A signal that it catches waits until it runs. Up to three times, as above.
signal_waits() {
	local i
	for i in 1 2 3; do
		rm -f /tmp/caught
		kill -USR1 $pid
		debts 3
		if [ ! -e /tmp/caught ]; then ok "$1"; return; fi
	done
	not_ok "$1"
}
reads() { reads_of "$1"; echo $n; }
# debts N: while the real-time task makes so many more reads, one each 200 ms, of which each is more
# than the group earns in minutes
debts() { read_more $disk "$1"; }
# quiet TEXT DISK: nothing is read, but in the moments of every 10 s
quiet() {
	local i before
	for ((i = 0; i < 20; i++)); do
		before=$(reads $2)
		debts 8
		if [ "$(reads $2)" = "$before" ]; then ok "$1"; return; fi
	done
	not_ok "$1: $(($(reads $2) - before)) reads"
}
# What tasks of the group have waited for memory, as its file says
pressure() { sed 's/.*total=//' $g/memory.pressure; }
# stopped COMMAND...: a task that is; $pid
stopped() {
	echo "total bps=max" >$g/memio.limit
	rm -f /tmp/running /tmp/caught
	in_group mix "$@"
	by 60 "[ -e /tmp/running ]"
	echo "total bps=1000" >$g/memio.limit
	debts 2
	still "a task of a stopped group uses no CPU (${*##*/})"
}
# With a limit of CPU time besides, and other CPUs: by controllers that its group gets, and loses,
# while it is stopped
grown() { echo $(($(awk -v e="$1" '$1 == e { print $2 }' $g/$2) - ${3:-0})); }
on_cpu() { local s; s=$(</proc/$pid/stat); s=${s##*) }; set -- $s; echo ${37}; }
is_root() { grep -qx root $g/cpuset.cpus.partition; }
other_limits() {
	local before stops us cpu

	stopped bash /tmp/spin
	echo "+cpu +cpuset" >$cg/cgroup.subtree_control
	echo "5000 50000" >$g/cpu.max
	still "and when its group gets a limit of CPU time it is stopped"
	signal_waits "... and waits for both"
	before=$(grown nr_throttled cpu.stat)
	echo "total bps=max" >$g/memio.limit
	soon "it runs when only that is left" "[ -e /tmp/caught ]"
	soon "... and then is stopped for it alone" \
		"[ \$(grown nr_throttled cpu.stat $before) -gt 2 ]"
	echo "total bps=1000" >$g/memio.limit
	still "short of both it is stopped"
	us=${EPOCHREALTIME/./}
	kill -KILL $pid
	wait $pid 2>/dev/null || :
	us=$((${EPOCHREALTIME/./} - us))
	yes "... and is killed in $us us" "[ $us -lt 5000000 ]"
	echo "total bps=max" >$g/memio.limit
	# Each in its turn is the one that leaves less: how long the other limit lets the group run
	# is a matter of the kernel's build.
	echo "1000 50000" >$g/cpu.max
	echo "cpu bps=16000000" >$g/memio.limit
	counted
	before=$(grown nr_throttled cpu.stat)
	in_group mix bash /tmp/spin; us=$pid
	in_group mix $core run load 1
	soon "with both limits a program is stopped for its group's quota" \
		"[ \$(grown nr_throttled cpu.stat $before) -gt 2 ]"
	echo "25000 50000" >$g/cpu.max
	stops=$(grown throttled memio.events)
	soon "... and for its limit of memory" "[ \$(grown throttled memio.events $stops) -gt 10 ]"
	soon "... and comes to its end" "! [ -e /proc/$pid/stat ] || grep -q ') Z' /proc/$pid/stat"
	yes "... of its own accord" "wait $pid"
	end $us
	echo "cpu bps=max" >$g/memio.limit
	echo max >$g/cpu.max

	# It is moved though it is stopped.
	stopped bash /tmp/spin
	cpu=$((1 - $(on_cpu)))
	echo $cpu >$g/cpuset.cpus
	echo root >$g/cpuset.cpus.partition
	yes "its group is a partition" is_root
	still "... in which it is stopped"
	yes "... on the other CPU" "[ \$(on_cpu) = $cpu ]"
	echo "total bps=max" >$g/memio.limit
	soon "... and runs when the limit is lifted" "[ -e /tmp/running ]"
	yes "... there" "[ \$(on_cpu) = $cpu ]"
	echo "total bps=1000" >$g/memio.limit
	still "... and is stopped again"
	echo member >$g/cpuset.cpus.partition
	echo "-cpu -cpuset" >$cg/cgroup.subtree_control
	still "... as when its group has neither controller any more"
	echo "total bps=max" >$g/memio.limit
	soon "... and then it runs" "[ -e /tmp/running ]"
	end $pid
}

# A worker of io_uring that is stopped between two requests of a file; up to three times, as it might not be
chained() {
	local status=3 i

	mkfs.xfs -q $other
	mkdir /run/c $cg/chain
	mount $other /run/c
	dd if=/dev/zero of=/run/c/f bs=1M count=16 status=none
	for i in 1 2 3; do
		sync
		echo 3 >/proc/sys/vm/drop_caches
		echo "${other##*/} bps=10" >$cg/chain/memio.limit
		status=0
		(echo 0 >$cg/chain/cgroup.procs; exec $programs/wqchain /run/c/f) || status=$?
		echo "${other##*/} bps=max" >$cg/chain/memio.limit
		[ $status = 3 ] || break
	done
	yes "what a stopped worker has done before is freed ($i: $status)" "[ $status = 0 ]"
	soon "... and its file is in use no more" "umount /run/c"
	soon "... nor its group" "rmdir $cg/chain"
}

all_stops() {
chained
pressure=$(pressure)
in_group mix chrt -f 1 fio --name=debt --filename=$disk --rw=read --bs=1M --direct=1 \
	--ioengine=psync --thinktime=200000 --size=512m --time_based --runtime=6000
# As long as the group is there
beside_it mix
stopped bash /tmp/spin
yes "its state is R" "grep -q '^State:.R' /proc/$pid/status"
yes "and its status says that memio has stopped it" "grep -q '^MemioStopped:.1' /proc/$pid/status"
kill -STOP $pid
soon "SIGSTOP reaches it" "grep -q '^State:.T' /proc/$pid/status"
kill -CONT $pid
soon "... and SIGCONT" "grep -q '^State:.R' /proc/$pid/status"
still "... and then it is stopped by memio again"
yes "ptrace attaches to it" "timeout 60 $programs/attach $pid"
still "... and when it has detached it is stopped again"
echo 1 >$g/cgroup.freeze
soon "trap 10: it can be frozen" "grep -q 'frozen 1' $g/cgroup.events"
echo 0 >$g/cgroup.freeze
soon "trap 10: ... and thawed" "grep -q 'frozen 0' $g/cgroup.events"
for i in 1 2 3 4 5; do kill -USR1 $pid; done
still "trap 10: a signal that it catches does not let it go"
signal_waits "... and waits until it runs"
taskset -p -c 1 $pid >/dev/null; taskset -p -c 0 $pid >/dev/null; taskset -p -c 0,1 $pid >/dev/null
renice -n 5 -p $pid >/dev/null
still "nor do other CPUs and another priority"
kill -KILL $pid
soon "trap 10: SIGKILL ends it" "! [ -e /proc/$pid/stat ] || grep -q ') Z' /proc/$pid/stat"
wait $pid 2>/dev/null || :

stopped bash /tmp/spin
echo $pid >$cg/free/cgroup.procs
soon "moved to another group it runs" "[ -e /tmp/running ]"
yes "... and its status says so" "grep -q '^MemioStopped:.0' /proc/$pid/status"
echo $pid >$g/cgroup.procs
still "... and moved back it is stopped"
end $pid

stopped bash /tmp/spin
chrt -f -p 1 $pid
soon "in a real-time class it runs" "[ -e /tmp/running ]"
chrt -o -p 0 $pid
still "... and back in the fair class it is stopped"
chrt -d -T 5000000 -D 20000000 -P 20000000 -p 0 $pid
soon "in the deadline class it runs" "[ -e /tmp/running ]"
chrt -o -p 0 $pid
still "... and back in the fair class it is stopped"
end $pid

# It ends the others of its process, who are stopped, and waits for them.
rm -f /tmp/go /tmp/executed
stopped $programs/execs /tmp/go /usr/bin/touch
yes "one of its threads, of a real-time class, is there" "timeout 60 sh -c ': >/tmp/go'"
soon "a thread that is not stopped becomes another program" "[ -e /tmp/executed ]"
soon "... the others of its process are gone" "! [ -e /proc/$pid/stat ] || grep -q ') Z' /proc/$pid/stat"
wait $pid 2>/dev/null || :

# kworkers_ticks: how long they have run
kworkers_ticks() { cat /proc/[0-9]*/stat 2>/dev/null | awk '$2 ~ /^\(kworker\/u/ { n += $14 + $15 } END { print n + 0 }'; }
# Requests of a ring, which are not begun. Whoever waits for a worker that is stopped would wait for up
# to ten seconds, and a closed ring's kworker for as long without a break: once it may be the end of these.
for how in exec close; do
	promptly=0
	for i in 1 2 3; do
		rm -f /tmp/wq.*
		echo "total bps=max" >$g/memio.limit
		in_group mix $programs/wqring read $other $how /tmp/wq
		by 60 "[ -e /tmp/wq.ready ]"
		echo "total bps=1000" >$g/memio.limit
		debts 5
		before=$(reads $other)
		: >/tmp/wq.begin
		debts 5
		begun=$(($(reads $other) - before))
		used=$(kworkers_ticks)
		: >/tmp/wq.end
		debts 10
		used=$(($(kworkers_ticks) - used))
		if [ -e /tmp/wq.done ] && [ "$begun" -lt 32 ] && [ $used -lt 50 ]; then
			promptly=$((promptly + 1))
		fi
		kill -KILL $pid 2>/dev/null || :
		wait $pid 2>/dev/null || :
	done
	yes "$how: what stopped workers have is cancelled at once, $promptly of 3 times" "[ $promptly -ge 2 ]"
done

# Up to three times, as it might run by itself in the moment that it has after ten seconds
stopped $programs/boosted /tmp/lock
boosted=0
for i in 1 2 3; do
	before=$(awk '$1 == "throttled" { print $2 }' $g/memio.events)
	rm -f /tmp/locked
	: >/tmp/lock
	by 4 "[ -e /tmp/locked ]" || break
	boosted=1
	[ "$(awk '$1 == "throttled" { print $2 }' $g/memio.events)" != $before ] || break
done
yes "who holds a lock that a real-time task waits for runs on" "[ $boosted = 1 -a -e /tmp/locked ]"
still "... and is stopped when it has let go of it"
end $pid

stopped bash /tmp/spin
kill -USR1 $pid
echo "total bps=max" >$g/memio.limit
soon "when the limit is lifted it runs" "[ -e /tmp/running ]"
soon "... and gets its signal" "[ -e /tmp/caught ]"
end $pid

stopped taskset -c 1 bash /tmp/spin
echo 0 >/sys/devices/system/cpu/cpu1/online
yes "its CPU goes offline" "[ \$(cat /sys/devices/system/cpu/cpu1/online) = 0 ]"
still "... and it is stopped on another"
echo 1 >/sys/devices/system/cpu/cpu1/online
end $pid

other_limits

# io_uring's polling thread holds a lock where it would stop, and its process waits for it.
echo "total bps=max" >$g/memio.limit
mkdir $g/poll
in_group mix/poll fio --name=poll --filename=$disk --rw=read --bs=4k --direct=1 \
	--ioengine=io_uring --sqthread_poll=1 --size=512m --time_based --runtime=6000
soon "io_uring's thread polls" "grep -qs '^iou-sqp' /proc/$pid/task/*/comm /proc/[0-9]*/task/*/comm"
echo "total bps=1000" >$g/memio.limit
debts 25
echo 1 >$g/poll/cgroup.kill
soon "... and can be killed" "grep -q 'populated 0' $g/poll/cgroup.events && rmdir $g/poll"

# Its ring may be filled by somebody whom nobody stops.
echo "total bps=max" >$g/memio.limit
before=$(reads $other)
in_group mix $programs/pollring $other $cg/free/cgroup.procs /tmp/touched
soon "one that another group's process fills reads" "reads_of $other; [ \$n -gt $((before + 20)) ]"
echo "total bps=1000" >$g/memio.limit
quiet "... and begins nothing when its own group is stopped" $other
rm -f /tmp/touched
soon "trap 10: ... nor does it keep others from its ring" "[ -e /tmp/touched ]"
poller=$(grep -ls '^iou-sqp' /proc/$pid/task/*/comm)
pid=${poller#/proc/*/task/} pid=${pid%/comm}
quiet "... and still does not" $other
# It looks now and then whether its group may go on.
before=$(ticks) began=$(centiseconds)
debts 15
used=$(($(ticks) - before)) lasted=$(($(centiseconds) - began))
yes "... in which it uses $used of $lasted ticks" "[ $((used * 20)) -le $lasted ]"
pid=${poller#/proc/} pid=${pid%%/*}
kill -KILL $pid
soon "... and can be killed" "! [ -e /proc/$pid/stat ] || grep -q ') Z' /proc/$pid/stat"
wait $pid 2>/dev/null || :
yes "trap 10: memory pressure knows nothing of all that" "[ \"\$(pressure)\" = \"$pressure\" ]"

for i in 1 2 3 4 5 6 7 8 9 10; do in_group mix sleep 1000; done
echo 1 >$g/cgroup.kill
soon "cgroup.kill empties the group" "grep -q 'populated 0' $g/cgroup.events"
yes "and it can be removed" "rmdir $g"
}
stops() { all_stops >"$out/stopped" 2>&1; }

shift 2
for what; do $what; done
END_GUEST
# machine TEXT WHAT... -- OPTION...: its ledger is $tmp/ledger, what else there is in $tmp/out
machine() {
	local text=$1 what=()
	shift
	while [ "$1" != -- ]; do what+=("$1"); shift; done
	shift
	run_is "$text" 0 "$memio_top/ci/vm" --kernel "${MEMIO_TEST_KERNEL:-patched}" --virtual --nvme 1G \
		"$@" --ledger "$tmp/ledger" --out "$tmp/out" -- \
		bash "$tmp/guest" "$tmp/out" "$core" "${what[@]}"
	[ "$status" = 0 ] || {
		[ ! -s "$tmp/out/stopped" ] || diag "$(tail -n 10 "$tmp/out/stopped")"
		done_testing
	}
}
# said FILE N: the checks that the guest has made, all N of them
said() {
	local line

	while IFS= read -r line; do
		case $line in
		'ok '*) ok "${line#ok }" ;;
		'not ok '*) not_ok "${line#not ok }" ;;
		'# '*)	diag "${line#\# }" ;;
		esac
	done <"$1"
	is "all of it was tried" "$(grep -c '^\(not \)\?ok' "$1")" "$2"
}
ledger() { jq -r -L "$memio_top/ci/tests" "include \"ledger\"; inner(\"$1\") | $2 | floor" "$tmp/ledger"; }
# grew NAME EVENT
grew() {
	awk -v n="$1" -v e="$2" '$1 == n ":begin" && $2 == e { a = $3 }
		$1 == n ":end" && $2 == e { b = $3 }
		END { print b - a }' "$tmp/out/events"
}
stopped_us() { grew "$1" throttled_usec; }
# bound NAME BPS JQ INFLIGHT [PERCENT [LESS]]: the bytes of a window, by the ledger, are not more than the limit's bound
# (1.03 of the limit, and INFLIGHT: what devices were asked for when the budget was spent, and a chunk
# of each CPU), and not so much less. The window is as long as that is to hold for. PERCENT: another
# one than 103, as the design document has it. LESS: so much less it may be.
bound() {
	local got us most least

	read -r got us < <(ledger "$1" "($3) * 64, .clock_ns / 1000" | xargs)
	figure "$1" "$got"
	figure "$1-us" "$us"
	most=$(($2 * ${5:-103} * us / 100000000 + $4))
	least=$(($2 * 97 * us / 100000000 - $4 - ${6:-0}))
	diag "$1: $((got * 1000 / (us / 1000))) B/s of $2," \
		"stopped for $(($(stopped_us "$1") * 100 / us)) % of the time"
	check "$1: $us us are no less than 20 x $4 bytes at the limit" [ "$us" -ge $(($4 * 20 * 1000 / ($2 / 1000))) ]
	check "$1: $got bytes by the ledger: $least to $most" [ "$got" -le $most -a "$got" -ge $least ]
}
# held NAME BPS JQ INFLIGHT: likewise, in both windows of twice()
held() {
	local i

	for i in 1 2; do bound "$1.$i" "${@:2}"; done
}
# cpu_wrote NAME: memory bytes that the group paid as written by CPUs
cpu_wrote() { sed -nE "s/^$1:(begin|end) cpu .*mem_write=([0-9]*).*/\2/p" "$tmp/out/events" | awk '{ n = $1 - n } END { print n + 0 }'; }
# met NAME BPS JQ [THOUSANDTHS]: it is the limit, within 30 or so many of them
met() {
	local got

	got=$(ledger "$1" "($3) * 64 * 1e9 / .clock_ns")
	figure "$1-bps" "$got"
	quick "$1: $got B/s of $2 by the ledger: within ${4:-30}/1000" \
		[ $((got > $2 ? got - $2 : $2 - got)) -le $(($2 * ${4:-30} / 1000)) ]
}
# evaded KIND JQ BPS INFLIGHT: it has what the limit's bound allows, and would have more if there were
# none. It also pays a part of what CPUs write back.
evaded() {
	local free

	free=$(ledger "free-$1" "($2) * 64e9 / .clock_ns")
	bound "$1" "$3" "$2" "$4" 103 "$(cpu_wrote "$1")"
	quick "trap 10: $1: of $free B/s that it has if it may" [ "$free" -gt $(($3 * 3 / 2)) ]
	check "... and is stopped" [ "$(stopped_us "$1")" -gt 0 ]
}
# most_10ms NAME BPS JQ median|max: of the marks between those of NAME, by how many bytes what moves in
# 10 ms is more than 105 % of what may; the most in 0.5 s, and of these the median or the most
most_10ms() {
	jq -r "def median: sort | .[length / 2 | floor];
		(reduce .marks[] as \$m ({}; .[\$m.name] = \$m.clock_ns)) as \$at
		| \$at[\"$1:begin\"] as \$from | \$at[\"$1:end\"] as \$to
		| [.marks[] | select(.name == \"b\" and .clock_ns >= \$from and .clock_ns <= \$to)
		   | [.clock_ns, ($3) * 64]] as \$m
		| [range(\$m | length) as \$i
		   | first(range(\$i + 1; \$m | length) | select(\$m[.][0] - \$m[\$i][0] >= 1e7)) as \$j
		   | {part: ((\$m[\$i][0] - \$from) / 5e8 | floor),
		      over: (\$m[\$j][1] - \$m[\$i][1] - 1.05e-9 * $2 * (\$m[\$j][0] - \$m[\$i][0]))}]
		| if length < 100 then error(\"too few marks\") else . end
		| group_by(.part) | map(map(.over) | max) | $4 | floor" "$tmp/ledger"
}
dev='(.devices["0000:00:03.0"] | .to_miss + .fill_lines + .wb_first)'
# What a tag's task has missed, also in the kernel, and with it wrote back
tag() { echo "(.tags[\"$1\"] | .user.l3_miss + .kernel.l3_miss)"; }
M=$((1 << 20))
