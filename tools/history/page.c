// SPDX-License-Identifier: GPL-2.0
/*
 * memio report: the report as HTML, see sums.h
 *
 * One file, without scripts, fonts or pictures from elsewhere: a policy in its head forbids to
 * load any. Its elements are closed, so that it is XML, too. Names of groups are others' to
 * choose; put_text() is the one door that they come through.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../top/view.h"
#include "sums.h"

#define WIDTH	720		/* of a curve, without its margins */
#define HEIGHT	110
#define LEFT	64
#define TOP	8
#define BOTTOM	20
#define TICKS	6

static const char style[] =
	":root{color-scheme:light dark;--ink:#1b1f24;--dim:#5b6470;--line:#d5dae0;--back:#fff;"
	"--to:#8250df;--from:#bf5700;--rd:#0969da;--wr:#1a7f37}\n"
	"@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa4af;--line:#39414b;"
	"--back:#0d1117;--to:#c297ff;--from:#ffa657;--rd:#6cb6ff;--wr:#57d364}}\n"
	"body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);"
	"max-width:60rem;margin:2rem auto;padding:0 1rem}\n"
	"h1{font-size:1.4rem}h2{font-size:1.15rem;margin-top:2rem}"
	"h3{font-size:.95rem;margin:1.2rem 0 .2rem;overflow-wrap:anywhere}\n"
	"p.dim,td.dim,h3 span{color:var(--dim);font-weight:normal}p.warn{font-weight:bold}\n"
	"svg{display:block;width:100%;height:auto}svg text{font-size:10px;fill:var(--dim)}\n"
	"path{fill:none;stroke-width:1.4;stroke-linejoin:round}path.grid{stroke:var(--line);"
	"stroke-width:1}\n"
	".to{stroke:var(--to);stroke-dasharray:4 2}.from{stroke:var(--from);stroke-dasharray:4 2}"
	".rd{stroke:var(--rd)}.wr{stroke:var(--wr)}\n"
	"ul.key{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.5rem}"
	"ul.key svg{display:inline;width:2rem;height:.6rem;vertical-align:middle;"
	"margin-right:.4rem}\n"
	"div.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
	"th,td{padding:.15rem .6rem;text-align:right;white-space:nowrap;"
	"border-bottom:1px solid var(--line)}th:first-child,td:first-child{text-align:left;"
	"white-space:normal;overflow-wrap:anywhere}\n";

static const struct line {
	enum figure figure;
	const char *look, *name;
} lines[] = {
	{ FIG_TO, "to", "to devices" },
	{ FIG_FROM, "from", "from devices" },
	{ FIG_READ, "rd", "memory read" },
	{ FIG_WRITE, "wr", "memory written" },
};

#define LINES	(sizeof(lines) / sizeof(*lines))

static void put_text(const char *text, FILE *to)
{
	char clean[8192];
	const char *c;

	view_fit(clean, sizeof(clean), text, sizeof(clean), false);
	for (c = clean; *c; c++) {
		switch (*c) {
		case '<':
			fputs("&lt;", to);
			break;
		case '>':
			fputs("&gt;", to);
			break;
		case '&':
			fputs("&amp;", to);
			break;
		case '"':
			fputs("&quot;", to);
			break;
		default:
			putc(*c, to);
		}
	}
}

static void put_number(double n, const char *unit, FILE *to)
{
	char text[40];

	size_t end;

	view_number(n, text, sizeof(text));
	end = strlen(text) - 1;
	/* "4.68 MB/s", and "4.68M" in the table */
	if (!*unit)
		fputs(text, to);
	else if (text[end] >= 'A' && text[end] <= 'Z')
		fprintf(to, "%.*s %c%s", (int)end, text, text[end], unit);
	else
		fprintf(to, "%s %s", text, unit);
}

static void put_duration(double ns, FILE *to)
{
	const double s = ns / 1e9;

	if (s < 120)
		fprintf(to, "%.3g s", s);
	else if (s < 7200)
		fprintf(to, "%.0f min", s / 60);
	else if (s < 172800)
		fprintf(to, "%.1f h", s / 3600);
	else
		fprintf(to, "%.1f days", s / 86400);
}

/* 1, 2 or 5 times a power of ten, at least @most */
static double round_up(double most)
{
	double step = pow(10, floor(log10(most)));

	while (step < most)
		step *= step * 2 >= most ? 2 : step * 5 >= most ? 5 : 10;
	return step;
}

