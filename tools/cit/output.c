// SPDX-License-Identifier: GPL-2.0
/*
 * What was found, as a table or as JSON
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cit.h"
#include "command.h"

/* More events than this, and the table leaves out those in no category. */
#define LONG_LIST	40

void json_quoted(FILE *to, const char *s)
{
	putc('"', to);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', to);
		if ((unsigned char)*s < ' ')
			fprintf(to, "\\u%04x", *s);
		else
			putc(*s, to);
	}
	putc('"', to);
}

static void json_number(double v)
{
	if (isnan(v) || isinf(v))
		fputs("null", stdout);
	else
		printf("%.10g", v);
}

static bool is_nothing(const struct category *c)
{
	return !strcmp(c->name, "-");
}

static void json_event(const struct family *f, const struct event *e, const struct result *r)
{
	const struct match m = classify(r->fit, f->probes, f->category, f->categories);
	const char *comma = "";
	size_t p;
	unsigned int k;

	fputs("{\"event\": ", stdout);
	json_quoted(stdout, e->name);
	printf(", \"units\": %u, \"multiplexed\": %s, \"refused\": ", e->units,
	       r->multiplexed ? "true" : "false");
	if (r->absent)
		json_quoted(stdout, strerror(r->error));
	else
		fputs("null", stdout);
	if (r->absent || r->multiplexed) {
		putchar('}');
		return;
	}
	fputs(", \"category\": ", stdout);
	if (m.goodness >= CIT_KILL)
		json_quoted(stdout, m.best->name);
	else
		fputs("null", stdout);
	fputs(", \"best\": ", stdout);
	json_quoted(stdout, m.best->name);
	printf(", \"goodness\": %.6f, \"runner_up\": ", m.goodness);
	json_quoted(stdout, m.second->name);
	printf(", \"runner_up_goodness\": %.6f, \"dropped\": %u", m.second_goodness, r->dropped);
	if (f->seed_categories) {
		const struct match seed = classify(r->fit, f->seed_probes, f->category,
						   f->seed_categories);

		fputs(", \"seed\": {\"best\": ", stdout);
		json_quoted(stdout, seed.best->name);
		printf(", \"goodness\": %.6f}", seed.goodness);
	}
	fputs(", \"probes\": {", stdout);
	for (p = 0; p < f->probes; p++) {
		const struct fit *fit = &r->fit[p];

		if (!fit->valid)
			continue;
		fputs(comma, stdout);
		comma = ", ";
		json_quoted(stdout, f->probe[p].name);
		fputs(": {\"slope\": ", stdout);
		json_number(fit->slope);
		fputs(", \"intercept\": ", stdout);
		json_number(fit->intercept);
		fputs(", \"r2\": ", stdout);
		json_number(fit->r2);
		fputs(", \"points\": [", stdout);
		for (k = 0; k < f->probe[p].points; k++) {
			printf("%s[%llu, ", k ? ", " : "", (unsigned long long)r->work[p][k]);
			json_number(r->count[p][k]);
			putchar(']');
		}
		fputs("]}", stdout);
	}
	fputs("}}", stdout);
}

static void output_json(const struct cit *cit, const struct family *f,
			const struct events *events, const struct result *result)
{
	size_t i, p;

	fputs("{\"family\": ", stdout);
	json_quoted(stdout, f->name);
	fputs(", \"per\": ", stdout);
	json_quoted(stdout, f->unit);
	printf(", \"cpu\": %d, \"repetitions\": %u, \"caches\": [%llu, %llu, %llu]", cit->cpu,
	       cit->repetitions, (unsigned long long)cit->cache_bytes[0],
	       (unsigned long long)cit->cache_bytes[1], (unsigned long long)cit->cache_bytes[2]);
	fputs(",\n \"probes\": [", stdout);
	for (p = 0; p < f->probes; p++) {
		fputs(p ? ", " : "", stdout);
		json_quoted(stdout, f->probe[p].name);
	}
	fputs("],\n \"categories\": {", stdout);
	for (i = 0; i < f->categories; i++) {
		fputs(i ? ",\n  " : "\n  ", stdout);
		json_quoted(stdout, f->category[i].name);
		fputs(": {\"meaning\": ", stdout);
		json_quoted(stdout, f->category[i].meaning);
		fputs(", \"expected\": [", stdout);
		for (p = 0; p < f->probes; p++) {
			fputs(p ? ", " : "", stdout);
			json_number(f->category[i].expected[p]);
		}
		fputs("]}", stdout);
	}
	fputs("},\n \"events\": [", stdout);
	for (i = 0; i < events->n; i++) {
		fputs(i ? ",\n  " : "\n  ", stdout);
		json_event(f, &events->e[i], &result[i]);
	}
	fputs("]}\n", stdout);
}

