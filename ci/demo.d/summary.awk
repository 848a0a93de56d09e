# SPDX-License-Identifier: GPL-2.0
#
# The demonstration's summary: awk -v dir=OUT -v seconds=N -v stopped=0|1 -v cpu_cache=on|off -f summary.awk
#
# OUT has what ci/demo.d/first read with all at rest, before the load and behind it: memio.stat of
# the root, of its own tasks and of the groups, and the ledger in the same words. Prints what the
# devices moved by both, and who moved it by memio. OUT/figures.json gets the devices' bytes by both.
#
# Exit status: 0 if each group that does IO moved bytes both ways, and the devices' figures in total
# agree with the ledger; else 1.

# How far the sum over all devices may be off, in percent. A byte without a price is an upper bound,
# and no estimate.
BEGIN {
	io_bound = 2
	memory_bound = 5
	unpriced_bound = 1
	fields = split("io_to io_from mem_read mem_write unclaimed_to unclaimed_from unpriced", field)
	kinds = split("ledger stat root net disk cache", kind)
	for (k = 1; k <= kinds; k++) {
		take(kind[k], "begin", -1)
		take(kind[k], "end", 1)
	}
	names()
	printf "summary of %.1f s%s   %s\n", seconds, stopped ? " (stopped)" : "", standing()
	devices()
	json(dir "/figures.json")
	print ""
	owners()
	print ""
	exit verdict()
}

# moved[KIND, DEVICE, FIELD]: what was counted in between
function take(what, when, sign,		file, n, i, part, key) {
	file = dir "/" when "." what
	while ((n = (getline line <file)) > 0) {
		n = split(line, part, " ")
		key = part[1]
		if (key !~ /:/)
			continue
		if (what == "ledger" && !(key in seen))
			device[seen[key] = ++found] = key
		for (i = 2; i <= n; i++) {
			split(part[i], pair, "=")
			moved[what, key, pair[1]] += sign * pair[2]
		}
	}
	if (n < 0) {
		print "demo: no " file >"/dev/stderr"
		exit failed = 1
	}
	close(file)
}

function names(		n, part, i) {
	while ((getline line <(dir "/membw")) > 0) {
		n = split(line, part, " ")
		if (part[1] == "source" || part[1] == "estimator" || part[1] == "valid")
			head[part[1]] = part[2]
		for (i = 2; i <= n; i++)
			if (part[i] ~ /^alias=/) {
				split(substr(part[i], 7), pair, ",")
				alias[part[1]] = pair[1]
			}
	}
}

function standing() {
	if (head["source"] == "none")
		return "no counters: memory figures are an upper bound"
	return "counters " head["source"] ", estimator " head["estimator"] ": " (head["valid"] == 1 ? "valid" : "NOT VALID (stale)")
}

# mb BYTES: what would be shown as -0.00 is 0.
function mb(bytes) { bytes /= 1000000; return bytes < 0.005 && bytes > -0.005 ? 0 : bytes }

# error_of ESTIMATE TRUTH: percent; less than a thousand lines on either side are no statistics.
function error_of(estimate, truth) {
	if (estimate < 64000 && estimate > -64000 && truth < 64000)
		return 0
	if (truth <= 0)
		return estimate > 0 ? 1e9 : -1e9
	return (estimate - truth) / truth * 100
}

function titles(text) {
	printf "%-35s %10s %10s %10s %10s\n", text, "IO to", "IO from", "mem. read", "written"
}
function figures(text, from,	i) {
	printf "%-35s", text
	for (i = 1; i <= 4; i++)
		printf " %10.2f", mb(from[i])
	print ""
}
function three(address, name, estimate, truth,		i, e) {
	figures(sprintf("%-12s %-14s %-7s", address, name, "memio"), estimate)
	figures(sprintf("%-12s %-14s %-7s", "", "", "ledger"), truth)
	printf "%-12s %-14s %-7s", "", "", "error %"
	for (i = 1; i <= 4; i++) {
		e = error_of(estimate[i], truth[i])
		if (e < 0.005 && e > -0.005)
			e = 0
		text = sprintf("%.2f", e)
		if (e >= 1000)
			text = "> 999"
		if (e <= -1000)
			text = "< -999"
		printf " %10s", text
	}
	print ""
}

