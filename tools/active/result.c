// SPDX-License-Identifier: GPL-2.0
/*
 * Results in a file: JSON that says what it is, so that it is read with care
 *
 *	{"memio_active": 3, "calibration": {...}, "command": [...], "place": {...},
 *	 "processes": N, "bubble": {...}, "samples": [...], "metric": M, "points": [...],
 *	 "use": {...}}
 *
 * Calibration and samples are what was measured, and what is read back; "points" and
 * "use" follow from them and are for who reads the file with other tools. It is written
 * anew after each sample, beside its place, and renamed: what is there is whole. What is
 * no file, a device or a pipe, is written to, and never read. As its place is taken by another
 * file each time, the lock that keeps two runs from it is a file beside it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "active.h"
#include "command.h"

#define VERSION	3

/* A ratio's may have no end. */
static json_t *interval_json(const struct interval *i)
{
	return json_pack("{s:f, s:f, s:o, s:I}", "mean", i->mean, "low", i->low, "high",
			 isfinite(i->high) ? json_real(i->high) : json_null(), "n",
			 (json_int_t)i->n);
}

static bool interval_load(json_t *j, struct interval *i)
{
	json_int_t n;

	if (json_unpack(j, "{s:F, s:F, s:F, s:I}", "mean", &i->mean, "low", &i->low, "high",
			&i->high, "n", &n) || n < 0)
		return false;
	i->n = n;
	return true;
}

/* What was not counted, or not measured, is null. */
static json_t *count(double n)
{
	return n < 0 ? json_null() : json_real(n);
}

static double counted(json_t *j, const char *key)
{
	json_t *n = json_object_get(j, key);

	return json_is_number(n) ? json_number_value(n) : -1;
}

static json_t *effect_json(const struct effect *e)
{
	if (!effect_known(e))
		return json_null();
	return json_pack("{s:f, s:o, s:o}", "accesses_s", e->rate, "misses", count(e->misses),
			 "misses_of_others", count(e->others));
}

static bool effect_load(json_t *j, struct effect *e)
{
	*e = EFFECT_UNKNOWN;
	if (json_is_null(j))
		return true;
	e->misses = counted(j, "misses");
	e->others = counted(j, "misses_of_others");
	return !json_unpack(j, "{s:F}", "accesses_s", &e->rate);
}

static json_t *storage_json(const struct calibration *c, unsigned int i)
{
	return json_pack("{s:o, s:o}", "capacity", interval_json(&c->capacity[i]),
			 "bandwidth_beside", effect_json(&c->bandwidth_beside[i]));
}

static json_t *bandwidth_json(const struct calibration *c, unsigned int i)
{
	return json_pack("{s:o, s:o, s:o}", "taken", count(c->total ? c->taken[i] : -1), "left",
			 count(c->total ? c->left[i] : -1), "storage_beside",
			 effect_json(&c->storage_beside[i]));
}

json_t *calibration_json(const struct calibration *c)
{
	json_t *storage = json_array(), *bandwidth = json_array(), *caches = json_array();
	unsigned int i;

	for (i = 0; i < PLACE_LEVELS; i++)
		json_array_append_new(caches, json_integer(c->bytes[i]));
	for (i = 0; i <= c->storage; i++)
		json_array_append_new(storage, storage_json(c, i));
	for (i = 0; i <= c->bandwidth; i++)
		json_array_append_new(bandwidth, bandwidth_json(c, i));
	return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:i, s:i}",
			 "misses_by", c->counters ? "counters" : "time", "judged_by_rate",
			 c->by_rate, "caches", caches,
			 "bandwidth_bytes_s", count(c->total ?: -1), "pace_bytes_s",
			 count(c->pace ?: -1), "storage", storage, "bandwidth", bandwidth,
			 "clean_storage", c->clean_storage, "clean_bandwidth", c->clean_bandwidth);
}

