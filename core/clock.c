/* SPDX-License-Identifier: MIT */
/*
 * core/clock.c - time: wall clock and monotonic nanoseconds, RFC 3339, durations as people write them.
 */
#include "core/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DURATION_MAX_NS (3653LL * 24 * 3600 * NS_PER_S) /* ten years */
#define FRACTION_DIGITS_MAX 9

static int64_t now(clockid_t id)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(id, &ts); /* cannot fail for these clocks */
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t clock_wall_ns(void)
{
	return now(CLOCK_REALTIME);
}

int64_t clock_mono_ns(void)
{
	return now(CLOCK_MONOTONIC);
}

void clock_rfc3339(int64_t wall_ns, char out[RFC3339_SIZE])
{
	int64_t sec = wall_ns / NS_PER_S, rest = wall_ns % NS_PER_S;
	struct tm tm = { 0 };
	time_t t;

	if (rest < 0) {
		rest += NS_PER_S;
		sec--;
	}
	t = (time_t)sec;
	(void)gmtime_r(&t, &tm);
	(void)snprintf(out, RFC3339_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ",
		       (unsigned)(tm.tm_year + 1900) % 10000u, (unsigned)(tm.tm_mon + 1) % 100u,
		       (unsigned)tm.tm_mday % 100u, (unsigned)tm.tm_hour % 100u,
		       (unsigned)tm.tm_min % 100u, (unsigned)tm.tm_sec % 100u,
		       (unsigned)(rest / 1000) % 1000000u);
}

/* One "12", "1.5": integer part and fraction as nanounits. */
static int number(const char **s, int64_t *ret_int, int64_t *ret_frac)
{
	int64_t v = 0, frac = 0, unit = NS_PER_S / 10;
	const char *p = *s;
	int digits = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (*p - '0');
		if (v > DURATION_MAX_NS / NS_PER_MS)
			return -ERANGE;
	}
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9'; p++, digits++, unit /= 10)
			frac += (*p - '0') * unit;
		if (digits == 0 || digits > FRACTION_DIGITS_MAX)
			return -EINVAL;
	}
	*s = p;
	*ret_int = v;
	*ret_frac = frac;
	return 0;
}

static int64_t unit_of(const char **s)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = { { "ms", NS_PER_MS },
		      { "s", NS_PER_S },
		      { "m", 60 * NS_PER_S },
		      { "h", 3600 * NS_PER_S },
		      { "d", 24 * 3600 * NS_PER_S } };

	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		size_t len = strlen(units[i].name);

		if (strncmp(*s, units[i].name, len) == 0) {
			*s += len;
			return units[i].ns;
		}
	}
	return 0;
}

int clock_parse_duration(const char *s, int64_t *ret_ns)
{
	int64_t total = 0, last = INT64_MAX;
	bool first = true;

	if (!*s)
		return -EINVAL;
	while (*s) {
		int64_t v, frac, unit, part;
		int r = number(&s, &v, &frac);

		if (r < 0)
			return r;
		unit = unit_of(&s);
		if (unit == 0) {
			if (!first ||
			    *s) /* a number alone is seconds; after another part the unit must be said */
				return -EINVAL;
			unit = NS_PER_S;
		}
		if (unit >= last) /* "30m1h", "1s2s" are slips */
			return -EINVAL;
		if (__builtin_mul_overflow(v, unit, &part))
			return -ERANGE;
		if (unit >= NS_PER_S)
			part += frac * (unit / NS_PER_S);
		else
			part += frac / (NS_PER_S / unit);
		if (part > DURATION_MAX_NS - total)
			return -ERANGE;
		total += part;
		last = unit;
		first = false;
	}
	*ret_ns = total;
	return 0;
}
