# SPDX-License-Identifier: GPL-2.0
#
# Tables of benchmarks/overhead/overhead. .values[KERNEL][PHASE][BENCH] is an array of the
# runs' values.

def median: sort | length as $n | if $n == 0 then null
	elif $n % 2 == 1 then .[($n - 1) / 2] else (.[$n / 2 - 1] + .[$n / 2]) / 2 end;
# One value has none; disk is split by what the host did, and may have fewer than runs.
def spread: if length < 2 then null else median as $m
	| if $m == 0 then 0 else (max - min) / $m * 100 end end;
def to($digits): pow(10; $digits) as $p | . * $p | round / $p;
def of($k; $p; $b): .values[$k][$p][$b] // [];

# Columns of path lengths: [name, kernel, phase, the stock kernel's phase]
def columns: [["off", "off", "plain", "plain"], ["on", "on", "plain", "plain"],
	["io", "on", "io", "io"], ["armed", "on", "armed", "io"],
	["group", "on", "group", "group"],
	["limited", "on", "limited", "group"]];

# Results with those of before, if there are any.
def add_to($old):
	if $old == null then . else . as $new
	| $old
	| .calls += $new.calls
	| if $new.assembly != "" then .assembly = $new.assembly else . end
	| .values = reduce ($new.values | paths(type == "array")) as $p (.values;
		setpath($p; (getpath($p) // []) + ($new.values | getpath($p)))) end;

def benches: ["syscall", "message", "pipe", "ring", "ring-pmu", "ring-packet", "hackbench", "iperf3",
	"iperf3-100", "rr", "ab", "ab-keep", "packet", "disk", "disk-sleep"];

# How much more in %, a number; null if there is none.
def more($b; $c): (of($c[1]; $c[2]; $b) | median) as $x | (of("stock"; $c[3]; $b) | median) as $s
	| if $x == null or $s == null then null else ($x / $s - 1) * 100 end;

def uncertain($b; $c): more($b; $c) as $d
	| [of($c[1]; $c[2]; $b), of("stock"; $c[3]; $b)] | map(spread)
	| any(. == null) or max > ($d | fabs);

def signed: to(2) | if . > 0 then "+\(.)" else "\(.)" end;

def table_paths:
	["", "stock", "off", "on", "io", "armed", "group", "limited"],
	(benches[] as $b | select(of("stock"; "plain"; $b) | length > 0)
	 | [$b, (of("stock"; "plain"; $b) | median | to(if . < 100 then 3 else 1 end))] +
	   [columns[] as $c | more($b; $c) as $d | if $d == null then "-" else
		($d | signed) + (if uncertain($b; $c) then "!" else "" end) end]);

def table_spread:
	["", "stock", "stock io", "stock group", "off", "on", "io", "armed", "group", "limited"],
	(benches[] as $b | select(of("stock"; "plain"; $b) | length > 0)
	 | [$b] +
	   ([of("stock"; "plain"; $b), of("stock"; "io"; $b), of("stock"; "group"; $b), of("off"; "plain"; $b),
	     of("on"; "plain"; $b), of("on"; "io"; $b), of("on"; "armed"; $b), of("on"; "group"; $b), of("on"; "limited"; $b)]
	    | map(spread | if . == null then "-" else to(2) end)));

# What the seed published, in % of time more: lat_ctx (9 to 31 us, in an experiment, with the
# delay that IO would cause), hackbench and iperf ("no significant difference"), and Apache with
# 16 % fewer requests a second.
def seed: {ring: 244, hackbench: 0, iperf3: 0, "iperf3-100": 0, ab: 19};

def plot_paths:
	["", "off", "on", "io", "armed", "group", "limited", "seed"],
	(benches[] as $b | select($b != "ring-pmu") | select(of("stock"; "plain"; $b) | length > 0)
	 | [$b] + [columns[] as $c | more($b; $c) | if . == null then "-" else to(3) end] +
	   [seed[$b] // "-"]);

# Instructions in a second of doing nothing, with the sampler less without.
def sampler: (of("on"; "armed"; "idle") | median) as $a | (of("on"; "io"; "idle") | median) as $i
	| if $a == null or $i == null then null else $a - $i end;

def msr_reads: of("on"; "armed"; "msr-reads-per-s") | median;
# A read takes a processor some 500 ns (the seed's figure), and the emulator an instruction.
def sampler_percent: (sampler / 3e9 + msr_reads * 500e-9) * 100;

def table_sampler:
	["", "value"],
	(sampler as $s | select($s != null)
	 | ["instructions a second", ($s | round)],
	   ["MSR reads a second", (msr_reads | round)],
	   ["MSR reads in a window of 10 ms", (of("on"; "armed"; "msr-reads") | median)],
	   ["instructions for an MSR read", ($s / msr_reads | round)],
	   ["% of a CPU at 3e9 instructions a second", ($s / 3e9 * 100 | to(4))],
	   ["% of a CPU if a read takes 500 ns besides", (sampler_percent | to(3))]);

def table_sizes:
	["", "stock", "patched"],
	((.values.stock.slab // {}) | keys_unsorted[]) as $b
	| [$b, (of("stock"; "slab"; $b) | median), (of("on"; "slab"; $b) | median)];

# Functions whose length is known come first.
def table_code:
	["", "stock", "patched", "memio's no-ops"],
	(((.values.on.code // {}) | keys_unsorted) as $known
	 | ((.values.on["no-ops"] // {}) | keys_unsorted) as $hooked
	 | ($known + ($hooked - $known))[] as $b
	 | [$b, (of("stock"; "code"; $b)[0] // "-"), (of("on"; "code"; $b)[0] // "-"),
	    (of("on"; "no-ops"; $b)[0] // 0)]),
	(select(.values.on["no-ops"]) | ["all", "-", "-", ([.values.on["no-ops"][][0]] | add)]);

def table_kunit:
	["", "ns", "spread, %"],
	((.values.on.kunit // {}) | keys_unsorted[]) as $b
	| [$b, (of("on"; "kunit"; $b) | median | to(1)), (of("on"; "kunit"; $b) | spread | if . == null then "-" else to(0) end)];

def table_contend:
	["", "ns", "spread, %"],
	((.values.on.contend // {}) | keys_unsorted[]) as $b
	| [$b, (of("on"; "contend"; $b) | median | to(1)), (of("on"; "contend"; $b) | spread | if . == null then "-" else to(0) end)];

# Difference in instructions.
def instructions($b; $c): (of($c[1]; $c[2]; $b) | median) as $x
	| (of("stock"; $c[3]; $b) | median) as $s
	| if $x == null or $s == null then null else $x - $s end;

def percent: if . == null then null else signed + " %" end;
def ns: if . == null then null else "\(to(1)) ns" end;
def kunit($b): of("on"; "kunit"; $b) | median | ns;

def goal($what; $seed; $target; $ours): if $ours == null then empty else [$what, $seed, $target, $ours] end;

def table_goals:
	columns as $c
	| ["", "seed", "target", "memio"],
	  goal("charge one IO (task and device)"; "120 ns"; "<= 10 ns"; kunit("charge_one")),
	  goal("  alternating owners"; "-"; "-"; kunit("charge_alternating")),
	  goal("  a price, for a limit"; "-"; "-"; kunit("price_bounded")),
	  goal("counters read in the dequeue path"; "14,580 ns"; "0: cached"; (kunit("update_due") | if . == null then null else "0; " + . + " each 100 ms" end)),
	  goal("dequeue, task with IO"; "+9,400 ns"; "<= +60 ns"; kunit("update")),

	  goal("switch, task without IO"; "+600 ns"; "<= 6 instr. a dequeue";
	    (instructions("pipe"; $c[1]) | if . == null then null else "\(to(1)) instr. a switch" end)),
	  goal("  memio=off"; "-"; "<= +0.1 %"; (more("pipe"; $c[0]) | percent)),
	  goal("switch, CPUs are counted"; "-"; "<= +60 ns, said apart";
	    (instructions("pipe"; $c[3]) | if . == null then null else "\(to(0)) instr., with 1 RDPMC" end)),
	  goal("  a limit set, not reached"; "-"; "-";
	    (instructions("pipe"; $c[5]) | if . == null then null else "\(to(0)) instr., with 1 RDPMC" end)),
	  goal("switch with IO (lat_ctx)"; "9 -> 31 us"; "<= +2 %"; (more("ring"; $c[2]) | percent)),
	  goal("  by the PMU's retired instructions"; "-"; "<= +2 %"; (more("ring-pmu"; $c[2]) | percent)),
	  goal("  with IO since the last switch"; "-"; "-"; (more("ring-packet"; $c[2]) | percent)),
	  goal("hackbench"; "no difference"; "<= +0.5 %"; (more("hackbench"; $c[1]) | percent)),
	  goal("  a limit set, not reached"; "-"; "<= +0.5 %"; (more("hackbench"; $c[5]) | percent)),
	  goal("Apache bench, worst case"; "-16 % requests"; "-1 % at most";
	    ([more("ab"; $c[2]), more("ab-keep"; $c[2])] | max
	     | if . == null then null else percent + " instr." end)),
	  goal("sampler"; "-"; "<= 0.2 % of a CPU";
	    (sampler | if . == null then null else "\(. / 3e9 * 100 | to(3)) %" end)),
	  goal("  with 500 ns for each MSR read"; "-"; "reads counted";
	    (sampler as $s | if $s == null then null else
		"\(sampler_percent | to(3)) %, \(msr_reads | round) reads/s" end));
