# SPDX-License-Identifier: GPL-2.0
#
# The ledger's marks as windows (ci/tests/guest/window); for `jq -L ci/tests`.

# What lies between two marks: numbers are subtracted, all else is kept.
def minus($from):
	if type == "number" then . - ($from // 0)
	elif type == "object" then with_entries(.key as $k | .value |= minus($from[$k]))
	elif type == "array" then . as $a | [range(length) | . as $i | $a[$i] | minus($from[$i])]
	else . end;

def window($name; $from; $to):
	(reduce .marks[] as $m ({}; .[$m.name] = $m)) as $marks
	| $marks["\($name):\($to)"] | minus($marks["\($name):\($from)"]);

def inner($name): window($name; "begin"; "end");
def outer($name): window($name; "before"; "after");

# The invariants of an account; prints what does not hold.
def broken:
	([.devices[]] + [.cpu]) as $all
	| def sum(f): [$all[] | f // 0] | add;
	(["wb_first", "wb_last", "wb_evictor"][] as $k
	 | select(sum(.[$k]) != .dram.write_lines)
	 | "\($k) sums to \(sum(.[$k])), DRAM writes are \(.dram.write_lines)"),
	((sum(.to_miss) + sum(.fill_lines) + sum(.read_miss) + sum(.write_miss)) as $r
	 | select($r != .dram.read_lines)
	 | "misses and fills are \($r), DRAM reads \(.dram.read_lines)"),
	($all[] | select(.made_dirty != .wb_first + .dirty_lines)
	 | "made dirty \(.made_dirty), written back \(.wb_first), still dirty \(.dirty_lines)");
