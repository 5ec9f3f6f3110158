/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_sandbox.c - garth sandbox create, ls, rm.
 */
#include <stdio.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/find.h"
#include "cli/listing.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "core/clock.h"

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
	autojson j = NULL;
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	addr_begin(&a, ws, "/sandboxes");
	r = client_once("POST", addr_str(&a),
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

static const char *const heads[] = { "SANDBOX", "WORKSPACE", "AGENT", "KIND",
				     "STATE",   "CREATED",   "ENDS",  NULL };

static void row(struct table *t, const json_t *s)
{
	char made[NUMBER_TEXT_SIZE], ends[NUMBER_TEXT_SIZE];
	const char *cells[] = { id_of(s),
				field_text(s, "workspace"),
				field_text(s, "agent"),
				field_text(s, "kind"),
				field_text(s, "state"),
				field_time(s, "created_at", made),
				field_time(s, "expires_at", ends) };

	table_row(t, COLOR_NONE, cells);
}

static int sandbox_ls(int argc, char **argv)
{
	static const struct listing list = { heads, row };
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
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	return r == OPTS_DONE ? listing_run_each(&list, ws, "/sandboxes", NULL, as_json) : r;
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
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	r = find_item(&c, &find_sandbox, ws, args[0], &a, NULL);
	return r == EXIT_OK ? client_call(c, "DELETE", addr_str(&a), NULL, NULL) : r;
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
