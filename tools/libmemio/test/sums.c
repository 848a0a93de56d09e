// SPDX-License-Identifier: GPL-2.0
/*
 * The half of the backend "bpf" that needs no kernel: rows of the programs' maps -> figures of
 * groups with those below them, and of processes
 */
#include <inttypes.h>
#include <string.h>

#include "../sums.h"

#include "test.h"

static void same(const char *what, uint64_t got, uint64_t wanted)
{
	check(got == wanted, "%s: %" PRIu64 ", wanted %" PRIu64, what, got, wanted);
}

static uint64_t get(const struct memio_stat *s, const char *key, enum memio_field field)
{
	return memio_get(memio_stat_find(s, key), field);
}

static void group_has(const char *what, struct sums *s, uint64_t id, enum memio_scope scope,
		      const char *key, uint64_t to, uint64_t from)
{
	struct memio_stat stat = { 0 };

	same("asked", sums_group_stat(s, id, scope, &stat), 0);
	check(memio_has(memio_stat_find(&stat, key), MEMIO_IO_TO) &&
	      !memio_has(memio_stat_find(&stat, key), MEMIO_MEM_READ),
	      "%s: IO bytes, and no memory bytes", what);
	same(what, get(&stat, key, MEMIO_IO_TO), to);
	same(what, get(&stat, key, MEMIO_IO_FROM), from);
	memio_stat_free(&stat);
}

static void task_has(const char *what, struct sums *s, pid_t pid, pid_t tid, uint64_t to,
		     uint64_t from)
{
	struct memio_stat stat = { 0 };

	same("asked", sums_task_stat(s, pid, tid, &stat), 0);
	same(what, get(&stat, "total", MEMIO_IO_TO), to);
	same(what, get(&stat, "total", MEMIO_IO_FROM), from);
	memio_stat_free(&stat);
}

static void tree(struct sums *s)
{
	const int disk = sums_device(s, "0000:00:03.0"), net = sums_device(s, "0000:00:04.0");
	struct memio_stat stat = { 0 };

	same("a device that is known", sums_device(s, "0000:00:03.0"), disk);
	same("devices", sums_devices(s), 2);
	sums_begin(s);
	sums_parent(s, 10, 1);
	sums_parent(s, 12, 10);
	sums_parent(s, 11, 10);
	sums_group(s, 12, disk, 100, 7);
	sums_group(s, 11, net, 20, 0);
	sums_group(s, 10, disk, 3, 0);
	sums_group(s, 1, net, 5, 0);
	/* Two slots of one device, and one that is none */
	sums_group(s, 12, disk, 1000, 0);
	sums_group(s, 12, -1, 9999, 9999);
	sums_total(s, disk, 1103, 7);
	sums_total(s, net, 25, 500);
	sums_total(s, -1, 9999, 9999);
	check(sums_end(s, NULL, NULL), "a snapshot");
	group_has("a leaf", s, 12, MEMIO_TREE, "0000:00:03.0", 1100, 7);
	group_has("its total", s, 12, MEMIO_TREE, "total", 1100, 7);
	group_has("with those below", s, 10, MEMIO_TREE, "0000:00:03.0", 1103, 7);
	group_has("... on the other device", s, 10, MEMIO_TREE, "0000:00:04.0", 20, 0);
	group_has("without those below", s, 10, MEMIO_LOCAL, "total", 3, 0);
	group_has("the root's own", s, 1, MEMIO_LOCAL, "total", 5, 0);
	group_has("the root is the machine", s, 1, MEMIO_TREE, "total", 1128, 507);
	group_has("a group that moved nothing", s, 77, MEMIO_TREE, "total", 0, 0);
	same("the root", sums_group_stat(s, 1, MEMIO_TREE, &stat), 0);
	same("nobody's", get(&stat, "0000:00:04.0", MEMIO_UNCLAIMED_FROM), 500);
	same("... none was sent", get(&stat, "0000:00:04.0", MEMIO_UNCLAIMED_TO), 0);

	/* What was received before the beginning is read after it. */
	sums_begin(s);
	sums_group(s, 1, net, 0, 60);
	sums_total(s, net, 0, 40);
	check(sums_end(s, NULL, NULL), "another snapshot");
	same("the root", sums_group_stat(s, 1, MEMIO_TREE, &stat), 0);
	check(memio_get_signed(memio_stat_find(&stat, "0000:00:04.0"), MEMIO_UNCLAIMED_FROM) == -20,
	      "less than nothing is nobody's");
	group_has("what the snapshot before had is gone", s, 12, MEMIO_TREE, "total", 0, 0);
	memio_stat_free(&stat);
}

