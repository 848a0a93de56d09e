# SPDX-License-Identifier: GPL-2.0
#
# Figure 18 of Larysch, "Fine-Grained Estimation of Memory Bandwidth Utilization", with
# the truth, and without a trace. Each has its own scales.
# gnuplot -e "data='...'; out='...'" phases.gp

set terminal svg size 900,700 dynamic background "white"
set output out
set datafile separator "\t"
set datafile missing "-"
set ylabel "misses/us"
set yrange [0:*]
set grid
set key outside right
set multiplot layout 3,1
do for [mode in "none pebs soft"] {
	set title mode
	if (mode eq "soft") { set xlabel "time, ms (10^6 instructions)" }
	plot data using (strcol(1) eq mode ? $2 : NaN):3 skip 1 title "ledger" with steps lc "black" lw 2, \
	     data using (strcol(1) eq mode ? $2 : NaN):4 skip 1 title "trace" with steps lc "red"
}
