// SPDX-License-Identifier: GPL-2.0-only
/*
 * memio: errors on purpose, for the tests of the tests
 *
 * A test compares figures, or what a limit lets through, with a bound. Whether it would notice
 * more than that is seen when memio errs by as much:
 *
 *	# echo "budgets 1100" > /sys/kernel/debug/memio/skew
 *	# cat /sys/kernel/debug/memio/skew
 *	charges 1000
 *	prices 1000
 *	budgets 1100
 *
 * Figures are thousandths of what is right. At boot: memio_skew=budgets:1100.
 *
 * - charges: the bytes that go to owners and devices, as a stock is handed on, and what limits are
 *   charged with;
 * - prices: memory bytes for an IO byte, as a window is closed;
 * - budgets: rates of limits and shares, as they are set: it holds for those that are set later.
 *
 * Nothing here is in kernels without memio's KUnit tests. In those that have it, it is a branch
 * that is patched out until something is skewed.
 */

#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "internal.h"

#define MEMIO_SKEW_MOST		1000000

DEFINE_STATIC_KEY_FALSE(memio_skew_key);
u32 memio_skews[MEMIO_SKEWS] = { [0 ... MEMIO_SKEWS - 1] = MEMIO_SKEW_NONE };

static const char *const skew_names[MEMIO_SKEWS] = {
	[MEMIO_SKEW_CHARGES]	= "charges",
	[MEMIO_SKEW_PRICES]	= "prices",
	[MEMIO_SKEW_BUDGETS]	= "budgets",
};

static int skew_set(char *text, const char *separators)
{
	const char *name = strsep(&text, separators);
	u32 thousandths;
	int which, ret;

	which = match_string(skew_names, MEMIO_SKEWS, name);
	if (which < 0 || !text)
		return -EINVAL;
	ret = kstrtou32(text, 10, &thousandths);
	if (ret)
		return ret;
	if (thousandths > MEMIO_SKEW_MOST)
		return -ERANGE;
	WRITE_ONCE(memio_skews[which], thousandths);
	return 0;
}

static int skew_show(struct seq_file *m, void *unused)
{
	for (int i = 0; i < MEMIO_SKEWS; i++)
		seq_printf(m, "%s %u\n", skew_names[i], READ_ONCE(memio_skews[i]));
	return 0;
}

static int skew_open(struct inode *inode, struct file *file)
{
	return single_open(file, skew_show, NULL);
}

static ssize_t skew_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	char text[32];
	int ret;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, count))
		return -EFAULT;
	text[count] = '\0';
	ret = skew_set(strim(text), " ");
	if (ret)
		return ret;
	/* For good: what is 1000 is right with it as well. */
	static_branch_enable(&memio_skew_key);
	return count;
}

static const struct file_operations skew_fops = {
	.owner		= THIS_MODULE,
	.open		= skew_open,
	.read		= seq_read,
	.write		= skew_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static bool skewed_at_boot __initdata;

static int __init skew_setup(char *text)
{
	char *one;

	while ((one = strsep(&text, ",")))
		if (skew_set(one, ":"))
			pr_warn("memio: memio_skew=: not understood\n");
	skewed_at_boot = true;
	return 1;
}
__setup("memio_skew=", skew_setup);

static int __init skew_init(void)
{
	if (skewed_at_boot)
		static_branch_enable(&memio_skew_key);
	debugfs_create_file("skew", 0600, memio_debugfs, NULL, &skew_fops);
	return 0;
}
late_initcall(skew_init);
