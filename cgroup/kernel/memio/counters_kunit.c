// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: KUnit tests of sources
 *
 * What tables have counted is held against events as they are published, by the formats of the
 * driver. What is read is held against PMUs that the tests make up, one for each box.
 */

#include <kunit/test.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>

#include "counters.h"

/* ---- tables ---- */

/*
 * Where the driver has the fields of an event, from arch/x86/events/intel/uncore_snbep.c. A field
 * of several pieces has a row for each, the lowest bits first.
 */
struct format {
	const char *name;
	unsigned int word;
	unsigned int first;
	unsigned int last;
};

/* hswep_uncore_cbox_formats_attr, for hsx and bdx alike */
static const struct format cbox_formats[] = {
	{ "event",		0, 0, 7 },
	{ "umask",		0, 8, 15 },
	{ "tid_en",		0, 19, 19 },
	{ "filter_tid",		1, 0, 5 },
	{ "filter_link",	1, 6, 8 },
	{ "filter_state",	1, 17, 23 },
	{ "filter_nid",		1, 32, 47 },
	{ "filter_opc",		1, 52, 60 },
	{ "filter_c6",		1, 61, 61 },
	{ "filter_nc",		1, 62, 62 },
	{ "filter_isoc",	1, 63, 63 },
	{}
};

/* snr_uncore_cha_formats_attr, which icx has, too */
static const struct format icx_cha_formats[] = {
	{ "event",		0, 0, 7 },
	{ "umask",		0, 8, 15 },
	{ "umask",		0, 32, 57 },
	{ "tid_en",		0, 19, 19 },
	{ "filter_tid",		1, 0, 9 },
	{}
};

/* spr_uncore_cha_formats_attr, which gnr has, too */
static const struct format spr_cha_formats[] = {
	{ "event",		0, 0, 7 },
	{ "umask",		0, 8, 15 },
	{ "umask",		0, 32, 63 },
	{ "tid_en",		0, 16, 16 },
	{ "filter_tid",		1, 0, 9 },
	{}
};

/* skx_uncore_iio_freerunning_formats_attr, for memory controllers as well */
static const struct format free_running_formats[] = {
	{ "event",		0, 0, 7 },
	{ "umask",		0, 8, 15 },
	{}
};

/* spr_uncore_raw_formats_attr, for memory controllers */
static const struct format spr_imc_formats[] = {
	{ "event",		0, 0, 7 },
	{ "umask",		0, 8, 15 },
	{ "umask",		0, 32, 55 },
	{}
};

static u64 mask_of(const struct format *f, const char *fields)
{
	u64 mask = 0;

	for (; f->name; f++)
		if (f->word == 1 && strstr(fields, f->name))
			mask |= GENMASK_ULL(f->last, f->first);
	return mask;
}

/* Perf's terms, "event=0x35,umask=0x1", as the driver's formats place them. */
static void encode(struct kunit *test, const struct format *formats, const char *terms, u64 word[2])
{
	char *copy = kunit_kstrdup(test, terms, GFP_KERNEL), *term, *value;
	const struct format *f;
	unsigned int bits;
	bool known;
	u64 n;

	word[0] = 0;
	word[1] = 0;
	KUNIT_ASSERT_NOT_NULL(test, copy);
	while ((term = strsep(&copy, ","))) {
		value = strchr(term, '=');
		KUNIT_ASSERT_NOT_NULL(test, value);
		*value++ = '\0';
		KUNIT_ASSERT_EQ(test, kstrtou64(value, 0, &n), 0);
		known = false;
		for (f = formats; f->name; f++) {
			if (strcmp(f->name, term))
				continue;
			known = true;
			bits = f->last - f->first + 1;
			word[f->word] |= (n & GENMASK_ULL(bits - 1, 0)) << f->first;
			n >>= bits;
		}
		KUNIT_ASSERT_TRUE_MSG(test, known, "no format %s", term);
		KUNIT_ASSERT_EQ_MSG(test, n, 0, "%s is too large for %s", value, term);
	}
}

