/* SPDX-License-Identifier: MIT */
/*
 * cli/client.c - asking the server, by libcurl.
 * Not here: what an answer means to a person (cli/answer.c), where the key comes from (cli/key_file.c).
 */
#include "cli/client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "cli/key_file.h"
#include "cli/progress.h"

#define URL_DEFAULT "http://127.0.0.1:7420"
#define CONNECT_TIMEOUT_MS 10000L
#define NO_PROXY "*" /* a local server: a proxy of the environment would only get its key */

struct client {
	CURL *curl;
	char *url; /* without a slash at its end */
	char *key_header;
};

/* One request on its way. */
struct transfer {
	struct client *c;
	const struct request *q;
	struct answer *a;
	struct progress progress;
	int code; /* what sink or read gave, or -EFBIG, -ENOMEM */
};

const char *client_url(const struct client *c)
{
	return c->url;
}

void client_close(struct client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->curl);
	free(c->url);
	free(c->key_header);
	free(c);
}

static int take_url(struct client *c, struct err *err)
{
	const char *url = getenv("GARTH_URL");
	size_t len;

	if (!url || !*url)
		url = URL_DEFAULT;
	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return err_set(err, -EINVAL,
			       "GARTH_URL: '%s' does not begin with http:// or https://", url);
	c->url = strdup(url);
	if (!c->url)
		return err_set(err, -ENOMEM, "no memory");
	for (len = strlen(c->url); len && c->url[len - 1] == '/'; len--)
		c->url[len - 1] = '\0';
	return 0;
}

