/* SPDX-License-Identifier: MIT */
/*
 * cli/ls_workspaces.c - a row for each workspace.
 */
#include "cli/ls_workspaces.h"

#include "cli/addr.h"
#include "cli/exit.h"
#include "cli/find.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "core/buf.h"

#define AGENTS_TEXT_MAX 8192u

/* "a, b"; NULL where that is not known, "" where there are none. */
static const char *agents_text(const json_t *item, struct buf *b)
{
	const json_t *agents = json_object_get(item, "agents"), *a;
	size_t i;

	if (!json_is_array(agents))
		return NULL;
	json_array_foreach(agents, i, a) if (json_is_string(a) &&
					     buf_addf(b, "%s%s", b->len ? ", " : "",
						      json_string_value(a)) < 0) return NULL;
	return buf_str(b);
}

static void show(struct table *t, const json_t *item)
{
	char steps[NUMBER_TEXT_SIZE], time[NUMBER_TEXT_SIZE];
	const char *cells[4] = { field_text(item, "name"), NULL, field_number(item, "steps", steps),
				 field_time(item, "created_at", time) };
	autobuf agents = { 0 };

	buf_init(&agents, AGENTS_TEXT_MAX);
	cells[1] = agents_text(item, &agents);
	table_row(t, COLOR_NONE, cells);
}

/* What the server says of it; where the key may not know, or it is just gone, its name alone. */
static int describe(struct client *c, const char *name, json_t *items)
{
	struct addr a;
	json_t *item = NULL;
	int r;

	addr_begin(&a, name, "");
	r = find_answer(c, &a, false, &item);
	if (r != EXIT_OK)
		return r;
	if (item == NULL)
		item = json_pack("{s:s}", "name", name);
	return json_array_append_new(items, item) == 0 ? EXIT_OK : EXIT_FAILED;
}

int ls_workspaces(struct client *c, bool as_json)
{
	static const char *const heads[] = { "NAME", "AGENTS", ">STEPS", "CREATED", NULL };
	autojson names = NULL;
	autojson items = json_array();
	struct table t;
	const json_t *v;
	size_t i;
	int r = find_workspaces(c, NULL, &names);

	for (i = 0; r == EXIT_OK && i < json_array_size(names); i++)
		r = describe(c, json_string_value(json_array_get(names, i)), items);
	if (r != EXIT_OK)
		return r;
	if (as_json)
		return print_items(items);
	table_init(&t, heads);
	json_array_foreach(items, i, v) show(&t, v);
	r = table_print(&t, stdout);
	table_fini(&t);
	return r;
}
