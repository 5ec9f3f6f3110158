/* SPDX-License-Identifier: MIT */
/*
 * api/problem.c - the one table from errno to HTTP.
 */
#include "api/problem.h"

#include <string.h>

struct row {
	int err; /* 0: by name only */
	struct problem p;
};

static const struct row rows[] = {
	{ EINVAL,
	  { 400, "invalid", "Correct what the detail names and send the request again.", 0 } },
	{ ENAMETOOLONG, { 400, "name_too_long", "A name has at most 255 bytes, a path 4095.", 0 } },
	{ ELOOP,
	  { 400, "symlink", "The path leads through a symbolic link; name the real place.", 0 } },
	{ 0, { 401, "unauthorized", "Send 'Authorization: Bearer KEY' or 'X-API-Key: KEY'.", 0 } },
	{ EACCES,
	  { 403, "refused", "The policy refuses this; ask 'policy/explain' which rule does.", 0 } },
	{ EROFS,
	  { 403, "refused",
	    "input/ is read-only for agents; only uploads without ?agent= write there.", 0 } },
	{ EPERM, { 403, "forbidden", "This key may not do that.", 0 } },
	{ ENOENT, { 404, "not_found", NULL, 0 } },
	{ 0, { 405, "method_not_allowed", NULL, 0 } },
	{ EEXIST, { 409, "exists", "Choose another name, or use the one that is there.", 0 } },
	{ EBUSY,
	  { 409, "busy",
	    "A program is writing it and there is no earlier version; ask again when it is done.",
	    0 } },
	{ EISDIR, { 409, "is_folder", NULL, 0 } },
	{ ENOTDIR, { 409, "not_folder", "A part of the path is a file.", 0 } },
	{ ENOTEMPTY, { 409, "not_empty", NULL, 0 } },
	{ 0, { 409, "ended", "The step has ended already.", 0 } },
	{ 0, { 409, "held", "An on_output hook holds this version back from downloads.", 0 } },
	{ 0, { 409, "agents_full", "A workspace has at most 32 agents.", 0 } },
	{ 0,
	  { 410, "pruned", "Retention has removed the bytes of this version; newer ones are there.",
	    0 } },
	{ ESTALE,
	  { 412, "precondition_failed",
	    "Read the file again, then send If-Match with its present ETag.", 0 } },
	{ EFBIG, { 413, "too_large", "Send less, or raise the limit in the policy.", 0 } },
	{ 0, { 416, "range_not_satisfiable", NULL, 0 } },
	{ 0,
	  { 422, "digest_mismatch",
	    "The bytes that arrived are not those the digest names; send them again.", 0 } },
	{ 0,
	  { 422, "hook_refused",
	    "A pre_step hook refused the step; changing the request may help, repeating it will "
	    "not.",
	    0 } },
	{ EAGAIN,
	  { 429, "queue_full", "All sandboxes are in use and the queue is full; try again later.",
	    2 } },
	{ 0, { 500, "internal", "Not your fault; the server's log says more.", 0 } },
	{ EBADMSG, { 502, "bad_peer", "A part of the server answered nonsense; try again.", 2 } },
	{ EPIPE, { 503, "unavailable", "A part of the server is being restarted; try again.", 2 } },
	{ ECONNRESET,
	  { 503, "unavailable", "A part of the server is being restarted; try again.", 2 } },
	{ ENOMEM, { 503, "no_memory", "The server is short of memory; try again.", 5 } },
	{ ETIMEDOUT,
	  { 504, "timeout", "A part of the server did not answer in time; try again.", 5 } },
	{ ENOSPC, { 507, "no_space", "Delete files, or raise the quota or the disk.", 0 } },
	{ EDQUOT,
	  { 507, "quota", "The quota is used up: delete files or raise it in the policy.", 0 } },
};

#define ROWS (sizeof rows / sizeof rows[0])

struct problem problem_named(const char *code)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].p.code, code) == 0)
			return rows[i].p;
	return (struct problem){ 500, "internal", NULL, 0 };
}

struct problem problem_of(int err)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].err != 0 && rows[i].err == -err)
			return rows[i].p;
	return problem_named("internal");
}

static const char *title(unsigned status)
{
	static const struct {
		unsigned status;
		const char *text;
	} titles[] = { { 400, "Bad request" },
		       { 401, "No valid key" },
		       { 403, "Refused" },
		       { 404, "Not found" },
		       { 405, "Method not allowed" },
		       { 409, "Conflict" },
		       { 410, "Gone" },
		       { 412, "Precondition failed" },
		       { 413, "Too large" },
		       { 416, "No such range" },
		       { 422, "Unprocessable" },
		       { 429, "Too many requests" },
		       { 500, "Internal error" },
		       { 502, "Bad peer" },
		       { 503, "Unavailable" },
		       { 504, "Timeout" },
		       { 507, "No space" } };

	for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
		if (titles[i].status == status)
			return titles[i].text;
	return "Error";
}

json_t *problem_json(const struct problem *p, const char *detail, const char *request_id)
{
	json_t *j = json_pack("{s:s, s:s, s:i, s:s, s:s, s:s?, s:s}", "type", "about:blank",
			      "title", title(p->status), "status", (int)p->status, "code", p->code,
			      "detail", detail, "hint", p->hint, "request_id", request_id);

	if (j != NULL && p->retry_after_s > 0)
		(void)json_object_set_new(j, "retry_after_s", json_integer(p->retry_after_s));
	return j;
}
