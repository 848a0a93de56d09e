// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: the switch, and /sys/kernel/memio
 *
 * memio is on after boot unless the command line says memio=off, and can be
 * switched at any time in /sys/kernel/memio/enabled. The state is a static
 * key, so that a hook costs a no-op while memio is off.
 *
 * The files (Documentation/ABI/testing/sysfs-kernel-memio):
 *
 *	enabled	0 or 1
 *	source	the counters that estimates rest on; "none" where there are
 *		none that memio can use
 */

#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/memio.h>
#include <linux/sysfs.h>

DEFINE_STATIC_KEY_FALSE(memio_key);

static bool memio_at_boot __initdata = true;

static int __init memio_setup(char *arg)
{
	return !kstrtobool(arg, &memio_at_boot);
}
__setup("memio=", memio_setup);

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", static_key_enabled(&memio_key));
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	bool on;
	int ret;

	ret = kstrtobool(buf, &on);
	if (ret)
		return ret;

	if (on)
		static_branch_enable(&memio_key);
	else
		static_branch_disable(&memio_key);

	return count;
}

static ssize_t source_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "none\n");
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);
static struct kobj_attribute source_attr = __ATTR_RO(source);

static struct attribute *memio_attrs[] = {
	&enabled_attr.attr,
	&source_attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(memio);

static int __init memio_init(void)
{
	struct kobject *kobj;
	int ret;

	kobj = kobject_create_and_add("memio", kernel_kobj);
	if (!kobj)
		return -ENOMEM;

	ret = sysfs_create_groups(kobj, memio_groups);
	if (ret) {
		kobject_put(kobj);
		return ret;
	}

	if (memio_at_boot)
		static_branch_enable(&memio_key);

	return 0;
}
subsys_initcall(memio_init);
