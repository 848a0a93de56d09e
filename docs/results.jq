# SPDX-License-Identifier: GPL-2.0
#
# Texts of the documents, by the KEY of their marks, of a file of benchmarks/results:
# ci/check.d/results has the rules, benchmarks/result the schema. A KEY that the file has nothing
# for is null.
#
#	overhead.BENCH.COLUMN	how much more BENCH takes than on the stock kernel: off, on, io,
#				armed, group, limited, as in the tables of benchmarks/overhead
#	unpatched.KERNEL.CASE.WHAT	of the bytes that the ledger saw: owner, what memio charged to the
#				groups; device, what it counted for the device. KERNEL is 12 or 13, Debian's, or
#				patched. mem_read, mem_write: by how much memory bytes differ from the ledger's;
#				with _bounds, by how much the least and the most do that memio states, and "-"
#				on a kernel that has no bounds
#	unpatched.KERNEL.mean_error, .largest_error	of all these, without what sampling explains; the largest of
#				cases that moved 1 MB or more
#	unpatched.KERNEL.inside	in how many cases what the ledger has is inside of the bounds
#	unpatched.cases		how many cases were measured
#	unpatched.table, unpatched.memory, unpatched.bounds	the tables of these: a line for each case that
#				was measured
#	unpatched-cost.KERNEL.WHAT	instructions that a read, a packet or a switch costs; with _programs, of
#				the programs alone
#	unpatched-cost.KERNEL.WHAT.share	... as a part of a CPU, for 100,000 in a second
#	unpatched-cost.KERNEL.first	seconds from the command memio top to its first line
#	demo.DEVICE.WHAT.FIELD	ci/demo: MB that a device (nvme0n1, eth0, all) moved. WHAT is memio, ledger or
#				error, in per cent of the ledger; FIELD is io_to, io_from, mem_read, mem_write
#	demo.neighbour.WHEN, demo.disk.WHEN	MB/s of memory in the second act
#	programs.DEVICE.LOAD.stock.WHAT	benchmarks/programs: a mean of the stock kernel. DEVICE is none, e1000e
#				or virtio, WHAT instructions, per_packet or per_second
#	programs.DEVICE.LOAD.SITUATION.WHAT	... how much more that is, and half the width of its interval
#	rt-latency.HOW.WHAT	cyclictest on a kernel with PREEMPT_RT: median_us, p99_us, p999_us, max_us, stops.
#				HOW is off, on or limit, as in ci/more.d/tests/rt-latency
#	NAME.run		the benchmark NAME: its date, commit and processors

def median: sort | length as $n
	| if $n % 2 == 1 then .[($n - 1) / 2] else (.[$n / 2 - 1] + .[$n / 2]) / 2 end;
def figure($benchmark; $name): .benchmarks[$benchmark].figures[$name]?
	| if . == null or length == 0 then null else median end;
def percent: (. * 100 | round / 100 | if . == 0 then 0 else . end) | "\(if . > 0 then "+" else "" end)\(.) %";

# [column, kernel, phase, the stock kernel's phase]
def columns: [["off", "off", "plain", "plain"], ["on", "on", "plain", "plain"], ["io", "on", "io", "io"],
	["armed", "on", "armed", "io"], ["group", "on", "group", "group"],
	["limited", "on", "limited", "group"]];
def benches: ["syscall", "message", "pipe", "ring", "ring-pmu", "ring-packet", "hackbench", "iperf3",
	"iperf3-100", "rr", "ab", "ab-keep", "packet", "disk", "disk-sleep"];

def of_ledger: (. * 10000 | round / 100) | "\(.) %";
# With N digits behind the point
def fixed($n): (. * pow(10; $n) | round | if . == 0 then 0 else . end) as $i | (if $i < 0 then -$i else $i end | tostring) as $t
	| (if ($t | length) <= $n then ("0" * ($n + 1 - ($t | length))) + $t else $t end) as $t
	| (if $i < 0 then "-" else "" end) + $t[:-$n] + "." + $t[-$n:];
