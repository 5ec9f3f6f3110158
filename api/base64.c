/* SPDX-License-Identifier: MIT */
/*
 * api/base64.c - four characters, three bytes.
 */
#include "api/base64.h"

#include <stdint.h>
#include <stdlib.h>

static int value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

/* Four characters, of which the last `drop` are padding, to 3 - drop bytes. */
static int quad(const char *p, size_t drop, char *room)
{
	uint32_t v = 0;

	for (size_t k = 0; k < 4; k++) {
		int x = k >= 4 - drop ? 0 : value(p[k]);

		if (x < 0)
			return -EINVAL;
		v = v << 6 | (uint32_t)x;
	}
	if (drop > 0 && (v & (drop == 1 ? 0xffu : 0xffffu)) != 0)
		return -EINVAL; /* bits that no encoder writes */
	for (size_t k = 0; k < 3 - drop; k++)
		room[k] = (char)(v >> (16 - 8 * k) & 0xff);
	return 0;
}

int base64_decode(struct bytes text, struct buf *out)
{
	const char *p = text.p;
	size_t pad = 0;
	char *room;
	int rc;

	if (text.len % 4 != 0)
		return -EINVAL;
	if (text.len == 0)
		return 0;
	if (p[text.len - 1] == '=')
		pad = p[text.len - 2] == '=' ? 2 : 1;
	rc = buf_reserve(out, text.len / 4 * 3, &room);
	for (size_t i = 0; i < text.len && rc == 0; i += 4)
		rc = quad(p + i, i + 4 == text.len ? pad : 0, room + i / 4 * 3);
	if (rc < 0)
		return rc;
	out->len += text.len / 4 * 3 - pad;
	out->p[out->len] = '\0';
	return 0;
}

char *base64_encode(struct bytes data)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = data.p;
	char *out = malloc((data.len + 2) / 3 * 4 + 1), *o = out;

	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < data.len; i += 3) {
		size_t left = data.len - i;
		uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
			     (left > 2 ? p[i + 2] : 0);

		*o++ = digits[v >> 18];
		*o++ = digits[v >> 12 & 63];
		*o++ = left > 1 ? digits[v >> 6 & 63] : '=';
		*o++ = left > 2 ? digits[v & 63] : '=';
	}
	*o = '\0';
	return out;
}
