# SPDX-License-Identifier: GPL-2.0
#
# Tables of benchmarks/programs/programs. .values[DEVICE][LOAD][SITUATION][KEY] is an array, a value a
# boot.

def mean: add / length;
def variance: mean as $m | map((. - $m) * (. - $m)) | add / (length - 1);
# Student's t, both sides, 95 %, by degrees of freedom
def t: [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
	2.131, 2.120, 2.110, 2.101, 2.093, 2.086][. - 1] // 2.0;
def to($digits): pow(10; $digits) as $p | . * $p | round / $p;

# How much more than $stock in %, and the half width of its interval; the degrees of freedom are Welch's.
def more($stock):
	((mean / ($stock | mean) - 1) * 100) as $d
	| if length < 2 or ($stock | length) < 2 then [$d, null] else
		(variance / length) as $a | (($stock | variance) / ($stock | length)) as $b
		| if $a + $b == 0 then [$d, 0] else
			(($a + $b) * ($a + $b) / ($a * $a / (length - 1) + $b * $b / (($stock | length) - 1)) | floor) as $df
			| [$d, ($df | t) * (($a + $b) | sqrt) / ($stock | mean) * 100] end end;

# [more, half width] of everything that stock has, too
def differences: .values | map_values(map_values(.stock as $stock | del(.stock)
	| map_values(with_entries(.key as $k | .value |= more($stock[$k])))));

def seed: {
	hackbench: "Ewert, figure 6.3: no significant difference",
	iperf: "Ewert, figures 6.4 and 6.5: no significant difference",
	ab: "Ewert, figure 6.6: 16 % fewer requests a second in the worst case"};

def unit: {hackbench: "message", receive: "byte", send: "byte", connection: "request", "keep-alive": "request"};
def what($load): {instructions: "instructions for a \(unit[$load])", per_packet: "instructions for a packet",
	per_second: "\(unit[$load])s a second of virtual time"};

def shown: if . < 100 then to(3) else to(1) end;
def signed: to(2) | if . > 0 then "+\(.)" else "\(.)" end;

def pad($n): tostring | . + (" " * ($n - length) // "");
def row: (.[0] | pad(54)) + (.[1:] | map(pad(18)) | join("")) | sub(" +$"; "");

def tables:
	. as $r
	| "\(.program): kernels \(.stock), \(.kernel); load average \(.load_before) before, \(.load_after) after; \(.seconds) s",
	  (seed[.program]), "",
	  (["", "stock", "unused", "accounting", "limit"] | row),
	  (.values | to_entries[] | .key as $d | .value | to_entries[] | .key as $l | .value as $v
	   | ("instructions", "per_packet", "per_second") as $k
	   | select($v.stock[$k])
	   | [(if $d == "none" then "" else "\($d), \($l): " end) + what($l)[$k], ($v.stock[$k] | mean | shown)]
	     + [("unused", "accounting", "limit") as $s | $v[$s][$k] // [] | if length == 0 then "-" else
		more($v.stock[$k]) | "\(.[0] | signed) %" + (if .[1] == null then "" else " ± \(.[1] | to(2))" end) end]
	   | row),
	  "", "\([.values[][][][] | length] | max) boots of each";
