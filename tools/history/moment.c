// SPDX-License-Identifier: GPL-2.0
/*
 * memio replay, report: what users type as a time, see history.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history.h"

#define SECOND_NS	1000000000ull

/* "-10m", "+90", "+1.5h" */
static bool relative(const char *text, uint64_t base_ns, uint64_t *ns)
{
	double by;
	char *end;

	if (text[1] < '0' || text[1] > '9')
		return false;
	by = strtod(text + 1, &end);
	switch (*end) {
	case 'd':
		by *= 24;
		/* fall through */
	case 'h':
		by *= 60;
		/* fall through */
	case 'm':
		by *= 60;
		/* fall through */
	case 's':
		end++;
		/* fall through */
	case '\0':
		break;
	default:
		return false;
	}
	if (*end || !(by < 1e9))
		return false;
	by *= SECOND_NS;
	if (*text == '+')
		*ns = base_ns + (uint64_t)by;
	else
		*ns = by < base_ns ? base_ns - (uint64_t)by : 0;
	return true;
}

static bool digits(const char **at, int n, int least, int most, int *value)
{
	*value = 0;
	while (n--) {
		if (**at < '0' || **at > '9')
			return false;
		*value = 10 * *value + *(*at)++ - '0';
	}
	return *value >= least && *value <= most;
}

static bool take_date(const char **at, struct tm *t)
{
	if (!digits(at, 4, 1970, 9999, &t->tm_year) || *(*at)++ != '-' ||
	    !digits(at, 2, 1, 12, &t->tm_mon) || *(*at)++ != '-' ||
	    !digits(at, 2, 1, 31, &t->tm_mday))
		return false;
	t->tm_year -= 1900;
	t->tm_mon--;
	return true;
}

static bool take_time(const char **at, struct tm *t)
{
	if (!digits(at, 2, 0, 23, &t->tm_hour) || *(*at)++ != ':' ||
	    !digits(at, 2, 0, 59, &t->tm_min))
		return false;
	t->tm_sec = 0;
	return **at != ':' || ((*at)++, digits(at, 2, 0, 59, &t->tm_sec));
}

static bool to_ns(struct tm *t, uint64_t *ns)
{
	time_t s;

	t->tm_isdst = -1;
	s = mktime(t);
	*ns = s * SECOND_NS;
	return s >= 0 && s < 1ll << 33;
}

bool moment_parse(const char *text, uint64_t base_ns, enum moment_side side, uint64_t *ns)
{
	const time_t base_s = base_ns / SECOND_NS;
	struct tm t = { 0 };
	const char *at = text;
	bool dated;

	if (*text == '-' || *text == '+')
		return relative(text, base_ns, ns);
	dated = strlen(text) >= 5 && text[4] == '-';
	if (dated) {
		if (!take_date(&at, &t))
			return false;
		if (!*at)
			return to_ns(&t, ns);
		if (*at != ' ' && *at != 'T')
			return false;
		at++;
	} else if (!localtime_r(&base_s, &t)) {
		return false;
	}
	if (!take_time(&at, &t) || *at || !to_ns(&t, ns))
		return false;
	if (dated)
		return true;
	/* Another day, by the calendar: with summer time not each has 24 hours. */
	if (side == MOMENT_BEFORE && *ns > base_ns)
		t.tm_mday--;
	else if (side == MOMENT_AFTER && *ns <= base_ns)
		t.tm_mday++;
	else
		return true;
	return to_ns(&t, ns);
}

const char *moment_text(uint64_t wall_ns, bool zone, char text[MOMENT_TEXT])
{
	const time_t s = wall_ns / SECOND_NS;
	struct tm t;

	if (!localtime_r(&s, &t) ||
	    !strftime(text, MOMENT_TEXT, zone ? "%Y-%m-%dT%H:%M:%S%z" : "%Y-%m-%d %H:%M:%S", &t))
		snprintf(text, MOMENT_TEXT, "%llu s", (unsigned long long)s);
	return text;
}
