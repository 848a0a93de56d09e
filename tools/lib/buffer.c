// SPDX-License-Identifier: GPL-2.0
/*
 * Memory to load from and store to, see buffer.h
 */
#include <string.h>
#include <sys/mman.h>

#include "buffer.h"
#include "command.h"
#include "room.h"

bool buffer_fits(uint64_t bytes)
{
	const uint64_t room = room_here();

	if (room == ROOM_UNKNOWN || bytes <= room / 2)
		return true;
	complain("a buffer of %llu MiB takes more than half of the memory that is free, %llu MiB, as the machine and the limits of this cgroup have it; --caches says which sizes are wanted",
		 (unsigned long long)bytes >> 20, (unsigned long long)room >> 20);
	return false;
}

void *buffer_new(uint64_t bytes)
{
	void *b;

	if (!buffer_fits(bytes))
		return NULL;
	b = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (b == MAP_FAILED) {
		complain_errno("a buffer of %llu MiB", (unsigned long long)bytes >> 20);
		return NULL;
	}
	/* Large pages leave fewer misses of the TLB, which may count as loads. */
	madvise(b, bytes, MADV_HUGEPAGE);
	/* For a child it would be copied on write: the next store to each page is a fault. */
	madvise(b, bytes, MADV_DONTFORK);
	memset(b, 0, bytes);
	return b;
}

void buffer_free(void *buffer, uint64_t bytes)
{
	if (buffer)
		munmap(buffer, bytes);
}
