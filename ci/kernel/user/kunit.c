// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the KUnit suites that are linked to it, and prints TAP without numbers:
 * `ok SUITE: CASE`, `not ok SUITE: CASE`. What a case asks for (kunit_kzalloc) is freed at its end.
 */
#include <setjmp.h>
#include "kernel.h"

#define SUITES	32
#define BLOCKS	256

static struct kunit_suite *suites[SUITES];
static unsigned int n_suites, n_blocks;
static void *blocks[BLOCKS];
static jmp_buf out;

void kunit_register(struct kunit_suite *suite)
{
	if (n_suites == SUITES)
		abort();
	suites[n_suites++] = suite;
}

void kunit_failed(struct kunit *test, int fatal, const char *file, int line,
		  const char *format, ...)
{
	int message = *format == ' ';
	va_list args;

	if (message && !format[1]) {
		if (fatal)
			longjmp(out, 1);
		return;
	}
	va_start(args, format);
	printf("# %s:%d: ", file, line);
	vprintf(format, args);
	putchar('\n');
	va_end(args);
	if (!message)
		test->failures++;
	else if (fatal)
		longjmp(out, 1);
}

void *kunit_kzalloc(struct kunit *test, size_t size, int gfp)
{
	(void)test;
	(void)gfp;
	if (n_blocks == BLOCKS)
		abort();
	return blocks[n_blocks++] = calloc(1, size);
}

int main(void)
{
	static struct kunit test;
	static unsigned int i, bad;
	static struct kunit_case *c;

	for (i = 0; i < n_suites; i++) {
		for (c = suites[i]->test_cases; c->run; c++) {
			test.failures = 0;
			if (suites[i]->init && suites[i]->init(&test))
				test.failures++;
			else if (!setjmp(out))
				c->run(&test);
			if (suites[i]->exit)
				suites[i]->exit(&test);
			while (n_blocks)
				free(blocks[--n_blocks]);
			printf("%sok %s: %s\n", test.failures ? "not " : "", suites[i]->name,
			       c->name);
			bad += !!test.failures;
		}
	}
	return bad != 0;
}
