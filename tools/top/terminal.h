/* SPDX-License-Identifier: GPL-2.0 */
/* memio top: the terminal */
#ifndef MEMIO_TOP_TERMINAL_H
#define MEMIO_TOP_TERMINAL_H

#include "view.h"

/*
 * terminal_begin: takes the terminal; false after a complaint. terminal_end gives it back as it
 * was. Signals that end the program give it back first, a crash too.
 */
bool terminal_begin(void);
void terminal_end(void);
/* terminal_size: to v->rows and v->cols */
void terminal_size(struct view *v);
void terminal_draw(const struct screen *s);
/* terminal_key: a character or one of &enum key; -1: none within @ms; -2: the size changed */
int terminal_key(int ms);
/* terminal_signal: a signal that asks the program to end; 0: none yet */
int terminal_signal(void);
/* signals_begin: of the program without a terminal */
void signals_begin(void);
/* signals_wait: for @ms, or until one of them comes, whenever it does */
void signals_wait(uint64_t ms);
/* signals_end: the program ends by the signal that came, if one did */
void signals_end(void);

#endif /* MEMIO_TOP_TERMINAL_H */
