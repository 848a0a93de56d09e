/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ledger, for programs in the guest that compare counters with it at once:
 * ledger_open(), then ledger_mark() takes a snapshot into ledger_text, where
 * json_u64() and its like find figures. To be included after die() and u64 (check.h).
 */
#ifndef TEST_LEDGER_H
#define TEST_LEDGER_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../guest/pci.h"

static volatile u64 *ledger_reg;
static int ledger_lock;		/* the BAR's file: who has it may write a mark's name */
static char ledger_text[1 << 18];

/* The value that follows this one in a list or object, or its end. */
static const char *json_skip(const char *p)
{
	int depth = 0;

	do {
		if (*p == '"')
			p = strchr(p + 1, '"');
		else if (*p == '{' || *p == '[')
			depth++;
		else if (*p == '}' || *p == ']')
			depth--;
		p++;
	} while (depth > 0 || !strchr(",}]", *p));
	return p;
}

static const char *json_begin(const char *p)
{
	return p + strspn(p, "\n ,:");
}

/* The value of a key, or NULL. The ledger's strings have no escapes here. */
static const char *json_find(const char *p, const char *key)
{
	size_t len = strlen(key);

	if (*p != '{')
		die("the ledger: no object at '%.20s'", p);
	for (p = json_begin(p + 1); *p == '"'; p = json_begin(json_skip(p))) {
		const char *name = p + 1;

		p = json_begin(strchr(name, '"') + 1);
		if (!strncmp(name, key, len) && name[len] == '"')
			return p;
	}
	return NULL;
}

static const char *json_member(const char *p, const char *key)
{
	p = json_find(p, key);
	if (!p)
		die("the ledger has no '%s'", key);
	return p;
}

static inline u64 json_u64(const char *p, const char *key)
{
	return strtoull(json_member(p, key), NULL, 10);
}

/* As pci_find, but there has to be one. */
static char *pci_need(unsigned int vendor, unsigned int device)
{
	char *dir = pci_find(vendor, device);

	if (!dir)
		die("no PCI device %04x:%04x", vendor, device);
	return dir;
}

static int pci_open(const char *dir, const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR);
	if (fd < 0)
		die("%s: %m", path);
	return fd;
}

static void ledger_open(void)
{
	char *dir = pci_need(LEDGER_VENDOR, LEDGER_DEVICE);
	int fd = pci_open(dir, "enable");

	if (write(fd, "1", 1) != 1)
		die("%s/enable: %m", dir);
	close(fd);
	ledger_lock = pci_open(dir, "resource0");
	ledger_reg = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ledger_lock, 0);
	if (ledger_reg == MAP_FAILED)
		die("%s/resource0: %m", dir);
	free(dir);
}

/* What this process does from now on, on whatever CPU, has a number; 0: none. */
static inline void ledger_tag(unsigned int tag)
{
	ledger_reg[6] = tag;
}

static inline u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static inline void ledger_turn(int how)
{
	while (flock(ledger_lock, how))
		if (errno != EINTR)
			die("the ledger's lock: %m");
}

static inline void ledger_take(char name)
{
	ledger_reg[2] = name;
	ledger_reg[1] = now_ns();
	ledger_reg[3] = 1;
}

/*
 * One for who reads the ledger when the machine has ended. Others that take one, as ledger-mark,
 * wait: a name is written letter by letter.
 */
static inline void ledger_snapshot(char name)
{
	ledger_turn(LOCK_EX);
	ledger_take(name);
	ledger_turn(LOCK_UN);
}

static inline void ledger_mark(char name)
{
	u64 i, len;

	ledger_turn(LOCK_EX);
	ledger_take(name);
	len = ledger_reg[4];
	if (len >= sizeof(ledger_text))
		die("the ledger is too long: %lu bytes", len);
	for (i = 0; i < len; i += 8)
		*(u64 *)(ledger_text + i) = ledger_reg[5];
	ledger_turn(LOCK_UN);
	ledger_text[len] = '\0';
}

/* What has come between two readings, structures of nothing but u64 */
static inline void ledger_subtract(void *to, const void *from, size_t bytes)
{
	const u64 *f = from;
	u64 *t = to;
	size_t i;

	for (i = 0; i < bytes / sizeof(u64); i++)
		t[i] -= f[i];
}

#endif
