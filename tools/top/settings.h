/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio top, memio replay: options of what is shown, and samples without a terminal
 */
#ifndef MEMIO_TOP_SETTINGS_H
#define MEMIO_TOP_SETTINGS_H

#include "batch.h"
#include "command.h"

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };

/**
 * struct settings - what the arguments say
 * @below:	the group whose tree is shown; NULL: all
 * @batch:	no terminal
 * @samples:	how many tables; 0: until it is ended
 */
struct settings {
	const char *below;
	bool batch;
	unsigned long samples;
	enum format format;
	struct view view;
};

/* Numbers of options above the letters; those of the commands themselves follow. */
enum { OPT_JSON = 256, OPT_CSV, OPT_ASCII, OPT_SETTINGS_END };

/* The rows of these options in the table of a command */
#define SETTINGS_OPTIONS(interval_help) \
	{ 'b', "batch", .help = "Print one table after the other, on a terminal, too." }, \
	{ 'n', "samples", "N", .help = "End after N tables." }, \
	{ 'I', "interval", "MS", \
	  .help = interval_help }, \
	{ 'v', "view", "WHAT", .help = "Show groups (the default), tasks or devices.", \
	  .completes = COMPLETES_WORDS, .words = "groups tasks devices" }, \
	{ 's', "sort", "COLUMN", \
	  .help = "Sort by name, to, from, read, write, cpus, share (the default), limit or " \
		  "stopped. The largest comes first.", \
	  .completes = COMPLETES_WORDS, \
	  .words = "name to from read write cpus share limit stopped" }, \
	{ 'r', "reverse", .help = "Reverse the order: the smallest comes first." }, \
	{ 'f', "filter", "TEXT", \
	  .help = "Show only rows with TEXT in their names, and the groups above them. Case " \
			"does not matter." }, \
	{ 'i', "idle", .help = "Show tasks that move nothing, too." }, \
	{ 'B', "busy", .help = "Show no group or device that moves nothing." }, \
	{ 'G', "cgroup", "GROUP", \
	  .help = "Show only GROUP and the groups below it: /a/b, a path below the mount, or a " \
			"unit of systemd, as foo.service.", \
	  .completes = COMPLETES_GROUP }, \
	{ OPT_JSON, "json", .help = "Print a JSON object for each sample, each in one line." }, \
	{ OPT_CSV, "csv", .help = "Print comma-separated values: a line for each row of each " \
			"sample." }, \
	{ OPT_ASCII, "ascii", .help = "Print no characters beyond ASCII." }

/* settings_option: takes one of these; false after a complaint about its value */
bool settings_option(struct settings *set, int option);
/* settings_end: when all are taken: what the locale and the terminal add */
void settings_end(struct settings *set);
/* settings_print: a sample; @first: it is the first one. False: no memory */
bool settings_print(struct settings *set, struct model *o, struct screen *s, bool first);

/* take_number: digits alone, from @least to @most */
bool take_number(const char *text, unsigned long least, unsigned long most, unsigned long *n);

#endif /* MEMIO_TOP_SETTINGS_H */
