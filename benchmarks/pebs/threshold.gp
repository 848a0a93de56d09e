# SPDX-License-Identifier: GPL-2.0
#
# Figure 11 of Larysch, "Fine-Grained Estimation of Memory Bandwidth Utilization".
# gnuplot -e "data='...'; out='...'" threshold.gp

set terminal svg size 900,450 dynamic background "white"
set output out
set xlabel "events for a record, as asked"
set ylabel "misses recorded, %"
set key outside right
set grid
set logscale x
set yrange [0:*]
set style data linespoints
set datafile separator "\t"
set datafile missing "-"
plot data using 1:2 skip 1 title "theirs" lc "black" pt 6, \
     data using 1:3 skip 1 title "registers" lc "green", \
     data using 1:4 skip 1 title "registers, losses" lc "orange", \
     data using 1:5 skip 1 title "memio" lc "blue", \
     data using 1:6 skip 1 title "memio, losses" lc "red"
