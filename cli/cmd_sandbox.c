/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_sandbox.c - garth sandbox create, ls, rm.
 */
#include <stdio.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/find.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "core/clock.h"
#include "core/id.h"

static const char *id_of(const json_t *j)
{
	const char *id = field_text(j, "sandbox");

	return id ? id : field_text(j, "id");
}

static int sandbox_create(int argc, char **argv)
{
	const char *ws = NULL, *agent = NULL;
	int64_t life = 5 * 60 * NS_PER_S;
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &ws, true },
		{ OPT_AGENT, 'a', "agent", "A", "whose sandbox it is", &agent, true },
		{ OPT_DURATION, 0, "lifetime", "TIME", "when it ends by itself (default 5m)", &life,
		  false },
		{ OPT_FLAG, 0, "json", NULL, "print the answer as JSON", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = { "sandbox create",
				     "-w W -a A [--lifetime 5m]",
				     "Make a live sandbox and print its id: its background "
				     "processes and /tmp last between steps.",
				     "'garth run --sandbox ID' runs a step in it.",
				     opts,
				     0,
				     0,
				     false };
	autoclient c = NULL;
	autojson j = NULL;
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	r = client_start(&c);
	if (r != EXIT_OK)
		return r;
	addr_begin(&a, ws, "/sandboxes");
	r = client_call(c, "POST", addr_str(&a),
			json_pack("{s:s, s:I}", "agent", agent, "lifetime_s",
				  (json_int_t)((life + NS_PER_S - 1) / NS_PER_S)),
			&j);
	if (r != EXIT_OK)
		return r;
	if (as_json)
		return print_done(print_json(j));
	(void)printf("%s\n", id_of(j) ? id_of(j) : "-");
	return print_done(EXIT_OK);
}

static int list_all(struct client *c, const char *ws, json_t *all)
{
	autojson names = NULL;
	struct addr a;
	int r = find_workspaces(c, ws, &names);

	for (size_t i = 0; r == EXIT_OK && i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		autojson items = NULL;

		addr_begin(&a, name, "/sandboxes");
		r = client_list(c, addr_str(&a), 0, &items);
		for (size_t k = 0; k < json_array_size(items); k++) {
			(void)json_object_set_new(json_array_get(items, k), "workspace",
						  json_string(name));
			(void)json_array_append(all, json_array_get(items, k));
		}
	}
	return r;
}

static int sandbox_ls(int argc, char **argv)
{
	static const char *const heads[] = { "SANDBOX", "WORKSPACE", "AGENT", "KIND",
					     "STATE",   "CREATED",   "ENDS",  NULL };
	const char *ws = NULL;
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "only this workspace", &ws, false },
		{ OPT_FLAG, 0, "json", NULL, "print JSON", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = {
		"sandbox ls", "[-w W]", "List the live sandboxes.", NULL, opts, 0, 0, false
	};
	autoclient c = NULL;
	autojson all = json_array();
	autotable t;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	table_init(&t, heads);
	if (r != OPTS_DONE)
		return r;
	r = client_start(&c);
	if (r == EXIT_OK)
		r = list_all(c, ws, all);
	if (r != EXIT_OK)
		return r;
	if (as_json)
		return print_done(print_items(all));
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *s = json_array_get(all, i);
		char made[NUMBER_TEXT_SIZE], ends[NUMBER_TEXT_SIZE];
		const char *cells[] = { id_of(s),
					field_text(s, "workspace"),
					field_text(s, "agent"),
					field_text(s, "kind"),
					field_text(s, "state"),
					field_time(s, "created_at", made),
					field_time(s, "expires_at", ends) };

		table_row(&t, COLOR_NONE, cells);
	}
	return print_done(table_print(&t, stdout));
}

static int sandbox_rm(int argc, char **argv)
{
	const char *ws = NULL;
	const struct opt opts[] = { { OPT_WORKSPACE, 'w', "workspace", "W",
				      "its workspace; without it, it is looked for", &ws, false },
				    { 0 } };
	const struct opt_usage u = {
		"sandbox rm", "ID", "End a live sandbox and all that runs in it.", NULL, opts, 1, 1,
		false
	};
	autoclient c = NULL;
	char where[IDENT_SIZE];
	struct addr a;
	uint64_t id;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	if (id_parse(ID_SANDBOX, args[0], &id) < 0)
		return find_none("sandbox", ID_SANDBOX, args[0]);
	r = client_start(&c);
	if (r == EXIT_OK)
		r = find_item(c, ws, "sandboxes", args[0], where, NULL);
	if (r != EXIT_OK)
		return r;
	addr_begin(&a, where, "/sandboxes");
	addr_part(&a, args[0]);
	return client_call(c, "DELETE", addr_str(&a), NULL, NULL);
}

int cmd_sandbox(int argc, char **argv)
{
	static const struct sub subs[] = {
		{ "create", sandbox_create, "make a live sandbox" },
		{ "ls", sandbox_ls, "list the live sandboxes" },
		{ "rm", sandbox_rm, "end a live sandbox" },
	};

	return sub_run("sandbox", subs, sizeof subs / sizeof subs[0], argc, argv);
}
