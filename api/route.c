/* SPDX-License-Identifier: MIT */
/*
 * api/route.c - the table, and how a path is matched against it.
 */
#include "api/route.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/handlers.h"

#define WS "/v1/workspaces/{w}"
#define PAGE "limit cursor"
#define FILE_QUERY "version path_base64"
#define FILE_PAGE "version path_base64 limit cursor recursive"

static const struct route routes[] = {
	{ "GET", "/healthz", ACCESS_OPEN, "", 0, NULL, h_healthz },
	{ "GET", "/readyz", ACCESS_OPEN, "", 0, NULL, h_readyz },
	{ "GET", "/version", ACCESS_OPEN, "", 0, NULL, h_version },
	{ "GET", "/openapi.yaml", ACCESS_OPEN, "", 0, NULL, h_openapi },
	{ "GET", "/metrics", ACCESS_ADMIN, "", 0, NULL, h_metrics },
	{ "GET", "/v1/keys", ACCESS_ADMIN, PAGE, 0, NULL, h_key_list },
	{ "POST", "/v1/keys", ACCESS_ADMIN, "", REQ_BODY_SMALL, NULL, h_key_create },
	{ "DELETE", "/v1/keys/{id}", ACCESS_ADMIN, "", 0, NULL, h_key_delete },
	{ "GET", "/v1/workspaces", ACCESS_KEY, PAGE, 0, NULL, h_ws_list },
	{ "POST", "/v1/workspaces", ACCESS_ADMIN, "", REQ_BODY_SMALL, NULL, h_ws_create },
	{ "GET", WS, ACCESS_READ, "", 0, NULL, h_ws_get },
	{ "DELETE", WS, ACCESS_ADMIN, "", 0, NULL, h_ws_delete },
	{ "GET", WS "/agents", ACCESS_READ, PAGE, 0, NULL, h_agent_list },
	{ "POST", WS "/agents", ACCESS_ADMIN, "", REQ_BODY_SMALL, NULL, h_agent_create },
	{ "GET", WS "/policy", ACCESS_READ, "", 0, NULL, h_policy_get },
	{ "PUT", WS "/policy", ACCESS_ADMIN, "", REQ_BODY_SMALL, NULL, h_policy_put },
	{ "GET", WS "/policy/explain", ACCESS_READ, "agent op path path_base64", 0, NULL,
	  h_policy_explain },
	{ "GET", WS "/files", ACCESS_FILES, FILE_PAGE, 0, NULL, h_file_get },
	{ "GET", WS "/files/{*}", ACCESS_FILES, FILE_PAGE, 0, NULL, h_file_get },
	{ "PUT", WS "/files/{*}", ACCESS_WORK, "agent", 0, h_file_put_head, h_file_put },
	{ "GET", WS "/output", ACCESS_OUTPUT, FILE_PAGE, 0, NULL, h_output_get },
	{ "GET", WS "/output/{*}", ACCESS_OUTPUT, FILE_PAGE " expires made sig", 0, NULL,
	  h_output_get },
	{ "GET", WS "/artifacts", ACCESS_READ, "path path_base64 agent step newest below " PAGE, 0,
	  NULL, h_artifacts },
	{ "GET", WS "/violations", ACCESS_READ, "agent step since " PAGE, 0, NULL, h_violations },
	{ "GET", WS "/lineage", ACCESS_READ, "path path_base64 version direction", 0, NULL,
	  h_lineage },
	{ "GET", WS "/sandboxes", ACCESS_READ, PAGE, 0, NULL, h_sandbox_list },
	{ "POST", WS "/sandboxes", ACCESS_WORK, "", REQ_BODY_SMALL, NULL, h_sandbox_create },
	{ "GET", WS "/sandboxes/{id}", ACCESS_READ, "", 0, NULL, h_sandbox_get },
	{ "DELETE", WS "/sandboxes/{id}", ACCESS_WORK, "", 0, NULL, h_sandbox_delete },
	{ "GET", WS "/steps", ACCESS_READ, "agent job state " PAGE, 0, NULL, h_step_list },
	{ "POST", WS "/steps", ACCESS_WORK, "", REQ_BODY_STEP, NULL, h_step_create },
	{ "GET", WS "/steps/{id}", ACCESS_READ, "", 0, NULL, h_step_get },
	{ "DELETE", WS "/steps/{id}", ACCESS_WORK, "", 0, NULL, h_step_kill },
	{ "GET", WS "/steps/{id}/stdout", ACCESS_READ, "follow", 0, NULL, h_step_stdout },
	{ "GET", WS "/steps/{id}/stderr", ACCESS_READ, "follow", 0, NULL, h_step_stderr },
	{ "POST", WS "/links", ACCESS_WORK, "", REQ_BODY_SMALL, NULL, h_link_create },
	{ "GET", WS "/audit/verify", ACCESS_AUDIT, "", 0, NULL, h_audit_verify },
	{ "GET", WS "/audit/export", ACCESS_AUDIT, "", 0, NULL, h_audit_export },
};