static void gone(struct sums *s)
{
	const int disk = sums_device(s, "0000:00:03.0");
	int i;

	/* The group 12 was removed, and 10 is above it. */
	sums_settle_group(s, 12, 10, disk, 50, 5);
	sums_settle_group(s, 12, 10, disk, 50, 5);
	for (i = 0; i < 2; i++) {
		sums_begin(s);
		sums_parent(s, 10, 1);
		sums_group(s, 10, disk, 1, 0);
		check(sums_end(s, NULL, NULL), "a snapshot");
		group_has("what is settled stays", s, 10, MEMIO_TREE, "total", 101, 10);
	}
	/* Groups that are above each other, which no kernel says */
	sums_begin(s);
	sums_parent(s, 20, 21);
	sums_parent(s, 21, 20);
	sums_group(s, 20, disk, 1, 0);
	check(sums_end(s, NULL, NULL), "a circle comes to an end");
}

static void tasks(struct sums *s)
{
	const int disk = sums_device(s, "0000:00:03.0"), net = sums_device(s, "0000:00:04.0");

	sums_begin(s);
	sums_task(s, 500, 500, 9000, disk, 1, 0);
	sums_task(s, 500, 501, 9000, disk, 10, 0);
	sums_task(s, 500, 501, 9000, net, 0, 100);
	/* An earlier process of that number */
	sums_task(s, 500, 502, 8000, disk, 7777, 0);
	sums_task(s, 501, 503, 9500, disk, 5, 5);
	check(sums_end(s, NULL, NULL), "a snapshot");
	task_has("a process", s, 500, 0, 11, 100);
	task_has("a thread", s, 500, 501, 10, 100);
	task_has("the first thread", s, 500, 500, 1, 0);
	task_has("another process", s, 501, 0, 5, 5);
	task_has("one that moved nothing", s, 4, 0, 0, 0);

	sums_settle_task(s, 500, 501, 9000, disk, 1000, 0);
	sums_begin(s);
	sums_task(s, 500, 500, 9000, disk, 1, 0);
	check(sums_end(s, NULL, NULL), "a snapshot");
	task_has("with threads that have ended", s, 500, 0, 1001, 0);
	sums_forget(s, 500);
	sums_begin(s);
	sums_task(s, 500, 500, 9999, disk, 1, 0);
	check(sums_end(s, NULL, NULL), "a snapshot");
	task_has("a new process has nothing of the old one", s, 500, 0, 1, 0);
}

/* Random rows, and an adder that knows nothing of trees: ids are paths, as 1, 12, 125 */
static void random_rows(void)
{
	struct sums *s = sums_new();
	uint64_t wanted[1000] = { 0 }, seed = 42, id, at, bytes;
	const int device = sums_device(s, "0000:00:03.0");
	struct memio_stat stat = { 0 };
	int i, wrong = 0;

	sums_begin(s);
	for (i = 10; i < 1000; i++)
		sums_parent(s, i, i / 10);
	for (i = 0; i < 5000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		id = 1 + (seed >> 33) % 999;
		bytes = seed >> 40;
		sums_group(s, id, device, bytes, 0);
		sums_total(s, device, bytes, 0);
		for (at = id; at; at /= 10)
			wanted[at] += bytes;
	}
	check(sums_end(s, NULL, NULL), "5000 rows");
	for (i = 2; i < 1000; i++) {
		sums_group_stat(s, i, MEMIO_TREE, &stat);
		wrong += get(&stat, "total", MEMIO_IO_TO) != wanted[i];
	}
	same("groups with another sum than the adder's", wrong, 0);
	memio_stat_free(&stat);
	sums_free(s);
}

