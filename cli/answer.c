/* SPDX-License-Identifier: MIT */
/*
 * cli/answer.c - what an answer means: problems as sentences and exit codes, bodies as JSON, lists page by page (cli/client.h).
 * Not here: the transfer (cli/client.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/exit.h"
#include "cli/print.h"
#include "cli/addr.h"

#define PAGE 1000 /* items asked for at once */

int client_exit_of(long status)
{
	switch (status) {
	case 400:
	case 405:
	case 416: return EXIT_USAGE;
	case 401:
	case 403: return EXIT_REFUSED;
	case 404:
	case 410: return EXIT_NOT_FOUND;
	case 409:
	case 412: return EXIT_CONFLICT;
	case 429:
	case 503: return EXIT_BUSY;
	default: return EXIT_FAILED;
	}
}

int client_broken(int code, const struct err *err)
{
	(void)fprintf(stderr, "garth: ");
	print_safe(stderr, err->msg);
	(void)fputc('\n', stderr);
	if (code == -ECONNREFUSED || code == -EPIPE)
		return EXIT_NO_SERVER;
	return code == -EINVAL || code == -ENAMETOOLONG ? EXIT_USAGE : EXIT_FAILED;
}

static void say(const char *before, const json_t *j, const char *name)
{
	const char *text = json_string_value(json_object_get(j, name));

	if (!text || !*text)
		return;
	(void)fputs(before, stderr);
	print_safe(stderr, text);
	(void)fputc('\n', stderr);
}

/* The server's hints speak of HTTP; what the detail begins with has a command's words here. NULL: the server's own. */
static const char *command_hint(const char *detail)
{
	static const struct {
		const char *begin, *hint;
	} rows[] = {
		{ "no such key", "the key is GARTH_API_KEY, else what admin.key holds; "
				 "'garth key create' makes one" },
		{ "no workspace '", "-w and GARTH_WORKSPACE name one; 'garth init W' makes one" },
		{ "no agent '", "'garth agent ls' lists them, 'garth agent add' adds one" },
		{ "field 'timeout_s' must", "--timeout goes up to the policy's timeout_max; "
					    "'garth policy set' raises it" },
		{ "field 'memory_bytes' must", "--memory goes up to the policy's memory_max; "
					       "'garth policy set' raises it" },
		{ "field 'pids' must", "--pids goes up to the policy's pids" },
		{ "field 'cpus' must", "--cpus goes up to the policy's cpus" },
		{ "no live sandbox '", "'garth sandbox ls' lists those that stand" },
	};

	for (size_t i = 0; detail && i < sizeof rows / sizeof rows[0]; i++)
		if (strncmp(detail, rows[i].begin, strlen(rows[i].begin)) == 0)
			return rows[i].hint;
	return NULL;
}

int client_failed(const struct answer *a)
{
	json_t *j = json_loadb(buf_str(&a->body), a->body.len, JSON_ALLOW_NUL, NULL);
	const char *code = json_string_value(json_object_get(j, "code"));
	const char *detail = json_string_value(json_object_get(j, "detail"));
	const char *hint = command_hint(detail);

	if (!hint && code && strcmp(code, "refused") == 0)
		hint = "'garth policy explain' says which rule decides";
	if (detail)
		say("garth: ", j, "detail");
	else
		(void)fprintf(stderr,
			      "garth: the server answered %ld, in no words of garth's: is "
			      "GARTH_URL right?\n",
			      a->status);
	if (a->status == 401 && !a->keyed)
		(void)fprintf(stderr, "garth: set GARTH_API_KEY, or be who may read admin.key "
				      "(GARTH_DATA says in which folder)\n");
	else if (hint)
		(void)fprintf(stderr, "garth: %s\n", hint);
	else if (!code || (strcmp(code, "invalid") != 0 && strcmp(code, "ended") != 0))
		/* else the detail has said it all */
		say("garth: ", j, "hint");
	json_decref(j);
	return client_exit_of(a->status);
}

static int parse(const struct answer *a, json_t **ret)
{
	json_error_t e;

	*ret = json_loadb(buf_str(&a->body), a->body.len, JSON_ALLOW_NUL, &e);
	if (*ret)
		return EXIT_OK;
	(void)fprintf(stderr, "garth: the answer is no JSON (%s); is GARTH_URL a garth server?\n",
		      e.text);
	return EXIT_FAILED;
}

int client_whole(struct client *c, const struct request *q, struct answer *a, const char *what)
{
	struct err err = { 0 };
	int r = client_ask(c, q, a, &err);

	if (r < 0)
		return client_broken(r, &err);
	if (a->status < 200 || a->status >= 300)
		return client_failed(a);
	if (!a->cut)
		return EXIT_OK;
	(void)fprintf(stderr, "garth: the connection broke before the %s\n", what);
	return EXIT_NO_SERVER;
}

int client_call(struct client *c, const char *method, const char *path, json_t *body, json_t **ret)
{
	struct request q = { .method = method,
			     .path = path,
			     .headers = { "Accept: application/json" } };
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	autoanswer a = { 0 };
	json_t *j = NULL;
	int code;

	if (body && !text) {
		json_decref(body);
		(void)fprintf(stderr, "garth: no memory, or an argument that is no UTF-8\n");
		return EXIT_FAILED;
	}
	json_decref(body);
	if (text)
		q.body = bytes_str(text);
	code = client_whole(c, &q, &a, "answer ended");
	free(text);
	if (code == EXIT_OK && ret && a.body.len)
		code = parse(&a, &j);
	if (code == EXIT_OK && ret)
		*ret = j;
	return code;
}

/* One page onto items; *next becomes the cursor of the one after it, NULL at the end. */
static int page(struct client *c, const struct addr *a, json_t *items, char **next)
{
	json_t *j = NULL;
	const json_t *cursor;
	int code = client_call(c, "GET", addr_str(a), NULL, &j);

	free(*next);
	*next = NULL;
	if (code != EXIT_OK)
		return code;
	if (!json_is_array(json_object_get(j, "items")) ||
	    json_array_extend(items, json_object_get(j, "items")) < 0) {
		(void)fprintf(stderr, "garth: the answer is no list\n");
		code = EXIT_FAILED;
	}
	cursor = json_object_get(j, "next");
	if (code == EXIT_OK && json_is_string(cursor) &&
	    !(*next = strdup(json_string_value(cursor))))
		code = EXIT_FAILED;
	json_decref(j);
	return code;
}

int client_list(struct client *c, const char *path, uint64_t limit, json_t **ret_items)
{
	json_t *items = json_array();
	char *cursor = NULL, count[24];
	struct addr a;
	int code;

	do {
		uint64_t left = limit ? limit - json_array_size(items) : PAGE;

		addr_begin(&a, NULL, path ? path : "");
		a.query = path && strchr(path, '?');
		a.cut = !path || a.cut;
		(void)snprintf(count, sizeof count, "%llu",
			       (unsigned long long)(left < PAGE ? left : PAGE));
		addr_arg(&a, "limit", count);
		addr_arg(&a, "cursor", cursor);
		code = page(c, &a, items, &cursor);
	} while (code == EXIT_OK && cursor && (limit == 0 || json_array_size(items) < limit));
	free(cursor);
	while (limit && json_array_size(items) > limit)
		(void)json_array_remove(items, json_array_size(items) - 1);
	if (code != EXIT_OK) {
		json_decref(items);
		return code;
	}
	*ret_items = items;
	return EXIT_OK;
}
