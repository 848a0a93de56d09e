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
#				patched. mem_read, mem_write: by how much memory bytes differ from the ledger's
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
# All that have been measured
def cases: [.benchmarks.unpatched.figures // {} | keys[] | capture("\\.cases\\.(?<case>[^.]*)\\.").case] | unique;

. as $results
| ([benches[] as $bench | columns[] as [$column, $kernel, $phase, $stock]
	| ($results | figure("overhead"; "values.\($kernel).\($phase).\($bench)")) as $ours
	| ($results | figure("overhead"; "values.stock.\($stock).\($bench)")) as $theirs
	| {key: "overhead.\($bench).\($column)", value: (if $ours == null or $theirs == null then null
		else ($ours / $theirs - 1) * 100 | percent end)}]
   + [kernels[] as $kernel | ($results | cases)[] as $case
	| ("\($kernel).cases.\($case)." as $at | {owner: ["a", "b"], device: ["device"]} | map_values(
		[.[] as $key | $results | figure("unpatched"; $at + $key)] | add) + {
		ledger: ($results | figure("unpatched"; $at + "ledger"))}) as $of
	| ("owner", "device") | {key: "unpatched.\($kernel).\($case).\(.)", value: (if $of.ledger == null
		then null else $of[.] / $of.ledger | of_ledger end)}]
   + [kernels[] as $kernel | ($results | cases)[] as $case | ("\($kernel).cases.\($case)." as $at
	| ("read", "write") as $way | {$way} + (["mem_\($way)", "ledger_\($way)", "ledger"] | map({key: .,
		value: (. as $key | $results | figure("unpatched"; $at + $key))}) | from_entries)) as $of
	| {key: "unpatched.\($kernel).\($case).mem_\($of.way)", value: (if $of["ledger_\($of.way)"] == null then null
		else ($of["mem_\($of.way)"] - $of["ledger_\($of.way)"]) * 100 / $of.ledger | percent end)}]
   + [("unpatched-cost", "unpatched") as $of | kernels[] as $kernel
	# Before there was a figure of switches, others were differences of two runs, and rough.
	| select(($results | figure($of; "\($kernel).cost.switch")) != null)
	| ("read", "packet", "switch", "read_programs", "packet_programs", "received_programs",
		"segment_programs", "switch_programs") as $what
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
