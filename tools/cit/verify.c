// SPDX-License-Identifier: GPL-2.0
/*
 * memio cit verify: does this event count what it is said to?
 *
 * A claim is a category's name. It holds if the event's goodness in it is CIT_PASS or
 * more, and in no other category: an event that never counts is as good a count of what
 * devices read as any, as long as no device has read. The reason of a failure is the
 * probe that fits worst, and the category that would fit.
 *
 * Each claim has its answer, also one on an event that another claim is on: they may differ.
 */
#include <stdlib.h>
#include <string.h>

#include "../json/json.h"
#include "cit.h"
#include "command.h"

struct claim {
	const char *event, *category;
};

#define TOR(umask, opcode) "uncore_cbox/event=0x35,umask=" umask ",filter_opc=" opcode \
	",filter_tid=0x3e,tid_en=1/"

/* The events that memio relies on, and those that its tests use */
static const struct profile {
	const char *name, *text;
	struct claim claim[24];
} profiles[] = {
	{ "hsw-cache", "Haswell cores: loads, stores, misses", {
		{ "LONGEST_LAT_CACHE:REFERENCE", "L2M/rw" },
		{ "LONGEST_LAT_CACHE:MISS", "L3M/rw" },
		{ "MEM_UOPS_RETIRED:ALL_LOADS", "A/r" },
		{ "MEM_UOPS_RETIRED:ALL_STORES", "A/w" },
		{ "MEM_UOPS_RETIRED:LOCK_LOADS", "LOCK" },
		{ "MEM_UOPS_RETIRED:SPLIT_LOADS", "SPLIT/r" },
		{ "MEM_UOPS_RETIRED:SPLIT_STORES", "SPLIT/w" },
		{ "MEM_LOAD_UOPS_RETIRED:L1_HIT", "L1H/r" },
		{ "MEM_LOAD_UOPS_RETIRED:L1_MISS", "L1M/r" },
		{ "MEM_LOAD_UOPS_RETIRED:L2_HIT", "L2H/r" },
		{ "MEM_LOAD_UOPS_RETIRED:L2_MISS", "L2M/r" },
		{ "MEM_LOAD_UOPS_RETIRED:L3_HIT", "L3H/r" },
		{ "MEM_LOAD_UOPS_RETIRED:L3_MISS", "L3M/r" },
		{ "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM", "HITM" },
		{ "L1D:REPLACEMENT", "L1M/rw" },
	} },
	{ "hsw-branch", "Haswell cores: branches", {
		{ "BR_INST_EXEC:ALL_CONDITIONAL", "CE" },
		{ "BR_INST_RETIRED:CONDITIONAL", "CR" },
		{ "BR_INST_EXEC:TAKEN_CONDITIONAL", "TE" },
		{ "BR_INST_EXEC:ALL_DIRECT_JMP", "D" },
		{ "BR_MISP_RETIRED:CONDITIONAL", "M" },
		{ "BR_INST_RETIRED:NOT_TAKEN", "N" },
		{ "BR_INST_RETIRED:NEAR_TAKEN", "BT" },
		{ "BR_INST_RETIRED:ALL_BRANCHES", "BR" },
		{ "BR_MISP_RETIRED:ALL_BRANCHES", "MB" },
	} },
	{ "hswep-io", "Haswell-EP slices: what devices do (--disk or --file)", {
		{ TOR("0x1", "0x1c8"), "IOW" },
		{ TOR("0x3", "0x1c8"), "IOWM" },
		{ TOR("0x1", "0x19e"), "IOR" },
		{ TOR("0x3", "0x19e"), "IORM" },
		{ "uncore_cbox/event=0x34,umask=0x5,filter_state=0x7f,filter_tid=0x3e,tid_en=1/",
		  "IOW" },
		/* Of those, lines that it makes dirty: not modified before, or not there */
		{ "uncore_cbox/event=0x34,umask=0x5,filter_state=0x17,filter_tid=0x3e,tid_en=1/",
		  "IOWM" },
		{ "uncore_cbox/event=0x37,umask=0x1/", "IOWM" },
	} },
	{ "hswep-shared", "Haswell-EP slices and memory: what all cores do", {
		{ "uncore_cbox/event=0x35,umask=0x2a/", "MR" },
		{ "uncore_cbox/event=0x37,umask=0x1/", "MW" },
		{ "uncore_cbox/event=0x34,umask=0x3,filter_state=0x7f/", "L3R" },
		{ "uncore_imc/event=0x4,umask=0x3/", "MR" },
		{ "uncore_imc/event=0x4,umask=0xc/", "MW" },
	} },
	{ "skx-io", "Skylake-SP: as hswep-io; encodings of the kernel's tables, not tried", {
		{ "uncore_cha/event=0x35,umask=0x24,config1=0x4903300000000/", "IOWM" },
		{ "uncore_cha/event=0x35,umask=0x24,config1=0x43c3300000000/", "IORM" },
		/* Units of 4 bytes, of all ports of a stack */
		{ "uncore_iio/event=0x83,umask=0x1,ch_mask=0x1f,fc_mask=0x7,per=16/", "IOW" },
		{ "uncore_iio/event=0x83,umask=0x4,ch_mask=0x1f,fc_mask=0x7,per=16/", "IOR" },
	} },
};

