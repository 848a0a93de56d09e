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

/* The two probes that tell of prefetchers; false for a family without, or if one did not run */
static bool orders(const struct family *f, const struct result *r, double *apart,
		   double *in_order)
{
	const struct fit *far = NULL, *order = NULL;
	size_t p;

	for (p = 0; p < f->probes; p++) {
		if (!strcmp(f->probe[p].name, "load mem"))
			far = &r->fit[p];
		if (!strcmp(f->probe[p].name, "in order"))
			order = &r->fit[p];
	}
	if (!far || !order || !far->valid || !order->valid)
		return false;
	*apart = far->slope;
	*in_order = order->slope;
	return true;
}

/* How much prefetchers take from an event that counts misses */
static void prefetched(const struct family *f, const struct result *r)
{
	double apart, in_order, share;

	if (!orders(f, r, &apart, &in_order))
		return;
	share = prefetch_share(apart, in_order);
	if (share > 0.1)
		printf("%30s prefetchers take %.0f %% of it when lines are loaded in order\n", "",
		       share * 100);
	else if (counts_prefetches(apart, in_order))
		printf("%30s it counts prefetches: %.2f for each line that is loaded in order\n",
		       "", in_order);
}

static bool is_ahead(const struct family *f, const struct result *r)
{
	double apart, in_order;

	return orders(f, r, &apart, &in_order) && counts_prefetches(apart, in_order);
}

static void json_prefetched(const struct family *f, const struct result *r)
{
	double apart, in_order;

	if (!orders(f, r, &apart, &in_order))
		return;
	printf(", \"prefetch_share\": %.6f, \"counts_prefetches\": %s",
	       prefetch_share(apart, in_order),
	       counts_prefetches(apart, in_order) ? "true" : "false");
}

/* Appends; what there is no room for is cut. */
static void add(char *text, size_t size, const char *more)
{
	const size_t length = strlen(text);

	snprintf(text + length, size - length, "%s", more);
}

/* Do these categories expect different things of a probe? */
static bool disagree(const struct category *const *c, size_t n, size_t probe)
{
	size_t i;

	for (i = 1; i < n; i++)
		if (c[i]->expected[probe] != c[0]->expected[probe] &&
		    !(isnan(c[i]->expected[probe]) && isnan(c[0]->expected[probe])))
			return true;
	return false;
}

void what_is_open(const struct family *f, const struct result *r, const struct category *const *c,
		  size_t n, char *text, size_t size)
{
	const char *comma = ": ";
	size_t p;

	snprintf(text, size, "what tells them apart did not run");
	for (p = 0; p < f->probes; p++) {
		if (r->fit[p].valid || !disagree(c, n, p))
			continue;
		add(text, size, comma);
		add(text, size, f->probe[p].name);
		comma = ", ";
	}
}

/* A probe that runs gives each event that is counted a line. */
static bool did_not_run(const struct events *events, const struct result *result, size_t probe)
{
	bool counted = false;
	size_t i;

	for (i = 0; i < events->n; i++) {
		if (result[i].fit[probe].valid)
			return false;
		counted |= !result[i].absent && !result[i].multiplexed;
	}
	return counted;
}

