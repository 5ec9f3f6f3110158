/* SPDX-License-Identifier: MIT */
/*
 * api/route.h - method and path to a handler, with who may call it, which query it knows and how long its body may be.
 * docs/openapi.yaml describes the same table; tests/e2e/api_openapi.py compares them.
 * Not here: what the handlers do.
 */
#ifndef GARTH_API_ROUTE_H
#define GARTH_API_ROUTE_H

#include "api/auth.h"

struct route {
	const char *method; /* "GET" serves HEAD too */
	const char *
		pattern; /* "/v1/workspaces/{w}/files/{*}": {name} one part, {*} the rest, which is not empty */
	enum access access;
	const char *query; /* names it knows, blank-separated */
	size_t body_max;   /* bytes; 0: none; a route with `head` looks for itself */
	void (*head)(
		struct
		req *r); /* before the body is read; ends with req_head_done or an answer; may be NULL */
	void (*run)(struct req *r); /* the body is there */
};

/* Does the path fit the pattern? Copies of its parameters stand in block (room: strlen(path) + 1). Pure. */
bool route_match(const char *pattern, const char *path, char *block,
		 const char *param[REQ_PARAMS_MAX], const char **ret_rest);

/*
 * Find r->route and its parameters for a method ("HEAD" counts as "GET"). 0, or it has been answered: 404, 405 with Allow, 400 for a
 * parameter of the query that the route does not know.
 */
must_check int route_find(struct req *r, const char *method);

const struct route *route_at(unsigned i); /* NULL past the last */

#endif
