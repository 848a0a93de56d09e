/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PCI devices in the guest's sysfs, for programs that need no driver.
 */
#ifndef MEMIO_PCI_H
#define MEMIO_PCI_H

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEDGER_VENDOR	0x1234
#define LEDGER_DEVICE	0x6d69		/* hsx-ledger */

/* A number in hex from the file @name of the directory @dir; 0 if there is none. */
static inline unsigned int pci_read_hex(const char *dir, const char *name)
{
	char path[512];
	unsigned int v = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%x", &v) != 1)
			v = 0;
		fclose(f);
	}
	return v;
}

/* The directory of a device, to be freed; NULL if there is none. */
static inline char *pci_find(unsigned int vendor, unsigned int device)
{
	char *found = NULL;
	glob_t g;
	size_t i;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &g))
		return NULL;
	for (i = 0; i < g.gl_pathc && !found; i++)
		if (pci_read_hex(g.gl_pathv[i], "vendor") == vendor &&
		    pci_read_hex(g.gl_pathv[i], "device") == device)
			found = strdup(g.gl_pathv[i]);
	globfree(&g);
	return found;
}

#endif
