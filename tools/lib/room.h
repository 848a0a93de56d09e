/* SPDX-License-Identifier: GPL-2.0 */
/* How much memory there is for this process: on the machine, and in its cgroup */
#ifndef MEMIO_ROOM_H
#define MEMIO_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROOM_UNKNOWN	UINT64_MAX

/* room_cgroup: the path in cgroup v2, from what /proc/PID/cgroup says; false: in none */
bool room_cgroup(const char *text, char *path, size_t size);
/*
 * room_below: bytes that memory.max and memory.high of the cgroup @path, and of those above it,
 * leave, where v2 is mounted on @root. Its files' pages are room, as they are dropped for others,
 * and as MemAvailable has it. ROOM_UNKNOWN: there are no limits
 */
uint64_t room_below(const char *root, const char *path);
/* room_here: bytes, by MemAvailable and by the limits of this process's cgroup; or ROOM_UNKNOWN */
uint64_t room_here(void);

#endif /* MEMIO_ROOM_H */
