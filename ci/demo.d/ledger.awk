# SPDX-License-Identifier: GPL-2.0
#
# What ledger-mark prints, in the words of memio.stat: for `memio top --beside`, and for the
# demonstration's summary. It reads ledger-mark's own text, in which a device is a line, and not
# JSON in general.
#
# A line that a device made dirty is written to memory once, sooner or later. made_dirty counts
# the lines that still wait in the cache, too, as memio's estimate does.

function value(key,	at, rest) {
	at = index($0, "\"" key "\": ")
	if (!at)
		exit bad = 1
	rest = substr($0, at + length(key) + 4)
	match(rest, /^[0-9]+/)
	return substr(rest, 1, RLENGTH)
}
function put(key, to, from, read, written) {
	printf "%s io_to=%.0f io_from=%.0f mem_read=%.0f mem_write=%.0f\n", key, to, from, read, written
}
BEGIN { print "name ledger" }
!timed && /"ns": / { print "time_ns " value("ns"); timed = 1 }
/^ *"devices": \{/ { devices = 1 }
devices && /^ *"[0-9a-f:.]+": \{"model": / {
	match($0, /"[^"]*"/)
	name = substr($0, RSTART + 1, RLENGTH - 2)
	put(name, value("to_bytes"), value("from_bytes"),
	    (value("to_miss") + value("fill_lines")) * 64, value("made_dirty") * 64)
	found++
}
/"cpu": \{/ && !cpus++ {
	devices = 0
	if (value("loads") > 0)
		printf "cpu mem_read=%.0f mem_write=%.0f\n",
			(value("read_miss") + value("write_miss")) * 64, value("made_dirty") * 64
}
END {
	if (bad || !timed || !found) {
		print "demo: the ledger can't be read" >"/dev/stderr"
		exit 1
	}
}
