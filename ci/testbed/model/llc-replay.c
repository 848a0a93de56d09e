// SPDX-License-Identifier: GPL-2.0
/*
 * Replay a trace of the last level cache on the naive model
 *
 * The emulated machine writes every access that reached its LLC to a trace
 * (the format is at the end of llc.h). This program makes the same accesses on
 * refmodel.c, which shares no code with the machine's cache, and prints what
 * comes of them in the shape of the ledger: so a ledger can be checked to the
 * line by someone who was not there.
 *
 * The trace is checked as it is read: a damaged or truncated one is an error,
 * with its place in the file, and no result is printed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refmodel.h"
#include "tally.h"

static const char usage[] =
	"usage: llc-replay FILE\n"
	"Replay a trace of the emulated last level cache (ci/vm writes one on request) on\n"
	"an independent model, and print as JSON what each actor did. FILE - is standard\n"
	"input. Exit status: 0, or 1 if the trace cannot be read or is damaged.\n";

static const char *name;
static FILE *trace;
static uint64_t offset;		/* of what is read next */

__attribute__((format(printf, 1, 2), noreturn))
static void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "llc-replay: %s: ", name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* Return: how much came, of at most @bytes; less only at the end. */
static size_t take(void *to, size_t bytes)
{
	size_t got = fread(to, 1, bytes, trace);

	if (got < bytes && ferror(trace))
		die("%s", strerror(errno));
	offset += got;
	return got;
}

static void read_header(struct ref_llc *llc)
{
	struct llc_trace_sockets two = { 0 };
	struct llc_trace_header h;
	const char *wrong;

	if (take(&h, sizeof(h)) < sizeof(h))
		die("not a trace: shorter than a header of %zu bytes", sizeof(h));
	if (__builtin_bswap64(h.magic) == LLC_TRACE_MAGIC ||
	    __builtin_bswap64(h.magic) == LLC_TRACE_MAGIC_2)
		die("written on a machine of the other byte order; replay it there");
	if (h.magic != LLC_TRACE_MAGIC && h.magic != LLC_TRACE_MAGIC_2)
		die("not a trace: it begins with 0x%016" PRIx64 " instead of 0x%016" PRIx64,
		    h.magic, (uint64_t)LLC_TRACE_MAGIC);
	wrong = ref_llc_init(llc, h.slices, h.sets, h.ways, h.ddio_ways, h.thread_bits + 1u);
	if (wrong)
		die("damaged header: %s (slices %u, sets %u, ways %u, ddio_ways %u, "
		    "thread_bits %u)", wrong, h.slices, h.sets, h.ways, h.ddio_ways, h.thread_bits);
	if (h.magic != LLC_TRACE_MAGIC_2)
		return;
	if (take(&two, sizeof(two)) < sizeof(two))
		die("truncated: it ends within the header of two sockets");
	wrong = ref_llc_sockets(llc, two.cpus, two.node1);
	if (wrong || two.zero)
		die("damaged header of two sockets: %s", wrong ? wrong : "not zero where it must be");
}

static void replay_record(struct ref_llc *llc, uint64_t record, unsigned int slice, uint64_t at)
{
	uint64_t line = record & ((1ull << 44) - 1);
	unsigned int who = record >> 44 & 0xff, op = record >> 52 & 0xf;
	struct ref_result result;

	if (record >> 56)
		die("damaged at byte %" PRIu64 ": bits 56-63 of the record 0x%016" PRIx64
		    " are not zero", at, record);
	if (op >= LLC_OPS)
		die("damaged at byte %" PRIu64 ": unknown op %u", at, op);
	if (who >= LLC_ACTORS)
		die("damaged at byte %" PRIu64 ": actor %u, there are %u", at, who, LLC_ACTORS);
	if (op >= LLC_CPU_LOAD && who >= LLC_MAX_CORES)
		die("damaged at byte %" PRIu64 ": actor %u makes a core's access (op %u), but "
		    "is none", at, who, op);
	if (op >= LLC_CPU_LOAD && ref_socket_of(llc, who) >= llc->sockets)
		die("damaged at byte %" PRIu64 ": CPU %u is of no socket", at, who);
	if (ref_slice_of(llc->slices, line) != slice)
		die("damaged at byte %" PRIu64 ": line 0x%" PRIx64 " in a block of slice %u, it "
		    "belongs to slice %u", at, line, slice, ref_slice_of(llc->slices, line));
	ref_access(llc, op, line, who, &result);
}

