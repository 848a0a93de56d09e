// SPDX-License-Identifier: GPL-2.0
/*
 * What a row of the table of commands says: --help, the man page's options, and the completion
 * of bash, see command.h
 */
#include <ctype.h>
#include <string.h>

#include "command.h"

#define WIDTH	79
#define TEXT	24			/* where the texts of options begin */

static const struct command_option help_option = {
	.id = 'h', .name = "help", .help = "Print this, and do nothing.",
};

/* Words of @text in lines, each after @indent spaces; the first line has @used of them already */
static void fill(FILE *to, const char *text, int indent, int used)
{
	int at = used;

	while (*text) {
		const int n = strcspn(text, "\n ");

		if (at > indent && at + 1 + n > WIDTH) {
			fputc('\n', to);
			at = 0;
		}
		if (at < indent)
			at += fprintf(to, "%*s", indent - at, "");
		else if (at > indent)
			at += fprintf(to, " ");
		at += fprintf(to, "%.*s", n, text);
		text += n;
		/* An empty line is one. */
		if (!strncmp(text, "\n\n", 2)) {
			fputs("\n\n", to);
			at = 0;
		}
		text += strspn(text, "\n ");
	}
	fputc('\n', to);
}

static bool short_of(const struct command_option *o)
{
	return o->id < 256;
}

static void help_of(const struct command_option *o, FILE *to)
{
	int n = short_of(o) ? fprintf(to, "  -%c, --%s", o->id, o->name) :
			      fprintf(to, "      --%s", o->name);

	if (o->value)
		n += fprintf(to, " %s", o->value);
	if (n > TEXT - 2) {
		fputc('\n', to);
		n = 0;
	}
	fill(to, o->help, TEXT, n);
}

void command_help(const struct command *c, FILE *to)
{
	const struct command_option *o;
	const struct subcommand *s;
	const char *line = c->usage, *what = "usage: ";

	while (*line) {
		const int n = strcspn(line, "\n");

		fprintf(to, "%smemio %s%s%.*s\n", what, command_name, n ? " " : "", n, line);
		line += n + !!line[n];
		what = "       ";
	}
	if (!*c->usage)
		fprintf(to, "usage: memio %s\n", command_name);
	fputc('\n', to);
	fill(to, c->about, 0, 0);
	fputc('\n', to);
	for (s = c->sub; s && s->name; s++) {
		const int n = fprintf(to, "  %-10s", s->name);

		fill(to, s->summary, 14, n);
	}
	if (c->sub)
		fputc('\n', to);
	for (o = c->option; o && o->name; o++)
		help_of(o, to);
	help_of(&help_option, to);
	if (c->notes) {
		fputc('\n', to);
		fill(to, c->notes, 0, 0);
	}
	for (s = c->sub; s && s->name && !s->runs; s++)
		;
	fputs("\nStatus: 0 done, 1 found or failed, 2 wrong arguments, 77 this machine can't.\n",
	      to);
	if (c->runs || (s && s->name))
		fprintf(to, "126 and 127: COMMAND can't be run, or is not there.%s\n",
			c->runs ? " Else the status is COMMAND's." : "");
}

/* ---- man ---- */

/* Text for roff: what it would take as its own is no longer that. */
static void roff(FILE *to, const char *text)
{
	bool line = true;

	for (; *text; text++) {
		if (line && (*text == '.' || *text == '\''))
			fputs("\\&", to);
		line = *text == '\n';
		if (*text == '\\')
			fputs("\\e", to);
		else if (*text == '-')
			fputs("\\-", to);
		else if (*text == '\'')
			fputs("\\(aq", to);
		else
			fputc(*text, to);
	}
}

static void man_head(const struct command_option *o, FILE *to)
{
	fputs(".TP\n", to);
	if (short_of(o))
		fprintf(to, ".BR \\-%c \", \" ", o->id);
	else
		fputs(".BR ", to);
	fputs("\\-\\-", to);
	roff(to, o->name);
	if (o->value) {
		fputs(" \" \\fI", to);
		roff(to, o->value);
		fputs("\\fP\"", to);
	}
	fputc('\n', to);
}

static void man_of(const struct command_option *o, FILE *to)
{
	man_head(o, to);
	roff(to, o->help);
	fputc('\n', to);
}

#define ROWS_MOST	512

/* A page is being made. */
struct page {
	const struct command *command;
	const struct command_option *written[ROWS_MOST];
	size_t n;
	const struct command_option *open;	/* its text is the page's, if that has one */
	FILE *to;
};