/*
 * tools/perf/pmu-events/arch/x86/{haswellx,broadwellx}/uncore-cache.json, which have the same codes
 * for both. Where @name has a filter, it is the published one. UNC_C_LLC_LOOKUP.WRITE is published
 * without: "one must always select a state" (Intel 331051). tid_en is in the formats only. @fields
 * are those of the filter that the driver takes for the event, hswep_uncore_cbox_extra_regs;
 * without it, all.
 */
static const struct published {
	unsigned int group;
	unsigned int role;
	const char *name;
	const char *terms;
	const char *fields;
} cbox_published[] = {
	{ MEMIO_READS, MEMIO_ALL, "LLC_REFERENCES.PCIE_READ",
	  "event=0x35,umask=0x1,filter_opc=0x19e",
	  "filter_link filter_opc filter_nc filter_c6 filter_isoc" },
	{ MEMIO_READS, MEMIO_MISSES, "LLC_MISSES.PCIE_READ",
	  "event=0x35,umask=0x3,filter_opc=0x19e",
	  "filter_opc filter_nc filter_c6 filter_isoc" },
	{ MEMIO_READS, MEMIO_ANY_MISS, "UNC_C_TOR_INSERTS.MISS_LOCAL",
	  "event=0x35,umask=0x2a", "" },
	{ MEMIO_READS, MEMIO_VICTIMS, "UNC_C_LLC_VICTIMS.M_STATE",
	  "event=0x37,umask=0x1", "" },
	{ MEMIO_WRITES, MEMIO_ALL, "LLC_REFERENCES.PCIE_WRITE",
	  "event=0x35,umask=0x1,filter_opc=0x1c8,filter_tid=0x3e,tid_en=1",
	  "filter_tid filter_link filter_opc filter_nc filter_c6 filter_isoc" },
	{ MEMIO_WRITES, MEMIO_MISSES, "LLC_MISSES.PCIE_NON_SNOOP_WRITE",
	  "event=0x35,umask=0x3,filter_opc=0x1c8,filter_tid=0x3e,tid_en=1",
	  "filter_tid filter_opc filter_nc filter_c6 filter_isoc" },
	{ MEMIO_WRITES, MEMIO_DIRTIED, "UNC_C_LLC_LOOKUP.WRITE",
	  "event=0x34,umask=0x5,filter_state=0x17,filter_tid=0x3e,tid_en=1",
	  "filter_tid filter_state" },
	{ MEMIO_WRITES, MEMIO_VICTIMS, "UNC_C_LLC_VICTIMS.M_STATE",
	  "event=0x37,umask=0x1", "" },
	{ MEMIO_PARTIALS, MEMIO_ALL, "LLC_REFERENCES.PCIE_NS_PARTIAL_WRITE",
	  "event=0x35,umask=0x1,filter_opc=0x180,filter_tid=0x3e,tid_en=1",
	  "filter_tid filter_link filter_opc filter_nc filter_c6 filter_isoc" },
	{ MEMIO_PARTIALS, MEMIO_MISSES, "UNC_C_TOR_INSERTS.MISS_OPCODE",
	  "event=0x35,umask=0x3,filter_opc=0x180,filter_tid=0x3e,tid_en=1",
	  "filter_tid filter_opc filter_nc filter_c6 filter_isoc" },
	{ MEMIO_PARTIALS, MEMIO_DIRTIED, "UNC_C_LLC_LOOKUP.WRITE",
	  "event=0x34,umask=0x5,filter_state=0x17,filter_tid=0x3e,tid_en=1",
	  "filter_tid filter_state" },
	{ MEMIO_PARTIALS, MEMIO_VICTIMS, "UNC_C_LLC_VICTIMS.M_STATE",
	  "event=0x37,umask=0x1", "" },
	{}
};