static bool calibration_from(json_t *j, struct calibration *c)
{
	json_t *storage, *bandwidth, *caches, *total, *pace;
	const char *by;
	size_t i;

	memset(c, 0, sizeof(*c));
	if (json_unpack(j, "{s:s, s:o, s:o, s:o, s:o, s:i, s:i}", "misses_by", &by, "caches",
			&caches, "bandwidth_bytes_s", &total, "storage", &storage, "bandwidth",
			&bandwidth, "clean_storage", &c->clean_storage, "clean_bandwidth",
			&c->clean_bandwidth) ||
	    json_array_size(caches) != PLACE_LEVELS || !json_array_size(storage) ||
	    json_array_size(storage) > STORAGE_MAX + 1 || !json_array_size(bandwidth) ||
	    json_array_size(bandwidth) > BANDWIDTH_MAX + 1 ||
	    (!json_is_null(total) && !json_is_number(total)))
		return false;
	pace = json_object_get(j, "pace_bytes_s");
	if (pace && !json_is_null(pace) && !json_is_number(pace))
		return false;
	c->pace = json_number_value(pace);
	c->by_rate = json_is_true(json_object_get(j, "judged_by_rate"));
	c->total = json_number_value(total);
	c->counters = !strcmp(by, "counters");
	c->storage = json_array_size(storage) - 1;
	c->bandwidth = json_array_size(bandwidth) - 1;
	for (i = 0; i < PLACE_LEVELS; i++)
		c->bytes[i] = json_integer_value(json_array_get(caches, i));
	for (i = 0; i <= c->storage; i++) {
		json_t *k = json_array_get(storage, i);

		if (!interval_load(json_object_get(k, "capacity"), &c->capacity[i]) ||
		    !effect_load(json_object_get(k, "bandwidth_beside"), &c->bandwidth_beside[i]))
			return false;
	}
	for (i = 0; i <= c->bandwidth; i++) {
		json_t *k = json_array_get(bandwidth, i);

		if ((c->total && json_unpack(k, "{s:F, s:F}", "taken", &c->taken[i], "left",
					     &c->left[i])) ||
		    !effect_load(json_object_get(k, "storage_beside"), &c->storage_beside[i]))
			return false;
	}
	return true;
}

static json_t *sample_json(const struct sample *s)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "storage",
			 s->storage, "bandwidth", s->bandwidth, "bubble", s->bubble, "repetition",
			 s->repetition, "time_ns", s->time_ns, "cpu_ns", s->cpu_ns, "misses",
			 count(s->misses), "instructions", count(s->instructions),
			 "interference_misses", count(s->interference_misses), "bubble_bytes_s",
			 count(s->bubble_bytes_s), "bubble_bytes", count(s->bubble_bytes), "ran",
			 count(s->ran), "kept", count(s->kept));
}

static bool sample_from(json_t *j, struct sample *s)
{
	if (json_unpack(j, "{s:i, s:i, s:i, s:i, s:F, s:F}", "storage", &s->storage, "bandwidth",
			&s->bandwidth, "bubble", &s->bubble, "repetition", &s->repetition,
			"time_ns", &s->time_ns, "cpu_ns", &s->cpu_ns) ||
	    s->storage > STORAGE_MAX || s->bandwidth > BANDWIDTH_MAX || s->bubble > BUBBLE_MAX ||
	    s->repetition >= STATISTICS_MAX || !(s->time_ns > 0))
		return false;
	s->misses = counted(j, "misses");
	s->instructions = counted(j, "instructions");
	s->interference_misses = counted(j, "interference_misses");
	s->bubble_bytes_s = counted(j, "bubble_bytes_s");
	s->bubble_bytes = counted(j, "bubble_bytes");
	s->ran = counted(j, "ran");
	s->kept = counted(j, "kept");
	return true;
}

json_t *text_json(const char *text)
{
	json_t *j = json_string(text);
	const bool utf8 = j;
	char *escaped, *at;

	if (utf8 && !strchr(text, '\\'))
		return j;
	json_decref(j);
	escaped = malloc(4 * strlen(text) + 1);
	if (!escaped)
		return NULL;
	/*
	 * A backslash is two, of any text: else one that has what another's bytes are escaped to
	 * would be the same.
	 */
	for (at = escaped; *text; text++) {
		if (!utf8 && (unsigned char)*text >= 0x80)
			at += sprintf(at, "\\x%02x", (unsigned char)*text);
		else
			at += sprintf(at, *text == '\\' ? "\\%c" : "%c", *text);
	}
	*at = '\0';
	j = json_string(escaped);
	free(escaped);
	return j;
}

/* Known only where it is known how much was left; whether it suffers is known there, too. */
static json_t *between_json(const struct bound *b, unsigned int processes)
{
	return json_pack("{s:o, s:o}", "at_least", count(b->at_most ? b->at_least / processes : -1),
			 "at_most", count(b->at_most ? b->at_most / processes : -1));
}

static json_t *verdict_json(enum verdict v)
{
	return v == UNDECIDED ? json_null() : json_boolean(v == SLOWER);
}

static json_t *bound_json(const struct bound *b, unsigned int processes)
{
	json_t *j = between_json(b, 1);

	json_object_set_new(j, "suffers", verdict_json(b->suffers));
	json_object_set_new(j, "undecided", json_integer(b->undecided));
	json_object_set_new(j, "repetitions", b->repetitions ? json_integer(b->repetitions) :
			    json_null());
	json_object_set_new(j, "per_process", between_json(b, processes ?: 1));
	return j;
}

