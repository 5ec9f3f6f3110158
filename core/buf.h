/* SPDX-License-Identifier: MIT */
/*
 * core/buf.h - bytes that grow, up to a maximum given at birth.
 * Not here: views (core/bytes.h), canonical encoding (core/pack.h).
 * Thread: the owner's. Memory: owns its heap block; buf_fini frees it.
 */
#ifndef GARTH_CORE_BUF_H
#define GARTH_CORE_BUF_H

#include "core/bytes.h"
#include "core/err.h"

struct buf {
	char *p; /* NULL until something is appended; always followed by a NUL that len leaves out */
	size_t len; /* bytes */
	size_t cap; /* bytes */
	size_t max; /* bytes; appending past it is -EFBIG */
};

void buf_init(struct buf *b, size_t max);
void buf_fini(struct buf *b);  /* NULL and zeroed are fine; leaves it zeroed but for max */
void buf_reset(struct buf *b); /* len 0, keeps the block */

/* All: 0, -ENOMEM, -EFBIG; nothing is appended on failure. */
int buf_add(struct buf *b, const void *p, size_t len);
int buf_add_str(struct buf *b, const char *s);
int buf_add_char(struct buf *b, char c);
__attribute__((format(printf, 2, 3))) int buf_addf(struct buf *b, const char *fmt, ...);

/* Room for n more bytes at ret_p; the caller then adds what it wrote to b->len. */
int buf_reserve(struct buf *b, size_t n, char **ret_p);

struct bytes buf_view(const struct buf *b);
const char *buf_str(const struct buf *b); /* "" where nothing was appended */
char *buf_steal(struct buf *b); /* the heap block, NUL-terminated, now the caller's to free() */

#define autobuf __attribute__((cleanup(buf_fini))) struct buf

#endif
