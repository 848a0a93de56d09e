# SPDX-License-Identifier: GPL-2.0-or-later
# The emulated Haswell-EP: a q35 board and the devices of ci/vm, nothing else.
CONFIG_Q35=y
CONFIG_HSX=y
CONFIG_NVME_PCI=y
CONFIG_E1000E_PCI_EXPRESS=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_NET=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_9P=y
CONFIG_VIRTIO_RNG=y
CONFIG_PCIE_PORT=y
# The second socket's root bus; CXL is linked with it (hw/hsx/cxl-stub.c).
CONFIG_PXB=y
CONFIG_CXL=y
