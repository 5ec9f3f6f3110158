/* SPDX-License-Identifier: MIT */
/*
 * cli/addr.c - building the address of a call.
 */
#include "cli/addr.h"

#include <string.h>

static void put(struct addr *a, char c)
{
	if (a->len + 1 >= sizeof a->s) {
		a->cut = true;
		return;
	}
	a->s[a->len++] = c;
	a->s[a->len] = '\0';
}

static void put_str(struct addr *a, const char *s)
{
	while (*s)
		put(a, *s++);
}

static bool plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static void put_encoded(struct addr *a, const char *s, bool keep_slash)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *s; s++) {
		if (plain(*s) || (keep_slash && *s == '/')) {
			put(a, *s);
			continue;
		}
		put(a, '%');
		put(a, hex[(unsigned char)*s >> 4]);
		put(a, hex[(unsigned char)*s & 15]);
	}
}

void addr_begin(struct addr *a, const char *ws, const char *tail)
{
	a->len = 0;
	a->s[0] = '\0';
	a->query = a->cut = false;
	if (ws) {
		put_str(a, "/v1/workspaces");
		addr_part(a, ws);
	}
	put_str(a, tail);
}

void addr_part(struct addr *a, const char *part)
{
	put(a, '/');
	put_encoded(a, part, false);
}

void addr_path(struct addr *a, const char *path)
{
	if (!*path)
		return;
	put(a, '/');
	put_encoded(a, path, true);
}

void addr_arg(struct addr *a, const char *name, const char *value)
{
	if (!value)
		return;
	put(a, a->query ? '&' : '?');
	a->query = true;
	put_str(a, name);
	put(a, '=');
	put_encoded(a, value, false);
}

const char *addr_str(const struct addr *a)
{
	return a->cut ? NULL : a->s;
}
