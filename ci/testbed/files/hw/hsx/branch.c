// SPDX-License-Identifier: GPL-2.0
/*
 * Branch prediction and speculation in a core; branch.h has the model.
 */
#include <string.h>

#include "branch.h"

static unsigned int counter_of(uint64_t from, uint32_t history)
{
	return (from ^ (history & ((1u << BRANCH_HISTORY) - 1))) % BRANCH_COUNTERS;
}

static unsigned int target_of(uint64_t from)
{
	return (from ^ from >> 10) % BRANCH_TARGETS;
}

static struct branch_run *run_of(struct branch_unit *u, uint64_t start)
{
	return &u->run[(start ^ start >> 12) % BRANCH_RUNS];
}

/* Each branch's prediction: where it goes; false: no idea. And what it teaches. */
static bool predict(struct branch_unit *u, const struct branch *b, uint64_t *where)
{
	const unsigned int t = target_of(b->from);
	uint8_t *c = &u->counter[counter_of(b->from, u->history)];
	bool known = true;

	*where = b->to;
	switch (b->kind) {
	case CORE_CONDITIONAL:
		*where = *c >= 2 ? b->to : b->next;
		if (b->taken)
			*c += *c < 3;
		else
			*c -= *c > 0;
		u->history = u->history << 1 | b->taken;
		break;
	case CORE_INDIRECT_JUMP:
	case CORE_INDIRECT_CALL:
		known = u->target[t].from == b->from;
		*where = u->target[t].to;
		u->target[t].from = b->from;
		u->target[t].to = b->to;
		break;
	case CORE_RETURN:
		known = u->returns_held;
		*where = u->returns[u->top];
		u->returns_held -= known;
		u->top = (u->top + BRANCH_RETURNS - known) % BRANCH_RETURNS;
		break;
	default:
		break;
	}

	if (b->kind == CORE_CALL || b->kind == CORE_INDIRECT_CALL) {
		u->top = (u->top + 1) % BRANCH_RETURNS;
		u->returns[u->top] = b->next;
		u->returns_held += u->returns_held < BRANCH_RETURNS;
	}
	return known;
}

/* The branch that ends the run that the last one began */
static void learn(struct branch_unit *u, const struct branch *b)
{
	if (b->distance && b->distance <= BRANCH_WINDOW) {
		*run_of(u, u->led_to) = (struct branch_run) {
			.start = u->led_to,
			.from = b->from,
			.to = b->to,
			.next = b->next,
			.kind = b->kind,
			.distance = b->distance,
		};
	}
	u->led_to = b->taken ? b->to : b->next;
}

static void speculate(struct branch_unit *u, uint64_t pc, uint32_t history,
		      struct branch_path *path)
{
	unsigned int left = BRANCH_WINDOW;

	for (;;) {
		const struct branch_run *r = run_of(u, pc);
		bool taken = true;

		if (!pc || r->start != pc || r->distance > left)
			return;
		left -= r->distance;
		if (r->kind == CORE_CONDITIONAL) {
			taken = u->counter[counter_of(r->from, history)] >= 2;
			history = history << 1 | taken;
		}
		path->branch[path->n].kind = r->kind;
		path->branch[path->n].taken = taken;
		path->n++;
		if (r->kind != CORE_CONDITIONAL && r->kind != CORE_JUMP && r->kind != CORE_CALL)
			return;
		pc = taken ? r->to : r->next;
	}
}

/**
 * branch_retire() - a branch retires
 * @path:	what has executed in vain because of it
 *
 * Return: true if it was mispredicted.
 */
bool branch_retire(struct branch_unit *u, const struct branch *b, struct branch_path *path)
{
	const uint64_t went = b->taken ? b->to : b->next;
	uint32_t history = u->history;
	uint64_t where;
	bool known;

	path->n = 0;
	learn(u, b);
	known = predict(u, b, &where);
	if (known && where == went)
		return false;
	if (b->kind == CORE_CONDITIONAL)
		history = history << 1 | !b->taken;
	if (known)
		speculate(u, where, history, path);
	return true;
}

/**
 * branch_reset() - as at power-up
 */
void branch_reset(struct branch_unit *u)
{
	memset(u, 0, sizeof(*u));
	memset(u->counter, 1, sizeof(u->counter));
}
