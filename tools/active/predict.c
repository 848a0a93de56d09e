// SPDX-License-Identifier: GPL-2.0
/*
 * memio active predict: a command on a machine with less, from what was measured
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "active.h"
#include "command.h"
#include "number.h"

static bool amount(const char *option, const char *text, double *v)
{
	const char *end;

	if (!text)
		return true;
	*v = size_of(text, &end);
	if (*v > 0 && !*end)
		return true;
	complain("--%s '%s': a size as 10M or 8G", option, text);
	return false;
}

int predict(const struct active *a, const char *llc, const char *bandwidth, const char *file)
{
	struct prediction p;
	struct surface s;
	double cache = 0, rate = 0;
	const char *metric, *unit;
	struct run r;
	bool good;

	if (!amount("llc", llc, &cache) || !amount("bandwidth", bandwidth, &rate))
		return STATUS_USAGE;
	if (!run_load_whole(file, &r))
		return STATUS_FAILED;
	if (!run_counts(a, &r, file)) {
		run_free(&r);
		return STATUS_FAILED;
	}
	run_surface(a, &r, &s);
	metric = run_metric_name(a, &r);
	unit = run_metric_unit(a, &r);
	/* What is not said is all there is. */
	cache = llc ? cache : s.capacity[0];
	rate = bandwidth ? rate : s.left[0];
	good = surface_at(&s, cache, rate, &p);
	run_free(&r);
	if (!s.capacity[0] && llc) {
		complain("%s: how much of the cache was left is not known, as misses could not be told from hits there",
			 file);
		return STATUS_FAILED;
	}
	if (!s.left[0] && bandwidth) {
		complain("%s: how much bandwidth there was is not known, as all cores were others'",
			 file);
		return STATUS_FAILED;
	}
	if (!good) {
		complain("%s: the points around it have not all been run yet", file);
		return STATUS_FAILED;
	}
	if (a->json)
		printf("{\"llc\": %.0f, \"bandwidth\": %.0f, \"metric\": \"%s\", \"slow\": %.6f, \"low\": %.6f, \"high\": %.6f, \"added\": %s, \"beyond\": %s}\n",
		       cache, rate, metric, p.slow.mean, p.slow.low, p.slow.high,
		       p.added ? "true" : "false", p.beyond ? "true" : "false");
	else
		printf("With %.2f MiB of cache and %.2f GB/s: %s%.3f times as %s (%.3f to %.3f)%s\n",
		       cache / 1048576, rate / 1e9, p.beyond ? "at least " : "", p.slow.mean, unit,
		       p.slow.low, p.slow.high,
		       p.added ? "; both together were not measured, and are added up" : "");
	if (p.beyond)
		complain("that is less than the least that was measured, %.2f MiB and %.2f GB/s",
			 s.capacity[s.storage] / 1048576, s.left[s.bandwidth] / 1e9);
	return p.beyond ? STATUS_NEGATIVE : STATUS_OK;
}
