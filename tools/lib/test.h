/* SPDX-License-Identifier: GPL-2.0 */
/* For unit tests: "ok TEXT" or "not ok TEXT" for each check */
#ifndef MEMIO_TEST_H
#define MEMIO_TEST_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define N(a) (sizeof(a) / sizeof(*(a)))
#define EXACT 0.000000001

static int failed;

static __attribute__((format(printf, 2, 3))) void check(bool good, const char *format, ...)
{
	va_list args;

	printf(good ? "ok " : "not ok ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	failed += !good;
}

__attribute__((unused))
static void near(const char *what, double got, double wanted, double by)
{
	check(fabs(got - wanted) <= by, "%s: %.6f, wanted %.6f", what, got, wanted);
}

#endif /* MEMIO_TEST_H */