/* Return: records replayed. */
static uint64_t replay(struct ref_llc *llc)
{
	static uint64_t buffer[8192];
	uint64_t records = 0;

	for (;;) {
		uint64_t at = offset;
		struct llc_trace_block b;
		uint32_t left;
		size_t got = take(&b, sizeof(b));

		if (!got)
			return records;
		if (got < sizeof(b))
			die("truncated: it ends within the block at byte %" PRIu64, at);
		if (b.slice >= llc->slices)
			die("damaged at byte %" PRIu64 ": a block of slice %u, there are %u",
			    at, b.slice, llc->slices);
		for (left = b.records; left; ) {
			size_t n = left, i;

			if (n > sizeof(buffer) / sizeof(buffer[0]))
				n = sizeof(buffer) / sizeof(buffer[0]);
			if (take(buffer, n * sizeof(buffer[0])) < n * sizeof(buffer[0]))
				die("truncated: the block at byte %" PRIu64
				    " has %u records, the file ends before", at, b.records);
			for (i = 0; i < n; i++)
				replay_record(llc, buffer[i], b.slice,
					      offset - (n - i) * sizeof(buffer[0]));
			left -= n;
		}
		records += b.records;
	}
}

static void sum_up(const struct ref_llc *llc, struct tally *t)
{
	static const struct ref_count nothing;
	unsigned int i, who, ch;

	t->sockets = llc->sockets;
	t->slices = llc->sockets * llc->slices;
	for (i = 0; i < t->slices; i++) {
		const struct ref_slice *s = &llc->slice[i];

		for (who = 0; who < LLC_ACTORS; who++) {
			const struct ref_count *c = &s->count[who];

			/* Who did nothing here made nothing dirty. */
			if (!memcmp(c, &nothing, sizeof(*c)))
				continue;
#define ADD(field)	t->count[who].field += c->field;
			REF_FIELDS(ADD)
#undef ADD
			t->dirty_lines[who] += ref_dirty_lines(llc, i, who);
		}
		for (ch = 0; ch < LLC_CHANNELS; ch++) {
			t->dram_read[i / llc->slices] += s->dram_read[ch];
			t->dram_write[i / llc->slices] += s->dram_write[ch];
		}
		t->victims_m[i] = s->victims_m;
	}
}

int main(int argc, char **argv)
{
	static struct ref_llc llc;
	static struct tally t;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc != 2 || (argv[1][0] == '-' && argv[1][1])) {
		fputs(usage, stderr);
		return 1;
	}
	name = argv[1];
	trace = strcmp(name, "-") ? fopen(name, "rb") : stdin;
	if (!trace)
		die("%s", strerror(errno));

	read_header(&llc);
	t.records = replay(&llc);
	if (llc.upgrade_miss)
		fprintf(stderr, "llc-replay: %s: warning: %" PRIu64
			" upgrades of lines that were not there; taken for stores\n",
			name, llc.upgrade_miss);
	if (llc.asked_wrongly)
		fprintf(stderr, "llc-replay: %s: warning: %" PRIu64
			" requests of cores that they had no reason for\n", name,
			llc.asked_wrongly);
	sum_up(&llc, &t);
	tally_print(&t, stdout);
	if (fflush(stdout) || ferror(stdout))
		die("standard output: %s", strerror(errno));
	ref_llc_free(&llc);
	return 0;
}
