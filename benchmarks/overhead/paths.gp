# SPDX-License-Identifier: GPL-2.0
#
# Path lengths, patched against stock, and what the seed published. What is too large for the
# scale is at its top, with the figure.
# gnuplot -e "data='...'; out='...'" paths.gp

set terminal svg size 900,450 dynamic background "white"
set output out
set ylabel "instructions more than stock, %"
set key outside top center horizontal
set grid ytics
set style data histogram
set style histogram clustered gap 1
set style fill solid 0.8
set datafile separator "\t"
set datafile missing "-"
set xtics rotate by -30
# No further than our own bars go.
top = 0.1
do for [c = 2:7] {
	stats data using c skip 1 nooutput
	if (STATS_records > 0 && STATS_max > top) { top = STATS_max }
}
top = top * 1.3
set yrange [*:top]
at_top(x) = x > top ? top * 0.93 : x
said(x) = sprintf("%s%g %%", x > 0 ? "+" : "", x)
plot data using 2:xtic(1) skip 1 title "memio=off" lc "gray", \
     data using 3 skip 1 title "on, tasks without IO" lc "green", \
     data using 4 skip 1 title "on, tasks with IO" lc "orange", \
     data using 5 skip 1 title "... and the sampler" lc "red", \
     data using 6 skip 1 title "on, in a cgroup, both" lc "blue", \
     data using 7 skip 1 title "... with a limit, against stock in a cgroup" lc "violet", \
     data using 0:(at_top($8)) skip 1 with points pt 9 ps 1.2 lc "black" \
          title "the seed (003): time, a real machine", \
     data using 0:(at_top($8)):(said($8)) skip 1 with labels offset 0,-0.8 notitle
