// SPDX-License-Identifier: GPL-2.0
/*
 * Precise event-based sampling; pebs.h has the model.
 */
#include <stddef.h>
#include <string.h>

#include "pebs.h"

#define LOCKED		(1u << 5)
#define STORE_IN_L1	(1u << 0)

/**
 * pebs_precise() - can the event of this select be sampled?
 */
bool pebs_precise(uint64_t select)
{
	const unsigned int event = select & 0xff, umask = select >> 8 & 0xff;

	switch (event) {
	case 0xc0:			/* INST_RETIRED.PREC_DIST */
	case 0xc2:			/* UOPS_RETIRED.ALL */
		return umask == 0x01;
	case 0xc4:			/* BR_INST_RETIRED */
		return umask == 0x01 || umask == 0x02 || umask == 0x04 || umask == 0x08 ||
		       umask == 0x20;
	case 0xc5:			/* BR_MISP_RETIRED */
		return umask == 0x01 || umask == 0x04 || umask == 0x20;
	case 0xcd:			/* MEM_TRANS_RETIRED.LOAD_LATENCY */
		return umask == 0x01;
	case 0xd3:			/* MEM_LOAD_UOPS_L3_MISS_RETIRED */
		return umask == 0x01 || umask == 0x04 || umask == 0x10 || umask == 0x20;
	case 0xd0:			/* MEM_UOPS_RETIRED, MEM_LOAD_UOPS_*RETIRED */
	case 0xd1:
	case 0xd2:
		return umask != 0;
	}
	return false;
}

/**
 * pebs_arm() - a counter has wrapped
 */
void pebs_arm(struct pebs *p, unsigned int counter)
{
	p->armed |= 1u << counter;
	p->wait[counter] = p->lossy ? PEBS_DELAY : 0;
}

/**
 * pebs_forget() - these counters have no sample, nor are they going to
 */
void pebs_forget(struct pebs *p, unsigned int counters)
{
	p->armed &= ~counters;
	p->due &= ~counters;
	if (!p->due)
		p->accessed = false;
}

/**
 * pebs_happened() - what an armed counter waits for has happened
 * @its_own:	it was its own event; else only one of the same kind
 *
 * Return: true if what it waits for has changed.
 */
bool pebs_happened(struct pebs *p, unsigned int counter, int64_t times, bool its_own)
{
	if (times <= p->wait[counter]) {
		p->wait[counter] -= times;
		return !p->wait[counter];
	}
	p->wait[counter] = 0;
	if (its_own) {
		p->armed &= ~(1u << counter);
		p->due |= 1u << counter;
	}
	return true;
}

/**
 * pebs_accessed() - the access that has made a sample; its first counts
 */
void pebs_accessed(struct pebs *p, const struct pebs_access *a)
{
	if (!p->accessed)
		p->access = *a;
	p->accessed = true;
}

/**
 * pebs_record() - what is written for the samples that are due
 * @status:	the counters' status register
 */
void pebs_record(const struct pebs *p, const struct pebs_cpu *cpu, uint64_t status,
		 uint64_t record[PEBS_WORDS])
{
	/* AX, BX, CX, DX, SI, DI, BP, SP, as instructions number them */
	static const uint8_t number[] = { 0, 3, 1, 2, 6, 7, 5, 4 };
	const uint64_t latency = p->enable >> 32;
	unsigned int i;

	memset(record, 0, PEBS_WORDS * sizeof(*record));
	record[0] = cpu->flags;
	record[1] = cpu->ip;
	for (i = 0; i < PEBS_REGISTERS; i++)
		record[2 + i] = cpu->reg[i < 8 ? number[i] : i];
	record[18] = p->due | (p->format == PEBS_SKL ? 0 : status);
	if (p->accessed) {
		const struct pebs_access *a = &p->access;

		record[19] = a->address;
		if (p->due & latency) {
			record[20] = a->load_source | (a->locked ? LOCKED : 0);
			record[21] = a->latency;
		} else if (p->due & p->stores) {
			record[20] = (a->l1 ? STORE_IN_L1 : 0) | (a->locked ? LOCKED : 0);
		}
	}
	record[22] = cpu->event_ip;
	if (p->format == PEBS_SKL)
		record[24] = cpu->tsc;
}

/**
 * pebs_place() - is there room for one more record at the index?
 *
 * Return: true if so; then the index has been moved on.
 */
bool pebs_place(const struct pebs *p, struct pebs_area *area)
{
	const uint64_t bytes = pebs_record_bytes(p);

	if (area->index > area->maximum || area->maximum - area->index < bytes)
		return false;
	area->index += bytes;
	return true;
}
