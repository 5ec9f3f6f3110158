/* SPDX-License-Identifier: MIT */
/*
 * core/size.c - sizes as people write them.
 */
#include "core/size.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <strings.h>

#define FRACTION_DIGITS_MAX 6

static int multiplier(const char *unit, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t n;
	} units[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "K", 1ull << 10 },
		{ "M", 1ull << 20 },
		{ "G", 1ull << 30 },
		{ "T", 1ull << 40 },
		{ "KiB", 1ull << 10 },
		{ "MiB", 1ull << 20 },
		{ "GiB", 1ull << 30 },
		{ "TiB", 1ull << 40 },
		{ "KB", 1000ull },
		{ "MB", 1000000ull },
		{ "GB", 1000000000ull },
		{ "TB", 1000000000000ull },
	};

	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		if (strcasecmp(unit, units[i].name) == 0) {
			*ret = units[i].n;
			return 0;
		}
	}
	return -EINVAL;
}

/* ".5": the digits as a number, and ten to their count; *s moves behind. */
static int fraction(const char **s, uint64_t *ret, uint64_t *ret_scale)
{
	uint64_t v = 0, scale = 1;
	int digits = 0;

	for ((*s)++; **s >= '0' && **s <= '9'; (*s)++, digits++) {
		if (digits == FRACTION_DIGITS_MAX)
			return -EINVAL;
		v = v * 10 + (uint64_t)(**s - '0');
		scale *= 10;
	}
	*ret = v;
	*ret_scale = scale;
	return digits ? 0 : -EINVAL;
}

int size_parse(const char *s, uint64_t *ret)
{
	uint64_t v = 0, frac = 0, scale = 1, mult;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return -ERANGE;
	if (*s == '.' && fraction(&s, &frac, &scale) < 0)
		return -EINVAL;
	if (multiplier(s, &mult) < 0 || (scale > 1 && mult == 1)) /* no half bytes */
		return -EINVAL;
	/* the fraction is at most 10^6 * 2^40 before the division */
	if (__builtin_mul_overflow(v, mult, &v) ||
	    __builtin_add_overflow(v, frac * mult / scale, &v))
		return -ERANGE;
	*ret = v;
	return 0;
}

void size_text(uint64_t n, char out[SIZE_TEXT_SIZE])
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	uint64_t unit = 1, tenths;
	unsigned i = 0;

	while (n / unit >= 1024 && i + 1 < sizeof names / sizeof names[0]) {
		unit *= 1024;
		i++;
	}
	if (i == 0) {
		(void)snprintf(out, SIZE_TEXT_SIZE, "%u B", (unsigned)n);
		return;
	}
	tenths = n % unit / (unit / 1024) * 10 /
		 1024; /* cut, not rounded: never says more than there is */
	(void)snprintf(out, SIZE_TEXT_SIZE, "%u.%u %s", (unsigned)(n / unit), (unsigned)tenths,
		       names[i]);
}
