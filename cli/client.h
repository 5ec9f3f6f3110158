/* SPDX-License-Identifier: MIT */
/*
 * cli/client.h - asking the server: one HTTP/1.1 request at a time, by libcurl. Loopback goes through no proxy; redirects are not followed.
 * GARTH_URL says where (default http://127.0.0.1:7420), GARTH_API_KEY who; without it admin.key of GARTH_DATA or /var/lib/garth is
 * read, where it can be.
 * Not here: what the answers mean (cmd_*.c), how they look (cli/print.h).
 * Thread: one. Memory: a client lives for one command.
 */
#ifndef GARTH_CLI_CLIENT_H
#define GARTH_CLI_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/bytes.h"
#include "core/err.h"

#define CLIENT_BODY_MAX (512u * 1024 * 1024) /* an answer that is kept whole */
#define CLIENT_PATH_MAX 16384                /* of an address, encoded */
#define CLIENT_HEADERS_MAX 8
#define CLIENT_FIELD_SIZE 256

struct client;

struct request {
	const char *method;                      /* "GET", "HEAD", "POST", "PUT", "DELETE" */
	const char *path;                        /* encoded, with its query: "/v1/workspaces/w" */
	const char *headers[CLIENT_HEADERS_MAX]; /* "Accept: ..."; NULL ends them */
	const char *type;                        /* of the body; NULL: application/json */
	struct bytes body;                       /* where read is NULL; p NULL: none */
	/* a body from elsewhere: fill up to cap bytes; 0 the end, negative errno */
	ssize_t (*read)(void *ctx, char *to, size_t cap);
	int64_t read_len; /* -1: not known */
	/* bytes of a 2xx answer as they come, instead of keeping them; 0, or a negative errno that ends it */
	int (*sink)(void *ctx, struct bytes data);
	void *ctx;
	bool progress; /* show it, where stderr is a terminal */
	const char *progress_name;
};

struct answer {
	long status;          /* HTTP; 0: none came */
	struct buf body;      /* what no sink took */
	uint64_t content_len; /* of the header; UINT64_MAX: not said */
	char type[CLIENT_FIELD_SIZE];
	char etag[CLIENT_FIELD_SIZE];
	char digest[CLIENT_FIELD_SIZE];  /* Repr-Digest */
	char version[CLIENT_FIELD_SIZE]; /* X-Garth-Version */
	bool attachment; /* a Content-Disposition came: a file, not a folder's listing */
	bool cut;        /* the connection ended before the answer did */
	bool keyed;      /* a key was shown */
};

/* 0, or -EINVAL (GARTH_URL), -ENOMEM. */
must_check int client_open(struct client **ret, struct err *err);
void client_close(struct client *c); /* NULL is fine */
const char *client_url(const struct client *c);

void answer_fini(struct answer *a);
#define autoanswer __attribute__((cleanup(answer_fini))) struct answer

/*
 * Ask. 0 where an answer came, whatever its status (and wholly unless a->cut); else -ECONNREFUSED and the like (nobody there), -EPIPE it broke off before
 * the status, what sink or read gave. a is filled anew.
 */
must_check int client_ask(struct client *c, const struct request *q, struct answer *a,
			  struct err *err);

/* client_ask, where only a whole 2xx answer will do: EXIT_OK, or the exit code after a sentence. @what is said of one that breaks off: "log ended". */
must_check int client_whole(struct client *c, const struct request *q, struct answer *a,
			    const char *what);

/*
 * The whole of a usual call: ask, and where the answer is not 2xx or does not come, say on stderr why. Gives EXIT_OK with the parsed
 * body in *ret (NULL where it has none; ret may be NULL), else the exit code. @body is taken; NULL: none.
 */
must_check int client_call(struct client *c, const char *method, const char *path, json_t *body,
			   json_t **ret);

/*
 * All items of a list: pages until there are no more or `limit` (0: no limit) are there, as one array. @path with its query, which may be
 * empty. EXIT_OK or the exit code after a sentence.
 */
must_check int client_list(struct client *c, const char *path, uint64_t limit, json_t **ret_items);

/* "garth: sentence" for an answer that is a failure, and its exit code. */
int client_failed(const struct answer *a);
int client_broken(int code, const struct err *err); /* for client_ask's failures */
int client_exit_of(long status);

#endif
