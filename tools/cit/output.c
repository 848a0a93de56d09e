// SPDX-License-Identifier: GPL-2.0
/*
 * What was found, as a table or as JSON
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../json/json.h"
#include "cit.h"
#include "command.h"

/* More events than this, and the table leaves out those in no category. */
#define LONG_LIST	40

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

static void json_prefetched(json_t *j, const struct family *f, const struct result *r)
{
	double apart, in_order;

	if (!orders(f, r, &apart, &in_order))
		return;
	json_object_set_new(j, "prefetch_share", json_number(prefetch_share(apart, in_order)));
	json_object_set_new(j, "counts_prefetches",
			    json_boolean(counts_prefetches(apart, in_order)));
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

/* "0x1cd": 64 bits */
static json_t *json_hex(unsigned long long config)
{
	char text[32];

	snprintf(text, sizeof(text), "%#llx", config);
	return json_string(text);
}

/* What the probes that ran counted, and the line through it */
static json_t *json_probes(const struct family *f, const struct result *r)
{
	json_t *all = json_object();
	unsigned int k;
	size_t p;

	for (p = 0; p < f->probes; p++) {
		const struct fit *fit = &r->fit[p];
		json_t *one, *points;

		if (!fit->valid)
			continue;
		one = json_object();
		points = json_array();
		for (k = 0; k < f->probe[p].points; k++)
			json_array_append_new(points, json_pack("[o, o]",
								json_count(r->work[p][k]),
								json_number(r->count[p][k])));
		json_object_set_new(one, "slope", json_number(fit->slope));
		json_object_set_new(one, "intercept", json_number(fit->intercept));
		json_object_set_new(one, "r2", json_number(fit->r2));
		json_object_set_new(one, "points", points);
		json_object_set_new(all, f->probe[p].name, one);
	}
	return all;
}

static json_t *json_event(const struct family *f, const struct event *e, const struct result *r)
{
	const struct match m = classify(r->fit, f->probes, f->category, f->categories);
	const struct category *may[CIT_CATEGORIES];
	const size_t n = candidates(r->fit, f->probes, f->category, f->categories, may);
	json_t *j = json_object(), *ambiguous;
	size_t i;

	json_object_set_new(j, "event", json_name(e->name));
	json_object_set_new(j, "config", json_hex(e->attr.config));
	json_object_set_new(j, "config1", json_hex(e->attr.config1));
	json_object_set_new(j, "config2", json_hex(e->attr.config2));
	json_object_set_new(j, "units", json_integer(e->units));
	json_object_set_new(j, "per", json_integer(e->per));
	json_object_set_new(j, "multiplexed", json_boolean(r->multiplexed));
	json_object_set_new(j, "refused", r->absent ? json_name(strerror(r->error)) :
			    json_null());
	if (r->absent || r->multiplexed)
		return j;
	json_object_set_new(j, "category", n == 1 ? json_string(m.best->name) : json_null());
	ambiguous = json_array();
	for (i = 0; i < n && n > 1; i++)
		json_array_append_new(ambiguous, json_string(may[i]->name));
	json_object_set_new(j, "ambiguous", ambiguous);
	json_object_set_new(j, "best", json_string(m.best->name));
	json_object_set_new(j, "goodness", json_number(m.goodness));
	json_object_set_new(j, "runner_up", json_string(m.second->name));
	json_object_set_new(j, "runner_up_goodness", json_number(m.second_goodness));
	json_object_set_new(j, "dropped", json_integer(r->dropped));
	json_prefetched(j, f, r);
	if (f->seed_categories) {
		const struct match seed = classify(r->fit, f->seed_probes, f->category,
						   f->seed_categories);

		json_object_set_new(j, "seed", json_pack("{s:s, s:o}", "best", seed.best->name,
							 "goodness", json_number(seed.goodness)));
	}
	json_object_set_new(j, "probes", json_probes(f, r));
	return j;
}

static json_t *json_categories(const struct family *f)
{
	json_t *all = json_object();
	size_t i, p;

	for (i = 0; i < f->categories; i++) {
		json_t *expected = json_array();

		for (p = 0; p < f->probes; p++)
			json_array_append_new(expected,
					      json_number(f->category[i].expected[p]));
		json_object_set_new(all, f->category[i].name,
				    json_pack("{s:s, s:o}", "meaning", f->category[i].meaning,
					      "expected", expected));
	}
	return all;
}

static void output_json(const struct cit *cit, const struct family *f,
			const struct events *events, const struct result *result)
{
	json_t *j = json_begin(), *caches = json_array(), *probes = json_array();
	json_t *not_run = json_array(), *all = json_array();
	size_t i;

	for (i = 0; i < cit_levels(cit); i++)
		json_array_append_new(caches, json_count(cit->cache_bytes[i]));
	for (i = 0; i < f->probes; i++) {
		json_array_append_new(probes, json_string(f->probe[i].name));
		if (did_not_run(events, result, i))
			json_array_append_new(not_run, json_string(f->probe[i].name));
	}
	for (i = 0; i < events->n; i++)
		json_array_append_new(all, json_event(f, &events->e[i], &result[i]));
	json_object_set_new(j, "family", json_string(f->name));
	json_object_set_new(j, "per", json_string(f->unit));
	json_object_set_new(j, "cpu", json_integer(cit->cpu));
	json_object_set_new(j, "repetitions", json_integer(cit->repetitions));
	json_object_set_new(j, "caches", caches);
	json_object_set_new(j, "probes", probes);
	json_object_set_new(j, "not_run", not_run);
	json_object_set_new(j, "categories", json_categories(f));
	json_object_set_new(j, "events", all);
	json_end(j, stdout);
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
