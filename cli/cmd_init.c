/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_init.c - garth init, garth rm, garth agent.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/listing.h"
#include "cli/local.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "core/path.h"
#include "policy/policy.h"

static int check_names(const struct opt_usage *u, const char *ws, const struct opt_list *agents)
{
	struct err err = { 0 };

	if (ident_check(ws, "workspace", &err) < 0)
		return opts_wrong(u, "'%s': %s", ws, err.msg);
	for (unsigned i = 0; agents && i < agents->n; i++)
		if (ident_check(agents->v[i], "agent", &err) < 0)
			return opts_wrong(u, "--agent: '%s': %s", agents->v[i], err.msg);
	return EXIT_OK;
}

static json_t *init_body(const char *ws, const struct opt_list *agents, const struct buf *policy)
{
	json_t *body = json_pack("{s:s}", "name", ws), *names = json_array();

	for (unsigned i = 0; i < agents->n; i++)
		(void)json_array_append_new(names, json_string(agents->v[i]));
	if (agents->n)
		(void)json_object_set(body, "agents", names);
	json_decref(names);
	if (policy->len)
		(void)json_object_set_new(body, "policy",
					  json_stringn(buf_str(policy), policy->len));
	return body;
}

int cmd_init(int argc, char **argv)
{
	const char *policy_file = NULL;
	struct opt_list agents = { .n = 0 };
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_TEXT, 0, "policy", "FILE", "its policy (YAML); without it the default",
		  &policy_file, false },
		{ OPT_LIST, 'a', "agent", "A", "an agent to make; may come several times", &agents,
		  false },
		{ OPT_FLAG, 0, "json", NULL, "print the answer as JSON", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = { "init",
				     "W [--policy FILE] [--agent A]...",
				     "Make the workspace W and its agents.",
				     NULL,
				     opts,
				     1,
				     1,
				     false };
	autojson j = NULL;
	autobuf policy;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	buf_init(&policy, POLICY_TEXT_MAX);
	if (r != OPTS_DONE)
		return r;
	r = check_names(&u, args[0], &agents);
	if (r == EXIT_OK && policy_file)
		r = local_read(policy_file, &policy);
	if (r == EXIT_OK)
		r = client_once("POST", "/v1/workspaces", init_body(args[0], &agents, &policy), &j);
	if (r != EXIT_OK)
		return r;
	if (as_json)
		return print_done(print_json(j));
	(void)printf("workspace %s\n", args[0]);
	for (unsigned i = 0; i < agents.n; i++)
		(void)printf("agent %s\n", agents.v[i]);
	return print_done(EXIT_OK);
}

/* On a terminal: ask. Else only --yes will do. */
static int sure(const struct opt_usage *u, const char *ws)
{
	char line[8] = "";

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return opts_wrong(u,
				  "this deletes '%s' with all its files and its record: say --yes",
				  ws);
	(void)fprintf(stderr, "Delete workspace %s with all its files and its record? [y/N] ", ws);
	if (!fgets(line, sizeof line, stdin) || (line[0] != 'y' && line[0] != 'Y')) {
		(void)fprintf(stderr, "garth: not deleted\n");
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

int cmd_rm(int argc, char **argv)
{
	bool yes = false;
	const struct opt opts[] = { { OPT_FLAG, 'y', "yes", NULL, "do not ask", &yes, false },
				    { 0 } };
	const struct opt_usage u = {
		"rm", "W",  "Delete the workspace W: its files, its record, its agents.",
		NULL, opts, 1,
		1,    false
	};
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	r = check_names(&u, args[0], NULL);
	if (r == EXIT_OK && !yes)
		r = sure(&u, args[0]);
	if (r != EXIT_OK)
		return r;
	addr_begin(&a, args[0], "");
	return client_once("DELETE", addr_str(&a), NULL, NULL);
}

static int agent_add(int argc, char **argv)
{
	const char *ws = NULL;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &ws, true }, { 0 }
	};
	const struct opt_usage u = {
		"agent add", "-w W A", "Add the agent A to a workspace. There may be 32.",
		NULL,        opts,     1,
		1,           false
	};
	struct err err = { 0 };
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	if (ident_check(args[0], "agent", &err) < 0)
		return opts_wrong(&u, "'%s': %s", args[0], err.msg);
	addr_begin(&a, ws, "/agents");
	return client_once("POST", addr_str(&a), json_pack("{s:s}", "name", args[0]), NULL);
}

static void agent_line(struct table *t, const json_t *item)
{
	const char *name =
		json_is_string(item) ? json_string_value(item) : field_text(item, "name");

	(void)t;
	print_safe(stdout, name ? name : "-");
	(void)fputc('\n', stdout);
}

static int agent_ls(int argc, char **argv)
{
	static const struct listing list = { NULL, agent_line };
	const char *ws = NULL;
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &ws, true },
		{ OPT_FLAG, 0, "json", NULL, "print JSON", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = { "agent ls", "-w W", "List the agents of a workspace.",
				     NULL,       opts,   0,
				     0,          false };
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	addr_begin(&a, ws, "/agents");
	return listing_run(&list, &a, 0, as_json);
}

int cmd_agent(int argc, char **argv)
{
	static const struct sub subs[] = {
		{ "add", agent_add, "add an agent" },
		{ "ls", agent_ls, "list the agents" },
	};

	return sub_run("agent", subs, sizeof subs / sizeof subs[0], argc, argv);
}