/* .../x86/{icelakex,sapphirerapids,emeraldrapids,graniterapids}/uncore-cache.json */
static const struct published cha_published[] = {
	{ MEMIO_READS, MEMIO_ALL, "UNC_CHA_TOR_INSERTS.IO_PCIRDCUR",
	  "event=0x35,umask=0xc8f3ff04" },
	{ MEMIO_READS, MEMIO_MISSES, "UNC_CHA_TOR_INSERTS.IO_MISS_PCIRDCUR",
	  "event=0x35,umask=0xc8f3fe04" },
	{ MEMIO_WRITES, MEMIO_ALL, "UNC_CHA_TOR_INSERTS.IO_ITOM",
	  "event=0x35,umask=0xcc43ff04" },
	{ MEMIO_WRITES, MEMIO_MISSES, "UNC_CHA_TOR_INSERTS.IO_MISS_ITOM",
	  "event=0x35,umask=0xcc43fe04" },
	{ MEMIO_PARTIALS, MEMIO_ALL, "UNC_CHA_TOR_INSERTS.IO_ITOMCACHENEAR",
	  "event=0x35,umask=0xcd43ff04" },
	{ MEMIO_PARTIALS, MEMIO_MISSES, "UNC_CHA_TOR_INSERTS.IO_MISS_ITOMCACHENEAR",
	  "event=0x35,umask=0xcd43fe04" },
	{}
};

/* icx_uncore_imc_freerunning_events of the driver */
static const struct published icx_imc_published[] = {
	{ MEMIO_DRAM, MEMIO_DRAM_READ, "read", "event=0xff,umask=0x20" },
	{ MEMIO_DRAM, MEMIO_DRAM_WRITE, "write", "event=0xff,umask=0x21" },
	{}
};

/* .../x86/{sapphirerapids,emeraldrapids}/uncore-memory.json */
static const struct published spr_imc_published[] = {
	{ MEMIO_DRAM, MEMIO_DRAM_READ, "UNC_M_CAS_COUNT.RD", "event=0x05,umask=0xcf" },
	{ MEMIO_DRAM, MEMIO_DRAM_WRITE, "UNC_M_CAS_COUNT.WR", "event=0x05,umask=0xf0" },
	{}
};

/* .../x86/graniterapids/uncore-memory.json */
static const struct published gnr_imc_published[] = {
	{ MEMIO_DRAM, MEMIO_DRAM_READ, "UNC_M_CAS_COUNT_SCH0.RD", "event=0x05,umask=0xcf" },
	{ MEMIO_DRAM, MEMIO_DRAM_READ, "UNC_M_CAS_COUNT_SCH1.RD", "event=0x06,umask=0xcf" },
	{ MEMIO_DRAM, MEMIO_DRAM_WRITE, "UNC_M_CAS_COUNT_SCH0.WR", "event=0x05,umask=0xf0" },
	{ MEMIO_DRAM, MEMIO_DRAM_WRITE, "UNC_M_CAS_COUNT_SCH1.WR", "event=0x06,umask=0xf0" },
	{}
};

/* @beside: the table is the one beside that of the source. @falls: estimators fall back. */
static const struct {
	const struct memio_source *source;
	bool beside;
	const struct format *formats;
	const struct published *published;
	bool falls;
} tables[] = {
	{ &memio_hsx, false, cbox_formats, cbox_published, false },
	{ &memio_bdx, false, cbox_formats, cbox_published, false },
	{ &memio_icx, false, icx_cha_formats, cha_published, true },
	{ &memio_icx, true, free_running_formats, icx_imc_published, true },
	{ &memio_spr, false, spr_cha_formats, cha_published, true },
	{ &memio_spr, true, spr_imc_formats, spr_imc_published, true },
	{ &memio_gnr, false, spr_cha_formats, cha_published, true },
	{ &memio_gnr, true, spr_imc_formats, gnr_imc_published, true },
};

static const struct memio_box_table *table_of(unsigned int t)
{
	const struct memio_box_table *table = tables[t].source->table;

	return tables[t].beside ? table->beside : table;
}

static bool is_published(struct kunit *test, const struct memio_box_event *e,
			 const struct format *formats, const struct published *p)
{
	u64 word[2], mask = p->fields ? mask_of(formats, p->fields) : ~0ULL;

	encode(test, formats, p->terms, word);
	return p->group == e->group && p->role == e->role && e->config == word[0] &&
	       (e->config1 & mask) == word[1];
}

/*
 * Each counter of each box counts a published event, for what the driver makes of it, and each
 * that is published here is counted.
 */
