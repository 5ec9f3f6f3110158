/* SPDX-License-Identifier: MIT */
/*
 * cli/run_body.c - the options of `garth run` as the JSON of POST steps.
 */
#include "cli/run_body.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base64.h"
#include "cli/exit.h"
#include "cli/local.h"
#include "core/clock.h"

#define READ_MAX (64u * 1024 * 1024) /* one file, code or stdin; the server has its own limits */

static int no_memory(void)
{
	(void)fprintf(stderr, "garth run: no memory\n");
	return EXIT_FAILED;
}

/* name: text, or name_base64 where the bytes are no UTF-8. */
static int set_bytes(json_t *body, const char *name, struct bytes data)
{
	json_t *text =
		json_stringn(data.len ? data.p : "", data.len); /* NULL where it is no UTF-8 */
	char key[64];
	autobuf coded;

	buf_init(&coded, (size_t)READ_MAX * 2);
	if (text)
		return json_object_set_new(body, name, text) < 0 ? no_memory() : EXIT_OK;
	(void)snprintf(key, sizeof key, "%s_base64", name);
	if (b64_encode(data, &coded) < 0 ||
	    json_object_set_new(body, key, json_string(buf_str(&coded))) < 0)
		return no_memory();
	return EXIT_OK;
}

static int set_file(json_t *body, const char *name, const char *file)
{
	autobuf data;
	int r;

	buf_init(&data, READ_MAX);
	r = local_read(file, &data);
	return r == EXIT_OK ? set_bytes(body, name, bytes_of(buf_str(&data), data.len)) : r;
}

static int set_text(const struct opt_usage *u, json_t *body, const char *name, const char *what,
		    const char *text)
{
	if (!text)
		return EXIT_OK;
	if (json_object_set_new(body, name, json_string(text)) < 0)
		return opts_wrong(u, "%s: not UTF-8", what);
	return EXIT_OK;
}

static int set_argv(const struct opt_usage *u, json_t *body, const struct run_args *a)
{
	json_t *list = json_array();

	(void)json_object_set_new(body, "argv", list);
	for (int i = 0; i < a->argc; i++)
		if (json_array_append_new(list, json_string(a->argv[i])) < 0)
			return opts_wrong(u, "argument %d of the program is not UTF-8", i);
	return EXIT_OK;
}

static int set_code(const struct opt_usage *u, json_t *body, const struct run_args *a)
{
	const char *file = a->python ? a->python : a->bash;
	autobuf data;
	int r;

	buf_init(&data, READ_MAX);
	(void)json_object_set_new(body, "language", json_string(a->bash ? "bash" : "python"));
	if (!file)
		return set_text(u, body, "code", "-c", a->code);
	r = local_read(file, &data);
	if (r != EXIT_OK)
		return r;
	if (json_object_set_new(body, "code", json_stringn(buf_str(&data), data.len)) < 0)
		return opts_wrong(u, "the code in '%s' is not UTF-8", file);
	return EXIT_OK;
}

/* K=V, or K alone: as it is in garth's own environment (as docker does). */
static int set_env(const struct opt_usage *u, json_t *body, const struct opt_list *env)
{
	json_t *map = json_object();

	if (env->n)
		(void)json_object_set(body, "env", map);
	json_decref(map);
	for (unsigned i = 0; i < env->n; i++) {
		const char *eq = strchr(env->v[i], '='), *value;
		char *name = strndup(env->v[i], eq ? (size_t)(eq - env->v[i]) : strlen(env->v[i]));
		int r = EXIT_OK;

		if (!name)
			return no_memory();
		value = eq ? eq + 1 : getenv(name);
		if (!*name)
			r = opts_wrong(u, "--env: '%s' has no name", env->v[i]);
		else if (value && json_object_set_new(map, name, json_string(value)) < 0)
			r = opts_wrong(u, "--env: '%s' is not UTF-8", name);
		free(name);
		if (r != EXIT_OK)
			return r;
	}
	return EXIT_OK;
}

