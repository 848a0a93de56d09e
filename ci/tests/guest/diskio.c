// SPDX-License-Identifier: GPL-2.0
/*
 * diskio DISK read|write BYTES DEPTH TAG: DEPTH direct requests of so many bytes are under way at a
 * time, one behind the other over the first 512 MiB, until it is killed. TAG is who it is in the
 * machine's ledger. It is small, so that what it reads itself hardly counts beside what the disk
 * moves.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef uint64_t u64;
#define die(...) err(1, __VA_ARGS__)
#include "ledger.h"

#define DEPTH	64
#define SPAN	(512ul << 20)

int main(int argc, char **argv)
{
	static struct iocb cb[DEPTH], *list[DEPTH];
	static struct io_event event[DEPTH];
	aio_context_t context = 0;
	u64 bytes, depth, next = 0;
	char *buf;
	bool write;
	int disk;

	if (argc != 6)
		errx(2, "usage: diskio DISK read|write BYTES DEPTH TAG");
	write = !strcmp(argv[2], "write");
	bytes = strtoul(argv[3], NULL, 10);
	depth = strtoul(argv[4], NULL, 10);
	if (!bytes || !depth || depth > DEPTH)
		errx(2, "diskio: %s bytes, %s requests", argv[3], argv[4]);
	disk = open(argv[1], (write ? O_WRONLY : O_RDONLY) | O_DIRECT);
	if (disk < 0)
		err(1, "%s", argv[1]);
	buf = mmap(NULL, depth * bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buf == MAP_FAILED)
		err(1, "mmap");
	ledger_open();
	ledger_tag(strtoul(argv[5], NULL, 10));
	if (syscall(SYS_io_setup, depth, &context))
		err(1, "io_setup");
	for (u64 i = 0; i < depth; i++) {
		cb[i].aio_lio_opcode = write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
		cb[i].aio_fildes = disk;
		cb[i].aio_buf = (uintptr_t)buf + i * bytes;
		cb[i].aio_nbytes = bytes;
		cb[i].aio_data = i;
		list[i] = &cb[i];
	}
	for (long n = depth;;) {
		for (long i = 0; i < n; i++) {
			list[i]->aio_offset = next;
			next = (next + bytes) % SPAN;
		}
		for (long done = 0, now; done < n; done += now) {
			now = syscall(SYS_io_submit, context, n - done, list + done);
			if (now < 0)
				err(1, "io_submit");
		}
		n = syscall(SYS_io_getevents, context, 1, depth, event, NULL);
		if (n < 0)
			err(1, "io_getevents");
		for (long i = 0; i < n; i++) {
			if (event[i].res != (long)bytes)
				errx(1, "%s: %lld of %lu", argv[1], (long long)event[i].res, bytes);
			list[i] = &cb[event[i].data];
		}
	}
}