static void tables_are_published_events(struct kunit *test)
{
	for (unsigned int t = 0; t < ARRAY_SIZE(tables); t++) {
		const struct memio_box_table *table = table_of(t);
		const struct published *p;
		unsigned long found = 0;

		for (unsigned int set = 0; set < table->sets; set++) {
			for (unsigned int i = 0; i < table->events[set]; i++) {
				const struct memio_box_event *e = &table->event[set][i];

				for (p = tables[t].published; p->name; p++)
					if (is_published(test, e, tables[t].formats, p))
						break;
				KUNIT_ASSERT_NOT_NULL_MSG(test, p->name,
							  "%s: nothing published for set %u event %u: %#llx, %#llx",
							  tables[t].source->name, set, i,
							  e->config, e->config1);
				found |= BIT(p - tables[t].published);
			}
		}
		for (p = tables[t].published; p->name; p++)
			KUNIT_EXPECT_TRUE_MSG(test, found & BIT(p - tables[t].published),
					      "%s: nothing counts %s", tables[t].source->name,
					      p->name);
	}
}

/* A box has one filter, or none. */
static void boxes_have_one_filter(struct kunit *test)
{
	for (unsigned int t = 0; t < ARRAY_SIZE(tables); t++) {
		const struct memio_box_table *table = table_of(t);

		for (unsigned int set = 0; set < table->sets; set++)
			for (unsigned int i = 1; i < table->events[set]; i++)
				KUNIT_EXPECT_EQ(test, table->event[set][i].config1,
						table->event[set][0].config1);
	}
}

static unsigned long counted(const struct memio_box_table *table)
{
	unsigned long can = 0;

	for (unsigned int set = 0; set < table->sets; set++)
		for (unsigned int i = 0; i < table->events[set]; i++)
			can |= MEMIO_COUNTS(table->event[set][i].group, table->event[set][i].role);
	return can;
}

/* What a source says that it can, its tables do. */
static void tables_are_capabilities(struct kunit *test)
{
	for (unsigned int t = 0; t < ARRAY_SIZE(tables); t++) {
		const struct memio_box_table *table = tables[t].source->table;
		unsigned long can = counted(table);

		if (table->beside)
			can |= counted(table->beside);
		KUNIT_EXPECT_EQ(test, tables[t].source->can, can);
		for (int kind = 0; kind < MEMIO_ESTIMATORS; kind++)
			KUNIT_EXPECT_EQ(test, memio_estimator_for(kind, can),
					tables[t].falls ? MEMIO_MISS : kind);
	}
}

/* Where a box has no filter, kinds of requests take turns: each is looked for in two of three. */
static void kinds_take_turns(struct kunit *test)
{
	const struct memio_box_table *table = memio_spr.table;
	unsigned int sets[MEMIO_GROUPS] = {};

	for (unsigned int set = 0; set < table->sets; set++)
		for (unsigned int i = 0; i < table->events[set]; i++)
			if (table->event[set][i].role == MEMIO_ALL)
				sets[table->event[set][i].group]++;
	for (int g = 0; g < MEMIO_GROUPS; g++)
		KUNIT_EXPECT_EQ(test, sets[g], 2);
}

static void processors_have_sources(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_HASWELL_X)->name, "hsx");
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_BROADWELL_X)->name, "bdx");
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_BROADWELL_D)->name, "bdx");
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_ICELAKE_X)->name, "icx");
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_ICELAKE_D)->name, "icx");
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_SAPPHIRERAPIDS_X)->name, "spr");
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_EMERALDRAPIDS_X)->name, "spr");
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_GRANITERAPIDS_X)->name, "gnr");
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_GRANITERAPIDS_D)->name, "gnr");
	/* Skylake-SP has a filter, and masks of its own. */
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_SKYLAKE_X)->name, "none");
	/* Desktop processors of the same generations have none of these boxes. */
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_HASWELL)->name, "none");
	KUNIT_EXPECT_STREQ(test, memio_source_of(INTEL_BROADWELL)->name, "none");
	KUNIT_EXPECT_STREQ(test, memio_source_of(0)->name, "none");
	KUNIT_EXPECT_EQ(test, memio_none.can, 0);
	KUNIT_EXPECT_NULL(test, memio_none.probe);
}

