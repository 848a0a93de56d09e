// SPDX-License-Identifier: GPL-2.0
/*
 * A recording for memio top, of as many groups and tasks as are wanted:
 *
 *	make-trees EMPTY-DIRECTORY SAMPLES GROUPS TASKS
 *
 * Groups are in 20 slices, and each moves bytes in each sample. Tasks are spread over them, and
 * each moves bytes.
 */
#include "trees.h"

#define SLICES	20

int main(int argc, char **argv)
{
	const int samples = argc > 4 ? atoi(argv[2]) : 0, groups = argc > 4 ? atoi(argv[3]) : 0;
	const int tasks = argc > 4 ? atoi(argv[4]) : 0;
	unsigned long long sum[SLICES], all;
	char tree[16], name[256], procs[32768];
	int n, g, t;

	if (argc < 5)
		return 2;
	place = argv[1];
	for (n = 0; n < samples; n++) {
		snprintf(tree, sizeof(tree), "%d", n);
		put_machine(tree);
		for (all = 0, g = 0; g < SLICES; g++)
			sum[g] = 0;
		for (g = 0; g < groups; g++) {
			const unsigned long long bytes = 4096ull * n * (g + 1);
			size_t at = 0;

			snprintf(name, sizeof(name), "/s%02d.slice/g%04d.service", g % SLICES, g);
			put_group(tree, name, bytes);
			sum[g % SLICES] += bytes;
			all += bytes;
			*procs = '\0';
			for (t = g; t < tasks; t += groups) {
				put_task(tree, 1000 + t, "worker", t, 4096ull * n * (t + 1));
				at += snprintf(procs + at, sizeof(procs) - at, "%d\n", 1000 + t);
			}
			snprintf(name, sizeof(name), CG "/s%02d.slice/g%04d.service/cgroup.procs",
				 g % SLICES, g);
			put_file(tree, name, "%s", procs);
			/* Some have a limit. */
			snprintf(name, sizeof(name), CG "/s%02d.slice/g%04d.service/memio.limit",
				 g % SLICES, g);
			put_file(tree, name, g % 5 ? "" : "total bps=200000000\n");
		}
		for (g = 0; g < SLICES && g < groups; g++) {
			snprintf(name, sizeof(name), "/s%02d.slice", g);
			put_group(tree, name, sum[g]);
		}
		put_group(tree, "", all);
		for (g = 0; g < groups; g++) {
			static const char *const files[][2] = {
				{ "min", "0\n" }, { "min.effective", "0\n" },
				{ "weight", "100\n" },
				{ "state", "accounting on\ncpu ok\nio ok\n"
				  "total ok\n0000:00:03.0 ok\n" },
			};

			for (t = 0; t < (int)(sizeof(files) / sizeof(*files)); t++) {
				snprintf(name, sizeof(name),
					 CG "/s%02d.slice/g%04d.service/memio.%s",
					 g % SLICES, g, files[t][0]);
				put_file(tree, name, "%s", files[t][1]);
			}
		}
	}
	return 0;
}