def kernels: ["12", "13", "patched"];
# The cases of ci/more.d/unpatched-cases.tsv, as the tables call them
def titles: {
	"direct-read": "NVMe, direct read, 32 MiB",
	"direct-write": "NVMe, direct write, 32 MiB",
	"small-read": "NVMe, direct reads of 4 KiB, 8 MiB",
	"small-write": "NVMe, direct writes of 4 KiB, 8 MiB",
	"cached-read": "NVMe, buffered read, 16 MiB",
	"mmap-read": "NVMe, read by `mmap()`, 16 MiB",
	"fsync": "NVMe, buffered write and `fsync()`, 16 MiB",
	"nested-fsync": "... by a group below the group, 8 MiB",
	"mmap-write": "NVMe, written by `mmap()`, 8 MiB",
	"writeback": "NVMe, one file dirtied by two groups, 24 MiB, written back by a third task",
	"dying-writeback": "NVMe, written back after the group has gone, 8 MiB",
	"threads-read": "NVMe, read by four threads, 16 MiB",
	"uring-read": "NVMe, io_uring, 8 MiB",
	"sqpoll-read": "NVMe, io_uring with SQPOLL, 8 MiB",
	"moved-read": "NVMe, read by a task that moves to another group, 16 MiB",
	"exit": "NVMe, read by 32 tasks that end, 8 MiB",
	"rmdir": "NVMe, read by a group that is removed, 16 MiB",
	"killed-read": "NVMe, buffered read, killed after a second",
	"virtio-read": "virtio-blk, direct read, 16 MiB",
	"virtio-write": "virtio-blk, direct write, 16 MiB",
	"udp-send": "UDP, sent, 3,000 datagrams of 1,400 bytes",
	"udp-receive": "UDP, received",
	"udp6-send": "UDP by IPv6, sent",
	"udp6-receive": "UDP by IPv6, received",
	"tcp-send": "TCP, sent, 16 MiB",
	"tcp-receive": "TCP, received, 16 MiB",
	"tcp6-send": "TCP by IPv6, sent, 16 MiB",
	"tcp6-receive": "TCP by IPv6, received, 4 MiB",
	"tcp-serve": "TCP, received by a server, 4 MiB",
	"child-send": "UDP, sent by a child through its parent's socket",
	"passed-receive": "TCP, received through a socket of another process, 4 MiB",
	"virtio-send": "virtio-net, TCP, sent, 16 MiB",
	"virtio-receive": "virtio-net, TCP, received, 16 MiB",
	"libaio-read": "NVMe, asynchronous reads (libaio), 8 MiB",
	"ext4-read": "ext4 on NVMe, a file of 16 MiB is read",
	"ext4-write": "ext4, a file of 16 MiB is written, then `fsync`",
	"xfs-read": "xfs, a file of 16 MiB is read",
	"xfs-write": "xfs, a file of 16 MiB is written, then `fsync`",
	"btrfs-read": "btrfs, a file of 16 MiB is read",
	"btrfs-write": "btrfs, a file of 16 MiB is written, then `fsync`",
	"truncated": "ext4, 16 MiB are written, of which half is truncated before it is written back",
	"readahead-other": "ext4, one group reads 16 MiB ahead, another one reads them",
	"loop-read": "loop device with direct IO on ext4, read, 8 MiB; no controller `io`",
	"loop-io-read": "the same with the controller `io`",
	"loop-write": "loop device with direct IO on ext4, written, 8 MiB",
	"linear-read": "device mapper (linear), read, 8 MiB",
	"raid1-read": "RAID 1 of two partitions, read, 8 MiB",
	"raid1-write": "RAID 1 of two partitions, 8 MiB are written to each",
	"swap-own": "swap, written by a group that is at its `memory.max`",
	"swap-other": "swap, a group's memory that another group reclaims",
	"sata-read": "SATA, direct read, 16 MiB",
	"sata-write": "SATA, direct write, 16 MiB",
	"inherited-read": "NVMe, read by a child through the file that its parent opened, 8 MiB",
	"exec-read": "NVMe, read by a task, and after a move and `execve` by the next program, 16 MiB",
	"threaded-read": "NVMe, read by two threads in threaded groups, 16 MiB",
	"bridge-send": "TCP, sent from a container by veth and a bridge, 4 MiB",
	"bridge-receive": "TCP, received in a container by a bridge and veth, 4 MiB",
	"routed-send": "TCP, sent from a container that is routed, 4 MiB",
	"routed-receive": "TCP, received in a container that is routed, 4 MiB",
	"macvlan-send": "TCP, sent from a container by macvlan, 4 MiB",
	"macvlan-receive": "TCP, received in a container by macvlan, 4 MiB",
	"vlan-send": "UDP, sent in a VLAN",
	"vlan-receive": "UDP, received in a VLAN",
	"forwarded": "virtio-net, UDP, forwarded from `eth0`; nobody owns these bytes",
	"sendfile-send": "TCP, sent by `sendfile` from the disk, 8 MiB",
	"splice-receive": "TCP, received by `splice` into a pipe, 4 MiB",
	"mptcp-send": "MPTCP, sent, 4 MiB",
	"mptcp-receive": "MPTCP, received, 4 MiB",
	"ping": "ICMP by a raw socket: answers to `ping`",
	"packet-send": "frames sent by a packet socket",
	"fd-passed-send": "UDP, sent through a socket that came by `SCM_RIGHTS`",
	"shared-udp": "UDP, one socket that two groups read; nobody reads the rest"};