/* ---- boxes ---- */

#define FAKE	"memio_kunit"
#define FAKE_IMC "memio_kunit_imc"
#define FAKE_IMCS 4

/* A box that the test makes up. An event's config is its role. */
struct fake_box {
	struct pmu pmu;
	char name[24];
	bool there;
	bool refuses;		/* the package does not have it */
	bool refuses_misses;
	u64 lines[MEMIO_ROLES];
};

static struct fake_box *fake, *fake_imc;

static struct fake_box *fake_of(struct perf_event *event)
{
	return container_of(event->pmu, struct fake_box, pmu);
}

static int fake_event_init(struct perf_event *event)
{
	const struct fake_box *b;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	b = fake_of(event);
	if (b->refuses || (b->refuses_misses && event->attr.config == MEMIO_MISSES))
		return -EINVAL;
	return 0;
}

static void fake_read(struct perf_event *event)
{
	local64_set(&event->count, fake_of(event)->lines[event->attr.config]);
}

static int fake_add(struct perf_event *event, int flags)
{
	return 0;
}

static void fake_del(struct perf_event *event, int flags)
{
}

static void fake_start(struct perf_event *event, int flags)
{
}

static void fake_stop(struct perf_event *event, int flags)
{
}

static const struct memio_box_table fake_table = {
	.pmu	= FAKE,
	.sets	= 3,
	.events	= { 2, 2, 2 },
	.event	= {
		{
			{ MEMIO_ALL, 0, MEMIO_READS, MEMIO_ALL },
			{ MEMIO_MISSES, 0, MEMIO_READS, MEMIO_MISSES },
		}, {
			{ MEMIO_ALL, 0, MEMIO_WRITES, MEMIO_ALL },
			{ MEMIO_MISSES, 0, MEMIO_WRITES, MEMIO_MISSES },
		}, {
			{ MEMIO_ALL, 0, MEMIO_PARTIALS, MEMIO_ALL },
			{ MEMIO_MISSES, 0, MEMIO_PARTIALS, MEMIO_MISSES },
		},
	},
};

static const struct memio_source fake_source = {
	.name	= "fake",
	.table	= &fake_table,
	MEMIO_BOX_OPERATIONS,
};

/* Two kinds of requests in each box, and memory controllers beside */
static const struct memio_box_table fake_beside = {
	.pmu	= FAKE_IMC,
	.sets	= 1,
	.events	= { 2 },
	.event	= {
		{
			{ MEMIO_DRAM_READ, 0, MEMIO_DRAM, MEMIO_DRAM_READ },
			{ MEMIO_DRAM_WRITE, 0, MEMIO_DRAM, MEMIO_DRAM_WRITE },
		},
	},
};

static const struct memio_box_table fake_pairs = {
	.pmu	= FAKE,
	.beside	= &fake_beside,
	.sets	= 3,
	.events	= { 2, 2, 2 },
	.event	= {
		{
			{ MEMIO_ALL, 0, MEMIO_READS, MEMIO_ALL },
			{ MEMIO_ALL, 0, MEMIO_WRITES, MEMIO_ALL },
		}, {
			{ MEMIO_ALL, 0, MEMIO_WRITES, MEMIO_ALL },
			{ MEMIO_ALL, 0, MEMIO_PARTIALS, MEMIO_ALL },
		}, {
			{ MEMIO_ALL, 0, MEMIO_PARTIALS, MEMIO_ALL },
			{ MEMIO_ALL, 0, MEMIO_READS, MEMIO_ALL },
		},
	},
};

static const struct memio_source fake_pairs_source = {
	.name	= "fake pairs",
	.table	= &fake_pairs,
	MEMIO_BOX_OPERATIONS,
};