/* NULL: never run */
static json_t *point_json(const struct active *a, const struct run *r, unsigned int storage,
			  unsigned int bandwidth, unsigned int bubble)
{
	const struct interval v = run_metric(a, r, storage, bandwidth, bubble);
	const struct interval slow = run_slow(a, r, storage, bandwidth, bubble);

	if (!v.n)
		return NULL;
	return json_pack("{s:i, s:i, s:i, s:o, s:o, s:o}", "storage", storage, "bandwidth",
			 bandwidth, "bubble", bubble, "value", interval_json(&v), "slow",
			 interval_json(&slow), "slower",
			 verdict_json(verdict_of(&slow, a->threshold)));
}

/* What follows from the samples */
static void add_results(json_t *j, const struct active *a, const struct run *r)
{
	json_t *list = json_array();
	struct bound storage, bandwidth;
	struct interval missed;
	unsigned int s, b, k;

	for (k = 0; k <= r->rates; k++) {
		for (s = 0; s <= STORAGE_MAX; s++) {
			for (b = 0; b <= BANDWIDTH_MAX; b++) {
				json_t *point = point_json(a, r, s, b, k);

				if (point)
					json_array_append_new(list, point);
			}
		}
	}
	run_bounds(a, r, &storage, &bandwidth, &missed);
	json_object_set_new(j, "metric", json_string(run_metric_name(a, r)));
	json_object_set_new(j, "points", list);
	json_object_set_new(j, "use", json_pack("{s:o, s:o}", "storage",
						bound_json(&storage, r->processes), "bandwidth",
						bound_json(&bandwidth, r->processes)));
	json_object_set_new(json_object_get(json_object_get(j, "use"), "bandwidth"), "missed",
			    missed.n ? interval_json(&missed) : json_null());
}

json_t *run_json(const struct active *a, const struct run *r)
{
	json_t *j = json_pack("{s:i}", "memio_active", VERSION);
	json_t *samples = json_array(), *rates = json_array();
	size_t i;

	if (r->calibrated)
		json_object_set_new(j, "calibration", calibration_json(&r->calibration));
	if (!r->command) {
		json_decref(samples);
		json_decref(rates);
		return j;
	}
	json_object_set(j, "command", r->command);
	json_object_set(j, "place", r->place);
	json_object_set_new(j, "processes", json_integer(r->processes));
	for (i = 0; i < r->rates; i++)
		json_array_append_new(rates, json_real(r->rate[i]));
	json_object_set_new(j, "bubble", json_pack("{s:O, s:o}", "with", r->bubble, "bytes_s",
						   rates));
	for (i = 0; i < r->samples; i++)
		json_array_append_new(samples, sample_json(&r->sample[i]));
	json_object_set_new(j, "samples", samples);
	if (r->calibrated)
		add_results(j, a, r);
	return j;
}

