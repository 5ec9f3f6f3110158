/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_key.c - garth key create, ls, rm; garth link.
 */
#include <stdio.h>
#include <string.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/listing.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "core/clock.h"
#include "core/path.h"

/* Which names a role has. */
static const struct role {
	const char *name;
	bool ws, agent;
} roles[] = { { "admin", false, false },
	      { "agent", true, true },
	      { "auditor", true, false },
	      { "reader", true, false } };

static const struct role *role_of(const char *name)
{
	for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
		if (strcmp(roles[i].name, name) == 0)
			return &roles[i];
	return NULL;
}

static int role_check(const struct opt_usage *u, const struct role *role, const char *name,
		      const char *ws, const char *agent)
{
	if (!role)
		return opts_wrong(u, "--role: '%s' is none of admin, agent, auditor, reader", name);
	if (role->ws && !ws)
		return opts_wrong(u, "-w/--workspace is needed for the role %s", name);
	if (role->agent && !agent)
		return opts_wrong(u, "-a/--agent is needed for the role %s", name);
	return EXIT_OK;
}

static json_t *key_body(const struct role *role, const char *ws, const char *agent,
			const char *label)
{
	json_t *body = json_pack("{s:s}", "role", role->name);

	if (role->ws)
		(void)json_object_set_new(body, "workspace", json_string(ws));
	if (role->agent)
		(void)json_object_set_new(body, "agent", json_string(agent));
	if (label)
		(void)json_object_set_new(body, "label", json_string(label));
	return body;
}

static int key_create(int argc, char **argv)
{
	const char *ws = NULL, *agent = NULL, *name = NULL, *label = NULL;
	const struct role *role;
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_TEXT, 0, "role", "ROLE", "admin, agent, auditor or reader", &name, true },
		{ OPT_WORKSPACE, 'w', "workspace", "W", "of agent, auditor, reader: the workspace",
		  &ws, false },
		{ OPT_AGENT, 'a', "agent", "A", "of agent: the agent", &agent, false },
		{ OPT_TEXT, 0, "label", "TEXT", "what it is for, shown by key ls", &label, false },
		{ OPT_FLAG, 0, "json", NULL, "print {id, key, role, ...}", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = {
		"key create",
		"--role ROLE [-w W] [-a A]",
		"Make an API key and print it, once: the server keeps only its hash.",
		NULL,
		opts,
		0,
		0,
		false
	};
	autojson j = NULL;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	role = role_of(name);
	r = role_check(&u, role, name, ws, agent);
	if (r == EXIT_OK && role)
		r = client_once("POST", "/v1/keys", key_body(role, ws, agent, label), &j);
	if (r != EXIT_OK)
		return r;
	if (as_json)
		return print_done(print_json(j));
	(void)printf("%s\n", field_text(j, "key") ? field_text(j, "key") : "");
	(void)fflush(stdout);
	(void)fprintf(stderr, "garth: key %s (%s) is shown this once\n",
		      field_text(j, "id") ? field_text(j, "id") : "-", name);
	return print_done(EXIT_OK);
}

static const char *const heads[] = { "ID", "ROLE", "WORKSPACE", "AGENT", "CREATED", "LABEL", NULL };

static void row(struct table *t, const json_t *k)
{
	const char *made = json_object_get(k, "created_at") ? "created_at" : "created";
	char at[NUMBER_TEXT_SIZE];
	const char *cells[] = { field_text(k, "id"),        field_text(k, "role"),
				field_text(k, "workspace"), field_text(k, "agent"),
				field_time(k, made, at),    field_text(k, "label") };

	table_row(t, COLOR_NONE, cells);
}

static int key_ls(int argc, char **argv)
{
	static const struct listing list = { heads, row };
	bool as_json = false;
	const struct opt opts[] = { { OPT_FLAG, 0, "json", NULL, "print JSON", &as_json, false },
				    { 0 } };
	const struct opt_usage u = {
		"key ls", "",   "List the API keys. The keys themselves are not kept.",
		NULL,     opts, 0,
		0,        false
	};
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	addr_begin(&a, NULL, "/v1/keys");
	return listing_run(&list, &a, 0, as_json);
}

static int key_rm(int argc, char **argv)
{
	const struct opt opts[] = { { 0 } };
	const struct opt_usage u = {
		"key rm", "ID", "Delete an API key: it opens nothing from now on.", NULL, opts, 1,
		1,        false
	};
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	if (!*args[0])
		return opts_wrong(&u, "ID is empty");
	addr_begin(&a, NULL, "/v1/keys");
	addr_part(&a, args[0]);
	return client_once("DELETE", addr_str(&a), NULL, NULL);
}

int cmd_key(int argc, char **argv)
{
	static const struct sub subs[] = {
		{ "create", key_create, "make a key and print it once" },
		{ "ls", key_ls, "list the keys" },
		{ "rm", key_rm, "delete a key" },
	};

	return sub_run("key", subs, sizeof subs / sizeof subs[0], argc, argv);
}

static json_t *link_body(const char *path, uint64_t version, int64_t expires_ns)
{
	json_t *body = json_pack("{s:s, s:I}", "path", path, "expires_s",
				 (json_int_t)((expires_ns + NS_PER_S - 1) / NS_PER_S));

	if (version)
		(void)json_object_set_new(body, "version", json_integer((json_int_t)version));
	return body;
}

int cmd_link(int argc, char **argv)
{
	const char *ws = NULL, *url;
	uint64_t version = 0;
	int64_t expires = 24 * 3600 * NS_PER_S;
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &ws, true },
		{ OPT_COUNT, 0, "version", "N", "this version; without it the newest", &version,
		  false },
		{ OPT_DURATION, 0, "expires", "TIME", "for how long it holds (default 24h)",
		  &expires, false },
		{ OPT_FLAG, 0, "json", NULL, "print {url, expires_at, ...}", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = {
		"link",
		"-w W output/PATH [--version N] [--expires 24h]",
		"Print a signed URL for one version of an output, for people without a key.",
		NULL,
		opts,
		1,
		1,
		false
	};
	autoclient c = NULL;
	autojson j = NULL;
	struct err err = { 0 };
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	if (strncmp(args[0], "output/", 7) != 0 || path_check(bytes_str(args[0]), &err) < 0)
		return opts_wrong(&u, "'%s': %s", args[0],
				  err.msg[0] ? err.msg : "only what is below output/ has links");
	r = client_start(&c);
	if (r != EXIT_OK)
		return r;
	addr_begin(&a, ws, "/links");
	r = client_call(c, "POST", addr_str(&a), link_body(args[0], version, expires), &j);
	if (r != EXIT_OK)
		return r;
	if (as_json)
		return print_done(print_json(j));
	url = field_text(j, "url");
	(void)printf("%s%s\n", url && url[0] == '/' ? client_url(c) : "", url ? url : "");
	return print_done(EXIT_OK);
}
