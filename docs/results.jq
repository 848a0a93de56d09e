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
#				patched
#	unpatched.KERNEL.cost.WHAT	instructions that a bio or a packet costs
#	NAME.run		the benchmark NAME: its date, commit and processors

def median: sort | length as $n
	| if $n % 2 == 1 then .[($n - 1) / 2] else (.[$n / 2 - 1] + .[$n / 2]) / 2 end;
def figure($benchmark; $name): .benchmarks[$benchmark].figures[$name]?
	| if . == null or length == 0 then null else median end;
def percent: (. * 100 | round / 100) | "\(if . > 0 then "+" else "" end)\(.) %";

# [column, kernel, phase, the stock kernel's phase]
def columns: [["off", "off", "plain", "plain"], ["on", "on", "plain", "plain"], ["io", "on", "io", "io"],
	["armed", "on", "armed", "io"], ["group", "on", "group", "group"],
	["limited", "on", "limited", "group"]];
def benches: ["syscall", "message", "pipe", "ring", "ring-pmu", "ring-packet", "hackbench", "iperf3",
	"iperf3-100", "rr", "ab", "ab-keep", "packet", "disk", "disk-sleep"];

def of_ledger: (. * 10000 | round / 100) | "\(.) %";
def kernels: ["12", "13", "patched"];
def cases: ["direct-read", "direct-write", "fsync", "writeback", "udp-send", "udp-receive", "tcp-send",
	"tcp-receive"];

. as $results
| ([benches[] as $bench | columns[] as [$column, $kernel, $phase, $stock]
	| ($results | figure("overhead"; "values.\($kernel).\($phase).\($bench)")) as $ours
	| ($results | figure("overhead"; "values.stock.\($stock).\($bench)")) as $theirs
	| {key: "overhead.\($bench).\($column)", value: (if $ours == null or $theirs == null then null
		else ($ours / $theirs - 1) * 100 | percent end)}]
   + [kernels[] as $kernel | cases[] as $case
	| ("\($kernel).cases.\($case)." as $at | {owner: ["a", "b"], device: ["device"]} | map_values(
		[.[] as $key | $results | figure("unpatched"; $at + $key)] | add) + {
		ledger: ($results | figure("unpatched"; $at + "ledger"))}) as $of
	| ("owner", "device") | {key: "unpatched.\($kernel).\($case).\(.)", value: (if $of.ledger == null
		then null else $of[.] / $of.ledger | of_ledger end)}]
   + [kernels[] as $kernel | ("bio", "packet") | {key: "unpatched.\($kernel).cost.\(.)",
	value: (. as $what | $results | figure("unpatched"; "\($kernel).cost.\($what)"))}]
   + [.benchmarks | keys[] | {key: "\(.).run",
	value: "\($results.date), commit \($results.commit), \($results.host.processors) processors"}])
| from_entries
