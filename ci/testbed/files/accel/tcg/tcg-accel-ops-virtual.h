/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCG vCPUs in virtual time */
#ifndef TCG_ACCEL_OPS_VIRTUAL_H
#define TCG_ACCEL_OPS_VIRTUAL_H

G_NORETURN void rr_virtual_loop(void);
int64_t icount_virtual_budget(void);

#endif
