// SPDX-License-Identifier: GPL-2.0
/*
 * A function that is out of the compiler's sight, in a file of its own: who calls it from
 * another file does not know that it gives back what it got.
 */
#include "active.h"

uint64_t active_identity(uint64_t n)
{
	return n;
}
