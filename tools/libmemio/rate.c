// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio: rates and limits as people write them
 *
 *	200M  1.5Gi  max		a rate: bytes a second
 *	total=200M			KEY=RATE is bps
 *	eth0.wbps=50M			KEY.bps, KEY.rbps, KEY.wbps
 *	total=200M,eth0.wbps=50M	a list
 *
 * A key may have dots and colons of its own (0000:00:03.0, eth0.100): what stands behind the
 * last dot counts only if it is one of the three.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "internal.h"

static const char *const way_names[MEMIO_WAYS] = { "bps", "rbps", "wbps" };

const char *memio_way_name(enum memio_way way)
{
	return (unsigned int)way < MEMIO_WAYS ? way_names[way] : NULL;
}

static bool unit_of(const char *text, uint64_t *unit)
{
	static const struct {
		const char *name;
		uint64_t unit;
	} units[] = {
		{ "", 1 }, { "K", 1000 }, { "M", 1000000 }, { "G", 1000000000 },
		{ "Ki", 1 << 10 }, { "Mi", 1 << 20 }, { "Gi", 1 << 30 },
	};
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(text, units[i].name))
			continue;
		*unit = units[i].unit;
		return true;
	}
	return false;
}

int memio_rate_parse(const char *text, uint64_t *rate)
{
	uint64_t whole = 0, part = 0, tenth = 1, unit;
	const char *at = text;
	bool large = false;

	if (!strcmp(text, "max")) {
		*rate = MEMIO_RATE_MAX;
		return 0;
	}
	if (!isdigit((unsigned char)*at))
		return -EINVAL;
	for (; isdigit((unsigned char)*at); at++) {
		large |= whole > MEMIO_RATE_MOST / 10;
		whole = large ? whole : whole * 10 + (*at - '0');
	}
	if (*at == '.') {
		at++;
		if (!isdigit((unsigned char)*at))
			return -EINVAL;
		/* Nine digits are bytes of a G. */
		for (; isdigit((unsigned char)*at); at++) {
			if (tenth == 1000000000)
				continue;
			part = part * 10 + (*at - '0');
			tenth *= 10;
		}
	}
	if (!unit_of(at, &unit))
		return -EINVAL;
	if (large || whole > MEMIO_RATE_MOST / unit)
		return -ERANGE;
	whole = whole * unit + part * unit / tenth;
	if (!whole || whole > MEMIO_RATE_MOST)
		return -ERANGE;
	*rate = whole;
	return 0;
}

/* What stands from @text to @end */
static int parse(const char *text, const char *end, struct memio_limit *limit)
{
	const char *sign = memchr(text, '=', end - text), *dot = NULL, *at;
	enum memio_way way = MEMIO_BPS;
	char word[64];
	uint64_t rate;
	int i, err;

	if (!sign || (size_t)(end - sign) > sizeof(word))
		return -EINVAL;
	memcpy(word, sign + 1, end - sign - 1);
	word[end - sign - 1] = '\0';
	err = memio_rate_parse(word, &rate);
	if (err)
		return err;
	for (at = text; at < sign; at++)
		if (*at == '.')
			dot = at;
	for (i = 0; dot && i < MEMIO_WAYS; i++) {
		const size_t n = strlen(way_names[i]);

		if ((size_t)(sign - dot - 1) != n || memcmp(dot + 1, way_names[i], n))
			continue;
		way = i;
		sign = dot;
		break;
	}
	if (sign == text || sign - text >= MEMIO_NAME_MAX)
		return -EINVAL;
	for (at = text; at < sign; at++)
		if (*at <= ' ' || *at > '~')
			return -EINVAL;
	memset(limit->key, 0, sizeof(limit->key));
	memcpy(limit->key, text, sign - text);
	for (i = 0; i < MEMIO_WAYS; i++)
		limit->rate[i] = MEMIO_RATE_KEEP;
	limit->rate[way] = rate;
	return 0;
}

int memio_limit_parse(const char *text, struct memio_limit *limit)
{
	return parse(text, text + strlen(text), limit);
}

int memio_limits_add(struct memio_limits *l, const char *text, const char **bad)
{
	struct memio_limit one, *old;
	int err, way;

	for (;;) {
		const char *end = strchrnul(text, ',');

		if (bad)
			*bad = text;
		err = parse(text, end, &one);
		if (err)
			return err;
		old = (struct memio_limit *)memio_limits_find(l, one.key);
		if (!old) {
			if (!mio_grow(&l->limit, l->n, &l->room, sizeof(*l->limit)))
				return -ENOMEM;
			l->limit[l->n++] = one;
		}
		for (way = 0; old && way < MEMIO_WAYS; way++)
			if (one.rate[way] != MEMIO_RATE_KEEP)
				old->rate[way] = one.rate[way];
		if (!*end)
			return 0;
		text = end + 1;
	}
}