/* What was moved has the price of its time, whatever becomes of the group. */
static void prices(void)
{
	const struct mio_price dear = { .known = 1, .to_read = 1, .from_write = 0.5 };
	const struct mio_price cheap = { .known = 1, .to_read = 0.25, .from_read = 0.1,
					 .from_write = 0.1, .to_write = 0.2 };
	const struct mio_price none = { 0 }, *p;
	struct sums *s = sums_new();
	const int disk = sums_device(s, "0000:00:03.0");
	struct memio_stat stat = { 0 };
	uint64_t to, from;
	int i;

	for (i = 0; i < 4; i++) {
		sums_begin(s);
		sums_parent(s, 10, 1);
		sums_parent(s, 12, 10);
		/* In the last one, 12 is gone, and 10 has what it had. */
		if (i < 3)
			sums_group(s, 12, disk, 100 * (i + 1), 1000 * (i + 1));
		else
			check(sums_settle_group(s, 12, 10, disk, 300, 3000), "settled");
		sums_task(s, 500, 500, 9000, disk, 100 * (i + 1), 0);
		sums_total(s, disk, 100 * (i + 1), 1000 * (i + 1));
		sums_moved(s, &to, &from);
		same("moved since the last snapshot", to, 100);
		same("... from", from, 1000);
		sums_claimed(s, &to, &from);
		same("claimed by groups", to, i < 3 ? 100 : 0);
		same("... from", from, i < 3 ? 1000 : 0);
		p = i == 1 ? &cheap : i == 2 ? &none : &dear;
		check(sums_end(s, p, p), "a snapshot");
	}
	/* 100 + 25 + 100 (0.1 of 1000), and the 100 and 1000 that have none */
	same("a group", sums_group_stat(s, 10, MEMIO_TREE, &stat), 0);
	same("read", get(&stat, "total", MEMIO_MEM_READ), 100 + 25 + 100 + 100);
	same("written", get(&stat, "total", MEMIO_MEM_WRITE), 500 + 100 + 20 + 1000);
	same("without a price", get(&stat, "total", MEMIO_UNPRICED_TO), 100);
	same("... from", get(&stat, "total", MEMIO_UNPRICED_FROM), 1000);
	same("the root", sums_group_stat(s, SUMS_ROOT, MEMIO_TREE, &stat), 0);
	same("the machine has one more", get(&stat, "0000:00:03.0", MEMIO_MEM_READ),
	     100 + 25 + 100 + 100 + 100);
	same("a task", sums_task_stat(s, 500, 0, &stat), 0);
	same("read for it", get(&stat, "total", MEMIO_MEM_READ), 100 + 25 + 100 + 100);

	/* A row that begins anew has what it says, and keeps what it had. */
	sums_begin(s);
	sums_task(s, 500, 500, 9000, disk, 8, 0);
	check(sums_end(s, &cheap, &cheap), "a snapshot");
	same("a task that began anew", sums_task_stat(s, 500, 0, &stat), 0);
	same("read for it", get(&stat, "total", MEMIO_MEM_READ), 325 + 2);
	memio_stat_free(&stat);
	sums_free(s);
}

