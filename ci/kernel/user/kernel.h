/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What those of memio's files that only compute take from the kernel, and of KUnit what their
 * suites do, for a program (ci/tests/kernel-pure). Included before each of them; headers of
 * the kernel are empty there.
 */
#ifndef MEMIO_USER_KERNEL_H
#define MEMIO_USER_KERNEL_H

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "estimate_user.h"

#define __maybe_unused	__attribute__((unused))
#define __init
#define __printf(a, b)	__attribute__((format(printf, a, b)))
#define ____cacheline_aligned_in_smp
#define ____cacheline_aligned
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define fallthrough	__attribute__((fallthrough))

#define READ_ONCE(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define BIT(n)		(1UL << (n))
#define GENMASK_ULL(h, l) ((~0ULL << (l)) & (~0ULL >> (63 - (h))))
#define S64_MAX		((s64)(U64_MAX >> 1))
#define S64_MIN		((s64)(-S64_MAX - 1))
#define S32_MAX		((s32)(U32_MAX >> 1))
#define MAX_ERRNO	4095

#define NSEC_PER_USEC	1000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_SEC	1000000000L
#define USEC_PER_SEC	1000000L

#define min(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define min_t(t, a, b)	min((t)(a), (t)(b))
#define max_t(t, a, b)	max((t)(a), (t)(b))
#define clamp(v, lo, hi) min(max(v, lo), hi)
#define abs(x) ({ __typeof__(x) _x = (x); _x < 0 ? -_x : _x; })
#define check_add_overflow(a, b, d) __builtin_add_overflow(a, b, d)
#define check_mul_overflow(a, b, d) __builtin_mul_overflow(a, b, d)

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (u64)(((__uint128_t)a * b) >> shift);
}

static inline s64 div_s64(s64 a, s32 b)
{
	return a / b;
}

static inline s64 div64_s64(s64 a, s64 b)
{
	return a / b;
}

#define DIV_ROUND_UP(a, b) (((a) + (b) - 1) / (b))
#define DIV64_U64_ROUND_UP(a, b) ({ u64 _d = (b); div64_u64((a) + _d - 1, _d); })
#define DIV_ROUND_UP_ULL(a, b) DIV_ROUND_UP((unsigned long long)(a), b)

static inline int __printf(3, 4) scnprintf(char *to, size_t size, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(to, size, format, args);
	va_end(args);
	return n < (int)size ? n : size ? (int)size - 1 : 0;
}

static inline ssize_t strscpy_n(char *to, const char *from, size_t size)
{
	size_t n = strnlen(from, size);

	if (!size)
		return -E2BIG;
	memcpy(to, from, n < size ? n + 1 : size);
	to[size - 1] = 0;
	return n < size ? (ssize_t)n : -E2BIG;
}

#define strscpy_2(to, from)		strscpy_n(to, from, sizeof(to))
#define strscpy_3(to, from, size)	strscpy_n(to, from, size)
#define strscpy_of(a, b, c, name, ...)	name
#define strscpy(...)	strscpy_of(__VA_ARGS__, strscpy_3, strscpy_2)(__VA_ARGS__)

static inline char *skip_spaces(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return (char *)s;
}

static inline char *strim(char *s)
{
	size_t n = strlen(s);

	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = 0;
	return skip_spaces(s);
}

static inline int match_string(const char * const *array, size_t n, const char *string)
{
	size_t i;

	for (i = 0; i < n && array[i]; i++)
		if (!strcmp(array[i], string))
			return i;
	return -EINVAL;
}

static inline int kstrtou64(const char *s, unsigned int base, u64 *value)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	*value = strtoull(s, &end, base);
	if (errno == ERANGE)
		return -ERANGE;
	if (*end == '\n')
		end++;
	return *end ? -EINVAL : 0;
}

#define kstrtoull	kstrtou64

/* KUnit */

struct kunit {
	unsigned int failures;
};

struct kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

void kunit_register(struct kunit_suite *suite);
void __printf(5, 6) kunit_failed(struct kunit *test, int fatal, const char *file, int line,
				 const char *format, ...);
void *kunit_kzalloc(struct kunit *test, size_t size, int gfp);

#define GFP_KERNEL	0
#define KUNIT_CASE(f)	{ f, #f }
#define kunit_test_suite(suite)							\
static void __attribute__((constructor)) register_suite(void)			\
{										\
	kunit_register(&(suite));						\
}

