// SPDX-License-Identifier: GPL-2.0
/*
 * memio report: what each group and device moved in all, see sums.h
 */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "progress.h"
#include "sums.h"

#define PROGRESS_EVERY	256

double row_bytes(const struct report *r, const struct row *w)
{
	return r->has_memory ? w->bytes[FIG_READ] + w->bytes[FIG_WRITE] :
			       w->bytes[FIG_TO] + w->bytes[FIG_FROM];
}

static struct row **slot_of(struct report *r, const struct track *t)
{
	unsigned int h = 5381 + t->kind;
	const char *c;

	for (c = t->name; *c; c++)
		h = h * 33 + (unsigned char)*c;
	return &r->slot[h % (sizeof(r->slot) / sizeof(*r->slot))];
}

/*
 * The row of a group's path or a device's name: another group of the same path is in it, too. NULL:
 * no memory, or there are too many
 */
static struct row *row_of(struct report *r, const struct track *t)
{
	struct row **slot = slot_of(r, t), *w;

	for (w = *slot; w; w = w->chain)
		if (w->kind == t->kind && !strcmp(w->name, t->name))
			return w;
	if (r->n == ROWS_MOST) {
		r->more_rows = true;
		return NULL;
	}
	if (r->n == r->room) {
		const size_t room = 2 * r->room + 64;
		struct row **more = realloc(r->row, room * sizeof(*more));

		if (!more)
			return NULL;
		r->row = more;
		r->room = room;
	}
	w = calloc(1, sizeof(*w));
	if (w)
		w->name = strdup(t->name);
	if (!w || !w->name) {
		free(w);
		return NULL;
	}
	w->kind = t->kind;
	w->chain = *slot;
	*slot = w;
	return r->row[r->n++] = w;
}

/* The points of a curve from @from_ns to @to_ns: calls for each with its part of that time */
static void spread(const struct report *r, double from_ns, double to_ns, float *curve,
		   double *covered, double amount)
{
	const double all = r->last_ns - r->first_ns, slot_ns = all / SLOTS, time = to_ns - from_ns;
	double at, end;
	int i;

	if (from_ns < r->first_ns)
		from_ns = r->first_ns;
	if (!(all > 0) || !(to_ns > from_ns))
		return;
	i = (from_ns - r->first_ns) / slot_ns;
	for (at = from_ns; at < to_ns && i < SLOTS; i++) {
		end = r->first_ns + (i + 1) * slot_ns;
		if (end > to_ns)
			end = to_ns;
		if (end <= at)
			continue;
		if (curve)
			curve[i] += amount * (end - at) / time;
		if (covered)
			covered[i] += end - at;
		at = end;
	}
}

static bool add_curves(struct report *r, const struct model *o, const struct track *t,
		       struct row *w)
{
	const double ns = o->interval_ns;
	int f;

	for (f = 0; f < FIGURES; f++) {
		const double bytes = t->figures & 1u << f ? t->rate[f] * ns / 1e9 : 0;

		if (!(bytes > 0))
			continue;
		if (!r->again) {
			w->moved = true;
			w->bytes[f] += bytes;
		}
		if (!w->curve && !r->again && r->curves == CURVES_MOST)
			r->more_curves = true;
		if (!w->curve && !r->again && r->curves < CURVES_MOST) {
			w->curve = calloc(FIGURES, sizeof(*w->curve));
			if (!w->curve)
				return false;
			r->curves++;
		}
		if (w->curve)
			spread(r, o->wall_ns - ns, o->wall_ns, w->curve[f], NULL, bytes);
	}
	return true;
}

static bool add_row(struct report *r, const struct model *o, const struct track *t)
{
	const double ns = o->interval_ns, bps = track_share(t);
	struct row *w = row_of(r, t);

	if (!w)
		return r->more_rows;
	if (r->again)
		return add_curves(r, o, t, w);
	if (*t->label)
		memcpy(w->label, t->label, sizeof(w->label));
	w->has |= t->figures;
	if (t->stopped > 0 && t->kind == TRACK_GROUP)
		w->stopped_ns += t->stopped * ns;
	if (t->moved && t->worth == WORTH_BOUND)
		w->bound_ns += ns;
	if (t->moved && t->worth == WORTH_INVALID)
		w->invalid_ns += ns;
	if (bps > w->peak_bps) {
		w->peak_bps = bps;
		w->peak_ns = o->wall_ns;
	}
	return add_curves(r, o, t, w);
}

