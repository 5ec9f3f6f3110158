/* SPDX-License-Identifier: MIT */
/*
 * api/uri.h - the target of a request, decoded once: a path whose parts are names, and a query. Pure.
 * Not here: which path means what (api/route.h).
 * Memory: owns one block; uri_fini frees it.
 */
#ifndef GARTH_API_URI_H
#define GARTH_API_URI_H

#include "core/bytes.h"
#include "core/err.h"

#define URI_MAX 16384u    /* bytes of the raw target */
#define URI_QUERY_MAX 16u /* parameters */

struct uri_arg {
	const char *name, *value; /* NUL-terminated; neither holds a NUL */
};

struct uri {
	char *block;
	const char *
		path; /* "/v1/workspaces/w": decoded; a part holds no slash, no NUL, and is no ".", ".." or empty; UTF-8 */
	bool slash;   /* one slash stood behind it, which path leaves out */
	struct uri_arg args[URI_QUERY_MAX];
	unsigned arg_count;
};

/* @raw as in the request line. 0, -EINVAL (message says what), -ENAMETOOLONG, -ENOMEM. */
must_check int uri_parse(const char *raw, struct uri *ret, struct err *err);
void uri_fini(struct uri *u); /* NULL and zeroed are fine */

const char *uri_arg(const struct uri *u, const char *name); /* NULL where it is not there */

/* Percent-encode everything but unreserved characters and '/'. out has room for 3 * path.len + 1. */
void uri_encode_path(struct bytes path, char *out);

#endif
