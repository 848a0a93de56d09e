/* SPDX-License-Identifier: GPL-2.0 */
/* The registers of a core's counters (Intel SDM, volume 3, "Performance Monitoring") */
#ifndef TEST_CORE_MSR_H
#define TEST_CORE_MSR_H

#define MSR_PMC(i)	(0xc1 + (i))
#define MSR_PMC_FULL(i)	(0x4c1 + (i))
#define MSR_SELECT(i)	(0x186 + (i))
#define MSR_FIXED(i)	(0x309 + (i))
#define MSR_FIXED_CTRL	0x38d
#define MSR_STATUS	0x38e
#define MSR_ENABLE	0x38f
#define MSR_CLEAR	0x390

#define MASK_48		((1ull << 48) - 1)

/* of a select */
#define USER		(1u << 16)
#define KERNEL		(1u << 17)
#define EN		(1u << 22)
#define EVENT(e, u)	((e) | (u) << 8)

#define INSTRUCTIONS	EVENT(0xc0, 0x00)

#endif /* TEST_CORE_MSR_H */
