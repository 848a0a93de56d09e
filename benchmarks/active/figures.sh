# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What benchmarks/active/guest has measured, beside the ledger. Source it.
#
#	figures LEDGER DIR BYTES	reads the ledger, and DIR, with a cache of BYTES
#	figure_5	distribution, buffer in caches; misses while warming up and measuring
#			by counters, by the ledger; misses measured, expected, by equation 4
#	figure_6 N	what 0, 1, ... CSThr leave of the cache, with N additions after each read:
#			estimate, truth, standard deviation of the estimates, how many, and the
#			estimate by the inverse of equation 4; "-": not known. The
#			truth is what is not theirs: as they read at random, their hits
#			are the part of their buffers that is in the cache. Then that part
#			while warming up and measuring, by counters and by the ledger.
#	figure_7, figure_8	one BWThr beside 0, 1, ... CSThr, and the other way round: how
#			many; million accesses a second, MB/s that they move (equation 1, and as
#			much written back), misses of each access. "-": not known

# shellcheck disable=SC2154 # memio_top is of who sources it

figures() {
	figures_ledger=$1 figures_dir=$2 figures_llc=$3
	# The ledger is large; what is wanted of each mark is little.
	jq -c '[.marks[] | {name, probe: .cpus[7].user.l3_miss, storage: [.cpus[0:5][].user | {l3_miss,
		loads: (.load_l1_hit + .load_l2_hit + .load_l3_hit + .load_l3_other + .load_l3_miss)}]}]' \
		"$1" >"$2/marks.json"
}

figure_5() {
	jq -r --slurpfile marks "$figures_dir/marks.json" --argjson llc "$figures_llc" '
		[$marks[0] | to_entries[] | select(.value.name | startswith("begin"))] as $b
		| to_entries[] | .key as $i | .value | $b[$i] as $at
		| ($marks[0][$at.key + 1].probe - $at.value.probe) as $true
		| [(.distribution | gsub(" "; "_")), .bytes / $llc, .all_misses / .all_reads,
		   $true / .all_reads, 1 - .hits, 1 - .expected, 1 - .expected_seed] | @tsv' \
		"$figures_dir/hits.json"
}

figure_6() {
	local k

	for k in 0 1 2 3 4 5; do
		[ -e "$figures_dir/cache-$k-$1.json" ] || break
		jq -r --slurpfile marks "$figures_dir/marks.json" --arg n "$1" \
				--argjson llc "$figures_llc" --argjson k $k '
			def mean: if length > 0 and all(. != null) then add / length else null end;
			# Each measurement has one mark before it and one behind.
			def held: [range($k) as $cpu | .[1].storage[$cpu] as $e | .[0].storage[$cpu] as $b
					| {m: ($e.l3_miss - $b.l3_miss), n: ($e.loads - $b.loads)}]
				| if length > 0 then 1 - (map(.m) | add) / (map(.n) | add) else null end;
			[$marks[0][] | select(.name | startswith("cache:\($k):\($n):"))] as $of
			| [to_entries[] | .key as $i | .value | select(.hits < 0.9) | {estimate: (.capacity / $llc),
				counted: .all_held, ledger: (if $of == [] then null
					else $of[2 * $i:2 * $i + 2] | held end),
				left: (if $k == 0 then 1 elif .held == null then null
					else 1 - $k * .held / 5 end), seed: (.capacity_seed / $llc)}]
			| (map(.estimate) | mean) as $mean
			| [$mean, (map(.left) | mean), (if $mean == null then null
				else (map((.estimate - $mean) | . * .)) | add / ([length - 1, 1] | max) | sqrt end),
			   length, (map(.seed) | mean), (map(.counted) | mean), (map(.ledger) | mean)]
			| map(. // "-") | @tsv' "$figures_dir/cache-$k-$1.json"
	done
}

# beside KIND OTHER: that many of OTHER beside one of KIND
beside() {
	jq -r --arg k "$1" --arg o "$2" '.calibration[$o] | to_entries[] | .value["\($k)_beside"] as $e
		| select($e) | [.key, $e.accesses_s / 1e6,
			if $e.misses then $e.accesses_s * $e.misses * 128 / 1e6 else "-" end,
			$e.misses // "-"] | @tsv' "$figures_dir/calibration.json"
}
figure_7() { beside bandwidth storage; }
figure_8() { beside storage bandwidth; }

# figure_alone PROGRAM: its misses in user mode, by counters, and by the ledger, of all that
# ran meanwhile, the last time
figure_alone() {
	printf '%s %s\n' "$(jq '.samples[0].misses' "$figures_dir/$1-alone.json")" \
		"$(jq --arg p "$1" '[.marks[] | select(.name | IN($p + ":begin", $p + ":end")) |
			[.cpus[].user.l3_miss] | add] | .[-1] - .[-2]' "$figures_ledger")"
}

# figure_bandwidth LEDGER PROGRAM: bytes a second that it uses: at least, at most, by the
# ledger of what the memory moved while it ran by itself, read and written. "-": not known.
figure_bandwidth() {
	printf '%s %s\n' "$(jq -r '.use.bandwidth | "\(.at_least // "-") \(.at_most // "-")"' \
			"$figures_dir/$2-bandwidth.json")" \
		"$(jq -L "$memio_top/ci/tests" --arg p "$2" 'include "ledger"; inner($p) |
			(.dram.read_lines + .dram.write_lines) * 64e9 / .ns' "$1")"
}

# The bubble: direction, bytes that it says it moved, those of the ledger
figure_dma() {
	local way

	for way in from to; do
		printf '%s %s %s\n' $way \
			"$(jq '[.samples[].bubble_bytes // 0] | add' "$figures_dir/dma-$way.json")" \
			"$(jq --arg w $way '[.marks[] | select(.name | startswith("dma:" + $w)) |
				[.devices[] | select(.model == "nvme")][0][$w + "_bytes"]] |
				.[1] - .[0]' "$figures_ledger")"
	done
}

# errors A B CONDITION: of columns A and B of figure 5 on standard input, where CONDITION
# (of awk, on misses and caches) holds: mean and largest distance, in percent of all reads, how
# many, and the standard deviation
errors() {
	awk -v a="$1" -v b="$2" 'function abs(x) { return x < 0 ? -x : x }
		{ misses = $5; caches = $2 }
		'"$3"' { e = abs($a - $b); sum += e; squares += e * e; n++; if (e > most) most = e }
		END {
			mean = n ? sum / n : 0
			sd = n > 1 ? sqrt(abs(squares - n * mean * mean) / (n - 1)) : 0
			printf "%.2f %.2f %d %.2f\n", 100 * mean, 100 * most, n, 100 * sd
		}'
}

# within X Y: yes or no
within() { awk -v x="$1" -v y="$2" 'BEGIN { print x <= y ? "yes" : "no" }'; }