#define ROUTES (sizeof routes / sizeof routes[0])

const struct route *route_at(unsigned i)
{
	return i < ROUTES ? &routes[i] : NULL;
}

bool route_match(const char *pattern, const char *path, char *block,
		 const char *param[REQ_PARAMS_MAX], const char **ret_rest)
{
	unsigned n = 0;

	*ret_rest = NULL;
	while (*pattern != '\0') {
		size_t len;

		if (strcmp(pattern, "{*}") == 0) {
			*ret_rest = path;
			return *path != '\0';
		}
		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		len = strcspn(path, "/");
		if (len == 0 || n == REQ_PARAMS_MAX)
			return false;
		memcpy(block, path, len);
		block[len] = '\0';
		param[n++] = block;
		block += len + 1;
		path += len;
		pattern += strcspn(pattern, "}") + 1;
	}
	return *path == '\0';
}

/* Is name one of the blank-separated names? */
static bool listed(const char *names, const char *name)
{
	size_t len = strlen(name);

	while (*names != '\0') {
		size_t n = strcspn(names, " ");

		if (n == len && memcmp(names, name, n) == 0)
			return true;
		names += n + (names[n] == ' ');
	}
	return false;
}

static int query_check(struct req *r)
{
	for (unsigned i = 0; i < r->uri.arg_count; i++)
		if (!listed(r->route->query, r->uri.args[i].name)) {
			req_fail(r, -EINVAL, "no parameter '%.64s' here; there are: %s",
				 r->uri.args[i].name,
				 r->route->query[0] != '\0' ? r->route->query : "none");
			return -EINVAL;
		}
	return 0;
}

static int not_found(struct req *r, const char *allow, const char *method)
{
	struct problem p = problem_named(allow[0] != '\0' ? "method_not_allowed" : "not_found");
	char detail[REQ_DETAIL_MAX];

	if (allow[0] != '\0')
		(void)snprintf(detail, sizeof detail, "%.16s is not for this address", method);
	else
		(void)snprintf(detail, sizeof detail, "there is nothing at %.256s", r->uri.path);
	req_problem(r, &p, detail, NULL);
	if (allow[0] != '\0')
		(void)response_header(r->response, "Allow", allow);
	return -ENOENT;
}

int route_find(struct req *r, const char *method)
{
	const char *want = strcmp(method, "HEAD") == 0 ? "GET" : method;
	char allow[64] = "";

	r->param_block = calloc(1, strlen(r->uri.path) + 2);
	if (r->param_block == NULL) {
		req_send(r, 503, NULL);
		return -ENOMEM;
	}
	for (size_t i = 0; i < ROUTES; i++) {
		size_t n = strlen(allow);

		if (!route_match(routes[i].pattern, r->uri.path, r->param_block, r->param,
				 &r->rest))
			continue;
		if (strcmp(routes[i].method, want) == 0) {
			r->route = &routes[i];
			return query_check(r);
		}
		(void)snprintf(allow + n, sizeof allow - n, "%s%s", n > 0 ? ", " : "",
			       strcmp(routes[i].method, "GET") == 0 ? "GET, HEAD"
								    : routes[i].method);
	}
	return not_found(r, allow, method);
}
