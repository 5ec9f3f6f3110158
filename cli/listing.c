/* SPDX-License-Identifier: MIT */
/*
 * cli/listing.c - lists, asked for and printed.
 */
#include "cli/listing.h"

#include "cli/exit.h"
#include "cli/find.h"
#include "cli/sub.h"

static int show(const struct listing *l, json_t *items, bool as_json)
{
	int r = EXIT_OK;
	struct table t = { 0 };

	if (as_json)
		return print_done(print_items(items));
	if (l->heads)
		table_init(&t, l->heads);
	for (size_t i = 0; i < json_array_size(items); i++)
		l->row(l->heads ? &t : NULL, json_array_get(items, i));
	if (l->heads) {
		r = table_print(&t, stdout);
		table_fini(&t);
	}
	return print_done(r);
}

int listing_run(const struct listing *l, const struct addr *a, uint64_t limit, bool as_json)
{
	autoclient c = NULL;
	autojson items = NULL;
	int r = client_start(&c);

	if (r == EXIT_OK)
		r = client_list(c, addr_str(a), limit, &items);
	return r == EXIT_OK ? show(l, items, as_json) : r;
}

static int gather(struct client *c, const char *ws, const char *tail, const char *state,
		  json_t *all)
{
	autojson items = NULL;
	struct addr a;
	int r;

	addr_begin(&a, ws, tail);
	addr_arg(&a, "state", state);
	r = client_list(c, addr_str(&a), 0, &items);
	if (r != EXIT_OK)
		return r;
	for (size_t i = 0; i < json_array_size(items); i++) {
		json_t *it = json_array_get(items, i);

		(void)json_object_set_new(it, "workspace", json_string(ws));
		(void)json_array_append(all, it);
	}
	return EXIT_OK;
}

int listing_run_each(const struct listing *l, const char *ws, const char *tail, const char *state,
		     bool as_json)
{
	autoclient c = NULL;
	autojson names = NULL;
	autojson all = json_array();
	int r = client_start(&c);

	if (r == EXIT_OK)
		r = find_workspaces(c, ws, &names);
	for (size_t i = 0; r == EXIT_OK && i < json_array_size(names); i++)
		r = gather(c, json_string_value(json_array_get(names, i)), tail, state, all);
	return r == EXIT_OK ? show(l, all, as_json) : r;
}