/* How much prefetchers take from an event that counts misses; the last two of a family
 * with a probe "in order"
 */
static void prefetched(const struct family *f, const struct result *r)
{
	const struct fit *apart = NULL, *order = NULL;
	double share;
	size_t p;

	for (p = 0; p < f->probes; p++) {
		if (!strcmp(f->probe[p].name, "load mem"))
			apart = &r->fit[p];
		if (!strcmp(f->probe[p].name, "in order"))
			order = &r->fit[p];
	}
	if (!apart || !order || !apart->valid || !order->valid)
		return;
	share = prefetch_share(apart->slope, order->slope);
	if (share > 0.1)
		printf("%30s prefetchers take %.0f %% of it when lines are loaded in order\n", "",
		       share * 100);
	else if (apart->slope < 0.05 && order->slope > 0.2)
		printf("%30s it counts prefetches: %.2f for each line that is loaded in order\n",
		       "", order->slope);
}

static void slopes(const struct family *f, const struct result *r)
{
	size_t p;

	for (p = 0; p < f->probes; p++)
		if (r->fit[p].valid)
			printf("    %-14s %10.4f   r2 %.4f   %s\n", f->probe[p].name,
			       r->fit[p].slope, r->fit[p].r2, f->probe[p].text);
	if (r->dropped)
		printf("    %u repetitions were outliers\n", r->dropped);
}

void output(const struct cit *cit, const struct family *f, const struct events *events,
	    const struct result *result)
{
	size_t i, in = 0, nothing = 0, other = 0, shared = 0, refused = 0;

	if (cit->json) {
		output_json(cit, f, events, result);
		return;
	}
	printf("%-46s %-8s %8s  %-17s %s\n", "event", "category", "goodness", "runner-up",
	       "what it counts");
	for (i = 0; i < events->n; i++) {
		const struct result *r = &result[i];
		const char *name = events->e[i].name;
		struct match m;

		if (r->absent) {
			refused++;
			if (events->n <= LONG_LIST || cit->verbose)
				printf("%-46s %-8s %s\n", name, "refused", strerror(r->error));
			continue;
		}
		if (r->multiplexed) {
			shared++;
			printf("%-46s %-8s it never had a counter for itself: nothing is known of it\n",
			       name, "shared");
			continue;
		}
		m = classify(r->fit, f->probes, f->category, f->categories);
		if (m.goodness < CIT_KILL)
			other++;
		else if (is_nothing(m.best))
			nothing++;
		else
			in++;
		if ((m.goodness < CIT_KILL || is_nothing(m.best)) && !cit->verbose &&
		    events->n > LONG_LIST)
			continue;
		printf("%-46s %-8s %8.4f  %-8s %8.4f %s\n", name,
		       m.goodness < CIT_KILL ? "?" : m.best->name, m.goodness, m.second->name,
		       m.second_goodness,
		       m.goodness < CIT_KILL ? "something else" : m.best->meaning);
		prefetched(f, r);
		if (cit->verbose)
			slopes(f, r);
	}
	printf("%zu events: %zu in a category, %zu count nothing of this, %zu something else, %zu shared a counter, %zu refused\n",
	       events->n, in, nothing, other, shared, refused);
}
