// SPDX-License-Identifier: GPL-2.0
/*
 * libmemio: devices: the kernel accounts DMA masters by their bus names; people name
 * interfaces and disks. An interface leads to its master by its place in sysfs:
 *
 *	/sys/class/net/eth0 -> .../pci0000:00/0000:00:03.0/virtio0/net/eth0
 *
 * It is the closest directory above whose name is that of a device which is accounted, as
 * the kernel goes the same way. Where nothing is accounted, it is the closest PCI function.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define LOOKED_UP_NS	1000000000ull	/* an alias that is not found is looked for so often */

static struct memio_device *device_of(struct memio *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->devices; i++)
		if (!strcmp(m->device[i].name, name))
			return &m->device[i];
	return NULL;
}

static void note_device(const char *name, void *arg)
{
	struct memio *m = arg;

	if (m->devices == MIO_LINES_MOST || strlen(name) >= MEMIO_NAME_MAX ||
	    device_of(m, name) ||
	    !mio_grow(&m->device, m->devices, &m->devices_room, sizeof(*m->device)))
		return;
	memset(&m->device[m->devices], 0, sizeof(*m->device));
	stpcpy(m->device[m->devices].name, name);
	stpcpy(m->device[m->devices++].first, name);
}

/* 0000:00:03.0 */
static bool is_pci(const char *name)
{
	static const char form[] = "xxxx:xx:xx.x";
	size_t i;

	for (i = 0; form[i]; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)name[i]) : form[i] != name[i])
			return false;
	return !name[i];
}

/* Devices are those of sysfs, and not of a list that the backend has. */
static bool by_sysfs(const struct memio *m)
{
	return !m->backend || m->backend->by_sysfs;
}

/* Where a link in sysfs leads, and up from there */
static bool master_of(struct memio *m, const char *link, char name[MEMIO_NAME_MAX])
{
	char *path = realpath(link, NULL), *slash;
	bool found = false;

	while (path && !found && (slash = strrchr(path, '/'))) {
		const char *at = slash + 1;

		/* The kernel cuts a name that is too long. */
		if (strlen(at) < MEMIO_NAME_MAX &&
		    (device_of(m, at) || (by_sysfs(m) && is_pci(at)))) {
			stpcpy(name, at);
			found = true;
		}
		*slash = '\0';
	}
	free(path);
	return found;
}

static void add_alias(struct memio_device *d, const char *alias)
{
	const size_t n = strlen(d->alias), more = strlen(alias);

	if (n + more + 2 > sizeof(d->alias))
		return;
	if (!n && more < sizeof(d->first))
		stpcpy(d->first, alias);
	if (n)
		d->alias[n] = ',';
	stpcpy(d->alias + n + !!n, alias);
}

static bool is_plain(const char *name)
{
	const char *c;

	for (c = name; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == '/' || *c == ',')
			return false;
	return *name && strcmp(name, ".") && strcmp(name, "..");
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static void look_through(struct memio *m, const char *class)
{
	char path[MIO_PATH_MOST], name[MEMIO_NAME_MAX];
	struct memio_device *d;
	struct dirent **entry;
	int n, i;

	if (!mio_root_path(m, path, "sys/%s", class))
		return;
	n = scandir(path, &entry, NULL, by_number);
	for (i = 0; i < n; i++) {
		const char *alias = entry[i]->d_name;

		if (is_plain(alias) && mio_root_path(m, path, "sys/%s/%s", class, alias) &&
		    master_of(m, path, name)) {
			if (by_sysfs(m))
				note_device(name, m);
			d = device_of(m, name);
			if (d)
				add_alias(d, alias);
		}
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
}

const struct memio_device *memio_devices(struct memio *m, size_t *n)
{
	m->devices = 0;
	m->devices_ns = mio_now();
	if (m->backend)
		m->backend->device_names(m, note_device, m);
	look_through(m, "class/net");
	/* Disks alone: partitions are none of the kernel's names. */
	look_through(m, "block");
	*n = m->devices;
	return m->device;
}

static void look_up(struct memio *m)
{
	size_t n;

	if (!m->devices_ns || mio_now() - m->devices_ns > LOOKED_UP_NS)
		memio_devices(m, &n);
}

int memio_device_resolve(struct memio *m, const char *alias, char name[MEMIO_NAME_MAX])
{
	static const char *const where[] = {
		"sys/class/net/%s", "sys/class/block/%s", "sys/dev/block/%s",
	};
	char path[MIO_PATH_MOST];
	size_t n, i;

	memio_devices(m, &n);
	if (!strncmp(alias, "/dev/", 5))
		alias += 5;
	if (device_of(m, alias)) {
		stpcpy(name, device_of(m, alias)->name);
		return 0;
	}
	for (i = 0; is_plain(alias) && i < sizeof(where) / sizeof(*where); i++)
		if (mio_root_path(m, path, where[i], alias) && master_of(m, path, name))
			return 0;
	return mio_fail(m, -ENODEV, "there is no device %.64s that moves bytes by DMA here", alias);
}

const char *memio_device_alias(struct memio *m, const char *name)
{
	struct memio_device *d = device_of(m, name);

	if (!d) {
		look_up(m);
		d = device_of(m, name);
	}
	return d ? d->first : name;
}