bool run_is_kept(const char *file)
{
	struct stat st;

	return stat(file, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}

/* Of a symbolic link, what it leads to is replaced. */
static bool target_of(const char *file, char target[PATH_MAX])
{
	if (realpath(file, target) ||
	    (errno == ENOENT && snprintf(target, PATH_MAX, "%s", file) < PATH_MAX))
		return true;
	complain_errno("writing %s", file);
	return false;
}

static bool same_file(int fd, const char *name)
{
	struct stat here, there;

	return !fstat(fd, &here) && !stat(name, &there) && here.st_ino == there.st_ino &&
	       here.st_dev == there.st_dev;
}

static bool taken(const char *file, int fd)
{
	char pid[16] = "";

	if (read(fd, pid, sizeof(pid) - 1) > 0)
		pid[strcspn(pid, "\n")] = '\0';
	complain("%s: another 'memio active' (process %s) writes to it; wait for it, or name another file with -o",
		 file, pid);
	close(fd);
	return false;
}

bool run_lock(const char *file, struct lock *l)
{
	char target[PATH_MAX];

	l->fd = -1;
	if (!run_is_kept(file))
		return true;
	if (!target_of(file, target))
		return false;
	snprintf(l->name, sizeof(l->name), "%s.lock", target);
	for (;;) {
		l->fd = open(l->name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (l->fd < 0) {
			complain_errno("writing %s", file);
			return false;
		}
		if (flock(l->fd, LOCK_EX | LOCK_NB)) {
			if (errno == EWOULDBLOCK)
				return taken(file, l->fd);
			/* Some file systems have no locks. */
			break;
		}
		/* Who had it may have removed it since it was opened. */
		if (same_file(l->fd, l->name))
			break;
		close(l->fd);
	}
	if (ftruncate(l->fd, 0) || dprintf(l->fd, "%d\n", getpid()) < 0) {
		complain_errno("writing %s", l->name);
		run_unlock(l);
		return false;
	}
	return true;
}

void run_unlock(struct lock *l)
{
	if (l->fd < 0)
		return;
	unlink(l->name);
	close(l->fd);
	l->fd = -1;
}

static bool json_save(json_t *j, const char *file)
{
	const size_t flags = JSON_FORMAT;
	char target[PATH_MAX], beside[PATH_MAX + 4];
	struct stat st;

	/* What a link leads to that is not there yet is made by writing through it. */
	if (!run_is_kept(file) ||
	    (stat(file, &st) && !lstat(file, &st) && S_ISLNK(st.st_mode))) {
		if (!json_dump_file(j, file, flags))
			return true;
		complain_errno("writing %s", file);
		return false;
	}
	if (!target_of(file, target))
		return false;
	snprintf(beside, sizeof(beside), "%s.new", target);
	if (!json_dump_file(j, beside, flags) && !rename(beside, target))
		return true;
	complain_errno("writing %s", file);
	unlink(beside);
	return false;
}

bool run_save(const struct active *a, const struct run *r)
{
	json_t *j = run_json(a, r);
	const bool good = json_save(j, a->file);

	json_decref(j);
	return good;
}

static bool damaged(const char *file, const char *what)
{
	complain("%s: %s; if nothing in it is needed, remove it, or begin anew with --fresh", file,
		 what);
	return false;
}

static bool run_from(json_t *j, const char *file, struct run *r)
{
	json_t *part = json_object_get(j, "samples"), *rates, *calibration;
	int version;
	size_t i;

	if (json_unpack(j, "{s:i}", "memio_active", &version))
		return damaged(file, "no result of memio active");
	if (version != VERSION)
		return damaged(file, "a result of another version of memio");
	calibration = json_object_get(j, "calibration");
	if (calibration) {
		r->calibrated = calibration_from(calibration, &r->calibration);
		if (!r->calibrated)
			return damaged(file, "its calibration is not whole");
	}
	if (!part)
		return true;
	r->sample = calloc(json_array_size(part) + 1, sizeof(*r->sample));
	if (!r->sample) {
		complain("%s: no memory for %zu runs", file, json_array_size(part));
		return false;
	}
	for (i = 0; i < json_array_size(part); i++)
		if (!sample_from(json_array_get(part, i), &r->sample[r->samples++]))
			return damaged(file, "a sample in it is not whole");
	if (json_unpack(j, "{s:O, s:O, s:i, s:{s:O, s:o}}", "command", &r->command, "place",
			&r->place, "processes", &r->processes, "bubble", "with", &r->bubble,
			"bytes_s", &rates) ||
	    !json_is_string(r->bubble) || json_array_size(rates) > BUBBLE_MAX ||
	    r->processes > PROCESSES_MAX)
		return damaged(file, "what was run is not in it");
	if (json_is_string(json_object_get(j, "metric")))
		r->metric = metric_named(json_string_value(json_object_get(j, "metric")));
	r->rates = json_array_size(rates);
	for (i = 0; i < r->rates; i++)
		r->rate[i] = json_number_value(json_array_get(rates, i));
	for (i = 0; i < r->samples; i++)
		if (r->sample[i].bubble > r->rates)
			return damaged(file, "a sample in it is of a rate that is not");
	return true;
}

bool run_load(const char *file, struct run *r, bool *there)
{
	json_error_t error;
	json_t *j;
	bool good;

	memset(r, 0, sizeof(*r));
	*there = !access(file, F_OK);
	if (!*there)
		return true;
	j = json_load_file(file, 0, &error);
	if (!j) {
		char what[256];

		snprintf(what, sizeof(what), "line %d: %s", error.line, error.text);
		return damaged(file, what);
	}
	good = run_from(j, file, r);
	json_decref(j);
	if (!good)
		run_free(r);
	return good;
}

bool run_load_whole(const char *file, struct run *r)
{
	bool there;

	if (!run_load(file, r, &there))
		return false;
	if (there && r->calibrated && r->samples)
		return true;
	complain(there ? "%s has no runs in it" : "%s is not there; 'memio active run' makes it",
		 file);
	run_free(r);
	return false;
}

void run_free(struct run *r)
{
	json_decref(r->command);
	json_decref(r->place);
	json_decref(r->bubble);
	free(r->sample);
	memset(r, 0, sizeof(*r));
}

bool calibration_load(const char *file, struct calibration *c)
{
	struct run r;
	bool there, good;

	if (!run_load(file, &r, &there))
		return false;
	good = there && r.calibrated;
	if (good)
		*c = r.calibration;
	else
		complain(there ? "%s has no calibration" : "%s is not there; 'memio active calibrate -o' makes it",
			 file);
	run_free(&r);
	return good;
}
