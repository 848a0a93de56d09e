/* SPDX-License-Identifier: GPL-2.0 */
/* The IO bubble: a thread that has devices move data at a set rate */
#ifndef MEMIO_ACTIVE_BUBBLE_H
#define MEMIO_ACTIVE_BUBBLE_H

#include "active.h"

struct bubble;
/* bubble_try: whether its device can be had; false after a complaint */
bool bubble_try(const struct active *a);
/* bubble_start: it moves @rate bytes a second when it returns; NULL after a complaint */
struct bubble *bubble_start(const struct active *a, double rate);
/*
 * bubble_stop: how much it was, in a second and all in all; false after a complaint if it
 * failed meanwhile
 */
bool bubble_stop(struct bubble *b, double *bytes_s, double *bytes);
/* bubble_name: a text: with what and which way, for people; empty without one */
json_t *bubble_name(const struct active *a);

#endif /* MEMIO_ACTIVE_BUBBLE_H */