static double rate_at(const struct report *r, const struct row *w, enum figure f, int i)
{
	return r->covered[i] > 0 ? w->curve[f][i] / r->covered[i] * 1e9 : -1;
}

static bool same_height(double a, double b, double most)
{
	return fabs(a - b) * HEIGHT < 0.05 * most;
}

static void put_curve(const struct report *r, const struct row *w, const struct line *line,
		      double most, FILE *to)
{
	double before = 0;
	bool pen = false;
	int i;

	fprintf(to, "<path class=\"%s\" d=\"", line->look);
	for (i = 0; i < SLOTS; i++) {
		const double rate = rate_at(r, w, line->figure, i);
		const double x = LEFT + (i + 0.5) * WIDTH / SLOTS;
		const double y = TOP + HEIGHT * (1 - rate / most);

		/* Where there is no sample, there is no curve. */
		if (rate < 0) {
			pen = false;
			continue;
		}
		/* Nor is there a point in the middle of a line. */
		if (pen && i + 1 < SLOTS && same_height(before, rate, most) &&
		    same_height(rate, rate_at(r, w, line->figure, i + 1), most))
			continue;
		before = rate;
		fprintf(to, "%c%.1f %.1f", pen ? 'L' : 'M', x, y);
		/* One point alone is seen, too. */
		if (!pen)
			fprintf(to, "h.1");
		pen = true;
	}
	fputs("\"/>\n", to);
}

static void put_axes(const struct report *r, double most, FILE *to)
{
	const double all = r->last_ns - r->first_ns;
	char text[MOMENT_TEXT];
	int i;

	for (i = 0; i <= 2; i++) {
		const double y = TOP + HEIGHT * (1 - i / 2.);

		fprintf(to, "<path class=\"grid\" d=\"M%d %.1fh%d\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT, y, WIDTH,
			LEFT - 6, y + 3);
		put_number(most * i / 2, "B/s", to);
		fputs("</text>\n", to);
	}
	for (i = 0; i < TICKS; i++) {
		moment_text(r->first_ns + all * i / (TICKS - 1), false, text);
		/* Of more than a day the date matters; of a few minutes, the second. */
		fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.*s</text>\n",
			LEFT + (double)WIDTH * i / (TICKS - 1), TOP + HEIGHT + 14,
			!i ? "start" : i == TICKS - 1 ? "end" : "middle",
			all > 86400e9 ? 11 : all > 1800e9 ? 5 : 8,
			all > 86400e9 ? text + 5 : text + 11);
	}
}

static void put_name(const struct row *w, FILE *to)
{
	put_text(w->kind == TRACK_DEVICE && *w->label ? w->label : w->name, to);
	if (w->kind == TRACK_DEVICE && *w->label && strcmp(w->label, w->name)) {
		fputs(" <span>", to);
		put_text(w->name, to);
		fputs("</span>", to);
	}
}

static void put_chart(const struct report *r, const struct row *w, FILE *to)
{
	double most = 0;
	char text[MOMENT_TEXT];
	size_t l;
	int i;

	for (l = 0; l < LINES; l++)
		for (i = 0; i < SLOTS; i++)
			most = fmax(most, rate_at(r, w, lines[l].figure, i));
	most = most > 0 ? round_up(most) : 1;
	fputs("<h3>", to);
	put_name(w, to);
	if (w->peak_ns) {
		fprintf(to, " <span>at most ");
		put_number(w->peak_bps, "B/s", to);
		fprintf(to, ", %s</span>", moment_text(w->peak_ns, false, text));
	}
	fprintf(to, "</h3>\n<svg viewBox=\"0 0 %d %d\" role=\"img\">\n", LEFT + WIDTH + 8,
		TOP + HEIGHT + BOTTOM);
	put_axes(r, most, to);
	for (l = 0; l < LINES; l++)
		if (w->has & 1u << lines[l].figure)
			put_curve(r, w, &lines[l], most, to);
	fputs("</svg>\n", to);
}

static void put_charts(const struct report *r, enum track_kind kind, size_t most, FILE *to)
{
	size_t i, done = 0;

	for (i = 0; i < r->n && done < most; i++) {
		const struct row *w = r->row[i];

		if (w->kind != kind || !w->curve)
			continue;
		if (!done++)
			fprintf(to, "<h2>%s</h2>\n", kind == TRACK_GROUP ? "Groups" : "Devices");
		put_chart(r, w, to);
	}
}