#define kunit_info(test, ...)	((void)(test), (void)printf("# " __VA_ARGS__))

#define KUNIT_BINARY(test, fatal, a, op, b, ...) do {				\
	__typeof__(a) _left = (a);						\
	__typeof__(b) _right = (b);						\
										\
	if (!(_left op _right)) {						\
		kunit_failed(test, fatal, __FILE__, __LINE__,			\
			     "%s %s %s: %lld, %lld", #a, #op, #b,		\
			     (long long)_left, (long long)_right);		\
		kunit_failed(test, fatal, __FILE__, __LINE__, " " __VA_ARGS__);	\
	}									\
} while (0)

#define KUNIT_EXPECT_EQ(t, a, b)	KUNIT_BINARY(t, 0, a, ==, b)
#define KUNIT_EXPECT_NE(t, a, b)	KUNIT_BINARY(t, 0, a, !=, b)
#define KUNIT_EXPECT_LT(t, a, b)	KUNIT_BINARY(t, 0, a, <, b)
#define KUNIT_EXPECT_LE(t, a, b)	KUNIT_BINARY(t, 0, a, <=, b)
#define KUNIT_EXPECT_GT(t, a, b)	KUNIT_BINARY(t, 0, a, >, b)
#define KUNIT_EXPECT_GE(t, a, b)	KUNIT_BINARY(t, 0, a, >=, b)
#define KUNIT_EXPECT_EQ_MSG(t, a, b, ...) KUNIT_BINARY(t, 0, a, ==, b, __VA_ARGS__)
#define KUNIT_EXPECT_LE_MSG(t, a, b, ...) KUNIT_BINARY(t, 0, a, <=, b, __VA_ARGS__)
#define KUNIT_EXPECT_GE_MSG(t, a, b, ...) KUNIT_BINARY(t, 0, a, >=, b, __VA_ARGS__)
#define KUNIT_EXPECT_LT_MSG(t, a, b, ...) KUNIT_BINARY(t, 0, a, <, b, __VA_ARGS__)
#define KUNIT_EXPECT_GT_MSG(t, a, b, ...) KUNIT_BINARY(t, 0, a, >, b, __VA_ARGS__)
#define KUNIT_EXPECT_TRUE(t, a)		KUNIT_BINARY(t, 0, !!(a), ==, 1)
#define KUNIT_EXPECT_FALSE(t, a)	KUNIT_BINARY(t, 0, !!(a), ==, 0)
#define KUNIT_EXPECT_STREQ(t, a, b)	KUNIT_BINARY(t, 0, strcmp(a, b), ==, 0, "%s, %s", a, b)
#define KUNIT_ASSERT_EQ(t, a, b)	KUNIT_BINARY(t, 1, a, ==, b)
#define KUNIT_ASSERT_EQ_MSG(t, a, b, ...) KUNIT_BINARY(t, 1, a, ==, b, __VA_ARGS__)
#define KUNIT_ASSERT_NE(t, a, b)	KUNIT_BINARY(t, 1, a, !=, b)
#define KUNIT_ASSERT_LT(t, a, b)	KUNIT_BINARY(t, 1, a, <, b)
#define KUNIT_ASSERT_LE(t, a, b)	KUNIT_BINARY(t, 1, a, <=, b)
#define KUNIT_ASSERT_GT(t, a, b)	KUNIT_BINARY(t, 1, a, >, b)
#define KUNIT_ASSERT_GE(t, a, b)	KUNIT_BINARY(t, 1, a, >=, b)
#define KUNIT_ASSERT_TRUE(t, a)		KUNIT_BINARY(t, 1, !!(a), ==, 1)
#define KUNIT_ASSERT_FALSE(t, a)	KUNIT_BINARY(t, 1, !!(a), ==, 0)
#define KUNIT_ASSERT_NOT_NULL(t, a)	KUNIT_BINARY(t, 1, !!(a), ==, 1)

#define MODULE_LICENSE(x)	extern int memio_nothing
#define MODULE_DESCRIPTION(x)	extern int memio_nothing
#define EXPORT_SYMBOL_IF_KUNIT(x) extern int memio_nothing
#define EXPORT_SYMBOL_GPL(x)	extern int memio_nothing

#endif
