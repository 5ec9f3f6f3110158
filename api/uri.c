/* SPDX-License-Identifier: MIT */
/*
 * api/uri.c - percent decoding, once, and the rules for parts.
 */
#include "api/uri.h"

#include <stdlib.h>

#include "api/utf8.h"
#include "core/hash.h"

/* Decode len bytes to out, NUL-terminated. 0 or -EINVAL. */
static int decode(const char *p, size_t len, bool plus, char *out, size_t *ret_len, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = p[i];

		if (c == '%') {
			int hi = i + 2 < len ? hex_digit(p[i + 1]) : -1;
			int lo = i + 2 < len ? hex_digit(p[i + 2]) : -1;

			if (hi < 0 || lo < 0)
				return err_set(err, -EINVAL,
					       "a %% in the address that two hexadecimal digits do "
					       "not follow");
			c = (char)(hi * 16 + lo);
			i += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		if (c == '\0')
			return err_set(err, -EINVAL, "a NUL in the address");
		out[n++] = c;
	}
	out[n] = '\0';
	*ret_len = n;
	return 0;
}

static int part_check(struct bytes part, struct err *err)
{
	const char *p = part.p;

	if (part.len == 0)
		return err_set(err, -EINVAL, "an empty part in the path");
	if ((part.len == 1 && p[0] == '.') || (part.len == 2 && p[0] == '.' && p[1] == '.'))
		return err_set(err, -EINVAL, "a '.' or '..' part in the path");
	if (memchr(p, '/', part.len) != NULL)
		return err_set(err, -EINVAL, "an encoded slash in the path: names hold none");
	if (!utf8_ok(part))
		return err_set(err, -EINVAL, "the path is not UTF-8: ask with ?path_base64=");
	return 0;
}

/* "/a/b%20c" -> "/a/b c" at out. */
static int path_decode(const char *raw, size_t len, char *out, struct uri *u, struct err *err)
{
	size_t n = 0, i = 1;

	if (len == 0 || raw[0] != '/')
		return err_set(err, -EINVAL, "the address does not begin with a slash");
	while (len > 1 && i <= len) {
		const char *end = i < len ? memchr(raw + i, '/', len - i) : NULL;
		size_t stop = end != NULL ? (size_t)(end - raw) : len, part;
		int rc;

		if (i == len) { /* behind a last slash */
			u->slash = true;
			break;
		}
		out[n++] = '/';
		rc = decode(raw + i, stop - i, false, out + n, &part, err);
		if (rc == 0)
			rc = part_check(bytes_of(out + n, part), err);
		if (rc < 0)
			return rc;
		n += part;
		i = stop + 1;
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return 0;
}

static int query_decode(const char *q, char *out, struct uri *u, struct err *err)
{
	while (*q != '\0') {
		size_t len = strcspn(q, "&"), name_len = strcspn(q, "=&"), n;
		struct uri_arg *a = &u->args[u->arg_count];
		int rc;

		if (len > 0) {
			if (u->arg_count == URI_QUERY_MAX)
				return err_set(err, -EINVAL, "more than %u parameters in the query",
					       URI_QUERY_MAX);
			rc = decode(q, name_len, true, out, &n, err);
			if (rc < 0)
				return rc;
			a->name = out;
			out += n + 1;
			rc = decode(q + name_len + (name_len < len),
				    len - name_len - (name_len < len), true, out, &n, err);
			if (rc < 0)
				return rc;
			a->value = out;
			out += n + 1;
			if (uri_arg(u, a->name) != NULL)
				return err_set(err, -EINVAL, "the query names '%.64s' twice",
					       a->name);
			u->arg_count++;
		}
		q += len + (q[len] == '&');
	}
	return 0;
}

int uri_parse(const char *raw, struct uri *ret, struct err *err)
{
	size_t len = strlen(raw), path_len = strcspn(raw, "?");
	struct uri u = { 0 };
	int rc;

	if (len > URI_MAX)
		return err_set(err, -ENAMETOOLONG, "the address is longer than %u bytes", URI_MAX);
	u.block = calloc(1, 2 * len + 2 * URI_QUERY_MAX + 4);
	if (u.block == NULL)
		return err_set(err, -ENOMEM, "no memory");
	u.path = u.block;
	rc = path_decode(raw, path_len, u.block, &u, err);
	if (rc == 0 && raw[path_len] == '?')
		rc = query_decode(raw + path_len + 1, u.block + path_len + 3, &u, err);
	if (rc < 0) {
		free(u.block);
		return rc;
	}
	*ret = u;
	return 0;
}

void uri_fini(struct uri *u)
{
	if (u == NULL)
		return;
	free(u->block);
	*u = (struct uri){ 0 };
}

const char *uri_arg(const struct uri *u, const char *name)
{
	for (unsigned i = 0; i < u->arg_count; i++)
		if (strcmp(u->args[i].name, name) == 0)
			return u->args[i].value;
	return NULL;
}

void uri_encode_path(struct bytes path, char *out)
{
	static const char digits[] = "0123456789ABCDEF";
	const unsigned char *p = path.p;

	for (size_t i = 0; i < path.len; i++) {
		unsigned char c = p[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    (c != '\0' && strchr("-._~/", c) != NULL)) {
			*out++ = (char)c;
			continue;
		}
		*out++ = '%';
		*out++ = digits[c >> 4];
		*out++ = digits[c & 15];
	}
	*out = '\0';
}
