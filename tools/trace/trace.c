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

/* The code point at the beginning of so much UTF-8, and how long it is; of others a mark */
static uint32_t code_point(const char *text, size_t size, size_t *length)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char first = text[0];
	const size_t n = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 :
			 first >> 3 == 30 ? 4 : 0;
	uint32_t c = n < 2 ? first : first & (0xff >> (n + 1));
	size_t i;

	*length = 1;
	if (!n || n > size)
		return 0xfffd;
	for (i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0xfffd;
		c = c << 6 | (text[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || c >> 11 == 0xd800 >> 11)
		return 0xfffd;
	*length = n;
	return c;
}

void trace_json(FILE *to, const char *name, size_t size)
{
	size_t i, length;

	fputc('"', to);
	for (i = 0; i < size && name[i]; i += length) {
		const uint32_t c = code_point(name + i, size - i, &length);

		if (c > 0xffff)
			fprintf(to, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
				0xdc00 + (c & 0x3ff));
		else if (c < ' ' || c >= 0x7f)
			fprintf(to, "\\u%04x", c);
		else if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
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
