/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Haswell-EP: Xeon E5 v3, family 6, model 63
 *
 * Numbers of PCI devices are those that Linux' hswep_uncore_pci_ids and hswep_uncore_pci_init have.
 */
#include "qemu/osdep.h"
#include "hsx.h"

const HsxGeneration hsx_gen_hsx = {
    .name = "hsx",
    .boxes = 18,
    .ubox = 0x2f1e,
    .pcu = 0x2fc0,
    .imc = { 0x2fb0, 0x2fb1, 0x2fb4, 0x2fb5 },
    .pci = hsx_cbox_pci,
    .rdmsr = hsx_cbox_rdmsr,
    .wrmsr = hsx_cbox_wrmsr,
    .count = hsx_cbox_count,
};
