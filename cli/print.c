/* SPDX-License-Identifier: MIT */
/*
 * cli/print.c - text for people.
 * Not here: tables (cli/table.c).
 */
#include "cli/print.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"

static const char *const codes[] = {
	[COLOR_NONE] = "",           [COLOR_RED] = "\033[31m", [COLOR_GREEN] = "\033[32m",
	[COLOR_YELLOW] = "\033[33m", [COLOR_DIM] = "\033[2m",  [COLOR_BOLD] = "\033[1m",
};

bool print_colored(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(f)) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

void print_on(FILE *f, enum color c)
{
	if (c != COLOR_NONE && print_colored(f))
		(void)fputs(codes[c], f);
}

void print_off(FILE *f, enum color c)
{
	if (c != COLOR_NONE && print_colored(f))
		(void)fputs("\033[0m", f);
}

/* The well-formed UTF-8 character at p and its bytes; 0 bytes where there is none. */
static unsigned decode(const unsigned char *p, uint32_t *ret)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least; /* shorter forms would do for less */
	} forms[] = { { 0x80, 0x00, 0 },
		      { 0xe0, 0xc0, 0x80 },
		      { 0xf0, 0xe0, 0x800 },
		      { 0xf8, 0xf0, 0x10000 } };

	for (unsigned n = 0; n < sizeof forms / sizeof forms[0]; n++) {
		uint32_t c = p[0] & (unsigned char)~forms[n].mask;

		if ((p[0] & forms[n].mask) != forms[n].lead)
			continue;
		for (unsigned i = 1; i <= n; i++) {
			if ((p[i] & 0xc0) != 0x80)
				return 0;
			c = c << 6 | (p[i] & 0x3f);
		}
		*ret = c;
		return c < forms[n].least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0
											 : n + 1;
	}
	return 0;
}

/* Would a terminal do something at this character other than show it? */
static bool unsafe(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = { { 0, 0x1f },
		       { 0x7f, 0x9f },
		       { 0x200e, 0x200f },
		       { 0x2028, 0x202e },
		       { 0x2066, 0x2069 } };

	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

char *print_safe_dup(const char *text)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *p = (const unsigned char *)text;
	char *out = malloc(strlen(text) * 4 + 1), *at = out;

	if (!out)
		return NULL;
	while (*p) {
		uint32_t c = 0;
		unsigned n = decode(p, &c), bytes = n ? n : 1;
		bool escape = n == 0 || unsafe(c);

		for (unsigned i = 0; i < bytes; i++) {
			if (!escape) {
				*at++ = (char)p[i];
				continue;
			}
			*at++ = '\\';
			*at++ = 'x';
			*at++ = hex[p[i] >> 4];
			*at++ = hex[p[i] & 15];
		}
		p += bytes;
	}
	*at = '\0';
	return out;
}

void print_safe(FILE *f, const char *text)
{
	char *safe = print_safe_dup(text);

	if (safe)
		(void)fputs(safe, f);
	free(safe);
}

int print_json(const json_t *j)
{
	size_t flags = isatty(STDOUT_FILENO) ? JSON_INDENT(2) : 0;

	if (!j || json_dumpf(j, stdout, flags | JSON_ENCODE_ANY) < 0) {
		(void)fprintf(stderr, "garth: the answer can't be printed\n");
		return EXIT_FAILED;
	}
	(void)fputc('\n', stdout);
	return EXIT_OK;
}

int print_items(json_t *items)
{
	json_t *all = json_pack("{s:O}", "items", items);
	int code = print_json(all);

	json_decref(all);
	return code;
}

int print_done(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	(void)fprintf(stderr, "garth: writing the output: %s\n", strerrordesc_np(errno));
	return EXIT_FAILED;
}
