// SPDX-License-Identifier: GPL-2.0
/*
 * memio export: figures of groups for Prometheus
 *
 * By HTTP, as a file for node_exporter, or once to standard output.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../everyday/everyday.h"
#include "clock.h"
#include "interrupt.h"
#include "metrics.h"
#include "number.h"

enum { OPT_LISTEN = 256, OPT_TEXTFILE, OPT_ONCE, OPT_OPEN, OPT_DEPTH, OPT_MATCH, OPT_GROUPS };

static const struct command_option options[] = {
	{ OPT_LISTEN, "listen", "ADDRESS:PORT",
	  .help = "Answer HTTP there; the default is 127.0.0.1:9814. Anybody who reaches the "
			"port can read the names of groups." },
	{ OPT_TEXTFILE, "textfile", "FILE", .completes = COMPLETES_FILE,
	  .help = "Write FILE instead, for node_exporter's textfile collector, which reads only "
			"names that end with .prom. Each write replaces the whole FILE." },
	{ 'I', "interval", "MS",
	  .help = "With --textfile: write it every MS milliseconds, 1000 to 3600000, instead of "
			"once." },
	{ OPT_ONCE, "once", .help = "Print the metrics once, and end." },
	{ OPT_OPEN, "openmetrics",
	  .help = "With --once: in the format of OpenMetrics. By HTTP a client asks for it with "
			"its header Accept." },
	{ OPT_DEPTH, "cgroup-depth", "N",
	  .help = "Name groups down to this depth, 0 to 100; the default is 2. The bytes of "
			"deeper groups are in the group above them." },
	{ OPT_MATCH, "match", "GLOB",
	  .help = "Name only groups whose whole path matches, as '/system.slice/*', and the "
			"root. A '*' matches a '/', too." },
	{ OPT_GROUPS, "max-groups", "N",
	  .help = "Name at most N groups beside the root in any hour, 1 to 100000; the default "
			"is 1000. The metric memio_export_groups_left_out counts the others." },
	{ .name = NULL }
};

struct settings {
	const char *listen, *textfile, *match;
	unsigned long interval_ms, depth, groups;
	bool once, open;
};

static int print_to(struct metrics *x, enum metrics_format format, FILE *to)
{
	size_t length;
	char *text;
	int err = metrics_print(x, format, &text, &length);

	if (err) {
		complain("%s", err == -ENOMEM ? "no memory" : memio_error(x->m));
		return STATUS_FAILED;
	}
	fwrite(text, 1, length, to);
	free(text);
	return ferror(to) ? STATUS_FAILED : STATUS_OK;
}

/* node_exporter never sees a part of the file: it is written beside it, and takes its name. */
static int write_textfile(struct metrics *x, const char *path)
{
	int status = STATUS_FAILED, fd;
	char *new = NULL;
	FILE *f;

	if (asprintf(&new, "%s.XXXXXX", path) < 0)
		return STATUS_FAILED;
	fd = mkostemp(new, O_CLOEXEC);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f) {
		complain_errno("%s", new);
		goto out;
	}
	status = print_to(x, METRICS_TEXT, f);
	/* node_exporter is another user. */
	if (fchmod(fd, 0644) || fflush(f) || fsync(fd)) {
		complain_errno("%s", new);
		status = STATUS_FAILED;
	}
	fclose(f);
	if (status == STATUS_OK && rename(new, path)) {
		complain_errno("%s", path);
		status = STATUS_FAILED;
	}
	if (status != STATUS_OK)
		unlink(new);
out:
	free(new);
	return status;
}

static int write_textfiles(struct metrics *x, const struct settings *set)
{
	int status;

	interrupts_catch();
	do {
		status = write_textfile(x, set->textfile);
		if (status != STATUS_OK || !set->interval_ms)
			break;
		interrupts_wait(clock_ns(CLOCK_MONOTONIC) + set->interval_ms * 1000000ull);
	} while (!interrupted);
	/* Series of a file that stays would be as of now for ever. */
	if (set->interval_ms)
		unlink(set->textfile);
	return status;
}

static int export(const struct settings *set)
{
	struct metrics x = {
		.depth = set->depth, .match = set->match, .version = command_version_text,
	};
	int status = STATUS_FAILED;

	/* Of a kernel with memio: counters of a metric are not to begin anew with each run. */
	x.m = everyday_open("kernel", &status);
	x.slots = slots_new(set->groups);
	if (!x.m || !x.slots)
		goto out;
	if (!everyday_able(x.m))
		status = STATUS_UNABLE;
	else if (set->once)
		status = print_to(&x, set->open ? METRICS_OPEN : METRICS_TEXT, stdout);
	else if (set->textfile)
		status = write_textfiles(&x, set);
	else
		status = http_serve(&x, set->listen);
out:
	slots_free(x.slots);
	memio_close(x.m);
	return status;
}

static bool take_option(struct settings *set, int option)
{
	switch (option) {
	case OPT_LISTEN:
		set->listen = optarg;
		return true;
	case OPT_TEXTFILE:
		set->textfile = optarg;
		return true;
	case 'I':
		return number("interval", optarg, 1000, 3600000, &set->interval_ms);
	case OPT_ONCE:
		set->once = true;
		return true;
	case OPT_OPEN:
		set->open = true;
		return true;
	case OPT_DEPTH:
		return number("cgroup-depth", optarg, 0, 100, &set->depth);
	case OPT_MATCH:
		set->match = optarg;
		return true;
	default:
		return number("max-groups", optarg, 1, 100000, &set->groups);
	}
}

static int cmd_export(int argc, char **argv)
{
	struct settings set = { .listen = "127.0.0.1:9814", .depth = 2, .groups = 1000 };
	struct options o;
	int option, status = STATUS_USAGE;

	options_begin(&o, argc, argv);
	while ((option = options_get(&o, &status)) > 0)
		if (!take_option(&set, option))
			return STATUS_USAGE;
	if (option < 0)
		return status;
	if (o.argc)
		complain("takes no argument '%s'", o.argv[0]);
	else if (set.once + !!set.textfile + options_had(&o, OPT_LISTEN) > 1)
		complain("one of --listen, --textfile and --once");
	else if (set.interval_ms && !set.textfile)
		complain("--interval is for --textfile");
	else if (set.open && !set.once)
		complain("--openmetrics is for --once");
	else
		return export(&set);
	return STATUS_USAGE;
}

const struct command command_export = {
	.name = "export",
	.summary = "figures and limits of groups for Prometheus",
	.usage = "[--listen ADDRESS:PORT] [OPTION]...\n--textfile FILE [-I MS] "
			"[OPTION]...\n--once [--openmetrics] [OPTION]...",
	.about = "Exports metrics of groups and devices: the bytes that they moved, their limits, "
			"and the time for which limits stopped them. memio export answers HTTP at "
			"/metrics, or writes a file for node_exporter.",
	.option = options,
	.main = cmd_export,
};
