# SPDX-License-Identifier: GPL-2.0
#
# Figure 6.1 of Ewert, "Estimating I/O Memory Bandwidth", with the truth beside it.
# gnuplot -e "data='...'; out='...'" series.gp

set terminal svg size 900,450 dynamic background "white"
set output out
set xlabel "time, s"
set ylabel "bandwidth, MiB/s"
set key outside right
set grid
set style data linespoints
set yrange [0:]
plot data using 1:5 skip 1 title "memory, all" lc "gray", \
     data using 1:2 skip 1 title "IO" lc "green", \
     data using 1:4 skip 1 title "memory of IO, truth" lc "black" pt 6, \
     data using 1:3 skip 1 title "memory of IO, memio" lc "red" pt 2