static bool add_sample(struct report *r, const struct model *o)
{
	size_t i;

	if (!r->again) {
		r->samples++;
		r->covered_ns += o->interval_ns;
		r->has_memory |= o->has_memory;
		spread(r, o->wall_ns - (double)o->interval_ns, o->wall_ns, NULL, r->covered, 0);
	}
	for (i = 0; i < o->group.n; i++)
		if (!add_row(r, o, o->group.track[i]))
			return false;
	for (i = 0; i < o->device.n; i++)
		if (!add_row(r, o, o->device.track[i]))
			return false;
	return true;
}

static const struct report *sorted;

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = *(struct row *const *)x, *b = *(struct row *const *)y;
	const double l = row_bytes(sorted, a), m = row_bytes(sorted, b);
	const double li = a->bytes[FIG_TO] + a->bytes[FIG_FROM];
	const double mi = b->bytes[FIG_TO] + b->bytes[FIG_FROM];

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	/* The machine has all that the groups have. */
	if (a->kind == TRACK_GROUP && (!a->name[1] || !b->name[1]))
		return a->name[1] ? 1 : -1;
	if (l != m)
		return l > m ? -1 : 1;
	return li != mi ? li > mi ? -1 : 1 : strcmp(a->name, b->name);
}

static bool add_samples(struct report *r, struct history *h, struct model *o, size_t first,
			size_t last)
{
	struct progress p;
	size_t i;

	h->current = h->n;
	progress_begin(&p, (last - first) / PROGRESS_EVERY + 1, false, false);
	for (i = first; i <= last; i++) {
		const uint64_t since = i > first ? history_since(h, i) : 0;

		if (!((i - first) % PROGRESS_EVERY))
			progress(&p, r->again ? "drawing the curves" : "adding up the samples");
		if (!history_load(h, i))
			break;
		/* What was moved before the first sample is not of this time. */
		if (!since)
			model_forget(o);
		o->wall_ns = h->moment[i].when.wall_ns;
		if (model_sample_from(o, &h->source, since)) {
			complain("%s", o->error);
			break;
		}
		if (o->samples > 1 && !add_sample(r, o)) {
			complain("no memory");
			break;
		}
	}
	progress_end(&p);
	return i > last;
}

/* Curves of the largest ones alone: who they are is known now. */
static bool choose_curves(struct report *r, size_t curves)
{
	size_t left[2] = { curves, curves }, i;

	for (i = 0; i < r->n; i++) {
		free(r->row[i]->curve);
		r->row[i]->curve = NULL;
	}
	for (i = 0; i < r->n; i++) {
		struct row *w = r->row[i];
		size_t *its = &left[w->kind == TRACK_DEVICE];

		if (!w->moved || !*its)
			continue;
		--*its;
		w->curve = calloc(FIGURES, sizeof(*w->curve));
		if (!w->curve) {
			complain("no memory");
			return false;
		}
	}
	return true;
}

static void say_left_out(struct report *r)
{
	const size_t n = strlen(r->lost);

	if (!r->more_rows)
		return;
	snprintf(r->lost + n, sizeof(r->lost) - n,
		 "%sof more than %d groups and devices, those that came last are left out",
		 n ? "; " : "", ROWS_MOST);
	complain("%s; choose a part by --from, --until or -G", r->lost + n + (n ? 2 : 0));
}

bool report_add(struct report *r, struct history *h, struct model *o, size_t first, size_t last,
		size_t curves)
{
	size_t i;

	r->first_ns = h->moment[first].when.wall_ns;
	r->last_ns = r->first_ns;
	/* The clock may have been set back meanwhile. */
	for (i = first; i <= last; i++) {
		const uint64_t ns = h->moment[i].when.wall_ns;

		r->first_ns = ns < r->first_ns ? ns : r->first_ns;
		r->last_ns = ns > r->last_ns ? ns : r->last_ns;
	}
	history_lost(h, r->lost, sizeof(r->lost));
	r->below = o->below;
	/* Who needs no curve, as JSON, has none. */
	r->curves = curves ? 0 : CURVES_MOST;
	if (!add_samples(r, h, o, first, last))
		return false;
	say_left_out(r);
	sorted = r;
	qsort(r->row, r->n, sizeof(*r->row), compare_rows);
	if (!curves || !r->more_curves)
		return true;
	r->again = true;
	return choose_curves(r, curves) && add_samples(r, h, o, first, last);
}

void report_free(struct report *r)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		free(r->row[i]->name);
		free(r->row[i]->curve);
		free(r->row[i]);
	}
	free(r->row);
}
