// SPDX-License-Identifier: GPL-2.0
/*
 * memio active predict: a command on a machine with less, from what was measured
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../json/json.h"
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
	struct surface s[BUBBLE_MAX + 1];
	double cache = 0, rate = 0, most = 0, rates[BUBBLE_MAX + 1];
	const double dma = a->bubble.rates ? a->bubble.rate[0] : 0;
	struct prediction p;
	const char *metric, *unit;
	struct unit scale;
	char beside[64] = "";
	json_t *j;
	struct run r;
	size_t n, i;
	bool good;

	if (!amount("llc", llc, &cache) || !amount("bandwidth", bandwidth, &rate))
		return STATUS_USAGE;
	if (a->bubble.rates > 1) {
		complain("predict: beside one rate of --dma");
		return STATUS_USAGE;
	}
	if (!run_load_whole(file, &r))
		return STATUS_FAILED;
	if (!run_counts(a, &r, file)) {
		run_free(&r);
		return STATUS_FAILED;
	}
	n = run_surfaces(a, &r, s, rates);
	for (i = 1; i < n; i++)
		surface_beside(&s[i], s);
	metric = run_metric_name(a, &r);
	unit = run_metric_unit(a, &r);
	/* What is not said is all there is. */
	cache = llc ? cache : s->capacity[0];
	rate = bandwidth ? rate : s->left[0];
	good = surfaces_at(s, rates, n, cache, rate, dma, &p);
	scale = rate_unit(r.calibration.total);
	run_free(&r);
	if (!s->capacity[0] && llc) {
		complain("%s: how much of the cache was left is not known, as misses could not be told from hits there",
			 file);
		return STATUS_FAILED;
	}
	if (!s->left[0] && bandwidth) {
		complain("%s: how much bandwidth there was is not known", file);
		return STATUS_FAILED;
	}
	if (dma && n == 1) {
		complain("%s: nothing was run beside DMA; 'memio active run --dma' does", file);
		return STATUS_FAILED;
	}
	if (!good) {
		complain("%s: the points around it have not all been run yet", file);
		return STATUS_FAILED;
	}
	if (dma)
		snprintf(beside, sizeof(beside), ", beside DMA of %.1f MB/s", dma / 1e6);
	if (a->json) {
		j = json_begin();
		json_object_set_new(j, "llc", json_count(cache));
		json_object_set_new(j, "bandwidth", json_count(rate));
		json_object_set_new(j, "dma", json_count(dma));
		json_object_set_new(j, "metric", json_string(metric));
		json_object_set_new(j, "slow", json_number(p.slow.mean));
		json_object_set_new(j, "low", json_number(p.slow.low));
		json_object_set_new(j, "high", json_number(p.slow.high));
		json_object_set_new(j, "added", json_boolean(p.added));
		json_object_set_new(j, "beyond", json_boolean(p.beyond || p.more_dma));
		json_end(j, stdout);
	} else {
		printf("With %.2f MiB of cache and %.2f %s%s: %s%.3f times as %s (%.3f to %.3f)%s\n",
		       cache / 1048576, rate / scale.bytes, scale.name, beside,
		       p.beyond || p.more_dma ? "at least " : "", p.slow.mean, unit, p.slow.low,
		       p.slow.high,
		       p.added ? "; all of it together was not measured, and is added up" : "");
	}
	if (p.beyond)
		complain("that is less than the least that was measured, %.2f MiB and %.2f %s",
			 s->capacity[s->storage] / 1048576, s->left[s->bandwidth] / scale.bytes,
			 scale.name);
	for (i = 1; i < n; i++)
		most = fmax(most, rates[i]);
	if (p.more_dma)
		complain("that is more DMA than was measured, %.1f MB/s", most / 1e6);
	return p.beyond || p.more_dma ? STATUS_NEGATIVE : STATUS_OK;
}
