// SPDX-License-Identifier: GPL-2.0
/*
 * The outcome of a trace, as JSON; see tally.h. Actors that did nothing, and
 * have nothing left to be written back, are left out.
 */
#include <inttypes.h>
#include <string.h>

#include "tally.h"

void tally_print(const struct tally *t, FILE *to)
{
	static const struct ref_count nothing;
	const char *comma = "";
	unsigned int i;

	fprintf(to, "{\"actors\": {");
	for (i = 0; i < LLC_ACTORS; i++) {
		const struct ref_count *c = &t->count[i];

		if (!memcmp(c, &nothing, sizeof(*c)) && !t->dirty_lines[i])
			continue;
		fprintf(to, "%s\n  \"%u\": {", comma, i);
#define PRINT(field)	fprintf(to, "\"" #field "\": %" PRIu64 ", ", c->field);
		REF_FIELDS(PRINT)
#undef PRINT
		fprintf(to, "\"dirty_lines\": %" PRIu64 "}", t->dirty_lines[i]);
		comma = ",";
	}
	fprintf(to, "},\n \"dram\": {\"read_lines\": %" PRIu64 ", \"write_lines\": %" PRIu64 "},\n",
		t->dram_read[0] + t->dram_read[1], t->dram_write[0] + t->dram_write[1]);
	if (t->sockets == 2) {
		fprintf(to, " \"nodes\": [");
		for (i = 0; i < 2; i++)
			fprintf(to, "%s{\"read_lines\": %" PRIu64 ", \"write_lines\": %" PRIu64
				"}", i ? ", " : "", t->dram_read[i], t->dram_write[i]);
		fprintf(to, "],\n");
	}
	fprintf(to, " \"slices\": [");
	for (i = 0; i < t->slices; i++)
		fprintf(to, "%s{\"victims_m\": %" PRIu64 "}", i ? ", " : "", t->victims_m[i]);
	fprintf(to, "],\n \"records\": %" PRIu64 "}\n", t->records);
}