static void man_close(struct page *p)
{
	if (p->open) {
		roff(p->to, p->open->help);
		fputc('\n', p->to);
	}
	p->open = NULL;
}

static bool is_written(const struct page *p, const struct command_option *o)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->written[i] == o)
			return true;
	return false;
}

/* An option by its name, of a row; of children, that of @child, or of all of them ("*") */
static bool man_mark(struct page *p, const char *child, const char *name)
{
	const struct command *const one[] = { p->command, NULL };
	const struct command *const *c = p->command->child ?: one;
	const struct command_option *o;
	bool found = false;

	man_close(p);
	for (; *c; c++) {
		if (p->command->child && strcmp(child, "*") && strcmp(child, (*c)->name))
			continue;
		for (o = (*c)->option; o && o->name; o++) {
			if (strcmp(o->name, name) || p->n == ROWS_MOST)
				continue;
			p->written[p->n++] = o;
			if (!found) {
				man_head(o, p->to);
				p->open = o;
			}
			found = true;
		}
	}
	return found;
}

static void man_rest(struct page *p)
{
	const struct command_option *o;

	man_close(p);
	for (o = p->command->option; o && o->name; o++) {
		if (is_written(p, o) || p->n == ROWS_MOST)
			continue;
		p->written[p->n++] = o;
		man_of(o, p->to);
	}
	man_of(&help_option, p->to);
}

static bool man_whole(const struct page *p)
{
	const struct command *const one[] = { p->command, NULL };
	const struct command *const *c = p->command->child ?: one;
	const struct command_option *o;
	bool whole = true;

	for (; *c; c++) {
		for (o = (*c)->option; o && o->name; o++) {
			if (is_written(p, o))
				continue;
			complain("the man page of %s lacks --%s", (*c)->name, o->name);
			whole = false;
		}
	}
	return whole;
}

bool command_man(const struct command *c, FILE *from, FILE *to)
{
	struct page p = { .command = c, .to = to };
	char line[1024], child[64], name[64];
	bool good = true;

	while (fgets(line, sizeof(line), from)) {
		if (!strcmp(line, ".\\\"@@\n")) {
			man_rest(&p);
			continue;
		}
		if (!strncmp(line, ".\\\"@ ", 5)) {
			int n = sscanf(line + 5, "%63s %63s", child, name);

			if (n == 1)
				stpcpy(name, child);
			if (n < 1 || !man_mark(&p, child, name)) {
				complain("the man page of %s has an option that there is not: %s",
					 c->name, line + 5);
				good = false;
			}
			continue;
		}
		/* The page's own words, or the end of the options */
		if (!strncmp(line, ".SH", 3) || !strncmp(line, ".SS", 3))
			man_close(&p);
		p.open = NULL;
		fputs(line, to);
	}
	return good && man_whole(&p);
}

const struct command *command_find(const struct command *const *list, const char *name)
{
	const struct command *const *c;

	for (c = list; *c; c++) {
		const size_t n = strlen((*c)->name);

		if (!strcmp((*c)->name, name))
			return *c;
		if ((*c)->child && !strncmp((*c)->name, name, n) && name[n] == '-')
			return command_find((*c)->child, name + n + 1);
	}
	return NULL;
}

/* ---- bash ---- */

static const char *const kinds[] = {
	[COMPLETES_NOTHING] = "", [COMPLETES_FILE] = "file", [COMPLETES_GROUP] = "group",
	[COMPLETES_DEVICE] = "device", [COMPLETES_PID] = "pid", [COMPLETES_LIMIT] = "limit",
	[COMPLETES_COMMAND] = "command", [COMPLETES_HOST] = "host", [COMPLETES_WORDS] = "words",
};

