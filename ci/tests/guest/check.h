/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For programs in the guest that check something: "ok TEXT" or "not ok TEXT" for each check,
 * which the caller numbers. They exit with 1 if a check has failed; with 2 if they can't go
 * on. Needs _GNU_SOURCE.
 */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t u64;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static int failed;

static __attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...)
{
	const int error = errno;
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	errno = error;			/* for %m */
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

/* One named check; more is said of it in @fmt, which is shown if it failed. */
static inline __attribute__((format(printf, 3, 4))) bool check(bool good, const char *name,
							       const char *fmt, ...)
{
	va_list ap;

	printf("%s %s\n", good ? "ok" : "not ok", name);
	if (!good) {
		failed++;
		printf("# ");
		va_start(ap, fmt);
		vprintf(fmt, ap);
		va_end(ap);
		putchar('\n');
	}
	fflush(stdout);
	return good;
}

/* An argument of a program that the tests call, so nobody mistypes it. */
static inline u64 number(const char *text)
{
	return strtoull(text, NULL, 10);
}

static inline void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot run on CPU %d: %m", cpu);
}

#endif /* TEST_CHECK_H */
