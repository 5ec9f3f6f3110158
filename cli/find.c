/* SPDX-License-Identifier: MIT */
/*
 * cli/find.c - which workspace a step or a sandbox is in.
 */
#include "cli/find.h"

#include <stdio.h>

#include "cli/exit.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "core/id.h"
#include "core/path.h"

const struct find_kind find_step = { "step", ID_STEP, "steps" };
const struct find_kind find_sandbox = { "sandbox", ID_SANDBOX, "sandboxes" };

int find_workspaces(struct client *c, const char *ws, json_t **ret)
{
	json_t *items = NULL, *names = json_array();
	int r = EXIT_OK;

	if (ws)
		(void)json_array_append_new(names, json_string(ws));
	else
		r = client_list(c, "/v1/workspaces", 0, &items);
	for (size_t i = 0; i < json_array_size(items); i++) {
		const char *name = field_text(json_array_get(items, i), "name");

		if (name && ident_check(name, "workspace", NULL) == 0)
			(void)json_array_append_new(names, json_string(name));
	}
	json_decref(items);
	if (r != EXIT_OK) {
		json_decref(names);
		return r;
	}
	*ret = names;
	return EXIT_OK;
}

int find_answer(struct client *c, const struct addr *a, bool only, json_t **ret)
{
	struct request q = { .method = "GET",
			     .path = addr_str(a),
			     .headers = { "Accept: application/json" } };
	autoanswer answer = { 0 };
	struct err err = { 0 };
	int r = client_ask(c, &q, &answer, &err);

	if (r < 0)
		return client_broken(r, &err);
	if (!only && (answer.status == 404 || answer.status == 403))
		return EXIT_OK;
	if (answer.status != 200)
		return client_failed(&answer);
	*ret = json_loadb(buf_str(&answer.body), answer.body.len, JSON_ALLOW_NUL, NULL);
	return *ret ? EXIT_OK
		    : client_broken(-EBADMSG, &(struct err){ -EBADMSG, "the answer is no JSON" });
}

static int no_id(const struct find_kind *kind, const char *text)
{
	(void)fprintf(stderr, "garth: there is no %s ", kind->name);
	print_safe(stderr, text);
	(void)fprintf(stderr, ": an id is %s and 13 letters and digits\n", kind->prefix);
	return EXIT_NOT_FOUND;
}

static int nowhere(const char *id)
{
	(void)fputs("garth: there is no ", stderr);
	print_safe(stderr, id);
	(void)fputs(" in any workspace that this key can see\n", stderr);
	return EXIT_NOT_FOUND;
}

int find_item(struct client **ret, const struct find_kind *kind, const char *ws, const char *id,
	      struct addr *ret_addr, json_t **ret_item)
{
	autojson names = NULL;
	autojson found = NULL;
	uint64_t number;
	int r;

	if (id_parse(kind->prefix, id, &number) < 0)
		return no_id(kind, id);
	r = client_start(ret);
	if (r == EXIT_OK)
		r = find_workspaces(*ret, ws, &names);
	for (size_t i = 0; r == EXIT_OK && !found && i < json_array_size(names); i++) {
		addr_begin(ret_addr, json_string_value(json_array_get(names, i)), "");
		addr_part(ret_addr, kind->folder);
		addr_part(ret_addr, id);
		r = find_answer(*ret, ret_addr, ws != NULL, &found);
	}
	if (r != EXIT_OK)
		return r;
	if (!found)
		return nowhere(id);
	if (ret_item)
		*ret_item = json_incref(found);
	return EXIT_OK;
}