# All that have been measured
def measured: [.benchmarks.unpatched.figures // {} | keys[] | capture("\\.cases\\.(?<case>[^.]*)\\.").case] | unique;

. as $results
| ([benches[] as $bench | columns[] as [$column, $kernel, $phase, $stock]
	| ($results | figure("overhead"; "values.\($kernel).\($phase).\($bench)")) as $ours
	| ($results | figure("overhead"; "values.stock.\($stock).\($bench)")) as $theirs
	| {key: "overhead.\($bench).\($column)", value: (if $ours == null or $theirs == null then null
		else ($ours / $theirs - 1) * 100 | percent end)}]
   + [kernels[] as $kernel | ($results | measured)[] as $case
	| ("\($kernel).cases.\($case)." as $at | {owner: ["a", "b"], device: ["device"]} | map_values(
		[.[] as $key | $results | figure("unpatched"; $at + $key)] | add) + {
		ledger: ($results | figure("unpatched"; $at + "ledger"))}) as $of
	| ("owner", "device") | {key: "unpatched.\($kernel).\($case).\(.)", value: (if $of.ledger == null
		then null else $of[.] / $of.ledger | of_ledger end)}]
   + [kernels[] as $kernel | ($results | measured)[] as $case | ("\($kernel).cases.\($case)." as $at
	| ("read", "write") as $way | {$way} + (["mem_\($way)", "ledger_\($way)", "ledger"] | map({key: .,
		value: (. as $key | $results | figure("unpatched"; $at + $key))}) | from_entries)) as $of
	| {key: "unpatched.\($kernel).\($case).mem_\($of.way)", value: (if $of["ledger_\($of.way)"] == null then null
		else ($of["mem_\($of.way)"] - $of["ledger_\($of.way)"]) * 100 / $of.ledger | percent end)}]
   + [kernels[] as $kernel | ($results | measured)[] as $case | ("\($kernel).cases.\($case)." as $at
	| ("read", "write") as $way | {$way} + (["mem_\($way)_min", "mem_\($way)_max", "ledger_\($way)", "ledger"] | map({key: .,
		value: (. as $key | $results | figure("unpatched"; $at + $key))}) | from_entries)) as $of
	| {key: "unpatched.\($kernel).\($case).mem_\($of.way)_bounds", value: (if $of["ledger_\($of.way)"] == null then null
		elif $of["mem_\($of.way)_min"] == null then "-"
		else [$of["mem_\($of.way)_min", "mem_\($of.way)_max"] - $of["ledger_\($of.way)"] | . * 100 / $of.ledger | percent]
			| join(" to ") end)}]
   + [kernels[] as $kernel | [($results | measured)[] as $case | ["ledger", "mem_read", "mem_write", "ledger_read", "ledger_write",
		"sampling_read", "sampling_write", "mem_read_min", "mem_read_max", "mem_write_min", "mem_write_max"]
		| map({key: ., value: (. as $key | $results | figure("unpatched"; "\($kernel).cases.\($case).\($key)"))})
		| from_entries | select(.ledger_read != null and .sampling_read != null)] | select(. != [])
	| [.[] | {ledger, off: ((.mem_read - .ledger_read - .sampling_read, .mem_write - .ledger_write - .sampling_write)
		| fabs * 100) } | .part = .off / .ledger] as $errors
	| {key: "unpatched.\($kernel).mean_error", value: ($errors | map(.part) | add / length | "\(fixed(2)) %")},
	  {key: "unpatched.\($kernel).largest_error", value: ([$errors[] | select(.ledger >= 1e6).part] | max // empty | "\(fixed(1)) %")},
	  {key: "unpatched.\($kernel).inside", value: (map(select(.mem_read_min != null)) | if . == [] then empty else
		map(select(.ledger_read >= .mem_read_min and .ledger_read <= .mem_read_max and
			.ledger_write >= .mem_write_min and .ledger_write <= .mem_write_max)) | length | tostring end)}]
   + [{key: "unpatched.cases", value: ($results | measured | length | if . > 0 then tostring else empty end)}]
   + [("unpatched-cost", "unpatched") as $of | kernels[] as $kernel
	# Before there was a figure of switches, others were differences of two runs, and rough.
	| select(($results | figure($of; "\($kernel).cost.switch")) != null)
	| ("read", "packet", "switch", "read_programs", "packet_programs", "received_programs",
		"segment_programs", "page_programs", "switch_programs") as $what
	| ($results | figure($of; "\($kernel).cost.\($what)")) as $n
	| {key: "unpatched-cost.\($kernel).\($what)", value: $n},
	  {key: "unpatched-cost.\($kernel).\($what).share", value: ($n // empty | . * 100000 / 3e9 * 1000 | round / 10 | "\(.) %")}]
   + [("unpatched-cost", "unpatched") as $of | kernels[] as $kernel | {key: "unpatched-cost.\($kernel).first",
	value: ($results | figure($of; "\($kernel).first_ms") // empty | . / 100 | round / 10 | "\(.) s")}]
   + [("nvme0n1", "eth0", "all") as $device | ("io_to", "io_from", "mem_read", "mem_write") as $field
	| [("memio", "ledger") as $by | $results | figure("demo"; "devices.\($device).\($by).\($field)")] as [$memio, $ledger]
	| {memio: ($memio // empty | . / 1e6 | fixed(2)), ledger: ($ledger // empty | . / 1e6 | fixed(2)),
	   error: (if ($ledger // 0) == 0 then empty else ($memio / $ledger - 1) * 100 | fixed(2) end)}
	| to_entries[] | {key: "demo.\($device).\(.key).\($field)", value}]
   + [("neighbour.alone", "neighbour.beside", "neighbour.limited", "disk.before", "disk.after")
	| {key: "demo.\(.)", value: (. as $what | $results | figure("demo"; $what) // empty | fixed(1))}]
   + [("hackbench", "iperf", "ab") as $program | .benchmarks[$program].figures // {} | to_entries[]
	| (.key | split(".")) as $path | select($path | length == 5)
	| if $path[0] == "values" and $path[3] == "stock" then {key: ("programs." + ($path[1:] | join("."))),
		value: (.value | add / length | if . < 100 then fixed(3) else round | tostring end)}
	  elif $path[0] == "more" then {key: ("programs." + ($path[1:] | join("."))),
		value: "\(if .value[0] > 0 then "+" else "" end)\(.value[0] | fixed(2)) ± \(.value[1] // 0 | fixed(2)) %"}
	  else empty end]
   + [("off", "on", "limit") as $how | ("wakeups", "median_us", "p99_us", "p999_us", "max_us", "stops") as $what
	| {key: "rt-latency.\($how).\($what)", value: ($results | figure("rt-latency"; "\($how).\($what)") // empty | "\(.)")}]
   + [.benchmarks | keys[] | {key: "\(.).run",
	value: "\($results.date), commit \($results.commit), \($results.host.processors) processors"}])
| from_entries
| . as $texts | ($results | measured) as $cases
# A row for each case, of whose name not all need be known here
| def rows($head; $columns): ([$head, "|" + "---|" * (($columns | length) + 1)] + [(titles + (($cases - (titles | keys)) | map({(.): .}) | add))
	| to_entries[] | select(.key as $c | $cases | any(. == $c))
	| .key as $c | "| " + ([.value, ($columns[] | $texts["unpatched.\(.[0]).\($c).\(.[1])"] // "-")] | join(" | ")) + " |"]) | join("\n");
. + if $cases == [] then {} else {
	"unpatched.table": rows("| case | Debian 12: owners | device | Debian 13: owners | device | patched: owners | device |";
		[kernels[] as $k | ["owner", "device"][] | [$k, .]]),
	"unpatched.memory": rows("| case | Debian 12: read | written | Debian 13: read | written | patched: read | written |";
		[kernels[] as $k | ("mem_read", "mem_write") | [$k, .]]),
	"unpatched.bounds": rows("| case | Debian 12: read | written | Debian 13: read | written | patched: read | written |";
		[kernels[] as $k | ("mem_read_bounds", "mem_write_bounds") | [$k, .]])} end
