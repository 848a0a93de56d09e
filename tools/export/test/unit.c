// SPDX-License-Identifier: GPL-2.0
/* memio export: a bound of names where groups come and go */
#include <stdio.h>

#include "../metrics.h"
#include "test.h"

#define MOST	50

static unsigned int taken(struct slots *s, const char *format, unsigned int n, uint64_t now_s)
{
	unsigned int i, good = 0;
	char name[64];

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), format, i);
		good += slots_take(s, name, now_s);
	}
	return good;
}

static void bounded(void)
{
	struct slots *s = slots_new(MOST);
	unsigned int all = 0;
	uint64_t now_s = 1000;
	char format[64];
	int round;

	check(taken(s, "/a%u", MOST, now_s) == MOST, "as many names as there are slots");
	check(taken(s, "/b%u", 10, now_s) == 0, "... and no more");
	check(taken(s, "/a%u", MOST, now_s + 10) == MOST, "... those that have one keep it");
	check(taken(s, "/b%u", 10, now_s + SLOTS_HOLD_S) == 0, "... for an hour after they were there last");
	now_s += 11 + SLOTS_HOLD_S;
	check(taken(s, "/b%u", 10, now_s) == 10, "... and then others get them");
	check(slots_used(s) == 10, "... all of them");
	now_s += 2 * SLOTS_HOLD_S;
	/* Twenty an hour more than there are: in each hour no more than there are slots */
	for (round = 0; round < 360; round++, now_s += 10) {
		snprintf(format, sizeof(format), "/c%d-%%u", round);
		all += taken(s, format, 5, now_s);
	}
	check(all == MOST, "1,800 names in an hour: %u have a slot", all);
	for (; round < 3600; round++, now_s += 10) {
		snprintf(format, sizeof(format), "/c%d-%%u", round);
		all += taken(s, format, 5, now_s);
	}
	check(all <= 10 * MOST, "18,000 names in ten hours: %u have a slot", all);
	check(all >= 5 * MOST, "... those that are gone give theirs back");
	check(slots_used(s) <= MOST, "... %u at the end", slots_used(s));
	slots_free(s);
}

int main(void)
{
	bounded();
	return failed ? 1 : 0;
}
