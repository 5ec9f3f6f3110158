/* SPDX-License-Identifier: MIT */
/*
 * core/bytes.h - a borrowed view of bytes.
 * Not here: bytes that somebody owns (core/buf.h).
 */
#ifndef GARTH_CORE_BYTES_H
#define GARTH_CORE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct bytes {
	const void *p; /* may be NULL where len is 0 */
	size_t len;
};

#define BYTES_LIT(s) ((struct bytes){ "" s, sizeof(s) - 1 })

static inline struct bytes bytes_of(const void *p, size_t len)
{
	return (struct bytes){ p, len };
}

static inline struct bytes bytes_str(const char *s)
{
	return (struct bytes){ s, strlen(s) };
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

#endif
