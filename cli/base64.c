/* SPDX-License-Identifier: MIT */
/*
 * cli/base64.c - RFC 4648 base 64, strict.
 */
#include "cli/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int b64_encode(struct bytes in, struct buf *out)
{
	const unsigned char *p = in.p;
	size_t want = in.len / 3 * 4 + (in.len % 3 ? 4 : 0);
	char *to;
	int r = buf_reserve(out, want, &to);

	if (r < 0)
		return r;
	for (size_t i = 0; i < in.len; i += 3) {
		size_t left = in.len - i;
		unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
			     (left > 2 ? p[i + 2] : 0u);

		*to++ = digits[v >> 18];
		*to++ = digits[v >> 12 & 63];
		*to++ = left > 1 ? digits[v >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[v & 63] : '=';
	}
	*to = '\0';
	out->len += want;
	return 0;
}

static int value(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Four characters, the last `pad` of them '='; -1 where they are none. */
static int group(const char *p, size_t pad)
{
	unsigned v = 0;

	for (size_t k = 0; k < 4; k++) {
		int d = k < 4 - pad ? value(p[k]) : 0;

		if (d < 0)
			return -1;
		v = v << 6 | (unsigned)d;
	}
	if (v & ((1u << (8 * pad)) - 1)) /* bits that say nothing must be 0 */
		return -1;
	return (int)v;
}

int b64_decode(struct bytes in, struct buf *out)
{
	const char *p = in.p;
	size_t pad = 0, want;
	char *to;
	int r;

	if (in.len % 4)
		return -EINVAL;
	while (pad < 2 && pad < in.len && p[in.len - 1 - pad] == '=')
		pad++;
	want = in.len / 4 * 3;
	r = buf_reserve(out, want, &to);
	if (r < 0)
		return r;
	for (size_t i = 0; i < in.len; i += 4) {
		int v = group(p + i, i + 4 == in.len ? pad : 0);

		if (v < 0)
			return -EINVAL;
		*to++ = (char)(v >> 16);
		*to++ = (char)(v >> 8 & 0xff);
		*to++ = (char)(v & 0xff);
	}
	out->len += want - pad;
	out->p[out->len] = '\0';
	return 0;
}
