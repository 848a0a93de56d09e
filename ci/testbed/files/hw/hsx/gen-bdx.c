/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Broadwell-EP: Xeon E5 v4, family 6, model 79
 *
 * Its boxes and their registers are Haswell-EP's, of which there may be more; so are the memory
 * controllers. Numbers of PCI devices are those that Linux' bdx_uncore_pci_ids,
 * bdx_uncore_pci_init and BDX_PCU_DID have.
 */
#include "qemu/osdep.h"
#include "hsx.h"

const HsxGeneration hsx_gen_bdx = {
    .name = "bdx",
    .boxes = 24,
    .ubox = 0x6f1e,
    .pcu = 0x6fc0,
    .imc = { 0x6fb0, 0x6fb1, 0x6fb4, 0x6fb5 },
    .pci = hsx_cbox_pci,
    .rdmsr = hsx_cbox_rdmsr,
    .wrmsr = hsx_cbox_wrmsr,
    .count = hsx_cbox_count,
};
