// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio: which counters a processor has, as the table in cgroup/kernel/memio/sources.c
 * says it; tools-lib compares the two
 */
#include <stdlib.h>
#include <string.h>

#include <memio/memio.h>

static const struct {
	unsigned int model;		/* of Intel's family 6 */
	const char *source, *boxes;
} processors[] = {
	{ 0x3f, "hsx", "uncore_cbox" },	/* INTEL_HASWELL_X */
	{ 0x4f, "bdx", "uncore_cbox" },	/* INTEL_BROADWELL_X */
	{ 0x56, "bdx", "uncore_cbox" },	/* INTEL_BROADWELL_D */
	{ 0x6a, "icx", "uncore_cha" },	/* INTEL_ICELAKE_X */
	{ 0x6c, "icx", "uncore_cha" },	/* INTEL_ICELAKE_D */
	{ 0x8f, "spr", "uncore_cha" },	/* INTEL_SAPPHIRERAPIDS_X */
	{ 0xcf, "spr", "uncore_cha" },	/* INTEL_EMERALDRAPIDS_X */
	{ 0xad, "gnr", "uncore_cha" },	/* INTEL_GRANITERAPIDS_X */
	{ 0xae, "gnr", "uncore_cha" },	/* INTEL_GRANITERAPIDS_D */
};

/* What stands behind "KEY	: ", of the first processor */
static const char *value_of(const char *cpuinfo, const char *key)
{
	const size_t n = strlen(key);
	const char *line = cpuinfo;

	while (line && *line) {
		if (!strncmp(line, key, n) && strchr("\t :", line[n])) {
			line += n + strcspn(line + n, ":\n");
			return *line == ':' ? line + 1 + strspn(line + 1, " ") : NULL;
		}
		line = strchr(line, '\n');
		line += !!line;
	}
	return NULL;
}

const char *memio_processor(const char *cpuinfo, const char **boxes)
{
	const char *vendor = value_of(cpuinfo, "vendor_id");
	const char *family = value_of(cpuinfo, "cpu family");
	const char *model = value_of(cpuinfo, "model");
	size_t i;

	if (!vendor || !family || !model || strncmp(vendor, "GenuineIntel", 12) ||
	    atoi(family) != 6)
		return NULL;
	for (i = 0; i < sizeof(processors) / sizeof(*processors); i++) {
		if (processors[i].model != strtoul(model, NULL, 10))
			continue;
		if (boxes)
			*boxes = processors[i].boxes;
		return processors[i].source;
	}
	return NULL;
}