static void register_boxes(struct kunit *test, struct fake_box *boxes, const char *name,
			   unsigned int from, unsigned int to)
{
	for (unsigned int id = from; id < to; id++) {
		struct fake_box *b = &boxes[id];

		b->pmu = (struct pmu) {
			.task_ctx_nr	= perf_invalid_context,
			.capabilities	= PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
			.event_init	= fake_event_init,
			.add		= fake_add,
			.del		= fake_del,
			.start		= fake_start,
			.stop		= fake_stop,
			.read		= fake_read,
		};
		snprintf(b->name, sizeof(b->name), "%s_%u", name, id);
		KUNIT_ASSERT_EQ(test, perf_pmu_register(&b->pmu, b->name, -1), 0);
		b->there = true;
	}
}

static void fake_boxes(struct kunit *test, unsigned int from, unsigned int to)
{
	register_boxes(test, fake, FAKE, from, to);
}

static void fake_controllers(struct kunit *test)
{
	register_boxes(test, fake_imc, FAKE_IMC, 0, FAKE_IMCS);
}

static int box_init(struct kunit *test)
{
	fake = kcalloc(MEMIO_BOX_IDS + FAKE_IMCS, sizeof(*fake), GFP_KERNEL);
	if (!fake)
		return -ENOMEM;
	fake_imc = fake + MEMIO_BOX_IDS;
	return 0;
}

static void box_exit(struct kunit *test)
{
	for (unsigned int i = 0; fake && i < MEMIO_BOX_IDS + FAKE_IMCS; i++)
		if (fake[i].there)
			perf_pmu_unregister(&fake[i].pmu);
	kfree(fake);
}

struct reading {
	struct memio_armed *armed;
	struct memio_counts counts;
};

static void read_there(void *info)
{
	struct reading *r = info;

	memset(&r->counts.seen, 0, sizeof(r->counts.seen));
	memio_box_read(r->armed, 0, &r->counts);
}

static struct memio_armed *arm_source(const struct memio_source *source)
{
	struct memio_armed *armed;

	cpus_read_lock();
	armed = memio_box_arm(source, 0, false);
	cpus_read_unlock();
	return armed;
}

static struct memio_armed *arm(void)
{
	return arm_source(&fake_source);
}

/*
 * All boxes that there are count, whatever their ids. Box n has 10 (n + 1) lines more in a window,
 * half of which miss.
 */
static void all_are_read(struct kunit *test, unsigned int boxes)
{
	struct reading *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	u64 lines[MEMIO_GROUPS] = {};
	unsigned int id, n = 0;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->armed = arm();
	KUNIT_ASSERT_FALSE(test, IS_ERR(r->armed));
	KUNIT_EXPECT_EQ(test, r->armed->boxes, boxes);
	for (int g = 0; g < MEMIO_GROUPS; g++)
		KUNIT_EXPECT_EQ(test, r->armed->groups[g], (boxes + 2 - g) / 3);

	KUNIT_ASSERT_EQ(test, smp_call_function_single(r->armed->cpu, read_there, r, true), 0);
	for (id = 0; id < MEMIO_BOX_IDS; id++) {
		fake[id].lines[MEMIO_ALL] += 10 * (id + 1);
		fake[id].lines[MEMIO_MISSES] += 5 * (id + 1);
		if (!fake[id].there || fake[id].refuses)
			continue;
		lines[n % 3] += 10 * (id + 1);
		n++;
	}
	KUNIT_ASSERT_EQ(test, n, boxes);
	KUNIT_ASSERT_EQ(test, smp_call_function_single(r->armed->cpu, read_there, r, true), 0);
	KUNIT_EXPECT_TRUE(test, r->counts.there);
	KUNIT_EXPECT_FALSE(test, r->counts.shared);
	KUNIT_EXPECT_EQ(test, r->counts.reads, 2 * boxes);
	KUNIT_EXPECT_EQ(test, r->counts.seen.total, boxes);
	for (int g = 0; g < MEMIO_GROUPS; g++) {
		const struct memio_by_box *b = &r->counts.by_box[g];
		u64 sum = 0;

		KUNIT_EXPECT_EQ(test, r->counts.seen.boxes[g], (boxes + 2 - g) / 3);
		KUNIT_EXPECT_EQ(test, r->counts.seen.lines[g][MEMIO_ALL], lines[g]);
		KUNIT_EXPECT_EQ(test, r->counts.seen.lines[g][MEMIO_MISSES], lines[g] / 2);
		KUNIT_EXPECT_EQ(test, b->nr, (boxes + 2 - g) / 3);
		for (unsigned int i = 0; i < b->nr; i++) {
			KUNIT_EXPECT_GT(test, b->all[i], 0);
			KUNIT_EXPECT_EQ(test, b->all[i], 2 * b->misses[i]);
			sum += b->all[i];
		}
		KUNIT_EXPECT_EQ(test, sum, lines[g]);
	}
	memio_box_disarm(r->armed);
}