/* What CPUs read is memory bytes as it is, beside devices. */
static void cpus(void)
{
	const struct mio_price half = { .known = 1, .to_read = 0.5, .from_write = 0.5 };
	struct sums *s = sums_new();
	const int disk = sums_device(s, "0000:00:03.0");
	struct memio_stat stat = { 0 };
	uint64_t to, from;
	int i;

	for (i = 0; i < 2; i++) {
		if (i)
			sums_with_cpu(s, false);
		sums_begin(s);
		sums_parent(s, 10, 1);
		sums_parent(s, 12, 10);
		sums_group(s, 12, disk, 100, 0);
		sums_group(s, 12, SUMS_CPU, 0, 6400);
		sums_group(s, 10, SUMS_CPU, 0, 64);
		sums_group(s, 1, SUMS_CPU, 0, 640);
		sums_task(s, 500, 500, 9000, SUMS_CPU, 0, 6400);
		sums_total(s, disk, 100, 0);
		sums_total(s, SUMS_CPU, 0, 7104);
		sums_moved(s, &to, &from);
		same("devices moved", to, i ? 0 : 100);
		same("... nothing from them", from, 0);
		sums_claimed(s, &to, &from);
		same("groups have claimed nothing", from, 0);
		check(sums_end(s, &half, &half), "a snapshot");
		same("a group", sums_group_stat(s, 10, MEMIO_TREE, &stat), 0);
		check(!memio_stat_find(&stat, "cpu") == !i, "a line of CPUs, if they are counted");
		if (!i)
			same("no device's", get(&stat, "total", MEMIO_MEM_READ), 50);
	}
	check(!memio_has(memio_stat_find(&stat, "cpu"), MEMIO_IO_TO) &&
	      !memio_has(memio_stat_find(&stat, "cpu"), MEMIO_MEM_WRITE), "nothing else is known");
	same("read by CPUs", get(&stat, "cpu", MEMIO_MEM_READ), 6464);
	same("read in all", get(&stat, "total", MEMIO_MEM_READ), 6464 + 50);
	same("not by IO", get(&stat, "total", MEMIO_IO_FROM), 0);
	same("a task", sums_task_stat(s, 500, 0, &stat), 0);
	same("read by it", get(&stat, "cpu", MEMIO_MEM_READ), 6400);
	same("the machine", sums_group_stat(s, SUMS_ROOT, MEMIO_TREE, &stat), 0);
	same("read by all", get(&stat, "cpu", MEMIO_MEM_READ), 7104);
	same("some CPU's counter was another's", get(&stat, "cpu", MEMIO_VALID), 0);
	check(!memio_has(memio_stat_find(&stat, "cpu"), MEMIO_UNCLAIMED_FROM),
	      "no part of it is unclaimed");
	same("the root's own", sums_group_stat(s, SUMS_ROOT, MEMIO_LOCAL, &stat), 0);
	same("read by it", get(&stat, "cpu", MEMIO_MEM_READ), 640);

	/* A group and a thread are gone. */
	check(sums_settle_group(s, 12, 10, SUMS_CPU, 0, 6400), "settled");
	check(sums_settle_task(s, 500, 500, 9000, SUMS_CPU, 0, 6400), "settled");
	sums_begin(s);
	sums_parent(s, 10, 1);
	sums_group(s, 10, SUMS_CPU, 0, 64);
	sums_task(s, 500, 501, 9000, SUMS_CPU, 0, 100);
	check(sums_end(s, &half, &half), "a snapshot");
	same("a group", sums_group_stat(s, 10, MEMIO_LOCAL, &stat), 0);
	same("read by it and by those that are gone", get(&stat, "cpu", MEMIO_MEM_READ), 6464);
	same("a task", sums_task_stat(s, 500, 0, &stat), 0);
	same("read by it, with a thread that has ended", get(&stat, "cpu", MEMIO_MEM_READ), 6500);
	memio_stat_free(&stat);
	sums_free(s);
}

/* Descriptors and completions are paid by the bytes that they are there for. */
static void along(void)
{
	const struct mio_moved none = { .last_read = 0.5, .last_write = 0.75 };
	struct mio_moved to, from;
	struct mio_price p;

	/* A datagram of 1000 bytes to a device, with 100 more, and 40 from it */
	to = (struct mio_moved) { .bytes = 1100, .read = 1100, .accounted = 1000 };
	from = (struct mio_moved) { .bytes = 40, .read = 10, .write = 20 };
	p = mio_price_of(&to, &from);
	same("read for 1000 bytes to", 1000 * p.to_read + 0.5, 1100 + 10);
	same("written for them", 1000 * p.to_write + 0.5, 20);
	/* A request of 4000 bytes from a device, with a command of 64 */
	to = (struct mio_moved) { .bytes = 64, .read = 64 };
	from = (struct mio_moved) { .bytes = 4000, .read = 1000, .write = 2000,
			.accounted = 4000, .claimed = 4000 };
	p = mio_price_of(&to, &from);
	same("read for 4000 bytes from", 4000 * p.from_read + 0.5, 1000 + 64);
	same("written for them", 4000 * p.from_write + 0.5, 2000);
	/* As much that nobody accounts */
	from.bytes = 8000;
	p = mio_price_of(&none, &from);
	same("a third more at most", 3000 * p.from_write + 0.5, 1000);
	/* Packets of before are read now, at the price of then */
	from = (struct mio_moved) { .bytes = 1000, .write = 100, .accounted = 1000,
			.claimed = 3000, .last_write = 0.75 };
	p = mio_price_claimed(&none, &from);
	same("read late", 3000 * p.from_write + 0.5, 100 + 1500);
	p = mio_price_of(&none, &from);
	same("... which the device has paid for", 1000 * p.from_write + 0.5, 100);
	p = mio_price_of(&none, &none);
	check(p.known && p.to_read == 0.5 && p.from_write == 0.75, "of no bytes");
}

