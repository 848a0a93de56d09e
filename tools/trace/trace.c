// SPDX-License-Identifier: GPL-2.0
/*
 * memio trace: what was traced of tasks' memory accesses, recorded and shown
 *
 *	ring.c		from the kernel's rings,
 *	record.c	as memio trace record, by way of
 *	codec.c writer.c output.c	into a file,
 *	reader.c	from there as
 *	walk.c		single records to
 *	report.c export.c plot.c	those who show them
 *
 * options.c has what their options have in common.
 * What a ring is tells uapi/linux/memio_trace.h, what a file is FORMAT.md.
 */
#include "command.h"
#include "trace.h"

static const struct command *const children[] = {
	&trace_record, &trace_report, &trace_export, &trace_plot, &trace_bench, NULL
};

const struct command command_trace = {
	.name = "trace",
	.summary = "record and show traces of tasks' memory accesses",
	.child = children,
};

void trace_text(FILE *to, const char *name, size_t size)
{
	size_t i;

	for (i = 0; i < size && name[i]; i++)
		fputc(name[i] < ' ' || name[i] == 0x7f ? '?' : name[i], to);
}

void trace_csv(FILE *to, const char *name, size_t size)
{
	size_t i;

	fputc('"', to);
	for (i = 0; i < size && name[i]; i++) {
		unsigned char c = name[i];

		if (c == '"')
			fputc(c, to);
		fputc(c < ' ' || c >= 0x7f ? '?' : c, to);
	}
	fputc('"', to);
}