#define PROFILES (sizeof(profiles) / sizeof(*profiles))

void profiles_list(FILE *to, json_t *list)
{
	size_t i;

	for (i = 0; i < PROFILES; i++) {
		if (list)
			json_object_set_new(list, profiles[i].name,
					    json_string(profiles[i].text));
		else
			fprintf(to, "%-14s %s\n", profiles[i].name, profiles[i].text);
	}
}

struct work {
	const struct family *family;
	struct events events;
	const struct category **claimed;	/* of each event */
};

static const struct family *families[4];

/* A STATUS_, as that of events_add() */
static int add(struct work *work, const char *event, const char *category)
{
	struct events some = { 0 };
	size_t f, c;
	int status;

	for (f = 0; f < 4; f++) {
		for (c = 0; c < families[f]->categories; c++) {
			struct work *w = &work[f];
			struct events *all = &w->events;
			size_t i;

			if (!strcmp(category, "-") ||
			    strcmp(families[f]->category[c].name, category))
				continue;
			/* To a list of its own: a pattern leaves out what its list has. */
			status = events_add(&some, event);
			if (status != STATUS_OK)
				return status;
			all->e = realloc(all->e, (all->n + some.n) * sizeof(*all->e));
			w->claimed = realloc(w->claimed, (all->n + some.n) * sizeof(*w->claimed));
			for (i = 0; i < some.n; i++) {
				all->e[all->n] = some.e[i];
				w->claimed[all->n++] = &families[f]->category[c];
			}
			free(some.e);
			return STATUS_OK;
		}
	}
	return STATUS_USAGE;
}

/* One event: prints a line, or appends it to @list; true if the claim holds */
static bool judge(json_t *list, const struct family *f, const struct event *e,
		  const struct result *r, const struct category *claim)
{
	const struct match m = classify(r->fit, f->probes, f->category, f->categories);
	size_t worst = 0;
	const double g = signature_goodness(r->fit, claim->expected, f->probes, &worst);
	const bool known = !r->absent && !r->multiplexed;
	const struct category *rival = m.best == claim ? m.second : m.best;
	const bool fits = known && g >= CIT_PASS;
	const bool good = fits && signature_goodness(r->fit, rival->expected, f->probes,
						     NULL) < CIT_PASS;
	char why[800] = "", open[400];

	if (r->absent) {
		snprintf(why, sizeof(why), "the kernel refuses it: %s", strerror(r->error));
	} else if (r->multiplexed) {
		snprintf(why, sizeof(why), "it never had a counter for itself");
	} else if (fits && !good) {
		what_is_open(f, r, (const struct category *[]){ claim, rival }, 2, open,
			     sizeof(open));
		snprintf(why, sizeof(why), "it fits %s (%s) as well; %s", rival->name,
			 rival->meaning, open);
	} else if (!good) {
		snprintf(why, sizeof(why),
			 "%s: %.4f for each %s (r2 %.3f) where %s has %g; it counts like %s (%.2f): %s",
			 f->probe[worst].name, r->fit[worst].slope, f->unit, r->fit[worst].r2,
			 claim->name, claim->expected[worst],
			 m.goodness >= CIT_KILL ? m.best->name : "none",
			 m.goodness, m.goodness >= CIT_KILL ? m.best->meaning : "something else");
	}
	if (list) {
		json_array_append_new(list, json_pack("{s:o, s:s, s:b, s:o, s:o}", "event",
						      json_name(e->name), "claim", claim->name,
						      "pass", good, "goodness",
						      json_number(known ? g : 0), "reason",
						      json_name(why)));
	} else {
		printf("%s %s = %s", good ? "pass" : "FAIL", e->name, claim->name);
		if (known)
			printf(" (%s): goodness %.4f", claim->meaning, g);
		printf("%s%s\n", *why ? "\n     " : "", why);
	}
	return good;
}