static void ids_without_holes(struct kunit *test)
{
	char reason[100];

	fake_boxes(test, 0, 8);
	KUNIT_EXPECT_TRUE(test, memio_box_probe(&fake_source, reason, sizeof(reason)));
	KUNIT_EXPECT_STREQ(test, reason, "8 boxes: " FAKE "_0-7");
	all_are_read(test, 8);
}

/* 24 boxes, two of which are fused off. */
static void ids_with_holes(struct kunit *test)
{
	char reason[100];

	fake_boxes(test, 0, 5);
	fake_boxes(test, 6, 17);
	fake_boxes(test, 18, 24);
	KUNIT_EXPECT_TRUE(test, memio_box_probe(&fake_source, reason, sizeof(reason)));
	KUNIT_EXPECT_STREQ(test, reason, "22 boxes: " FAKE "_0-4,6-16,18-23");
	all_are_read(test, 22);
}

/* The first id is one of the holes. */
static void more_than_64_boxes(struct kunit *test)
{
	fake_boxes(test, 1, 91);
	fake_boxes(test, MEMIO_BOX_IDS - 1, MEMIO_BOX_IDS);
	all_are_read(test, 91);
}

/* The other package has all six. */
static void package_without_a_box(struct kunit *test)
{
	fake_boxes(test, 0, 6);
	fake[0].refuses = true;
	fake[4].refuses = true;
	all_are_read(test, 4);
}

static void too_few_boxes(struct kunit *test)
{
	char reason[100];

	KUNIT_EXPECT_FALSE(test, memio_box_probe(&fake_source, reason, sizeof(reason)));
	KUNIT_EXPECT_STREQ(test, reason, "no PMU " FAKE
			   "_*: a virtual machine, or the uncore driver is not there");
	fake_boxes(test, 3, 5);
	KUNIT_EXPECT_FALSE(test, memio_box_probe(&fake_source, reason, sizeof(reason)));
	KUNIT_EXPECT_STREQ(test, reason, "2 boxes, of 3 that are needed at least: " FAKE "_3-4");
	KUNIT_EXPECT_EQ(test, PTR_ERR(arm()), -ENODEV);
}

/* An event that a box has not is no hole: nothing is read then. */
static void box_without_an_event(struct kunit *test)
{
	fake_boxes(test, 0, 6);
	fake[4].refuses_misses = true;
	KUNIT_EXPECT_EQ(test, PTR_ERR(arm()), -EINVAL);
}

/*
 * Five boxes look for two kinds of requests each, and box n has 10 (n + 1) lines more in a window;
 * controller n moves 7 (n + 1). What a kind's boxes saw is scaled by boxes, what controllers moved
 * is all that there is.
 */
