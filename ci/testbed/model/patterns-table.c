// SPDX-License-Identifier: GPL-2.0
/*
 * The table of estimators: what each makes of the load patterns
 *
 * Runs every pattern of patterns.c on the cache library and on the naive
 * model, which must agree to the line, and prints what the devices' IO cost in
 * DRAM lines, and what an estimator would have said that sees only counters:
 *
 *	truth	reads that missed + write-backs of what devices dirtied first
 *	evictor	the second truth: reads that missed + write-backs that the
 *		devices' accesses forced
 *	4.1	reads that missed + devices' share of all misses x write-backs
 *		(Ewert, formula 4.1)
 *	miss	reads that missed + writes that missed
 *	dirty	the same + writes that hit a clean line
 *
 * A bias is (estimate - truth) / truth. The last columns: writes that hit a
 * clean line, and by how much the devices' dirty lines grew. The truth counts a
 * line when it goes, `dirty` when it becomes dirty, so with full lines the
 * bias of `dirty` is that growth and nothing else.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patterns.h"

static const char usage[] =
	"usage: patterns-table [--steps N] [--private | --direct] [TEXT]\n"
	"Print the table of load patterns and estimators (those whose name holds TEXT).\n"
	"  --steps N   steps of each, half of them to warm up; default 600000\n"
	"  --private   only with the CPU's L1 and L2 before the LLC\n"
	"  --direct    only without\n";

static const char *bias(char text[16], double estimate, double truth)
{
	if (truth > 0)
		snprintf(text, 16, "%+.1f %%", 100 * (estimate / truth - 1));
	else
		snprintf(text, 16, "%s", estimate > 0 ? "+inf" : "-");
	return text;
}

static bool wanted(const struct pattern *p, const char *text)
{
	return !text || strstr(p->name, text);
}

static void table(bool private, unsigned int steps, const char *text)
{
	static const char rule[] = "----------------------------------------------------";
	static const int width[] = { 50, 8, 8, 9, 9, 8, 8, 8, 8 };
	unsigned int i;

	printf("\n%s\n\n", private ? "CPU through its L1 and L2" :
				     "CPU without private caches: every access reaches the LLC");
	printf("| %-50s | %8s | %8s | %9s | %9s | %8s | %8s | %8s | %8s |\n",
	       "load (20 MiB, 20 ways, 2 DDIO)", "truth", "evictor", "4.1:truth", "4.1:evict",
	       "miss", "dirty", "clean", "grown");
	for (i = 0; i < sizeof(width) / sizeof(width[0]); i++)
		printf("|%.*s", width[i] + 2, rule);
	printf("|\n");
	for (i = 0; i < pattern_count; i++) {
		char b[4][16];
		struct pattern_figures f;
		double truth, evictor, formula, miss, all;

		if (!wanted(&patterns[i], text))
			continue;
		pattern_run(&patterns[i], private, steps, &f);
		truth = f.to_miss + f.wb_first;
		evictor = f.to_miss + f.wb_evictor;
		miss = f.to_miss + f.from_miss;
		all = miss + f.cpu_miss;
		formula = f.to_miss + (all > 0 ? miss / all * f.wb_all : 0);
		printf("| %-50s | %8.0f | %8.0f | %9s | %9s | %8s | %8s | %8" PRIu64
		       " | %8" PRId64 " |\n", patterns[i].name, truth, evictor,
		       bias(b[0], formula, truth), bias(b[1], formula, evictor),
		       bias(b[2], miss, truth), bias(b[3], miss + f.from_clean_hit, truth),
		       f.from_clean_hit, f.dirty_grown);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	bool private = true, direct = true;
	unsigned int steps = 600000;
	const char *text = NULL;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help")) {
			fputs(usage, stdout);
			return 0;
		} else if (!strcmp(argv[i], "--private")) {
			direct = false;
		} else if (!strcmp(argv[i], "--direct")) {
			private = false;
		} else if (!strcmp(argv[i], "--steps") && i + 1 < argc) {
			steps = strtoul(argv[++i], NULL, 0);
		} else if (argv[i][0] != '-' && !text) {
			text = argv[i];
		} else {
			fputs(usage, stderr);
			return 2;
		}
	}
	if (steps < 2) {
		fprintf(stderr, "patterns-table: --steps: at least 2\n");
		return 2;
	}
	for (i = 0; i < (int)pattern_count && !wanted(&patterns[i], text); i++)
		;
	if (i == (int)pattern_count) {
		fprintf(stderr, "patterns-table: no load's name holds '%s'\n", text);
		return 2;
	}
	if (direct)
		table(false, steps, text);
	if (private)
		table(true, steps, text);
	return 0;
}
