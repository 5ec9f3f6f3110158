/* SPDX-License-Identifier: MIT */
/*
 * core/buf.c - bytes that grow, up to a maximum given at birth.
 * Not here: views (core/bytes.h), canonical encoding (core/pack.c).
 */
#include "core/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_CAP 64

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max };
}

void buf_fini(struct buf *b)
{
	if (!b)
		return;
	free(b->p);
	*b = (struct buf){ .max = b->max };
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	if (b->p)
		b->p[0] = '\0';
}

int buf_reserve(struct buf *b, size_t n, char **ret_p)
{
	size_t need, cap;
	char *p;

	if (n > b->max || b->len > b->max - n || b->max == SIZE_MAX)
		return -EFBIG;
	need = b->len + n + 1;
	if (need > b->cap) {
		cap = b->cap ? b->cap : FIRST_CAP;
		while (cap < need)
			cap = cap > SIZE_MAX / 2 ? need : cap * 2;
		if (cap > b->max + 1)
			cap = b->max + 1;
		p = realloc(b->p, cap);
		if (!p)
			return -ENOMEM;
		p[b->len] = '\0';
		b->p = p;
		b->cap = cap;
	}
	if (ret_p)
		*ret_p = b->p + b->len;
	return 0;
}

int buf_add(struct buf *b, const void *p, size_t len)
{
	char *room;
	int r = buf_reserve(b, len, &room);

	if (r < 0)
		return r;
	if (len)
		memcpy(room, p, len);
	room[len] = '\0';
	b->len += len;
	return 0;
}

int buf_add_str(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_add_char(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char *room;
	int n, r;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -EINVAL;
	r = buf_reserve(b, (size_t)n, &room);
	if (r < 0)
		return r;
	va_start(ap, fmt);
	(void)vsnprintf(room, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

struct bytes buf_view(const struct buf *b)
{
	return bytes_of(b->p, b->len);
}

const char *buf_str(const struct buf *b)
{
	return b->p ? b->p : "";
}

char *buf_steal(struct buf *b)
{
	char *p = b->p;

	if (!p)
		p = calloc(1, 1);
	*b = (struct buf){ .max = b->max };
	return p;
}