/* What is completed in bash: the functions that the rows' lines call */
static const char bash_head[] =
"# bash completion for memio(1), made by 'memio --completion'\n"
"\n"
"_memio_words() {\n"
"	local word\n"
"	while read -r word; do\n"
"		COMPREPLY+=(\"$word\")\n"
"	done < <(compgen -W \"$1\" -- \"$2\")\n"
"}\n"
"\n"
"_memio_value() {\n"
"	local mount=${MEMIO_MOUNT:-/sys/fs/cgroup} word\n"
"	case $1 in\n"
"	file)	while read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen -f -- \"$2\") ;;\n"
"	command) while read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen -c -- \"$2\") ;;\n"
"	group)	_memio_words \"$(cd \"$mount\" 2>/dev/null && find . -mindepth 1 -maxdepth 4 -type d -printf '/%P\\n' 2>/dev/null)\" \"$2\" ;;\n"
"	device)	_memio_words \"$(for word in /sys/class/net/* /sys/block/*; do echo \"${word##*/}\"; done)\" \"$2\" ;;\n"
"	pid)	_memio_words \"$(cd /proc && echo [0-9]*)\" \"$2\" ;;\n"
"	limit)	_memio_words \"total= cpu= io= default= total.bps= total.rbps= total.wbps=\" \"$2\" ;;\n"
"	host)	while read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen -A hostname -- \"$2\") ;;\n"
"	words)	_memio_words \"$3\" \"$2\" ;;\n"
"	esac\n"
"}\n"
"\n"
"# _memio_row CUR PREV NAMES SUBS ARGUMENTS: of the command whose options are in kind and words\n"
"_memio_row() {\n"
"	case $2 in\n"
"	-?|--*) if [ -n \"${kind[$2]:-}\" ]; then _memio_value \"${kind[$2]}\" \"$1\" \"${words[$2]:-}\"; return; fi\n"
"		if [ -n \"${takes[$2]:-}\" ]; then return; fi ;;\n"
"	esac\n"
"	case $1 in\n"
"	-*)	_memio_words \"$3\" \"$1\" ;;\n"
"	*)	if [ -n \"$4\" ] && [ \"$5\" = 2 ]; then _memio_words \"$4\" \"$1\"; else _memio_value \"$6\" \"$1\"; fi ;;\n"
"	esac\n"
"}\n"
"\n"
"_memio() {\n"
"	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} at=1 i row\n"
"	local -A kind=() words=() takes=()\n"
"	COMPREPLY=()\n"
"	for ((i = 2; i < COMP_CWORD; i++)); do\n"
"		if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
"			if [ $((i + 1)) = \"$COMP_CWORD\" ]; then _memio_value command \"$cur\"; else _memio_value file \"$cur\"; fi\n"
"			return\n"
"		fi\n"
"	done\n";

static void bash_row(const struct command *c, const char *above, FILE *to)
{
	const struct command_option *o;
	const struct subcommand *s;

	fprintf(to, "	%s%s)\n", above, c->name);
	for (o = c->option; o && o->name; o++) {
		if (!o->value)
			continue;
		fprintf(to, "		takes[--%s]=1", o->name);
		if (o->completes)
			fprintf(to, " kind[--%s]=%s", o->name, kinds[o->completes]);
		if (o->words)
			fprintf(to, " words[--%s]='%s'", o->name, o->words);
		if (short_of(o)) {
			fprintf(to, " takes[-%c]=1", o->id);
			if (o->completes)
				fprintf(to, " kind[-%c]=%s", o->id, kinds[o->completes]);
		}
		fputc('\n', to);
	}
	fputs("		_memio_row \"$cur\" \"$prev\" '", to);
	for (o = c->option; o && o->name; o++)
		fprintf(to, "--%s ", o->name);
	fputs("--help' '", to);
	for (s = c->sub; s && s->name; s++)
		fprintf(to, "%s%s", s == c->sub ? "" : " ", s->name);
	fprintf(to, "' $((COMP_CWORD - at + 1)) '%s' ;;\n", kinds[c->arguments]);
}

void commands_completion(const struct command *const *list, FILE *to)
{
	const struct command *const *c, *const *child;

	fputs(bash_head, to);
	fputs("	if [ \"$COMP_CWORD\" = 1 ]; then\n		_memio_words '", to);
	for (c = list; *c; c++)
		fprintf(to, "%s ", (*c)->name);
	fputs("--help --version' \"$cur\"\n		return\n	fi\n"
	      "	row=${COMP_WORDS[1]}\n", to);
	for (c = list; *c; c++) {
		if (!(*c)->child)
			continue;
		fprintf(to, "	if [ \"$row\" = %s ]; then\n		if [ \"$COMP_CWORD\" = 2 ]; then\n			_memio_words '",
			(*c)->name);
		for (child = (*c)->child; *child; child++)
			fprintf(to, "%s%s", child == (*c)->child ? "" : " ", (*child)->name);
		fputs("' \"$cur\"\n			return\n		fi\n		row+=\" ${COMP_WORDS[2]}\" at=2\n	fi\n",
		      to);
	}
	fputs("	case $row in\n", to);
	for (c = list; *c; c++) {
		char above[64];

		if (!(*c)->child) {
			bash_row(*c, "", to);
			continue;
		}
		snprintf(above, sizeof(above), "%s\\ ", (*c)->name);
		for (child = (*c)->child; *child; child++)
			bash_row(*child, above, to);
	}
	fputs("	esac\n}\n\ncomplete -F _memio memio\n", to);
}
