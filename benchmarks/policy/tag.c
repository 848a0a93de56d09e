// SPDX-License-Identifier: GPL-2.0
/*
 * For LD_PRELOAD: a program that knows nothing of the machine's ledger has the tag MEMIO_TAG
 * in it, as it begins. A tag is of an address space: a child that is forked has none.
 */
#define _GNU_SOURCE
#include <err.h>
#include <stdint.h>
#include <stdlib.h>

typedef uint64_t u64;
#define die(...) err(1, __VA_ARGS__)
#include "../../ci/tests/guest/ledger.h"

static void __attribute__((constructor)) tag_me(void)
{
	const char *tag = getenv("MEMIO_TAG");

	if (!tag)
		return;
	ledger_open();
	ledger_tag(atoi(tag));
}
