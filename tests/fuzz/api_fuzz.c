/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/api_fuzz.c - libFuzzer target: any bytes as what clients and sandboxes send: addresses, headers, keys, steps, reports.
 * The first byte chooses the parser. What is understood must hold its promises.
 * sources: api/uri.c api/utf8.c api/range.c api/digest.c api/base64.c api/jsonx.c api/spec.c api/spec_body.c api/hint.c api/reason.c api/keys.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/base64.h"
#include "api/digest.h"
#include "api/hint.h"
#include "api/keys.h"
#include "api/range.h"
#include "api/spec.h"
#include "api/uri.h"
#include "api/utf8.h"
#include "core/media.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(int x)
{
	if (!x)
		abort();
}

static void uri(const char *text)
{
	struct uri u;
	struct err err;

	if (uri_parse(text, &u, &err) < 0)
		return;
	require(u.path[0] == '/' && utf8_ok(bytes_str(u.path)));
	if (u.path[1] != '\0')
		require(path_check(bytes_str(u.path + 1), &err) == 0 || err.code == -ENAMETOOLONG);
	uri_fini(&u);
}

static void headers(const char *text)
{
	uint64_t from, n;
	struct sha256 sha;
	int64_t at;
	bool any;

	if (range_parse(text, 1000, &from, &n) == 0)
		require(n > 0 && from < 1000 && n <= 1000 - from);
	(void)etag_listed(text, "\"a\"", true);
	(void)etag_parse(text, 0, &sha, &any);
	(void)etag_parse(text, 3, &sha, &any);
	(void)digest_parse(text, &sha);
	(void)http_date_parse(text, &at);
	(void)time_parse(text, &at);
}

static void names(struct bytes b)
{
	char *out = malloc(64 + 4 * b.len);

	require(out != NULL);
	content_disposition(b, out);
	require(strpbrk(out, "\r\n") == NULL);
	free(out);
	(void)media_type(b);
}

static void coded(struct bytes b)
{
	char *back;
	autobuf out;

	buf_init(&out, 1 << 20);
	if (base64_decode(b, &out) == 0) {
		back = base64_encode(buf_view(&out));
		require(back != NULL && strlen(back) == b.len);
		free(back);
	}
}

static void spec(struct bytes b)
{
	json_t *root = json_loadb(b.p, b.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	struct spec_ids ids = { "w", "a", "s", "b" };
	struct spec *s = calloc(1, sizeof *s);
	struct policy *p = NULL;
	struct err err;
	autobuf body, a, e, l, o;
	unsigned n;

	require(s != NULL);
	buf_init(&body, 8 << 20);
	buf_init(&a, SPEC_COMMAND_MAX);
	buf_init(&e, SPEC_TEXT_MAX);
	buf_init(&l, 4096);
	buf_init(&o, 4096);
	if (json_is_object(root) && policy_parse(BYTES_LIT(""), &p, NULL) == 0) {
		if (spec_parse(root, s, &err) == 0) {
			if (spec_limits(s, p, "a", &err) == 0)
				require(s->lim.timeout_ns > 0 && s->lim.pids > 0);
			require(spec_spawn_body(s, &ids, &body, &n) == 0);
			require(spec_record_texts(s, &a, &e, &l, &o) == 0);
			spec_fini(s);
		}
	} else {
		json_decref(root);
	}
	policy_unref(p);
	free(s);
}

static void report(struct bytes b)
{
	json_t *j = hint_from_runner(b);

	if (j != NULL)
		require(json_object_size(j) == 4 &&
			json_string_length(json_object_get(j, "name")) <= HINT_NAME_MAX &&
			json_string_length(json_object_get(j, "traceback")) <= HINT_TRACEBACK_MAX);
	json_decref(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes b = bytes_of(data + 1, len > 0 ? len - 1 : 0);
	struct key key;
	char *text;

	if (len == 0)
		return 0;
	text = strndup(b.p, b.len);
	require(text != NULL);
	switch (data[0] % 7) {
	case 0: uri(text); break;
	case 1: headers(text); break;
	case 2: names(b); break;
	case 3: coded(b); break;
	case 4: spec(b); break;
	case 5: report(b); break;
	default:
		if (key_parse_line(b, &key) == 0)
			require(key.id[0] != '\0');
		break;
	}
	free(text);
	return 0;
}
