// SPDX-License-Identifier: GPL-2.0
/*
 * ledger-mark [NAME]: take an atomic snapshot of the emulated machine's
 * ledger, under NAME and the guest's CLOCK_MONOTONIC, and print it as JSON.
 *
 * The ledger is behind a PCI device of its own, 1234:6d69. Its registers, in
 * BAR 0, are 64 bits wide; they are listed below. Callers take turns by a lock
 * on the BAR's file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "pci.h"

#define LEDGER_MAGIC	0x6b72616d6f696d65ull
#define LEDGER_SIZE	4096
#define NAME_MAX_LEN	64

enum {				/* offsets in units of 8 bytes */
	REG_MAGIC,		/* RO */
	REG_NS,			/* WO: CLOCK_MONOTONIC of the mark */
	REG_NAME,		/* WO: append a byte to the name */
	REG_SNAPSHOT,		/* WO: take it */
	REG_LENGTH,		/* RO: bytes of text */
	REG_TEXT,		/* RO: the next 8 of them */
};

static __attribute__((noreturn, format(printf, 2, 3))) void die(int status, const char *fmt, ...)
{
	va_list ap;

	fputs("ledger-mark: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(status);
}

/* No driver binds to it, so its memory may still be off. */
static void enable_memory(const char *dir)
{
	uint8_t command = 0;
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/config", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &command, 1, 4) != 1)
		die(1, "%s: %m", path);
	close(fd);
	if (command & 2)
		return;
	snprintf(path, sizeof(path), "%s/enable", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		die(1, "%s: %m%s", path, errno == EACCES ? " (it needs root)" : "");
	close(fd);
}

static bool good_name(const char *s)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:+-";

	return strlen(s) <= NAME_MAX_LEN && s[strspn(s, allowed)] == '\0';
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "mark", *dir, *p;
	volatile uint64_t *reg;
	struct timespec ts;
	uint64_t len, i;
	char path[512];
	int fd;

	if (argc > 2 || !good_name(name)) {
		fprintf(stderr, "usage: ledger-mark [NAME]   (at most %d letters, digits and ._:+-)\n",
			NAME_MAX_LEN);
		return 2;
	}

	dir = pci_find(LEDGER_VENDOR, LEDGER_DEVICE);
	if (!dir)
		die(1, "not on the emulated machine (no PCI device %04x:%04x): run this in the guest of ci/vm, without --no-model",
		    LEDGER_VENDOR, LEDGER_DEVICE);
	snprintf(path, sizeof(path), "%s/resource0", dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(1, "%s: %m%s", path, errno == EACCES ? " (it needs root)" : "");
	if (flock(fd, LOCK_EX))
		die(1, "%s: flock: %m", path);
	enable_memory(dir);
	reg = mmap(NULL, LEDGER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (reg == MAP_FAILED)
		die(1, "%s: mmap: %m", path);
	if (reg[REG_MAGIC] != LEDGER_MAGIC)
		die(1, "%s is not a ledger: magic %#llx", path, (unsigned long long)reg[REG_MAGIC]);

	for (p = name; *p; p++)
		reg[REG_NAME] = (unsigned char)*p;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	reg[REG_NS] = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	reg[REG_SNAPSHOT] = 1;

	len = reg[REG_LENGTH];
	for (i = 0; i < len; i += 8) {
		uint64_t word = reg[REG_TEXT];

		fwrite(&word, 1, len - i < 8 ? len - i : 8, stdout);
	}
	putchar('\n');
	if (fflush(stdout) || ferror(stdout))
		die(1, "writing the text: %m");
	return 0;
}
