/* SPDX-License-Identifier: MIT */
/*
 * api/jsonx.h - JSON bodies, strictly: known fields of the right type, nothing else; and JSON from the record's bytes. Pure.
 * Not here: the bodies' meaning.
 */
#ifndef GARTH_API_JSONX_H
#define GARTH_API_JSONX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"
#include "core/hash.h"

enum jx_type { JX_STRING = 0, JX_INTEGER, JX_NUMBER, JX_BOOL, JX_OBJECT, JX_ARRAY };

struct jx_field {
	const char *name;
	enum jx_type type;
	bool required;
	const json_t **ret; /* borrowed; NULL where it is absent or null */
};

/* 0, or -EINVAL with a message that names the field. @where "" or "files[3]: ". */
must_check int jx_fields(const json_t *obj, const char *where, const struct jx_field *fields,
			 size_t count, struct err *err);

/* A string without a NUL, as C text; -EINVAL names the field. NULL stays NULL. */
must_check int jx_text(const json_t *s, const char *name, size_t max, const char **ret,
		       struct err *err);
struct bytes jx_bytes(const json_t *s); /* NULL: empty */

/* A number within min..max as milli-units (2.5 -> 2500). NULL leaves ret alone. */
must_check int jx_milli(const json_t *n, const char *name, int64_t min, int64_t max, int64_t *ret,
			struct err *err);
must_check int jx_uint(const json_t *n, const char *name, uint64_t min, uint64_t max, uint64_t *ret,
		       struct err *err);

/* ---- making ---- */
json_t *jx_str(struct bytes b);                 /* a string; bytes that are not UTF-8 become null */
json_t *jx_time(int64_t wall_ns);               /* RFC 3339; 0: null */
json_t *jx_id(const char *prefix, uint64_t id); /* 0: null */
json_t *jx_sha(const struct sha256 *h);         /* NULL: null */
/* name: text, or name: null and name_base64: ... where the bytes are not UTF-8. */
void jx_set_bytes(json_t *obj, const char *name, struct bytes b);

#endif
