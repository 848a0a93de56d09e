# SPDX-License-Identifier: GPL-2.0
#
# From what benchmarks/accuracy/guest and the ledger have written to results, and from
# results to tables; for `jq -L ci/tests -L benchmarks/accuracy`.

include "ledger";

def mib: . / 1048576;
def percent($of): if $of > 0 then (. / $of - 1) * 100 else null end;

# Lines `MARK GROUP DEVICE KEY=VALUE ...` as {MARK: {GROUP: {DEVICE: {KEY: VALUE}}}}
def looks:
	reduce (split("\n")[] | select(. != "") | split(" ")) as $w ({};
		.[$w[0]][$w[1]][$w[2]] =
			([$w[3:][] | split("=") | {(.[0]): (.[1] | tonumber)}] | add));

def zero: {io_to: 0, io_from: 0, mem_read: 0, mem_write: 0, unpriced: 0};

# A device in a window: what memio says and what the ledger knows, in bytes.
def device($root; $bench):
	{
		model,
		io_to: ($root // zero).io_to,
		io_from: ($root // zero).io_from,
		mem_read: ($root // zero).mem_read,
		mem_write: ($root // zero).mem_write,
		unpriced: ($root // zero).unpriced,
		unclaimed: (($root.unclaimed_to // 0) + ($root.unclaimed_from // 0)),
		bench: ($bench // zero),
		truth: {
			to: .to_bytes,
			from: .from_bytes,
			read: ((.to_miss + .fill_lines) * 64),
			dirtier_write: (.made_dirty * 64),
			evictor_write: (.wb_evictor * 64)
		}
	};

def devices($truth; $memio):
	$truth.devices | with_entries(.key as $k | .value |= device($memio.root[$k]; $memio.bench[$k]));

# What a benchmark says of itself: payload bytes, and seconds.
def reported($load):
	if $load | startswith("dd ") then
		capture("(?<bytes>[0-9]+) bytes .* copied, (?<seconds>[0-9.e-]+) s") | map_values(tonumber)
	elif $load | startswith("fio ") then
		fromjson.jobs[0] | (.read, .write) | select(.io_bytes > 0)
		| {bytes: .io_bytes, seconds: (.runtime / 1000)}
	elif $load | startswith("iperf3 ") then
		fromjson.end | (if $load | contains("send") then .sum_sent else .sum_received end)
		| {bytes, seconds}
	else null end;

def windows($windows; $looks; $ledger; $output):
	[$windows[] | .name as $name
	 | ($ledger | inner($name)) as $truth
	 | ($looks["\($name):end"] | minus($looks["\($name):begin"])) as $memio
	 | ($memio | del(.root, .bench)) as $processes
	 | . + {ns: $truth.ns, processes: $processes, reported: (.load as $l | $output[$name] // "" | reported($l)),
		devices: devices($truth; $memio),
		dram: ($truth.dram | map_values(. * 64))}];

# Between two looks each: bytes per second
def series($looks; $ledger):
	[$ledger.marks[] | select(.name | startswith("series-"))] as $m
	| [range(1; $m | length) as $i
	   | ($m[$i] | minus($m[$i - 1])) as $truth
	   | ($looks[$m[$i].name] | minus($looks[$m[$i - 1].name])) as $memio
	   | devices($truth; $memio) as $d
	   | def rate(f): [$d[] | f] | add * 1e9 / $truth.ns;
	   {
		seconds: (($m[$i].ns + $m[$i - 1].ns - 2 * $m[0].ns) / 2e9),
		ns: $truth.ns,
		io: rate(.io_to + .io_from),
		mem: rate(.mem_read + .mem_write),
		truth: rate(.truth.read + .truth.dirtier_write),
		dram: (($truth.dram.read_lines + $truth.dram.write_lines) * 64e9 / $truth.ns)
	   }];

# ---- tables: arrays of rows, the first one the head; the driver aligns them ----

def fixed($digits):
	if . == null then "-"
	else
		pow(10; $digits) as $p | (. * $p | round) as $n
		| (if $n < 0 then "-" else "" end) as $sign
		| ($n | fabs) as $n
		| if $digits == 0 then "\($sign)\($n)"
		  else "\($sign)\($n / $p | floor)." +
			("\($n % $p)" | ("0" * ($digits - length) // "") + .) end
	end;
def signed($digits): if . == null then "-" elif . > 0 then "+" + fixed($digits) else fixed($digits) end;

def median: sort | if length == 0 then null
	elif length % 2 == 1 then .[length / 2 | floor]
	else (.[length / 2 - 1] + .[length / 2]) / 2 end;

# Values of several runs: the median, and with runs the extremes.
def spread($digits): map(select(. != null))
	| if length == 0 then "-"
	  elif length == 1 then (.[0] | signed($digits))
	  else "\(median | signed($digits)) (\(min | signed($digits))..\(max | signed($digits)))" end;

# Groups of runs of the same thing, in the order of the first.
def by(f): . as $all | reduce .[] as $w ([]; if any(.[]; . == ($w | f)) then . else . + [$w | f] end)
	| [.[] as $k | [$all[] | select(f == $k)]];

# The device that a window is about, or all that moved a hundredth of its bytes.
def active: (.devices | [.[].truth | .to + .from] | add) as $all
	| .devices | to_entries[] | select((.value.truth | .to + .from) * 100 > $all);

def table_io:
	["load", "benchmark MiB/s", "accounted MiB/s", "error %", "device, ledger MiB/s", "error %"],
	([.windows[] | select(.part == "io")] | by(.load)[]
	 | map(. as $w | .reported.seconds as $s | active.value
		| (if $w.load | test("send|write") then "to" else "from" end) as $way
		| {reported: ($w.reported.bytes / $s | mib),
		   bench: (.bench["io_\($way)"] / $s | mib),
		   root: (.["io_\($way)"] / $s | mib),
		   truth: (.truth[$way] / $s | mib)}) as $runs
	 | [.[0].load, ([$runs[].reported] | median | fixed(2)), ([$runs[].bench] | median | fixed(2)),
	    ([$runs[] | .reported as $r | .bench | percent($r)] | spread(2)),
	    ([$runs[].truth] | median | fixed(2)),
	    ([$runs[] | .truth as $t | .root | percent($t)] | spread(2))]);

def memory_errors: {
	mem: (.mem_read + .mem_write),
	dirtier: (.truth.read + .truth.dirtier_write),
	evictor: (.truth.read + .truth.evictor_write),
	io: (.io_to + .io_from)};

def table_llc:
	["LLC", "load", "device", "IO to", "IO from", "memory read", "truth", "memory write", "truth",
	 "error %", "of IO %"],
	([.windows[] | select(.part == "llc")] | by([.beside, .load])[]
	 | [.[] | . as $w | active.value + {s: ($w.ns / 1e9)}] as $d
	 | def med(f): [$d[] | f / .s | mib] | median | fixed(2);
	 [(if .[0].beside == "idle" then "idle" else "loaded" end), .[0].load, $d[0].model,
	  med(.io_to), med(.io_from), med(.mem_read), med(.truth.read), med(.mem_write),
	  med(.truth.dirtier_write),
	  ([$d[] | memory_errors | .dirtier as $t | .mem | percent($t)] | spread(1)),
	  ([$d[] | memory_errors | (.mem - .dirtier) / .io * 100] | spread(2))]);

# Each estimator in each pattern, summed up over runs: bytes.
def table_bytes:
	["pattern", "beside", "device", "estimator", "IO MiB", "read", "truth", "write", "dirtier", "evictor",
	 "to dirtier MiB", "%", "to evictor MiB", "%"],
	([.windows[] | select(.part == "estimators") | . as $w | active
	  | .value + ($w | {load, beside, estimator})] | by([.load, .beside, .model, .estimator])[]
	 | . as $runs
	 | def total(f): [$runs[] | f] | add;
	 def m(f): total(f) | mib | fixed(2);
	 (total(memory_errors.mem)) as $mem | (total(memory_errors.dirtier)) as $dirtier
	 | (total(memory_errors.evictor)) as $evictor
	 | [.[0].load, .[0].beside, .[0].model, .[0].estimator, m(.io_to + .io_from), m(.mem_read),
	    m(.truth.read), m(.mem_write), m(.truth.dirtier_write), m(.truth.evictor_write),
	    ($mem - $dirtier | mib | signed(2)), ($mem | percent($dirtier) | signed(1)),
	    ($mem - $evictor | mib | signed(2)), ($mem | percent($evictor) | signed(1))]);

def table_estimators:
	["pattern", "beside", "device", "price", "seed", "miss", "dirty", "seed", "miss", "dirty", "dirty, of IO %"],
	([.windows[] | select(.part == "estimators") | . as $w | active
	  | .value + ($w | {load, beside, estimator})] | by([.load, .beside, .model])[]
	 | . as $runs
	 | def error($e; f): [$runs[] | select(.estimator == $e) | memory_errors | f as $t | .mem | percent($t)]
		| spread(1);
	 [.[0].load, .[0].beside, .[0].model,
	  ([$runs[] | memory_errors | .dirtier / .io] | median | fixed(2)),
	  error("seed"; .dirtier), error("miss"; .dirtier), error("dirty"; .dirtier),
	  error("seed"; .evictor), error("miss"; .evictor), error("dirty"; .evictor),
	  ([$runs[] | select(.estimator == "dirty") | memory_errors | (.mem - .dirtier) / .io * 100]
	   | spread(2))]);

def table_series:
	["seconds", "IO", "memory", "truth", "DRAM"],
	(.series[] | [(.seconds | fixed(2)), (.io, .mem, .truth, .dram | mib | fixed(2))]);

# Each process has a disk to itself: the disk's truth is the process's.
def table_devices:
	["DDIO", "beside", "process", "prices", "IO MiB", "memory", "truth", "error %", "of IO %"],
	([.windows[] | select(.part | startswith("devices")) | . as $w
	  | .processes | to_entries[] | .key as $process
	  | .value | to_entries[] | select((.key | contains(":")) and .value.io_from > 1000000)
	  | $w.devices[.key].truth as $truth
	  | .value + ($w | {part, beside, estimator, s: (.ns / 1e9)}) +
	    {$process, io: (.value.io_to + .value.io_from), mem: (.value.mem_read + .value.mem_write),
	     truth: ($truth.read + $truth.dirtier_write)}]
	 | by([.part, .beside, .process, .estimator])[]
	 | . as $runs
	 | def med(f): [$runs[] | f | mib] | median | fixed(2);
	 [(if .[0].part == "devices" then "2 ways" else "off" end), .[0].beside, .[0].process,
	  (if .[0].estimator == "device" then "each" else "common" end),
	  med(.io), med(.mem), med(.truth),
	  ([$runs[] | .truth as $t | .mem | percent($t)] | spread(1)),
	  ([$runs[] | (.mem - .truth) / .io * 100] | spread(2))]);
