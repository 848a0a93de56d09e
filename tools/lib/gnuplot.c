// SPDX-License-Identifier: GPL-2.0
/*
 * Pictures, drawn by gnuplot; see gnuplot.h
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "gnuplot.h"

const char *gnuplot_terminal(const char *file)
{
	const char *dot = strrchr(file, '.');

	return !dot ? NULL : !strcasecmp(dot, ".svg") ? "svg" :
	       !strcasecmp(dot, ".png") ? "pngcairo" : !strcasecmp(dot, ".pdf") ? "pdfcairo" : NULL;
}

/* An empty file is no picture; one that was there before stays. */
static void give_up(const struct gnuplot *g)
{
	close(g->picture);
	if (g->made)
		unlink(g->output);
}

bool gnuplot_open(struct gnuplot *g, const char *output)
{
	int in[2];

	g->output = output;
	fflush(stdout);
	/* A picture that is there is cut only when there is another one in its place. */
	g->picture = open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	g->made = g->picture >= 0;
	if (!g->made)
		g->picture = open(output, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (g->picture < 0) {
		complain_errno("%s", output);
		return false;
	}
	if (pipe(in)) {
		complain_errno("starting gnuplot");
		give_up(g);
		return false;
	}
	g->pid = fork();
	if (g->pid < 0) {
		complain_errno("starting gnuplot");
		close(in[0]);
		close(in[1]);
		give_up(g);
		return false;
	}
	if (!g->pid) {
		/* Its standard output is the picture, so its name means nothing to it. */
		dup2(g->picture, STDOUT_FILENO);
		dup2(in[0], STDIN_FILENO);
		close(in[0]);
		close(in[1]);
		execlp("gnuplot", "gnuplot", "-", (char *)NULL);
		complain_errno("gnuplot (Debian's package gnuplot-nox)");
		_exit(1);
	}
	close(in[0]);
	signal(SIGPIPE, SIG_IGN);
	g->to = fdopen(in[1], "w");
	if (!g->to) {
		complain_errno("starting gnuplot");
		/* It ends where its script does, at once. */
		close(in[1]);
		waitpid(g->pid, NULL, 0);
		give_up(g);
		return false;
	}
	return true;
}

bool gnuplot_close(struct gnuplot *g)
{
	int status;
	bool good;
	off_t end;

	fclose(g->to);
	good = waitpid(g->pid, &status, 0) == g->pid && WIFEXITED(status) && !WEXITSTATUS(status);
	/* What is left of a longer one; a pipe has no such place. */
	end = good ? lseek(g->picture, 0, SEEK_CUR) : -1;
	if (end > 0 && ftruncate(g->picture, end)) {
		complain_errno("%s", g->output);
		good = false;
	}
	if (good) {
		close(g->picture);
		return true;
	}
	give_up(g);
	complain("%s: not drawn", g->output);
	return false;
}

void gnuplot_name(char *to, size_t size, const char *text)
{
	size_t i;

	for (i = 0; i + 1 < size && text[i]; i++) {
		const bool bad = strchr("\"\\'`$%", text[i]) || text[i] < ' ' || text[i] > '~';

		to[i] = bad ? '?' : text[i];
	}
	to[i] = '\0';
}
