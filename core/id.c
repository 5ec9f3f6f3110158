/* SPDX-License-Identifier: MIT */
/*
 * core/id.c - ids of steps and sandboxes: 62 bits, time first.
 */
#include "core/id.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/clock.h"
#include "core/err.h"

#define ID_BITS 62
#define ID_RANDOM_BITS 20
#define ID_DIGITS 13

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

uint64_t id_make(void)
{
	uint64_t ms = (uint64_t)(clock_wall_ns() / NS_PER_MS);
	uint64_t id;
	uint32_t rnd;
	ssize_t n;

	do {
		do
			n = getrandom(&rnd, sizeof rnd, 0);
		while (n < 0 && errno == EINTR);
		invariant(n == (ssize_t)sizeof rnd); /* so few bytes are never cut short */
		id = (ms << ID_RANDOM_BITS | (rnd & ((1u << ID_RANDOM_BITS) - 1))) &
		     ((1ull << ID_BITS) - 1);
	} while (id == 0);
	return id;
}

void id_text(const char *prefix, uint64_t id, char out[ID_TEXT_SIZE])
{
	char text[ID_DIGITS + 1];

	for (int i = ID_DIGITS - 1; i >= 0; i--) {
		text[i] = digits[id & 31];
		id >>= 5;
	}
	text[ID_DIGITS] = '\0';
	(void)snprintf(out, ID_TEXT_SIZE, "%s%s", prefix, text);
}

int id_parse(const char *prefix, const char *text, uint64_t *ret)
{
	size_t len = strlen(prefix);
	uint64_t id = 0;

	if (strncmp(text, prefix, len) != 0)
		return -EINVAL;
	text += len;
	if (strnlen(text, ID_DIGITS + 1) != ID_DIGITS)
		return -EINVAL;
	for (unsigned i = 0; i < ID_DIGITS; i++) {
		const char *at = strchr(digits, text[i]);

		if (!at || id >> (ID_BITS - 5)) /* the next five bits would not fit */
			return -EINVAL;
		id = id << 5 | (uint64_t)(at - digits);
	}
	if (id == 0)
		return -EINVAL;
	*ret = id;
	return 0;
}
