# SPDX-License-Identifier: GPL-2.0
#
# Path lengths, patched against stock.
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
plot data using 2:xtic(1) skip 1 title "memio=off" lc "gray", \
     data using 3 skip 1 title "on, tasks without IO" lc "green", \
     data using 4 skip 1 title "on, tasks with IO" lc "orange", \
     data using 5 skip 1 title "... and the sampler" lc "red", \
     data using 6 skip 1 title "on, in a cgroup, both" lc "blue", \
     data using 7 skip 1 title "... with a limit, against stock in a cgroup" lc "violet"