static const struct profile *profile_of(const char *name)
{
	size_t c;

	for (c = 0; c < PROFILES; c++)
		if (!strcmp(profiles[c].name, name))
			return &profiles[c];
	return NULL;
}

static bool is_category(const char *name)
{
	const struct family *const all[] = {
		&branch_family, cache_family(), &io_family, &shared_family,
	};
	size_t f, c;

	for (f = 0; f < 4 && strcmp(name, "-"); f++)
		for (c = 0; c < all[f]->categories; c++)
			if (!strcmp(all[f]->category[c].name, name))
				return true;
	return false;
}

int verify_arguments(int argc, char **argv, const char *const *wanted, size_t n_wanted)
{
	const char *claim;
	size_t k;
	int i;

	for (k = 0; k < n_wanted; k++) {
		if (profile_of(wanted[k]))
			continue;
		complain("no profile '%s'; 'memio cit verify --list' has them", wanted[k]);
		return STATUS_USAGE;
	}
	for (i = 0; i < argc; i++) {
		claim = strrchr(argv[i], '=');
		if (!claim || claim == argv[i] || !claim[1]) {
			complain("'%s': what is said of an event is written EVENT=CATEGORY",
				 argv[i]);
			return STATUS_USAGE;
		}
		if (!is_category(claim + 1)) {
			complain("'%s' is no category; 'memio cit verify --list' has them",
				 claim + 1);
			return STATUS_USAGE;
		}
	}
	return STATUS_OK;
}

int verify(const struct cit *cit, int argc, char **argv, const char *const *wanted,
	   size_t n_wanted)
{
	struct work work[4] = { 0 };
	const struct events *lists[4];
	int status = STATUS_OK, i;
	json_t *j, *list;
	size_t f, k;

	families[0] = &branch_family;
	families[1] = cache_family();
	families[2] = &io_family;
	families[3] = &shared_family;

	for (k = 0; k < n_wanted; k++) {
		const struct profile *p = profile_of(wanted[k]);

		for (i = 0; p->claim[i].event; i++)
			if (add(work, p->claim[i].event, p->claim[i].category) != STATUS_OK)
				return STATUS_FAILED;
	}
	for (i = 0; i < argc; i++) {
		char *claim = strrchr(argv[i], '=');

		*claim++ = '\0';
		status = add(work, argv[i], claim);
		if (status != STATUS_OK)
			return status;
	}
	if (work[2].events.n && !cit->disk && !cit->file && !cit->host) {
		complain("what devices do is inspected with a disk or a network: --disk DEVICE [--overwrite], --file FILE or --host ADDRESS");
		return STATUS_USAGE;
	}
	for (f = 0; f < 4; f++)
		if (work[f].events.n && !cit_caches(cit, families[f]->levels, families[f]->name))
			return STATUS_UNABLE;
	for (f = 0; f < 4; f++)
		lists[f] = &work[f].events;
	if (!events_allowed(lists, 4))
		return STATUS_UNABLE;
	list = cit->json ? json_array() : NULL;
	for (f = 0; f < 4 && status != STATUS_FAILED; f++) {
		const size_t n = work[f].events.n;
		struct result *result = calloc(n + 1, sizeof(*result));

		if (n && !measure(cit, families[f], &work[f].events, result))
			status = STATUS_FAILED;
		for (k = 0; k < n && status != STATUS_FAILED; k++) {
			if (!judge(list, families[f], &work[f].events.e[k], &result[k],
				   work[f].claimed[k]))
				status = STATUS_NEGATIVE;
		}
		free(result);
		events_free(&work[f].events);
		free(work[f].claimed);
	}
	if (list) {
		j = json_begin();
		json_object_set_new(j, "claims", list);
		json_end(j, stdout);
	}
	return status;
}
