/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_policy.c - garth policy set, show, check, explain.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/local.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "core/path.h"
#include "policy/policy.h"

static int put_policy(struct client *c, const char *ws, const struct buf *yaml)
{
	struct addr a;
	struct request q = { .method = "PUT",
			     .type = "application/yaml",
			     .body = bytes_of(buf_str(yaml), yaml->len) };
	autoanswer answer = { 0 };
	struct err err = { 0 };
	int r;

	addr_begin(&a, ws, "/policy");
	q.path = addr_str(&a);
	r = client_ask(c, &q, &answer, &err);
	if (r < 0)
		return client_broken(r, &err);
	if (answer.status >= 200 && answer.status < 300)
		return EXIT_OK;
	r = client_failed(&answer);
	return r == EXIT_USAGE ? EXIT_FAILED : r; /* the file is wrong, not the command */
}

static int policy_set(int argc, char **argv)
{
	const char *ws = NULL;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &ws, true }, { 0 }
	};
	const struct opt_usage u = {
		"policy set",
		"-w W FILE",
		"Make FILE (YAML; - is stdin) the workspace's policy, from the next step on.",
		NULL,
		opts,
		1,
		1,
		false
	};
	autoclient c = NULL;
	autobuf yaml;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	buf_init(&yaml, POLICY_TEXT_MAX);
	if (r != OPTS_DONE)
		return r;
	r = local_read(args[0], &yaml);
	if (r == EXIT_OK)
		r = client_start(&c);
	return r == EXIT_OK ? put_policy(c, ws, &yaml) : r;
}

static int policy_show(int argc, char **argv)
{
	const char *ws = NULL;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &ws, true }, { 0 }
	};
	const struct opt_usage u = {
		"policy show", "-w W", "Print the workspace's policy.", NULL, opts, 0, 0, false
	};
	struct request q = { .method = "GET" };
	autoanswer answer = { 0 };
	autoclient c = NULL;
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	r = client_start(&c);
	if (r != EXIT_OK)
		return r;
	addr_begin(&a, ws, "/policy");
	q.path = addr_str(&a);
	r = client_whole(c, &q, &answer, "policy ended");
	if (r != EXIT_OK)
		return r;
	if (answer.body.len == 0)
		(void)fprintf(stderr, "garth: no policy was set: the default holds\n");
	(void)fwrite(buf_str(&answer.body), 1, answer.body.len, stdout);
	return print_done(EXIT_OK);
}

static int policy_check(int argc, char **argv)
{
	const struct opt opts[] = { { 0 } };
	const struct opt_usage u = { "policy check",
				     "FILE",
				     "Check a policy (YAML; - is stdin). Needs no server.",
				     NULL,
				     opts,
				     1,
				     1,
				     false };
	struct policy *p = NULL;
	struct err err = { 0 };
	autobuf yaml;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	buf_init(&yaml, POLICY_TEXT_MAX);
	if (r != OPTS_DONE)
		return r;
	r = local_read(args[0], &yaml);
	if (r != EXIT_OK)
		return r;
	r = policy_parse(bytes_of(buf_str(&yaml), yaml.len), &p, &err);
	if (r < 0) {
		print_safe(stderr, args[0]);
		(void)fputs(": ", stderr);
		print_safe(stderr, err.msg);
		(void)fputc('\n', stderr);
		return EXIT_FAILED;
	}
	policy_unref(p);
	print_safe(stdout, args[0]);
	(void)puts(": ok");
	return print_done(EXIT_OK);
}

static int explained(const json_t *j, const char *agent, const char *op, const char *path)
{
	bool allowed = json_is_true(json_object_get(j, "allowed"));
	const char *rule = field_text(j, "rule"), *why = field_text(j, "text"),
		   *code = field_text(j, "errno");
	enum color color = allowed ? COLOR_GREEN : COLOR_RED;
	int64_t line = field_int(j, "line");

	print_on(stdout, color);
	(void)fputs(allowed ? "allowed" : "refused", stdout);
	print_off(stdout, color);
	(void)printf(": %s %s ", agent, op);
	print_safe(stdout, path);
	(void)printf(": rule %s", rule ? rule : "-");
	if (line > 0)
		(void)printf(" (line %lld)", (long long)line);
	if (!allowed && code)
		(void)printf(", %s", code);
	(void)fputc('\n', stdout);
	if (why) {
		print_safe(stdout, why);
		(void)fputc('\n', stdout);
	}
	return print_done(EXIT_OK);
}

static int policy_explain(int argc, char **argv)
{
	const char *ws = NULL, *agent = NULL;
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &ws, true },
		{ OPT_AGENT, 'a', "agent", "A", "who would do it", &agent, true },
		{ OPT_FLAG, 0, "json", NULL, "print JSON", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = { "policy explain",
				     "-w W -a A OP PATH",
				     "Say whether the agent may do OP (read, list, create, write, "
				     "unlink, rename, ...) to PATH, and which rule says so.",
				     NULL,
				     opts,
				     2,
				     2,
				     false };
	autojson j = NULL;
	struct err err = { 0 };
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	if (path_check(bytes_str(args[1]), &err) < 0)
		return opts_wrong(&u, "'%s': %s", args[1], err.msg);
	addr_begin(&a, ws, "/policy/explain");
	addr_arg(&a, "agent", agent);
	addr_arg(&a, "op", args[0]);
	addr_arg(&a, "path", args[1]);
	r = client_once("GET", addr_str(&a), NULL, &j);
	if (r != EXIT_OK)
		return r;
	return as_json ? print_done(print_json(j)) : explained(j, agent, args[0], args[1]);
}

int cmd_policy(int argc, char **argv)
{
	static const struct sub subs[] = {
		{ "set", policy_set, "make a file the workspace's policy" },
		{ "show", policy_show, "print the workspace's policy" },
		{ "check", policy_check, "check a file, without a server" },
		{ "explain", policy_explain, "say which rule decides" },
	};

	return sub_run("policy", subs, sizeof subs / sizeof subs[0], argc, argv);
}