function devices(	d, i, e, t) {
	titles("MB, since the start")
	for (d = 1; d <= found; d++) {
		for (i = 1; i <= 4; i++) {
			e[i] = moved["stat", device[d], field[i]]
			t[i] = moved["ledger", device[d], field[i]]
			estimates[i] += e[i]
			truths[i] += t[i]
		}
		three(device[d], alias[device[d]], e, t)
	}
	three("all devices", "", estimates, truths)
}

# A device of which no task and no list says an alias has its address.
function name_of(key) { return alias[key] == "" ? key : alias[key] }
function account(name, from,	i, text) {
	for (i = 1; i <= 4; i++)
		text = text sprintf("%s\"%s\": %d", i > 1 ? ", " : "", field[i], from[i])
	return sprintf("\"%s\": {%s}", name, text)
}
function json(file,	d, i, e, t) {
	printf "{\"seconds\": %s, \"devices\": {", seconds >file
	for (d = 1; d <= found; d++) {
		for (i = 1; i <= 4; i++) {
			e[i] = moved["stat", device[d], field[i]]
			t[i] = moved["ledger", device[d], field[i]]
		}
		printf "\"%s\": {%s, %s}, ", name_of(device[d]), account("memio", e), account("ledger", t) >file
	}
	printf "\"all\": {%s, %s}}}\n", account("memio", estimates), account("ledger", truths) >file
	close(file)
}

# sums_of KIND SUM: over the devices
function sums_of(what, sum,	d, i) {
	for (i = 1; i <= fields; i++) {
		sum[i] = 0
		for (d = 1; d <= found; d++)
			sum[i] += moved[what, device[d], field[i]]
	}
}

# The root's own file says what its tasks moved: nobody subtracts figures that were priced in
# different windows.
function owners(	k, sum, i, all) {
	titles("MB, by memio")
	still = ""
	for (k = 4; k <= kinds; k++) {
		sums_of(kind[k], sum)
		figures("cgroup " kind[k], sum)
		for (i = 1; i <= 4; i++)
			all[i] += sum[i]
		if (kind[k] != "cache" && (sum[1] < 1000000 || sum[2] < 1000000))
			still = kind[k]
	}
	sums_of("root", sum)
	figures("all others, the kernel among them", sum)
	for (i = 1; i <= 4; i++)
		all[i] += sum[i]
	sums_of("stat", sum)
	unpriced = sum[7]
	printf "%-35s %10.2f %10.2f\n", "unclaimed (dropped, or unread)", mb(sum[5]), mb(sum[6])
	all[1] += sum[5]
	all[2] += sum[6]
	figures("together", all)
	if (cpu_cache == "off")
		print "What the CPUs load and store does not pass these caches: it has no figures."
}

function verdict(	i, e, worst, io) {
	for (i = 1; i <= 4; i++) {
		e = error_of(estimates[i], truths[i])
		e = e < 0 ? -e : e
		if (e > worst[i > 2])
			worst[i > 2] = e
	}
	io = estimates[1] + estimates[2]
	unpriced = io > 0 ? unpriced / io * 100 : 0
	if (unpriced > 0)
		printf "%.2f %% of the IO bytes have no price: there memory is an upper bound.\n", unpriced
	if (still != "") {
		printf "verdict: %s: %s moved less than 1 MB to or from its device\n",
			stopped ? "none, stopped too early" : "failed", still
		return 1
	}
	if (head["source"] == "none" || unpriced > unpriced_bound) {
		print "verdict: failed: an upper bound is no estimate"
		return 1
	}
	if (worst[0] <= io_bound && worst[1] <= memory_bound) {
		printf "verdict: the estimates agree with the ledger: all devices' IO within %.2f %%,\n", worst[0]
		printf "         their memory bytes within %.2f %% (bounds: %d and %d %%)\n", worst[1], io_bound, memory_bound
		return 0
	}
	printf "verdict: failed: all devices' IO is off by %.2f %%, memory by %.2f %% (%d, %d)\n",
		worst[0], worst[1], io_bound, memory_bound
	return 1
}
END { if (failed) exit 1 }
