// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: which source a processor has
 *
 * A processor is known by vendor, family and model. One that is not in the table has the source
 * "none": all is accounted, and no byte has a price.
 */

#include <linux/kernel.h>
#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>

#include "counters.h"

static const struct {
	u32 vfm;
	const struct memio_source *source;
} memio_processors[] = {
	{ INTEL_HASWELL_X,	&memio_hsx },
	{ INTEL_BROADWELL_X,	&memio_bdx },
	{ INTEL_BROADWELL_D,	&memio_bdx },
	{ INTEL_ICELAKE_X,	&memio_icx },
	{ INTEL_ICELAKE_D,	&memio_icx },
	{ INTEL_SAPPHIRERAPIDS_X, &memio_spr },
	{ INTEL_EMERALDRAPIDS_X, &memio_spr },
	{ INTEL_GRANITERAPIDS_X, &memio_gnr },
	{ INTEL_GRANITERAPIDS_D, &memio_gnr },
};

const struct memio_source memio_none = {
	.name		= "none",
	.processor	= "not known to memio",
};

/**
 * memio_source_of - the source of a processor
 * @vfm:	the processor, as &struct cpuinfo_x86.x86_vfm has it
 *
 * Context: any.
 * Return: the source, &memio_none if memio does not know the processor.
 */
const struct memio_source *memio_source_of(u32 vfm)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(memio_processors); i++)
		if (memio_processors[i].vfm == vfm)
			return memio_processors[i].source;
	return &memio_none;
}
