/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memio top: the view: what is on the screen, from a model and the user's settings
 *
 * It reads no file and knows no terminal: a test draws into a struct screen and compares text.
 */
#ifndef MEMIO_TOP_VIEW_H
#define MEMIO_TOP_VIEW_H

#include "model.h"

enum show { SHOW_GROUPS, SHOW_TASKS, SHOW_DEVICES, SHOWS };

enum column {
	COL_NAME, COL_TO, COL_FROM, COL_READ, COL_WRITE, COL_CPU, COL_SHARE, COL_LIMIT,
	COL_STOPPED, COL_WORTH, COL_BESIDE_READ, COL_BESIDE_WRITE, COL_HISTORY, COLUMNS
};

/* How text looks */
enum look { LOOK_PLAIN, LOOK_BOLD, LOOK_DIM, LOOK_TITLE, LOOK_CHOSEN, LOOK_WARN, LOOK_CURVE };

/* Keys that are no characters */
enum key {
	KEY_IS_UP = 0x110000, KEY_IS_DOWN, KEY_IS_LEFT, KEY_IS_RIGHT, KEY_IS_PAGE_UP,
	KEY_IS_PAGE_DOWN, KEY_IS_HOME, KEY_IS_END, KEY_IS_ENTER, KEY_IS_ESCAPE, KEY_IS_BACKSPACE,
	KEY_IS_TAB,
};

/* What is to be done after a key */
enum action {
	ACTION_NONE,
	ACTION_DRAW,
	ACTION_SAMPLE,		/* the user wants to see what the last sample did not read */
	ACTION_QUIT,
};

#define SPANS_MOST	24

/**
 * struct screen_line - a line of text
 * @text:	it, in the locale's encoding, without characters that control a terminal
 * @bytes, @cols: its length
 * @span:	parts of it that look different, from @at on
 */
struct screen_line {
	char *text;
	size_t bytes, room;
	unsigned int cols;
	struct span {
		size_t at;
		enum look look;
	} span[SPANS_MOST];
	unsigned int spans;
};

struct screen {
	struct screen_line *line;
	size_t n, room;
};

/**
 * struct view - the user's settings
 * @show:	what is listed
 * @sort, @reverse: by which column; the largest first, names by the alphabet
 * @idle:	rows that moved nothing are shown, too, by what is listed
 * @paused:	no samples are taken
 * @help:	the help is shown
 * @typing:	what is typed goes to @filter
 * @filter:	only rows with this text in their names, and the groups above them
 * @ascii:	no characters beyond ASCII
 * @rows, @cols: of the terminal; 0: as many as it takes
 * @keys:	a last line tells of keys
 * @chosen:	the serial of the chosen row, and @chosen_at, its place among the rows
 * @looked:	the serial of the track that is shown alone; 0: the list is shown
 * @top:	the first row that is shown
 * @command:	whose screen it is: "top", "replay"
 * @when:	when the sample was taken; "": now
 * @timed:	what is printed says when each sample was taken
 * @prompt:	what is typed goes to @answer, and is asked for by this; or NULL
 * @keys_text:	the last line; NULL: the one of memio top
 * @more_help:	lines of the help, to NULL; or NULL
 * @interval_ms: for the title
 * @ended:	the recording has no more samples
 * @list:	the rows
 * @page:	how many fit
 */
struct view {
	enum show show;
	enum column sort;
	bool idle[SHOWS], reverse, paused, help, typing, ascii, keys, ended;
	char filter[64];
	unsigned int rows, cols;
	uint64_t chosen, looked;
	size_t chosen_at, top, page;
	unsigned int interval_ms;
	const char *command, *prompt, *keys_text;
	const char *const *more_help;
	char when[80], answer[64];
	bool timed;
	struct tracks list;
};

void view_init(struct view *v);
void view_free(struct view *v);
/* view_list: the rows, as they are sorted, filtered and folded, in v->list; -ENOMEM */
int view_list(struct view *v, const struct model *o);
/* view_draw: the screen; 0 or -ENOMEM. It marks the tracks that are visible. */
int view_draw(struct view *v, struct model *o, struct screen *s);
/* view_key: what the user pressed: a character, or one of &enum key */
enum action view_key(struct view *v, struct model *o, int key);
/* view_text: what a row is called, without characters that control a terminal */
void view_name(const struct view *v, const struct track *t, char *name, size_t size);
/* view_limit: a group's limit in one word: "200M", "io:50M+" */
void view_limit(const struct track *t, char *word, size_t size);

void screen_free(struct screen *s);

/* column_of: by "from" and the like, or a title; COLUMNS: there is no such column */
enum column column_of(const char *name);
const char *show_name(enum show show);

/* view_number: 1.23M; at most 5 columns */
void view_number(double bytes, char *text, size_t size);
/*
 * view_fit: copies text that anybody may have written. A control character, an invalid one, and
 * one that has no width becomes '?'; what is longer than @cols is cut.
 * Return: the columns that it takes
 */
unsigned int view_fit(char *to, size_t size, const char *text, unsigned int cols, bool ascii);

#endif /* MEMIO_TOP_VIEW_H */
