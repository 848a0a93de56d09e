/* SPDX-License-Identifier: GPL-2.0 */
/* Bounds of a figure that are far apart */
#ifndef MEMIO_WIDE_H
#define MEMIO_WIDE_H

#include <stdbool.h>

/* bounds_wide: more than a 20th of @figure lies between them, and so they are told */
static inline bool bounds_wide(double figure, double least, double most)
{
	return most - least > figure / 20;
}

#endif /* MEMIO_WIDE_H */