/* Packets wait for a reader: the device has what they cost, whenever somebody reads them. */
static void late(void)
{
	struct mio_moved to = { 0 }, from = { .bytes = 1000, .write = 800, .accounted = 1000 };
	struct sums *s = sums_new();
	const int card = sums_device(s, "0000:00:04.0");
	struct mio_price price, claimed;
	struct memio_stat stat = { 0 };
	int i;

	for (i = 0; i < 2; i++) {
		price = mio_price_of(&to, &from);
		claimed = mio_price_claimed(&to, &from);
		sums_begin(s);
		sums_parent(s, 10, 1);
		sums_total(s, card, 0, 1000 * (i + 1));
		if (i) {
			sums_group(s, 10, card, 0, 2000);
			sums_task(s, 500, 500, 9000, card, 0, 2000);
		}
		check(sums_end(s, &price, &claimed), "a snapshot");
		from = (struct mio_moved) { .bytes = 1000, .write = 200, .accounted = 1000,
				.claimed = 2000, .last_write = 0.8 };
	}
	same("the device", sums_group_stat(s, SUMS_ROOT, MEMIO_TREE, &stat), 0);
	same("written by it", get(&stat, "0000:00:04.0", MEMIO_MEM_WRITE), 1000);
	same("the reader's group", sums_group_stat(s, 10, MEMIO_TREE, &stat), 0);
	same("written for it", get(&stat, "0000:00:04.0", MEMIO_MEM_WRITE), 1000);
	same("the reader", sums_task_stat(s, 500, 0, &stat), 0);
	same("written for it", get(&stat, "0000:00:04.0", MEMIO_MEM_WRITE), 1000);
	memio_stat_free(&stat);
	sums_free(s);
}

/* What is accounted in the first window and moves later is charged at this window's price. */
static void begin(void)
{
	struct mio_moved none = { .accounted = 1000, .last_write = 1 };
	struct mio_moved from = { .bytes = 600, .write = 60, .accounted = 1000, .last_write = 1 };
	struct mio_ahead a = { 0 };
	bool begun = false;

	mio_begin(&none, &begun);
	same("nothing moved: the price of before", none.last_write, 1);
	mio_begin(&from, &begun);
	mio_settle(&from, &a, from.accounted);
	same("something did: its own", 1000 * mio_price_of(&none, &from).from_write + 0.5, 60 + 40);
	from = (struct mio_moved) { .bytes = 400, .write = 40, .accounted = 800,
			.last_write = 0.1 };
	mio_begin(&from, &begun);
	mio_settle(&from, &a, from.accounted);
	same("... and later the lasting one", from.last_write * 10 + 0.5, 1);
	same("... nothing is paid twice", 800 * mio_price_of(&none, &from).from_write + 0.5, 80);
	from = (struct mio_moved) { .bytes = 600, .write = 700, .last_write = 0.5 };
	begun = false;
	mio_begin(&from, &begun);
	same("no byte costs more than a byte", from.last_write, 1);
}

