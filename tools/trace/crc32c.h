/* SPDX-License-Identifier: GPL-2.0 */
/* CRC-32C (Castagnoli), as iSCSI, ext4 and Btrfs have it */
#ifndef MEMIO_TRACE_CRC32C_H
#define MEMIO_TRACE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The sum of what has the sum @crc (0: nothing) with @size bytes behind it. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* The same without the processor's instruction, which is for tests. */
uint32_t crc32c_table(uint32_t crc, const void *data, size_t size);

#endif /* MEMIO_TRACE_CRC32C_H */
