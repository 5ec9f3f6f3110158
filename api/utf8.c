/* SPDX-License-Identifier: MIT */
/*
 * api/utf8.c - the table of well-formed sequences (Unicode 15, table 3-7) as code.
 */
#include "api/utf8.h"

#include <stdint.h>

/* Length of the sequence that a byte leads, and the range of the second byte; 0: no leader. */
static unsigned lead(uint8_t c, uint8_t *lo, uint8_t *hi)
{
	*lo = 0x80;
	*hi = 0xbf;
	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c <= 0xdf)
		return 2;
	if (c >= 0xe0 && c <= 0xef) {
		*lo = c == 0xe0 ? 0xa0 : 0x80;
		*hi = c == 0xed ? 0x9f : 0xbf;
		return 3;
	}
	if (c >= 0xf0 && c <= 0xf4) {
		*lo = c == 0xf0 ? 0x90 : 0x80;
		*hi = c == 0xf4 ? 0x8f : 0xbf;
		return 4;
	}
	return 0;
}

size_t utf8_whole(struct bytes b, bool *ret_bad)
{
	const uint8_t *p = b.p;
	size_t i = 0;

	*ret_bad = false;
	while (i < b.len) {
		uint8_t lo, hi;
		unsigned n = lead(p[i], &lo, &hi);

		if (n == 0)
			goto bad;
		for (unsigned k = 1; k < n && i + k < b.len; k++)
			if (p[i + k] < (k == 1 ? lo : 0x80) || p[i + k] > (k == 1 ? hi : 0xbf))
				goto bad;
		if (i + n > b.len)
			return i;
		i += n;
	}
	return i;
bad:
	*ret_bad = true;
	return i;
}

bool utf8_ok(struct bytes b)
{
	bool bad;

	return utf8_whole(b, &bad) == b.len && !bad;
}

size_t utf8_cut(struct bytes b, size_t max)
{
	bool bad;

	return b.len <= max ? b.len : utf8_whole(bytes_of(b.p, max), &bad);
}
