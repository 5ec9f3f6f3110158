/* SPDX-License-Identifier: MIT */
/*
 * cli/fetch.c - one download, hashed on the way.
 */
#include "cli/fetch.h"

#include <stdio.h>
#include <string.h>

#include "cli/base64.h"
#include "cli/exit.h"
#include "cli/print.h"
#include "core/fd.h"

#define LISTING_MAX CLIENT_BODY_MAX

struct flow {
	struct fetch *f;
	const struct answer *answer;
	struct sha256_ctx *hash;
	int fd;
	bool begun;
};

static int from_digest(const char *digest, struct sha256 *ret)
{
	static const char key[] = "sha-256=:";
	const char *at = strstr(digest, key), *end;
	autobuf raw;

	buf_init(&raw, 64);
	if (!at)
		return -ENOENT;
	at += sizeof key - 1;
	end = strchr(at, ':');
	if (!end || b64_decode(bytes_of(at, (size_t)(end - at)), &raw) < 0 || raw.len != SHA256_LEN)
		return -ENOENT;
	memcpy(ret->b, raw.p, SHA256_LEN);
	return 0;
}

int fetch_said_sha(const char *digest, const char *etag, struct sha256 *ret)
{
	static const char key[] = "\"sha256:";
	char hex[SHA256_HEX_SIZE];

	if (from_digest(digest, ret) == 0)
		return 0;
	if (strncmp(etag, key, sizeof key - 1) != 0 ||
	    strlen(etag) != sizeof key - 1 + SHA256_HEX_LEN + 1)
		return -ENOENT;
	memcpy(hex, etag + sizeof key - 1, SHA256_HEX_LEN);
	hex[SHA256_HEX_LEN] = '\0';
	return sha256_parse(hex, ret) < 0 ? -ENOENT : 0;
}

/* A folder's listing is JSON without a name to save it by; a JSON file has one. */
static bool folder(const struct answer *a)
{
	return !a->attachment && strncmp(a->type, "application/json", 16) == 0;
}

static int take(void *ctx, struct bytes data)
{
	struct flow *w = ctx;

	if (!w->begun) {
		w->begun = true;
		w->f->is_folder = folder(w->answer);
	}
	if (w->f->is_folder)
		return buf_add(&w->f->listing, data.p, data.len);
	sha256_add(w->hash, data);
	w->f->len += data.len;
	return fd_write_full(w->fd, data.p, data.len);
}

static int differs(const char *name, const char *what)
{
	(void)fputs("garth: ", stderr);
	print_safe(stderr, name);
	(void)fprintf(stderr, ": %s; nothing is kept\n", what);
	return EXIT_FAILED;
}

static int check(const struct answer *a, const char *name, struct fetch *f)
{
	struct sha256 said;

	if (a->cut || (a->content_len != UINT64_MAX && a->content_len != f->len)) {
		(void)differs(name, "the connection broke before the file ended");
		return EXIT_NO_SERVER;
	}
	if (fetch_said_sha(a->digest, a->etag, &said) < 0)
		return EXIT_OK; /* task/ and logs/ have no recorded hash */
	if (memcmp(&said, &f->sha, sizeof said) != 0)
		return differs(name, "the bytes that came do not have the recorded sha256");
	f->has_sha = true;
	return EXIT_OK;
}

int fetch_file(struct client *c, const char *path, const char *name, int fd, struct fetch *ret)
{
	autoanswer a = { 0 };
	struct flow w = { .f = ret, .answer = &a, .hash = sha256_new(), .fd = fd };
	struct request q = { .method = "GET",
			     .path = path,
			     .sink = take,
			     .ctx = &w,
			     .progress = true,
			     .progress_name = name };
	struct err err = { 0 };
	int r;

	*ret = (struct fetch){ .len = 0 };
	buf_init(&ret->listing, LISTING_MAX);
	if (!w.hash)
		return client_broken(-ENOMEM, &(struct err){ -ENOMEM, "no memory" });
	sha256_begin(w.hash);
	r = client_ask(c, &q, &a, &err);
	sha256_end(w.hash, &ret->sha);
	sha256_free(w.hash);
	if (r < 0)
		return client_broken(r, &err);
	if (a.status != 200)
		return client_failed(&a);
	if (!ret->is_folder)
		return check(&a, name, ret);
	if (a.cut)
		return client_broken(
			-EPIPE,
			&(struct err){ -EPIPE, "the connection broke before the listing ended" });
	return EXIT_OK;
}

void fetch_fini(struct fetch *f)
{
	buf_fini(&f->listing);
}
