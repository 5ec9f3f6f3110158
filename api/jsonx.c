/* SPDX-License-Identifier: MIT */
/*
 * api/jsonx.c - a table of fields against an object, and small makers.
 */
#include "api/jsonx.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base64.h"
#include "api/utf8.h"
#include "core/clock.h"
#include "core/id.h"

static bool is_type(const json_t *v, enum jx_type t)
{
	switch (t) {
	case JX_STRING: return json_is_string(v);
	case JX_INTEGER: return json_is_integer(v);
	case JX_NUMBER: return json_is_number(v);
	case JX_BOOL: return json_is_boolean(v);
	case JX_OBJECT: return json_is_object(v);
	case JX_ARRAY: return json_is_array(v);
	}
	return false;
}

static const char *type_text(enum jx_type t)
{
	static const char *const names[] = { "a string",      "an integer", "a number",
					     "true or false", "an object",  "an array" };

	return names[t];
}

static int one(const char *where, const char *key, json_t *v, const struct jx_field *fields,
	       size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(fields[i].name, key) != 0)
			continue;
		if (json_is_null(v))
			return 0;
		if (!is_type(v, fields[i].type))
			return err_set(err, -EINVAL, "%sfield '%s' must be %s", where, key,
				       type_text(fields[i].type));
		*fields[i].ret = v;
		return 0;
	}
	return err_set(err, -EINVAL, "%sunknown field '%.64s'", where, key);
}

int jx_fields(const json_t *obj, const char *where, const struct jx_field *fields, size_t count,
	      struct err *err)
{
	json_t *unconst =
		(json_t *)(uintptr_t)obj; /* jansson iterates over non-const objects only */
	const char *key;
	json_t *v;

	for (size_t i = 0; i < count; i++)
		*fields[i].ret = NULL;
	if (!json_is_object(obj))
		return err_set(err, -EINVAL, "%smust be an object", where);
	json_object_foreach(unconst, key, v)
	{
		int rc = one(where, key, v, fields, count, err);

		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < count; i++)
		if (fields[i].required && *fields[i].ret == NULL)
			return err_set(err, -EINVAL, "%sfield '%s' is missing", where,
				       fields[i].name);
	return 0;
}

struct bytes jx_bytes(const json_t *s)
{
	return s != NULL ? bytes_of(json_string_value(s), json_string_length(s))
			 : bytes_of(NULL, 0);
}

int jx_text(const json_t *s, const char *name, size_t max, const char **ret, struct err *err)
{
	struct bytes b = jx_bytes(s);

	*ret = NULL;
	if (s == NULL)
		return 0;
	if (memchr(b.p, '\0', b.len) != NULL)
		return err_set(err, -EINVAL, "field '%s' holds a NUL", name);
	if (b.len > max)
		return err_set(err, -EINVAL, "field '%s' has %zu bytes; %zu are permitted", name,
			       b.len, max);
	*ret = b.p;
	return 0;
}

int jx_milli(const json_t *n, const char *name, int64_t min, int64_t max, int64_t *ret,
	     struct err *err)
{
	double v;

	if (n == NULL)
		return 0;
	v = json_number_value(n) * 1000.0;
	if (!(v >= (double)min && v <= (double)max))
		return err_set(err, -EINVAL, "field '%s' must be within %g and %g", name,
			       (double)min / 1000.0, (double)max / 1000.0);
	*ret = (int64_t)(v + 0.5);
	return 0;
}

int jx_uint(const json_t *n, const char *name, uint64_t min, uint64_t max, uint64_t *ret,
	    struct err *err)
{
	json_int_t v;

	if (n == NULL)
		return 0;
	v = json_integer_value(n);
	if (v < 0 || (uint64_t)v < min || (uint64_t)v > max)
		return err_set(err, -EINVAL, "field '%s' must be within %" PRIu64 " and %" PRIu64,
			       name, min, max);
	*ret = (uint64_t)v;
	return 0;
}

json_t *jx_str(struct bytes b)
{
	return utf8_ok(b) ? json_stringn(b.len > 0 ? b.p : "", b.len) : json_null();
}

json_t *jx_time(int64_t wall_ns)
{
	char text[RFC3339_SIZE];

	if (wall_ns == 0)
		return json_null();
	clock_rfc3339(wall_ns, text);
	return json_string(text);
}

json_t *jx_id(const char *prefix, uint64_t id)
{
	char text[ID_TEXT_SIZE];

	if (id == 0)
		return json_null();
	id_text(prefix, id, text);
	return json_string(text);
}

json_t *jx_sha(const struct sha256 *h)
{
	char hex[SHA256_HEX_SIZE];

	if (h == NULL)
		return json_null();
	sha256_hex(h, hex);
	return json_string(hex);
}

void jx_set_bytes(json_t *obj, const char *name, struct bytes b)
{
	char key[64], *text;

	if (utf8_ok(b)) {
		(void)json_object_set_new(obj, name, json_stringn(b.len > 0 ? b.p : "", b.len));
		return;
	}
	text = base64_encode(b);
	(void)snprintf(key, sizeof key, "%s_base64", name);
	(void)json_object_set_new(obj, name, json_null());
	if (text != NULL)
		(void)json_object_set_new(obj, key, json_string(text));
	free(text);
}