static void json_event(const struct family *f, const struct event *e, const struct result *r)
{
	const struct match m = classify(r->fit, f->probes, f->category, f->categories);
	const struct category *may[CIT_CATEGORIES];
	const size_t n = candidates(r->fit, f->probes, f->category, f->categories, may);
	const char *comma = "";
	size_t p;
	unsigned int k;

	fputs("{\"event\": ", stdout);
	json_quoted(stdout, e->name);
	printf(", \"config\": \"%#llx\", \"config1\": \"%#llx\", \"config2\": \"%#llx\"",
	       (unsigned long long)e->attr.config, (unsigned long long)e->attr.config1,
	       (unsigned long long)e->attr.config2);
	printf(", \"units\": %u, \"per\": %u, \"multiplexed\": %s, \"refused\": ", e->units,
	       e->per, r->multiplexed ? "true" : "false");
	if (r->absent)
		json_quoted(stdout, strerror(r->error));
	else
		fputs("null", stdout);
	if (r->absent || r->multiplexed) {
		putchar('}');
		return;
	}
	fputs(", \"category\": ", stdout);
	if (n == 1)
		json_quoted(stdout, m.best->name);
	else
		fputs("null", stdout);
	fputs(", \"ambiguous\": [", stdout);
	for (p = 0; p < n && n > 1; p++) {
		fputs(p ? ", " : "", stdout);
		json_quoted(stdout, may[p]->name);
	}
	fputs("], \"best\": ", stdout);
	json_quoted(stdout, m.best->name);
	printf(", \"goodness\": %.6f, \"runner_up\": ", m.goodness);
	json_quoted(stdout, m.second->name);
	printf(", \"runner_up_goodness\": %.6f, \"dropped\": %u", m.second_goodness, r->dropped);
	json_prefetched(f, r);
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
	const char *comma = "";
	size_t i, p;

	fputs("{\"family\": ", stdout);
	json_quoted(stdout, f->name);
	fputs(", \"per\": ", stdout);
	json_quoted(stdout, f->unit);
	printf(", \"cpu\": %d, \"repetitions\": %u, \"caches\": [", cit->cpu, cit->repetitions);
	for (i = 0; i < cit_levels(cit); i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)cit->cache_bytes[i]);
	fputs("],\n \"probes\": [", stdout);
	for (p = 0; p < f->probes; p++) {
		fputs(p ? ", " : "", stdout);
		json_quoted(stdout, f->probe[p].name);
	}
	fputs("],\n \"not_run\": [", stdout);
	for (p = 0; p < f->probes; p++) {
		if (!did_not_run(events, result, p))
			continue;
		fputs(comma, stdout);
		comma = ", ";
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

/* What an event is put down as: its category, or why it has none */
static void verdict(const struct family *f, const struct event *e, const struct result *r,
		    const struct category *const *may, size_t n)
{
	const struct match m = classify(r->fit, f->probes, f->category, f->categories);
	char open[400];
	size_t i;

	printf("%-46s %-8s %8.4f  %-8s %8.4f ", e->name, n == 1 ? m.best->name : "?", m.goodness,
	       m.second->name, m.second_goodness);
	if (n < 2) {
		puts(!n ? "something else" : is_nothing(m.best) && is_ahead(f, r) ?
		     "nothing of this but prefetches" : m.best->meaning);
		return;
	}
	for (i = 0; i < n; i++)
		printf("%s%s", !i ? "" : i == n - 1 ? " or " : ", ", may[i]->name);
	what_is_open(f, r, may, n, open, sizeof(open));
	printf(": %s\n", open);
}

void output(const struct cit *cit, const struct family *f, const struct events *events,
	    const struct result *result)
{
	size_t i, in = 0, nothing = 0, ahead = 0, open = 0, other = 0, shared = 0, refused = 0;

	if (cit->json) {
		output_json(cit, f, events, result);
		return;
	}
	printf("%-46s %-8s %8s  %-17s %s\n", "event", "category", "goodness", "runner-up",
	       "what it counts");
	for (i = 0; i < events->n; i++) {
		const struct category *may[CIT_CATEGORIES];
		const struct result *r = &result[i];
		const char *name = events->e[i].name;
		bool dull;
		size_t n;

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
		n = candidates(r->fit, f->probes, f->category, f->categories, may);
		/* One that counts nothing in what ran, nor prefetches: of those there are many. */
		dull = (!n || is_nothing(may[n - 1])) && !is_ahead(f, r);
		if (!n)
			other++;
		else if (n > 1)
			open++;
		else if (!is_nothing(may[0]))
			in++;
		else if (is_ahead(f, r))
			ahead++;
		else
			nothing++;
		if (dull && !cit->verbose && events->n > LONG_LIST)
			continue;
		verdict(f, &events->e[i], r, may, n);
		prefetched(f, r);
		if (cit->verbose)
			slopes(f, r);
	}
	for (i = 0; i < f->probes; i++)
		if (did_not_run(events, result, i))
			printf("did not run: %s (%s)\n", f->probe[i].name, f->probe[i].text);
	printf("%zu events: %zu in a category, %zu count nothing of this, %zu prefetches only, %zu not told apart, %zu something else, %zu shared a counter, %zu refused\n",
	       events->n, in, nothing, ahead, open, other, shared, refused);
}
