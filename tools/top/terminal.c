// SPDX-License-Identifier: GPL-2.0
/*
 * memio top: the terminal, by ncurses
 *
 * ncurses may not be called from a handler of signals. So SIGINT, SIGTERM and SIGHUP are noted
 * and end the loop; and for a crash the strings that give the terminal back are prepared, and
 * the handler writes them.
 */
#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "command.h"
#include "terminal.h"

static volatile sig_atomic_t ending, active;
static struct termios saved;
static char give_back[256];
static SCREEN *screen;

static void note_signal(int sig)
{
	ending = sig;
}

static void crash(int sig)
{
	ssize_t done = 0;

	if (active) {
		done = write(STDOUT_FILENO, give_back, strlen(give_back));
		tcsetattr(STDIN_FILENO, TCSANOW, &saved);
	}
	(void)done;
	/* The handler was reset: now it ends the program, as it would have. */
	raise(sig);
}

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };

void signals_begin(void)
{
	struct sigaction sa = { .sa_handler = note_signal };
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &sa, NULL);
}

void signals_wait(uint64_t ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
	sigset_t these, was;
	size_t i;

	sigemptyset(&these);
	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&these, ends[i]);
	/* One that comes between the look and the wait would be waited for in vain. */
	sigprocmask(SIG_BLOCK, &these, &was);
	if (!ending)
		ppoll(NULL, 0, &t, &was);
	sigprocmask(SIG_SETMASK, &was, NULL);
}

void signals_end(void)
{
	if (!ending)
		return;
	/* Ended by it, as a shell would see of any other program. */
	fflush(stdout);
	signal(ending, SIG_DFL);
	raise(ending);
}

static void catch_crashes(void)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT };
	struct sigaction sa = {
		.sa_handler = crash,
		.sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK,
	};
	static char room[65536];
	const stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };
	size_t i;

	/* A stack that has overflowed has no room for a handler. */
	sigaltstack(&stack, NULL);
	for (i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		sigaction(crashes[i], &sa, NULL);
}

int terminal_signal(void)
{
	return ending;
}

static void remember(const char *name)
{
	const char *text = tigetstr((char *)name);

	if (text && text != (char *)-1 && strlen(give_back) + strlen(text) < sizeof(give_back))
		strcat(give_back, text);
}

bool terminal_begin(void)
{
	if (tcgetattr(STDIN_FILENO, &saved)) {
		complain_errno("the terminal");
		return false;
	}
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		complain("the terminal '%s' is not known here; -b prints tables",
			 getenv("TERM") ?: "");
		return false;
	}
	remember("sgr0");
	remember("cnorm");
	remember("rmkx");
	remember("rmcup");
	active = 1;
	signals_begin();
	catch_crashes();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, true);
	set_escdelay(50);
	curs_set(0);
	if (has_colors()) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_YELLOW, -1);
		init_pair(2, COLOR_CYAN, -1);
	}
	return true;
}

void terminal_end(void)
{
	if (!active)
		return;
	endwin();
	active = 0;
	delscreen(screen);
	screen = NULL;
}

void terminal_size(struct view *v)
{
	int rows, cols;

	getmaxyx(stdscr, rows, cols);
	v->rows = rows > 0 ? rows : 1;
	v->cols = cols > 0 ? cols : 1;
}

static attr_t attributes_of(enum look look)
{
	switch (look) {
	case LOOK_BOLD:
		return A_BOLD;
	case LOOK_DIM:
		return A_DIM;
	case LOOK_TITLE:
		return A_REVERSE;
	case LOOK_CHOSEN:
		return A_BOLD | A_REVERSE;
	case LOOK_WARN:
		return has_colors() ? COLOR_PAIR(1) : A_BOLD;
	case LOOK_CURVE:
		return has_colors() ? COLOR_PAIR(2) : A_NORMAL;
	default:
		return A_NORMAL;
	}
}

void terminal_draw(const struct screen *s)
{
	size_t row;
	unsigned int i;

	erase();
	for (row = 0; row < s->n; row++) {
		const struct screen_line *l = &s->line[row];

		move(row, 0);
		for (i = 0; i < l->spans; i++) {
			const size_t from = l->span[i].at;
			const size_t to = i + 1 < l->spans ? l->span[i + 1].at : l->bytes;

			attrset(attributes_of(l->span[i].look));
			addnstr(l->text + from, to - from);
		}
		attrset(A_NORMAL);
	}
	refresh();
}

int terminal_key(int ms)
{
	static const struct {
		int theirs, ours;
	} keys[] = {
		{ KEY_UP, KEY_IS_UP }, { KEY_DOWN, KEY_IS_DOWN }, { KEY_LEFT, KEY_IS_LEFT },
		{ KEY_RIGHT, KEY_IS_RIGHT }, { KEY_PPAGE, KEY_IS_PAGE_UP },
		{ KEY_NPAGE, KEY_IS_PAGE_DOWN }, { KEY_HOME, KEY_IS_HOME }, { KEY_END, KEY_IS_END },
		{ KEY_ENTER, KEY_IS_ENTER }, { '\r', KEY_IS_ENTER }, { '\n', KEY_IS_ENTER },
		{ 27, KEY_IS_ESCAPE }, { KEY_BACKSPACE, KEY_IS_BACKSPACE },
		{ 127, KEY_IS_BACKSPACE }, { 8, KEY_IS_BACKSPACE }, { '\t', KEY_IS_TAB },
		{ KEY_F(1), '?' }, { KEY_F(10), 'q' },
	};
	size_t i;
	int key;

	timeout(ms);
	key = getch();
	if (key == ERR)
		return -1;
	if (key == KEY_RESIZE)
		return -2;
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].theirs == key)
			return keys[i].ours;
	return key < 256 ? key : -1;
}
