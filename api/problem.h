/* SPDX-License-Identifier: MIT */
/*
 * api/problem.h - failures as RFC 9457 problems: an errno to a status and a code, and the JSON object. Pure.
 * The codes are API (docs/API.md).
 */
#ifndef GARTH_API_PROBLEM_H
#define GARTH_API_PROBLEM_H

#include <jansson.h>

#include "core/err.h"

struct problem {
	unsigned status;        /* HTTP */
	const char *code;       /* "not_found": for programs */
	const char *hint;       /* one sentence: what to do; NULL */
	unsigned retry_after_s; /* 0: not said */
};

/* What a negative errno means to a client; never fails. */
struct problem problem_of(int err);
struct problem
problem_named(const char *code); /* from the same table; "internal" where it is not there */

/* The object; NULL: no memory. @detail a sentence. */
json_t *problem_json(const struct problem *p, const char *detail, const char *request_id);

#endif
