# SPDX-License-Identifier: GPL-2.0
#
# Tables and plots of benchmarks/pebs/pebs, of its rows; for `jq -L benchmarks/pebs`. Each
# is lists of cells, the head first.

def round2: . * 100 | round / 100;
def middle: sort | if length % 2 == 1 then .[length / 2 | floor]
	else (.[length / 2 - 1] + .[length / 2]) / 2 end;
# The median and (least..most) of runs
def cell: map(select(. != null)) | if length == 0 then "-" elif min == max then "\(.[0] | round2)"
	else "\(middle | round2) (\(min | round2)..\(max | round2))" end;

# Of what has this part, mode and name, one of each run
def those($part; $mode; $name): map(select(.part == $part and .mode == $mode and .name == $name));
def lines: .truth.user.l3_miss;
def counted_percent: .counted * 100 / lines;
def events_percent: .events * 100 / lines;

def names($part; $first): [.[] | select(.part == $part and .name[0] == $first) | .name] | unique_by(tojson);

def table_linear:
	. as $all
	| ["run", "MiB read", "lines read", "counter", "pebs", "soft", "theirs"],
	  (range(1; 4) as $i
	   | ($all | those("linear"; "pebs"; ["again", "\($i)"])) as $p
	   | ($all | those("linear"; "soft"; ["again", "\($i)"])) as $s
	   | [$i, ([$p[] | .truth.user.loads * 64 / 1048576 | floor] | cell), ([$p[] | lines] | cell),
	      ([$p[] | counted_percent] | cell), ([$p[] | events_percent] | cell),
	      ([$s[] | events_percent] | cell), ([99.699, 99.699, 99.723][$i - 1])]);

def table_aligned:
	. as $all
	| ["offset", "of loads cross lines, %", "lines read", "counter", "pebs", "theirs"],
	  ((names("linear"; "aligned") | sort_by(.[1] | tonumber))[] as $n
	   | ($all | those("linear"; "pebs"; $n)) as $p
	   | [$n[1], ([$p[] | .truth.user | .split_loads * 100 / .loads] | cell), ([$p[] | lines] | cell),
	      ([$p[] | counted_percent] | cell), ([$p[] | events_percent] | cell),
	      (if ($n[1] | tonumber) > 56 then "~7" else "~100" end)]);

def table_streams:
	. as $all
	| ["streams", "step", "lines read", "counter", "pebs", "theirs"],
	  ((names("linear"; "streams") | sort_by(.[2], .[1] | tonumber))[] as $n
	   | ($all | those("linear"; "pebs"; $n)) as $p
	   | [$n[1], $n[2], ([$p[] | lines] | cell), ([$p[] | counted_percent] | cell),
	      ([$p[] | events_percent] | cell), "-"]);

def lossy($x): map(select(.lossy == $x));
def recorded($truth): .records * (.name[1] | tonumber) * 100 / (.truth.user[$truth]);
def of_threshold($mode; $name; $lossy): those("threshold"; $mode; $name) | lossy($lossy);

def table_misses:
	{"10": "37", "100": "~74", "200": "~85", "1000": "96"} as $theirs
	| . as $all
	| ["threshold", "theirs", "raw", "lossy", "counter, lossy", "memio", "lossy", "counter, lossy", "soft"],
	  ((names("threshold"; "misses") | sort_by(.[1] | tonumber))[] as $n
	   | def got($mode; $lossy): [$all | of_threshold($mode; $n; $lossy)[] | recorded("l3_miss")] | cell;
	     def beside($mode): [$all | of_threshold($mode; $n; true)[] | counted_percent] | cell;
	     [$n[1], $theirs[$n[1]], got("raw"; false), got("raw"; true), beside("raw"),
	      got("pebs"; false), got("pebs"; true), beside("pebs"), got("soft"; false)]);

def table_each:
	. as $all
	| ["asked", "pebs", "pebs, lossy", "soft"],
	  ((names("threshold"; "misses") | map(select(.[1] != "10")) | sort_by(.[1] | tonumber))[] as $n
	   | def each($mode; $lossy): [$all | of_threshold($mode; $n; $lossy)[] | lines / .records] | cell;
	     [$n[1], each("pebs"; false), each("pebs"; true), each("soft"; false)]);