static int take_key(struct client *c, struct err *err)
{
	char *key = NULL;
	int r = key_find(&key, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* the server then says 401, with what to do */
	if (asprintf(&c->key_header, "Authorization: Bearer %s", key) < 0)
		c->key_header = NULL;
	free(key);
	return c->key_header ? 0 : err_set(err, -ENOMEM, "no memory");
}

int client_open(struct client **ret, struct err *err)
{
	struct client *c = calloc(1, sizeof *c);
	int r;

	if (!c)
		return err_set(err, -ENOMEM, "no memory");
	r = take_url(c, err);
	if (r == 0)
		r = take_key(c, err);
	if (r == 0) {
		c->curl = curl_easy_init();
		r = c->curl ? 0 : err_set(err, -ENOMEM, "no memory for HTTP");
	}
	if (r < 0) {
		client_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

void answer_fini(struct answer *a)
{
	if (a)
		buf_fini(&a->body);
}

static void copy_field(char to[CLIENT_FIELD_SIZE], const char *p, size_t len)
{
	while (len && (*p == ' ' || *p == '\t')) {
		p++;
		len--;
	}
	while (len && (p[len - 1] == '\r' || p[len - 1] == '\n' || p[len - 1] == ' '))
		len--;
	if (len >= CLIENT_FIELD_SIZE)
		len = CLIENT_FIELD_SIZE - 1;
	memcpy(to, p, len);
	to[len] = '\0';
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
	struct answer *a = ((struct transfer *)ctx)->a;
	size_t len = size * n;
	const char *colon = memchr(p, ':', len);
	char length[CLIENT_FIELD_SIZE], disposition[CLIENT_FIELD_SIZE];
	const struct {
		const char *name;
		char *to;
	} fields[] = { { "Content-Type", a->type },  { "ETag", a->etag },
		       { "Repr-Digest", a->digest }, { "X-Garth-Version", a->version },
		       { "Content-Length", length }, { "Content-Disposition", disposition } };

	if (len > 5 && strncmp(p, "HTTP/", 5) == 0) { /* a new answer: after 100 Continue */
		a->type[0] = a->etag[0] = a->digest[0] = a->version[0] = '\0';
		a->attachment = false;
		a->content_len = UINT64_MAX;
	}
	for (size_t i = 0; colon && i < sizeof fields / sizeof fields[0]; i++) {
		size_t name_len = strlen(fields[i].name);

		if ((size_t)(colon - p) != name_len ||
		    strncasecmp(p, fields[i].name, name_len) != 0)
			continue;
		copy_field(fields[i].to, colon + 1, len - name_len - 1);
		if (fields[i].to == length)
			a->content_len = strtoull(length, NULL, 10);
		if (fields[i].to == disposition)
			a->attachment = true;
	}
	return len;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	struct bytes data = bytes_of(p, size * n);

	(void)curl_easy_getinfo(t->c->curl, CURLINFO_RESPONSE_CODE, &t->a->status);
	if (t->q->sink && t->a->status >= 200 && t->a->status < 300) {
		t->code = t->q->sink(t->q->ctx, data);
		progress_add(&t->progress, data.len, t->a->content_len);
	} else {
		t->code = buf_add(&t->a->body, data.p, data.len);
	}
	return t->code < 0 ? 0 : data.len; /* 0: curl stops with a write error */
}

static size_t on_read(char *to, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	ssize_t got = t->q->read(t->q->ctx, to, size * n);

	if (got < 0) {
		t->code = (int)got;
		return CURL_READFUNC_ABORT;
	}
	progress_add(&t->progress, (size_t)got,
		     t->q->read_len < 0 ? UINT64_MAX : (uint64_t)t->q->read_len);
	return (size_t)got;
}

static struct curl_slist *header_list(const struct client *c, const struct request *q,
				      bool has_body)
{
	struct curl_slist *l = NULL;
	char type[CLIENT_FIELD_SIZE];

	(void)snprintf(type, sizeof type, "Content-Type: %s",
		       q->type ? q->type : "application/json");
	if (c->key_header)
		l = curl_slist_append(l, c->key_header);
	if (has_body)
		l = curl_slist_append(l, type);
	for (unsigned i = 0; i < CLIENT_HEADERS_MAX && q->headers[i]; i++)
		l = curl_slist_append(l, q->headers[i]);
	return l;
}

static void set_body(CURL *curl, struct transfer *t)
{
	const struct request *q = t->q;

	if (q->read) {
		(void)curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		(void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_read);
		(void)curl_easy_setopt(curl, CURLOPT_READDATA, t);
		(void)curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)q->read_len);
	} else if (q->body.p || strcmp(q->method, "POST") == 0) {
		(void)curl_easy_setopt(curl, CURLOPT_POST, 1L);
		(void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.len);
		(void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, q->body.len ? q->body.p : "");
	}
	if (strcmp(q->method, "HEAD") == 0)
		(void)curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	else
		(void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, q->method);
}

static void set_all(CURL *curl, struct transfer *t, const char *url,
		    const struct curl_slist *headers, char *why)
{
	curl_easy_reset(curl);
	(void)curl_easy_setopt(curl, CURLOPT_URL, url);
	(void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(curl, CURLOPT_NOPROXY, NO_PROXY);
	(void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L); /* the server judges "..", not we */
	(void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	(void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	(void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "garth/" GARTH_VERSION);
	(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, t);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
	set_body(curl, t);
}

/* libcurl's verdict as ours. */
static int verdict(const struct transfer *t, CURLcode rc, const char *why, struct err *err)
{
	if (t->code < 0)
		return err_errno(err, t->code, "%s %s", t->q->method, t->q->path);
	if (rc == CURLE_OK)
		return 0;
	if (t->a->status >= 200) { /* 100 Continue is no answer */
		t->a->cut = true;
		return 0;
	}
	if (rc == CURLE_COULDNT_CONNECT || rc == CURLE_COULDNT_RESOLVE_HOST ||
	    rc == CURLE_OPERATION_TIMEDOUT)
		return err_set(err, -ECONNREFUSED, "no server at %s (%s); is 'garth up' running?",
			       t->c->url, *why ? why : curl_easy_strerror(rc));
	if (rc == CURLE_URL_MALFORMAT)
		return err_set(err, -EINVAL, "GARTH_URL: '%s' is no address", t->c->url);
	return err_set(err, -EPIPE, "the connection to %s broke: %s", t->c->url,
		       *why ? why : curl_easy_strerror(rc));
}

int client_ask(struct client *c, const struct request *q, struct answer *a, struct err *err)
{
	struct transfer t = { .c = c, .q = q, .a = a };
	char why[CURL_ERROR_SIZE] = "";
	struct curl_slist *headers;
	char *url = NULL;
	CURLcode rc;
	int r;

	*a = (struct answer){ .content_len = UINT64_MAX, .keyed = c->key_header != NULL };
	buf_init(&a->body, CLIENT_BODY_MAX);
	if (!q->path)
		return err_set(err, -ENAMETOOLONG, "an argument is too long");
	if (asprintf(&url, "%s%s", c->url, q->path) < 0)
		return err_set(err, -ENOMEM, "no memory");
	headers = header_list(c, q, q->read || q->body.p);
	progress_begin(&t.progress, q->progress ? q->progress_name : NULL);
	set_all(c->curl, &t, url, headers, why);
	rc = curl_easy_perform(c->curl);
	progress_end(&t.progress);
	(void)curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &a->status);
	r = verdict(&t, rc, why, err);
	curl_easy_reset(c->curl); /* nothing of ours stays in it */
	curl_slist_free_all(headers);
	free(url);
	return r;
}