/* A request that the device moves in the next window is paid once, at its own price. */
static void ahead(void)
{
	struct mio_moved to = { .bytes = 600, .read = 300, .accounted = 1000, .last_read = 0.5 };
	const struct mio_moved none = { 0 };
	struct mio_ahead a = { 0 };
	double paid;

	mio_settle(&to, &a, to.accounted);
	same("accounted before it moved", a.bytes, 400);
	paid = 1000 * mio_price_of(&to, &none).to_read;
	same("... at the price of before", paid + 0.5, 300 + 200);
	/* The 400 cost more than they were charged, and 10 are descriptors. */
	to = (struct mio_moved) { .bytes = 810, .read = 405, .accounted = 400, .last_read = 0.5 };
	mio_settle(&to, &a, to.accounted);
	same("... and moved", a.bytes, 0);
	paid += 400 * mio_price_of(&to, &none).to_read;
	same("all that was moved is paid, once", paid + 0.5, 300 + 405);

	/* 1000 were charged 100, and cost 900: the 10 that come with them can't pay all of it. */
	a = (struct mio_ahead) { .bytes = 1000, .read = 100 };
	to = (struct mio_moved) { .bytes = 1010, .read = 900, .accounted = 10 };
	mio_settle(&to, &a, to.accounted);
	same("no byte costs more than itself", 1000 * mio_price_of(&to, &none).to_read + 0.5, 1000);
	to = (struct mio_moved) { .bytes = 1000, .accounted = 1000 };
	mio_settle(&to, &a, to.accounted);
	same("... the next pay", 1000 * mio_price_of(&to, &none).to_read + 0.5, 790);
	/* 1000 were charged 900, and cost 100. */
	a = (struct mio_ahead) { .bytes = 1000, .read = 900 };
	to = (struct mio_moved) { .bytes = 1400, .read = 500, .accounted = 400 };
	mio_settle(&to, &a, to.accounted);
	same("nobody pays less than nothing", 1000 * mio_price_of(&to, &none).to_read + 0.5, 0);
	to = (struct mio_moved) { .bytes = 1000, .read = 700, .accounted = 1000 };
	mio_settle(&to, &a, to.accounted);
	same("... the next pay less", 1000 * mio_price_of(&to, &none).to_read + 0.5, 300);

	/* 100 packets' bytes came in the window before the one in which the stack saw them. */
	a = (struct mio_ahead) { 0 };
	to = (struct mio_moved) { .bytes = 1100, .write = 1100, .accounted = 1000,
			.last_write = 1 };
	mio_settle(&to, &a, to.accounted);
	paid = 1000 * mio_price_of(&none, &to).from_write;
	to = (struct mio_moved) { .bytes = 1000, .write = 1000, .accounted = 1100,
			.last_write = 1 };
	mio_settle(&to, &a, to.accounted);
	paid += 1100 * mio_price_of(&none, &to).from_write;
	same("packets that are seen late are paid once", paid + 0.5, 2100);

	to = (struct mio_moved) { .accounted = 1ull << 40 };
	mio_settle(&to, &a, to.accounted);
	same("what never moves is forgotten", a.bytes, 0);
}

static void bound_is(const char *what, const struct mio_extent *e, double mine, double least,
		     double most)
{
	const struct mio_part part = { mine, mine };
	double is[2] = { 0 };

	mio_bound(e, e->read, &part, &is[0], &is[1]);
	same(what, is[0] + 0.5, least);
	same("... and at most", is[1] + 0.5, most);
}

/* A number below @n, the same on each host */
static unsigned int below(unsigned int n)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x % n;
}

/*
 * Windows of lines that cost a line or nothing, of some owners. Each owner has one line in ten that
 * nobody accounted. A part of the lines is accounted a window before it moves. In the end, what the
 * lines of each owner cost is within the bounds, and so it is for all together.
 */
