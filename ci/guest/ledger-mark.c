// SPDX-License-Identifier: GPL-2.0
/*
 * ledger-mark [NAME]: take an atomic snapshot of the emulated machine's
 * ledger, under NAME and the guest's CLOCK_MONOTONIC, and print it as JSON.
 *
 * ledger-mark --hold [NAME]: the devices under test stand still from now on: no request of theirs
 * completes, and what drivers write to their registers waits. Then it gives interrupts for
 * what devices have done before HOLD_NS to be served, and takes the snapshot. So this
 * snapshot and all that anybody reads until --release, memio's files, diskstats, ethtool -S,
 * are of one instant of the devices. CPUs and the guest's timers go on.
 *
 * ledger-mark --release: the devices go on. It takes no snapshot.
 *
 * ledger-mark --dram-bw BYTES/S [NAME]: from now on the DRAM moves no more (0: it has no ceiling);
 * then the snapshot.
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
/* A tick of 250 Hz can be away for longer; interrupts are not. */
#define HOLD_NS		2000000

enum {				/* offsets in units of 8 bytes */
	REG_MAGIC,		/* RO */
	REG_NS,			/* WO: CLOCK_MONOTONIC of the mark */
	REG_NAME,		/* WO: append a byte to the name */
	REG_SNAPSHOT,		/* WO: take it */
	REG_LENGTH,		/* RO: bytes of text */
	REG_TEXT,		/* RO: the next 8 of them */
	REG_TAG,		/* WO: of an address space */
	REG_HOLD,		/* RW: devices stand still */
	REG_DRAM_BW,		/* RW: bytes/s; 0: no ceiling */
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

static __attribute__((noreturn)) void usage(void)
{
	fprintf(stderr, "usage: ledger-mark [--hold | --dram-bw BYTES/S] [NAME]   (at most %d letters, digits and ._:+-)\n"
		"       ledger-mark --release\n", NAME_MAX_LEN);
	exit(2);
}

int main(int argc, char **argv)
{
	bool hold = false, release = false, set_bw = false;
	unsigned long long bw = 0;
	struct timespec nap = { 0, HOLD_NS };
	const char *name = "mark", *dir, *p;
	volatile uint64_t *reg;
	struct timespec ts;
	uint64_t len, i;
	char path[512];
	int fd;

	if (argc > 1 && !strcmp(argv[1], "--hold")) {
		hold = true;
		argv++, argc--;
	} else if (argc == 2 && !strcmp(argv[1], "--release")) {
		release = true;
		argv++, argc--;
	} else if (argc > 2 && !strcmp(argv[1], "--dram-bw")) {
		char *end;

		set_bw = true;
		errno = 0;
		bw = strtoull(argv[2], &end, 10);
		if (errno || *end || end == argv[2])
			usage();
		argv += 2;
		argc -= 2;
	}
	if (argc > 1)
		name = argv[1];
	if (argc > 2 || !good_name(name))
		usage();

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

	if (release) {
		reg[REG_HOLD] = 0;
		return 0;
	}
	if (hold) {
		reg[REG_HOLD] = 1;
		nanosleep(&nap, NULL);
	}
	if (set_bw) {
		reg[REG_DRAM_BW] = bw;
		if (reg[REG_DRAM_BW] != bw)
			die(1, "this machine's DRAM can't have a ceiling of %llu bytes/s: that takes --cpu-cache on and one socket",
			    bw);
	}
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