static void put_cell(const struct row *w, enum figure f, FILE *to)
{
	fputs("<td>", to);
	if (w->has & 1u << f)
		put_number(w->bytes[f], "", to);
	else
		fputs("-", to);
	fputs("</td>", to);
}

static void put_row(const struct row *w, FILE *to)
{
	char text[MOMENT_TEXT];
	int f;

	fputs("<tr><td>", to);
	put_name(w, to);
	fputs("</td>", to);
	for (f = 0; f < FIGURES; f++)
		put_cell(w, f, to);
	fputs("<td>", to);
	put_number(w->peak_bps, "", to);
	fprintf(to, "</td><td class=\"dim\">%s</td><td>",
		w->peak_ns ? moment_text(w->peak_ns, false, text) : "");
	if (w->stopped_ns)
		put_duration(w->stopped_ns, to);
	fputs("</td><td class=\"dim\">", to);
	if (w->invalid_ns > 0) {
		fputs("not valid for ", to);
		put_duration(w->invalid_ns, to);
	} else if (w->bound_ns > 0) {
		fputs("upper bound for ", to);
		put_duration(w->bound_ns, to);
	}
	fputs("</td></tr>\n", to);
}

static void put_table(const struct report *r, enum track_kind kind, FILE *to)
{
	size_t i, idle = 0;

	fprintf(to, "<h2>%s: sums</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>%s</th>"
		"<th>to dev</th><th>from dev</th><th>mem rd</th><th>mem wr</th><th>cpus</th>"
		"<th>most, B/s</th><th>at</th><th>stopped</th><th>memory figures</th></tr></thead>\n"
		"<tbody>\n", kind == TRACK_GROUP ? "Groups" : "Devices",
		kind == TRACK_GROUP ? "group" : "device");
	for (i = 0; i < r->n; i++) {
		if (r->row[i]->kind != kind)
			continue;
		if (r->row[i]->moved)
			put_row(r->row[i], to);
		else
			idle++;
	}
	fputs("</tbody></table></div>\n", to);
	if (idle)
		fprintf(to, "<p class=\"dim\">%zu that moved nothing %s left out.</p>\n", idle,
			idle == 1 ? "is" : "are");
}

static void put_key(FILE *to)
{
	size_t l;

	fputs("<ul class=\"key\">", to);
	for (l = 0; l < LINES; l++)
		fprintf(to, "<li><svg viewBox=\"0 0 32 8\"><path class=\"%s\" d=\"M0 4h32\"/></svg>"
			"%s</li>", lines[l].look, lines[l].name);
	fputs("</ul>\n", to);
}

void page_write(const struct report *r, size_t curves, const char *title, FILE *to)
{
	char from[MOMENT_TEXT], until[MOMENT_TEXT];

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
	      to);
	put_text(title, to);
	fprintf(to, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>Memory bandwidth: ",
		style);
	put_text(title, to);
	fprintf(to, "</h1>\n<p>%s to %s; %zu interval%s, ", moment_text(r->first_ns, false, from),
		moment_text(r->last_ns, false, until), r->samples, r->samples == 1 ? "" : "s");
	put_duration(r->covered_ns, to);
	fputs(" in all", to);
	if (r->below && r->below[1]) {
		fputs("; groups: ", to);
		put_text(r->below, to);
	}
	fputs(".</p>\n", to);
	if (*r->lost) {
		fputs("<p class=\"warn\">", to);
		put_text(r->lost, to);
		fputs(".</p>\n", to);
	}
	if (!r->has_memory)
		fputs("<p class=\"warn\">Bytes that devices moved; their memory bytes were "
		      "not known.</p>\n", to);
	put_key(to);
	put_charts(r, TRACK_GROUP, curves, to);
	put_charts(r, TRACK_DEVICE, curves, to);
	put_table(r, TRACK_GROUP, to);
	put_table(r, TRACK_DEVICE, to);
	fputs("<p class=\"dim\">to dev, from dev: bytes that devices read from memory and wrote to "
	      "memory. mem rd, mem wr: bytes of DRAM, for devices and CPUs; cpus: the CPUs' part "
	      "of these. K, M and G are powers of 1000. A group has the groups below it. Times "
	      "are local.</p>\n</body>\n</html>\n", to);
}