static void lines_of_owners(unsigned int *outside, unsigned int *wide)
{
	enum { OWNERS = 3, WINDOWS = 40, LINE = 64 };
	double truth[OWNERS + 1] = { 0 }, least[OWNERS + 1] = { 0 }, most[OWNERS + 1] = { 0 };
	double before[OWNERS + 1] = { 0 };
	unsigned int ahead[OWNERS] = { 0 }, w, o, i, dear = 0, many[OWNERS] = { 0 };

	for (w = 0; w < WINDOWS; w++) {
		const bool last = w == WINDOWS - 1;
		struct mio_extent e = { 0 };
		double io[OWNERS + 1] = { 0 }, cost[OWNERS] = { 0 };

		/* Loads change now and then. */
		if (!(w % 5)) {
			dear = below(101);
			for (o = 0; o < OWNERS; o++)
				many[o] = below(3) ? below(2000) : 0;
		}
		for (o = 0; o < OWNERS; o++) {
			const unsigned int moves = ahead[o] + many[o];

			/* These move in this window, those that are ahead in the next one. */
			for (i = 0; i < moves + moves / 10; i++) {
				const bool is_dear = below(100) < dear;

				e.bytes += LINE;
				cost[o] += is_dear * LINE;
			}
			io[o] = many[o] * LINE;
			ahead[o] = last || !many[o] ? 0 : below(many[o] / 4 + 1);
			io[o] += ahead[o] * LINE;
			io[OWNERS] += io[o];
			truth[o] += cost[o];
			truth[OWNERS] += cost[o];
			e.read[0] += cost[o];
		}
		e.read[1] = e.read[0];
		e.accounted = io[OWNERS];
		for (o = 0; o <= OWNERS; o++) {
			const struct mio_part part = { io[o], io[o] + before[o] };

			mio_bound(&e, e.read, &part, &least[o], &most[o]);
			before[o] = io[o];
		}
	}
	for (o = 0; o <= OWNERS; o++)
		*outside += least[o] > truth[o] || truth[o] > most[o];
	*wide += most[OWNERS] - least[OWNERS] > 0.3 * truth[OWNERS];
}

static void bounds(void)
{
	const struct mio_extent e = { .bytes = 1000, .accounted = 960, .read = { 900, 900 } };
	const struct mio_extent boxes = { .bytes = 1000, .accounted = 1000, .read = { 300, 500 } };
	const struct mio_extent later = { .bytes = 400, .accounted = 1000, .read = { 400, 400 } };
	const struct mio_price p = { .known = 1, .from_write = 0.9, .from = { .bytes = 1000,
				     .accounted = 960, .write = { 800, 900 } } };
	const struct mio_price unknown = { 0 };
	struct memio_stat stat = { 0 };
	struct sums *s;
	unsigned int outside = 0, wide = 0;
	int disk, i;

	bound_is("a group's bytes cost at least", &e, 240, 80, 280);
	bound_is("... the device's", &e, 960, 860, 900);
	bound_is("... a few bytes beside others", &e, 1, 0, 5);
	bound_is("boxes are sampled", &boxes, 1000, 300, 500);
	bound_is("most bytes move in another window", &later, 1000, 400, 1200);
	bound_is("... another's", &later, 100, 0, 133);
	for (i = 0; i < 1000; i++)
		lines_of_owners(&outside, &wide);
	same("of 1,000 loads of three owners, what lines cost is within the bounds", outside, 0);
	check(wide < 100, "... which are near each other for all: not in %u loads", wide);

	s = sums_new();
	disk = sums_device(s, "0000:00:03.0");
	for (i = 1; i <= 2; i++) {
		sums_begin(s);
		sums_parent(s, 10, 1);
		sums_total(s, disk, 0, 960 * i);
		sums_group(s, 10, disk, 0, 240 * i);
		check(sums_end(s, i == 1 ? &p : &unknown, i == 1 ? &p : &unknown), "a snapshot");
	}
	same("asked", sums_group_stat(s, 1, MEMIO_TREE, &stat), 0);
	same("a device has bounds", get(&stat, "0000:00:03.0", MEMIO_MEM_WRITE_MIN), 760);
	same("... and at most, bytes without a price among them",
	     get(&stat, "0000:00:03.0", MEMIO_MEM_WRITE_MAX), 900 + 960);
	same("... the estimate is between", get(&stat, "0000:00:03.0", MEMIO_MEM_WRITE), 864 + 960);
	memio_stat_free(&stat);
	same("asked", sums_group_stat(s, 10, MEMIO_TREE, &stat), 0);
	same("a group has", get(&stat, "total", MEMIO_MEM_WRITE_MIN), 0);
	same("... and at most", get(&stat, "total", MEMIO_MEM_WRITE_MAX), 280 + 240);
	memio_stat_free(&stat);
	sums_free(s);
}

int main(void)
{
	struct sums *s = sums_new();

	tree(s);
	gone(s);
	tasks(s);
	sums_free(s);
	random_rows();
	prices();
	cpus();
	along();
	late();
	begin();
	ahead();
	bounds();
	return failed > 0;
}