static int set_files(const struct opt_usage *u, json_t *body, const struct opt_list *files)
{
	json_t *list = json_array();

	if (files->n)
		(void)json_object_set(body, "files", list);
	json_decref(list);
	for (unsigned i = 0; i < files->n; i++) {
		const char *eq = strchr(files->v[i], '=');
		json_t *one = json_object();
		int r;

		if (!eq || eq == files->v[i] || !eq[1]) {
			json_decref(one);
			return opts_wrong(u, "--file: '%s' is not NAME=LOCAL", files->v[i]);
		}
		if (json_object_set_new(one, "name",
					json_stringn(files->v[i], (size_t)(eq - files->v[i]))) < 0)
			r = opts_wrong(u, "--file: the name in '%s' is not UTF-8", files->v[i]);
		else
			r = set_file(one, "content", eq + 1);
		if (json_array_append_new(list, one) < 0)
			return no_memory();
		if (r != EXIT_OK)
			return r;
	}
	return EXIT_OK;
}

static void set_limits(json_t *body, const struct run_args *a)
{
	if (a->timeout_ns)
		(void)json_object_set_new(body, "timeout_s",
					  a->timeout_ns % NS_PER_S
						  ? json_real((double)a->timeout_ns /
							      (double)NS_PER_S)
						  : json_integer(a->timeout_ns / NS_PER_S));
	if (a->memory)
		(void)json_object_set_new(body, "memory_bytes",
					  json_integer((json_int_t)a->memory));
	if (a->pids)
		(void)json_object_set_new(body, "pids", json_integer((json_int_t)a->pids));
	if (a->cpus_milli)
		(void)json_object_set_new(body, "cpus",
					  a->cpus_milli % 1000
						  ? json_real((double)a->cpus_milli / 1000)
						  : json_integer((json_int_t)a->cpus_milli / 1000));
}

/* One thing to run, and stdin read by one of those who want it. */
static int consistent(const struct opt_usage *u, const struct run_args *a)
{
	int codes = (a->python != NULL) + (a->bash != NULL) + (a->code != NULL),
	    readers = a->use_stdin;

	if (codes > 1)
		return opts_wrong(u, "only one of --python, --bash and -c");
	if (codes && a->argc)
		return opts_wrong(u, "'%s': code takes no arguments; give them by --env or --file",
				  a->argv[0]);
	if (!codes && !a->argc)
		return opts_wrong(
			u,
			"nothing to run: -- CMD [ARG]..., --python FILE, --bash FILE or -c CODE");
	if (a->detach && a->as_json)
		return opts_wrong(u, "--detach prints the step's id: not with --json");
	readers += a->python && strcmp(a->python, "-") == 0;
	readers += a->bash && strcmp(a->bash, "-") == 0;
	for (unsigned i = 0; i < a->files.n; i++) {
		size_t len = strlen(a->files.v[i]);

		readers += len > 2 && strcmp(a->files.v[i] + len - 2, "=-") == 0;
	}
	return readers > 1
		       ? opts_wrong(u, "stdin can be only one of the code, a --file and --stdin")
		       : EXIT_OK;
}

int run_body(const struct opt_usage *u, const struct run_args *a, json_t **ret)
{
	json_t *body;
	int r = consistent(u, a);

	if (r != EXIT_OK)
		return r;
	body = json_pack("{s:s}", "agent", a->agent);
	if (!body)
		return no_memory();
	r = a->argc ? set_argv(u, body, a) : set_code(u, body, a);
	if (r == EXIT_OK)
		r = set_text(u, body, "sandbox", "--sandbox", a->sandbox);
	if (r == EXIT_OK)
		r = set_text(u, body, "job", "--job", a->job);
	if (r == EXIT_OK)
		r = set_text(u, body, "cwd", "--cwd", a->cwd);
	if (r == EXIT_OK)
		r = set_env(u, body, &a->env);
	if (r == EXIT_OK)
		r = set_files(u, body, &a->files);
	if (r == EXIT_OK && a->use_stdin)
		r = set_file(body, "stdin", "-");
	set_limits(body, a);
	if (r != EXIT_OK) {
		json_decref(body);
		return r;
	}
	*ret = body;
	return EXIT_OK;
}