static void pairs_and_controllers(struct kunit *test, unsigned int controllers)
{
	struct reading *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	/* Boxes 0, 2, 3; 0, 1, 3, 4; 1, 2, 4 */
	static const struct {
		u32 boxes;
		u64 lines;
	} sees[] = {
		[MEMIO_READS] = { 3, 10 + 30 + 40 },
		[MEMIO_WRITES] = { 4, 10 + 20 + 40 + 50 },
		[MEMIO_PARTIALS] = { 3, 20 + 30 + 50 },
	};
	u64 moved = 0;

	KUNIT_ASSERT_NOT_NULL(test, r);
	fake_boxes(test, 0, 5);
	r->armed = arm_source(&fake_pairs_source);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r->armed));
	KUNIT_EXPECT_EQ(test, r->armed->boxes, 5);
	KUNIT_ASSERT_EQ(test, smp_call_function_single(r->armed->cpu, read_there, r, true), 0);
	for (unsigned int id = 0; id < 5; id++)
		fake[id].lines[MEMIO_ALL] += 10 * (id + 1);
	for (unsigned int id = 0; id < FAKE_IMCS; id++) {
		fake_imc[id].lines[MEMIO_DRAM_READ] += 7 * (id + 1);
		fake_imc[id].lines[MEMIO_DRAM_WRITE] += 70 * (id + 1);
		if (id < controllers)
			moved += 7 * (id + 1);
	}
	KUNIT_ASSERT_EQ(test, smp_call_function_single(r->armed->cpu, read_there, r, true), 0);
	KUNIT_EXPECT_TRUE(test, r->counts.there);
	KUNIT_EXPECT_EQ(test, r->counts.reads, 2 * (5 + controllers));
	KUNIT_EXPECT_EQ(test, r->counts.seen.total, 5);
	for (int g = 0; g < MEMIO_GROUPS; g++) {
		KUNIT_EXPECT_EQ(test, r->counts.seen.boxes[g], sees[g].boxes);
		KUNIT_EXPECT_EQ(test, r->counts.seen.lines[g][MEMIO_ALL], sees[g].lines);
	}
	KUNIT_EXPECT_EQ(test, r->counts.seen.dram, controllers > 0);
	KUNIT_EXPECT_EQ(test, r->counts.seen.dram_read, moved);
	KUNIT_EXPECT_EQ(test, r->counts.seen.dram_write, 10 * moved);
	memio_box_disarm(r->armed);
}

static void controllers_beside(struct kunit *test)
{
	char reason[100];

	fake_controllers(test);
	pairs_and_controllers(test, FAKE_IMCS);
	KUNIT_EXPECT_TRUE(test, memio_box_probe(&fake_pairs_source, reason, sizeof(reason)));
	KUNIT_EXPECT_STREQ(test, reason, "5 boxes: " FAKE "_0-4; " FAKE_IMC "_0-3");
}

/* A package has three of four controllers, as another has all of them. */
static void package_without_a_controller(struct kunit *test)
{
	fake_controllers(test);
	fake_imc[FAKE_IMCS - 1].refuses = true;
	pairs_and_controllers(test, FAKE_IMCS - 1);
}

/* Without a driver for them, all else is read. */
static void no_controllers(struct kunit *test)
{
	char reason[100];

	pairs_and_controllers(test, 0);
	KUNIT_EXPECT_TRUE(test, memio_box_probe(&fake_pairs_source, reason, sizeof(reason)));
	KUNIT_EXPECT_STREQ(test, reason, "5 boxes: " FAKE "_0-4; no PMU " FAKE_IMC "_*");
}

static struct kunit_case source_cases[] = {
	KUNIT_CASE(tables_are_published_events),
	KUNIT_CASE(boxes_have_one_filter),
	KUNIT_CASE(tables_are_capabilities),
	KUNIT_CASE(kinds_take_turns),
	KUNIT_CASE(processors_have_sources),
	{}
};

static struct kunit_suite source_suite = {
	.name = "memio_source",
	.test_cases = source_cases,
};

static struct kunit_case box_cases[] = {
	KUNIT_CASE(ids_without_holes),
	KUNIT_CASE(ids_with_holes),
	KUNIT_CASE(more_than_64_boxes),
	KUNIT_CASE(package_without_a_box),
	KUNIT_CASE(too_few_boxes),
	KUNIT_CASE(box_without_an_event),
	KUNIT_CASE(controllers_beside),
	KUNIT_CASE(package_without_a_controller),
	KUNIT_CASE(no_controllers),
	{}
};

static struct kunit_suite box_suite = {
	.name = "memio_box",
	.init = box_init,
	.exit = box_exit,
	.test_cases = box_cases,
};

kunit_test_suites(&source_suite, &box_suite);

MODULE_DESCRIPTION("KUnit tests of memio's sources");
MODULE_LICENSE("GPL");
