/* SPDX-License-Identifier: MIT */
/*
 * core/clock.h - time: wall clock and monotonic nanoseconds, RFC 3339.
 */
#ifndef GARTH_CORE_CLOCK_H
#define GARTH_CORE_CLOCK_H

#include <stdint.h>

#define NS_PER_MS 1000000LL
#define NS_PER_S 1000000000LL
#define RFC3339_SIZE 32

int64_t clock_wall_ns(void); /* since 1970, UTC */
int64_t clock_mono_ns(void);

/* "2026-11-30T08:00:00.123456Z" */
void clock_rfc3339(int64_t wall_ns, char out[RFC3339_SIZE]);

/* "30s", "5m", "24h", "7d", "1h30m", "500ms" or plain seconds: 0, -EINVAL, or -ERANGE past 10 years; never negative. */
int clock_parse_duration(const char *s, int64_t *ret_ns);

#endif