def table_loads:
	{"10": "78.33", "50": "92.94", "100": "95.75", "200": "97.87", "1000": "99.54"} as $theirs
	| . as $all
	| ["threshold", "theirs", "raw", "lossy", "counter, lossy", "memio", "lossy"],
	  ((names("threshold"; "loads") | sort_by(.[1] | tonumber))[] as $n
	   | def got($mode; $lossy): [$all | of_threshold($mode; $n; $lossy)[] | recorded("loads")] | cell;
	     [$n[1], $theirs[$n[1]], got("raw"; false), got("raw"; true),
	      ([$all | of_threshold("raw"; $n; true)[] | .counted * 100 / .truth.user.loads] | cell),
	      got("pebs"; false), got("pebs"; true)]);

# What a run has without a trace
def plain($all): . as $r | first($all[] | select(.part == "overhead" and .mode == "none"
	and .run == $r.run and .name == [$r.name[0], "0"]));
# For each line
def slower($all): (.ns / lines / (plain($all) | .ns / lines) - 1) * 100;

def table_overhead:
	{"10": ["150", "50", "3"], "1000": ["~0", "~0", "~1"]} as $theirs
	| . as $all
	| ["instructions", "threshold", "soft", "pebs", "soft / pebs", "theirs: soft", "pebs", "soft / pebs"],
	  (("0", "3072") as $turns | (10, 33, 50, 100, 1000) as $p | [$turns, "\($p)"] as $n
	   | ($all | those("overhead"; "soft"; $n)) as $s
	   | ($all | those("overhead"; "pebs"; $n)) as $h
	   | [($all | those("overhead"; "none"; [$turns, "0"]) | map(.ns / .truth.user.load_l3_miss) | cell), $p,
	      ([$s[] | slower($all)] | cell), ([$h[] | slower($all)] | cell),
	      ([range($s | length) | ($s[.] | slower($all)) / ($h[.] | slower($all))] | cell)]
	     + ($theirs["\($p)"] // ["-", "-", "-"]));

def table_records:
	. as $all
	| ["instructions", "threshold", "mode", "records", "misses each", "NMIs", "NMIs each", "kernel", "the rest"],
	  (("0", "3072") as $turns | (33, 50, 100, 1000) as $p | ("soft", "pebs") as $mode
	   | ($all | those("overhead"; $mode; [$turns, "\($p)"])) as $r
	   | def more(f): f - (plain($all) | f / lines) * lines;
	     def kernel: more(.truth.kernel.instructions);
	     [([$r[] | plain($all) | .ns / (.truth.user.load_l3_miss)] | cell), $p, $mode, ([$r[] | .records] | cell),
	      ([$r[] | lines / .records] | cell), ([$r[] | .nmis] | cell), ([$r[] | .nmis / .records] | cell),
	      ([$r[] | kernel / .records] | cell),
	      ([$r[] | (more(.ns) - kernel) / .records] | cell)]);

def sum(f): map(f) | add;
def table_phases:
	[.[] | select(.part == "phases" and .slice != null)] as $all
	| ["mode", "phase", "ms each", "longer", "misses/us", "trace, misses/us", "seen, %", "off, %"],
	  (("none", "pebs", "soft") as $mode | (true, false) as $high
	   | def of($r; $m): [$all[] | select(.run == $r and .mode == $m and .high == $high)];
	     [$all[].run] | unique | map(of(.; $mode) as $w | of(.; "none") as $n
		| {ms: ($w | sum(.ns) * 16 / length / 1e6), longer: (($w | sum(.ns)) / ($n | sum(.ns))),
		   rate: ($w | sum(.truth) * 1000 / sum(.ns)), trace: ($w | sum(.seen) * 1000 / sum(.ns)),
		   seen: ($w | sum(.seen) * 100 / sum(.truth)),
		   off: ($w | sum(.seen - .truth | fabs) * 100 / sum(.truth))})
	   | [$mode, (if $high then "many" else "few" end), ([.[].ms] | cell), ([.[].longer] | cell),
	      ([.[].rate] | cell)] + (if $mode == "none" then ["-", "-", "-"] else
	      [([.[].trace] | cell), ([.[].seen] | cell), ([.[].off] | cell)] end));

def table_throughput:
	. as $all
	| ["clock", "reader", "offered/s", "s", "made", "recorded", "dropped", "dropped, %", "kept/s", "bytes each", "another reader"],
	  ((["instructions", "1"], ["instructions", "0"], ["time", "1"]) as $n
	   | ([$all | those("throughput"; "synthetic"; $n)[].rate] | unique[]) as $rate
	   | [$all | those("throughput"; "synthetic"; $n)[] | select(.rate == $rate)] as $r
	   | [$n[0], (if $n[1] == "0" then "ordinary" else "fifo" end), $rate, ([$r[] | .us / 1e6] | cell),
	      ([$r[] | .records + .lost] | cell), ([$r[].records] | cell), ([$r[].lost] | cell),
	      ([$r[] | .lost * 100 / (.records + .lost)] | cell),
	      (if $n[0] == "time" then "-" else [$r[] | .rate * .records / (.records + .lost) | round] | cell end), ([$r[] | .file_bytes / .records] | cell),
	      ([$r[] | if .by_other == null then null else .by_other * 100 / .records end] | cell
	       | if . == "-" then . else . + " %" end)]);

def table_astray:
	. as $all
	| ["event", "its counter", "sibling, with the erratum", "sibling, without"],
	  ([$all[] | select(.part == "ht") | .astray[]?.event] | unique[] as $e
	   | def of($on; f): [$all[] | select(.part == "ht" and .name == [$on, "erratum"]) | .astray[]
		| select(.event == $e) | f] | cell;
	     [$e, of("erratum"; .own), of("erratum"; .sibling), of("off"; .sibling)]);

def table_ht:
	. as $all
	| ["kernel", "events", "counts", "of all the time", "of what never happened", "wrong", "theirs"],
	  ((["erratum", "fits"], ["erratum", "over"], ["stock", "over"]) as $n
	   | ($all | those("ht"; "ht"; $n)) as $r
	   | [(if $n[0] == "stock" then "stock" else "patched" end), $n[1], ([$r[].counts] | cell), ([$r[].whole] | cell),
	      ([$r[].never] | cell), ([$r[].wrong] | cell), "0"]);

def table_siblings:
	. as $all
	| ["by", "task", "lines by memio", "by the ledger", "off, %", "theirs"],
	  (("membw", "soft", "pebs") as $mode
	   | ([$all[] | select(.part == "ht" and .name == ["erratum", $mode]) | .tag] | unique[]) as $tag
	   | [$all[] | select(.part == "ht" and .name == ["erratum", $mode] and .tag == $tag)] as $r
	   | def truth: if $mode == "membw" then .truth.l3_miss else .truth.load_l3_miss end;
	     [$mode, (if ($tag | tonumber) % 2 == 1 then "loads" else "stores" end), ([$r[].got] | cell),
	      ([$r[] | truth] | cell),
	      ([$r[] | if truth < 10000 then null else (.got / truth - 1) * 100 end] | cell), "-"]);

# threshold, theirs, raw without losses, with them, memio without, with
def plot_threshold:
	[.[] | select(.part == "threshold")] as $all
	| {"10": 37, "1000": 96} as $theirs
	| ["threshold"],
	  ([$all[] | .name[1] | tonumber] | unique[] as $p | ["misses", "\($p)"] as $n
	   | def got($mode; $lossy): [$all | of_threshold($mode; $n; $lossy)[] | recorded("l3_miss")]
		| if length > 0 then middle else "-" end;
	     [$p, ($theirs["\($p)"] // "-"), got("raw"; false), got("raw"; true), got("pebs"; false), got("pebs"; true)]);

# Of the first run: mode, ms, misses/us by the ledger and by the trace
def plot_phases:
	["mode"],
	(.[] | select(.part == "phases" and .slice != null and .run == 1)
	 | [.mode, .at_ns / 1e6, .truth * 1000 / .ns, (if .mode == "none" then "-" else .seen * 1000 / .ns end)]);
