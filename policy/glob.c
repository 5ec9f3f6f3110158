/* SPDX-License-Identifier: MIT */
/*
 * policy/glob.c - a pattern's parts are the states of a small automaton: bit i of a set says that part i comes next, the bit
 * past the last part that the whole pattern has matched. So no path makes matching slow.
 */
#include "policy/glob.h"

#include <stdint.h>

#include "core/path.h"

struct parts {
	struct bytes part[GLOB_PARTS_MAX];
	unsigned count;
};

static struct bytes part_next(struct bytes *rest)
{
	const char *p = rest->p;
	const char *slash = memchr(p, '/', rest->len);
	size_t len = slash != NULL ? (size_t)(slash - p) : rest->len;

	*rest = slash != NULL ? bytes_of(slash + 1, rest->len - len - 1) : bytes_of(NULL, 0);
	return bytes_of(p, len);
}

static bool is_any(struct bytes part)
{
	return bytes_equal(part, (struct bytes){ "**", 2 });
}

/* One part against one name: back to the last star where it fails. */
static bool part_match(struct bytes pattern, struct bytes name)
{
	const char *p = pattern.p, *s = name.p;
	size_t i = 0, k = 0, star = SIZE_MAX, from = 0;

	while (k < name.len) {
		if (i < pattern.len && p[i] == '*') {
			star = i++;
			from = k;
		} else if (i < pattern.len && (p[i] == '?' || p[i] == s[k])) {
			i++;
			k++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			k = ++from;
		} else {
			return false;
		}
	}
	while (i < pattern.len && p[i] == '*')
		i++;
	return i == pattern.len;
}

static bool pattern_split(const char *pattern, struct parts *ret)
{
	struct bytes rest = bytes_str(pattern);

	ret->count = 0;
	while (rest.len > 0) {
		if (ret->count == GLOB_PARTS_MAX)
			return false;
		ret->part[ret->count++] = part_next(&rest);
	}
	return ret->count > 0;
}

/* "**" may be no part at all: what comes behind it may come at once. */
static uint64_t closure(const struct parts *g, uint64_t set)
{
	for (unsigned i = 0; i < g->count; i++)
		if ((set >> i & 1) != 0 && is_any(g->part[i]))
			set |= UINT64_C(1) << (i + 1);
	return set;
}

/* @name NULL: any name that suits. */
static uint64_t step(const struct parts *g, uint64_t set, const struct bytes *name)
{
	uint64_t next = 0;

	for (unsigned i = 0; i < g->count; i++) {
		if ((set >> i & 1) == 0)
			continue;
		if (is_any(g->part[i]))
			next |= UINT64_C(1) << i;
		else if (name == NULL || part_match(g->part[i], *name))
			next |= UINT64_C(1) << (i + 1);
	}
	return closure(g, next);
}

static uint64_t run(const char *pattern, struct bytes path, struct parts *g)
{
	uint64_t set;

	if (!pattern_split(pattern, g))
		return 0;
	set = closure(g, 1);
	while (path.len > 0 && set != 0) {
		struct bytes name = part_next(&path);

		set = step(g, set, &name);
	}
	return set;
}

static int part_check(struct bytes part, struct err *err)
{
	const char *p = part.p;

	if (part.len == 0)
		return err_set(err, -EINVAL,
			       "a path pattern has no slash at its ends and no two in a row");
	if (part.len > NAME_LEN_MAX)
		return err_set(err, -EINVAL, "a part of a path pattern has at most %d bytes",
			       NAME_LEN_MAX);
	if (bytes_equal(part, (struct bytes){ ".", 1 }) ||
	    bytes_equal(part, (struct bytes){ "..", 2 }))
		return err_set(err, -EINVAL, "'.' and '..' are not permitted in a path pattern");
	if (is_any(part))
		return 0;
	for (size_t i = 0; i + 1 < part.len; i++)
		if (p[i] == '*' && p[i + 1] == '*')
			return err_set(
				err, -EINVAL,
				"'**' must be a whole part of a path pattern, as in output/**/x");
	return 0;
}

int glob_check(const char *pattern, struct err *err)
{
	struct bytes rest = bytes_str(pattern);
	unsigned count = 0;

	if (rest.len == 0)
		return err_set(err, -EINVAL, "an empty path pattern; '**' is everything");
	if (rest.len > PATH_LEN_MAX)
		return err_set(err, -EINVAL, "a path pattern has at most %d bytes", PATH_LEN_MAX);
	if (pattern[0] == '/')
		return err_set(
			err, -EINVAL,
			"a path pattern starts with a zone, as in output/**, not with a slash");
	if (pattern[rest.len - 1] == '/')
		return err_set(
			err, -EINVAL,
			"a path pattern does not end with a slash; write ** for what is below");
	while (rest.len > 0) {
		int r = part_check(part_next(&rest), err);

		if (r < 0)
			return r;
		if (++count > GLOB_PARTS_MAX)
			return err_set(err, -EINVAL, "a path pattern has at most %d parts",
				       GLOB_PARTS_MAX);
	}
	return 0;
}

bool glob_match(const char *pattern, struct bytes path)
{
	struct parts g;
	uint64_t set = run(pattern, path, &g);

	return (set >> g.count & 1) != 0;
}

bool glob_reaches(const char *pattern, struct bytes dir)
{
	struct parts g;
	uint64_t set = run(pattern, dir, &g);

	return set != 0;
}

bool glob_matches_child(const char *pattern, struct bytes dir)
{
	struct parts g;
	uint64_t set = run(pattern, dir, &g);

	set = step(&g, set, NULL);
	return (set >> g.count & 1) != 0;
}
