/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_run.c - garth run: one step. Its output goes through untouched; its end is garth's exit code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/run_body.h"
#include "cli/run_end.h"
#include "cli/run_stream.h"
#include "cli/sub.h"

struct streaming {
	struct run_stream s;
	struct answer a;
	struct buf
		whole; /* the answer, where it is no stream: a step that was lost before it began */
};

static int sink(void *ctx, struct bytes data)
{
	struct streaming *t = ctx;

	if (strncmp(t->a.type, "application/json", 16) == 0)
		return buf_add(&t->whole, data.p, data.len);
	return run_stream_take(&t->s, data);
}

/* The step object in an answer: itself, or within a problem (a hook refused it). NULL: none. */
static json_t *step_in(const struct buf *body)
{
	json_t *j = json_loadb(buf_str(body), body->len, JSON_ALLOW_NUL, NULL);
	json_t *inner = json_object_get(j, "step");

	if (json_is_object(inner)) {
		json_incref(inner);
		json_decref(j);
		return inner;
	}
	if (json_is_string(inner) && json_object_get(j, "state"))
		return j;
	json_decref(j);
	return NULL;
}

static int refused_by_hook(const struct answer *a, bool as_json)
{
	autojson step = step_in(&a->body);

	if (!step) {
		(void)client_failed(a);
		return EXIT_REFUSED;
	}
	if (as_json)
		(void)print_json(step);
	run_end_say(step, stderr);
	return print_done(EXIT_REFUSED);
}

/* The stream broke off: before a step was there it is a missing server, after that nobody knows how the step ended. */
static int broke_off(const struct run_stream *s)
{
	if (!s->id[0]) {
		(void)fprintf(stderr, "garth: the connection broke before the step began\n");
		return EXIT_NO_SERVER;
	}
	(void)fprintf(stderr,
		      "garth: ended: lost (the stream broke off; 'garth step %s' may know more)\n",
		      s->id);
	return EXIT_LOST;
}

/* r: what client_ask gave. */
static int stream_end(struct streaming *t, int r, const struct err *err)
{
	autojson step = step_in(&t->whole);

	if (step && r == 0)
		r = run_stream_whole(&t->s, step);
	if (t->s.step) {
		run_end_say(t->s.step, stderr);
		return run_end_code(t->s.step);
	}
	if (r < 0) {
		int code = client_broken(r, err);

		return t->s.id[0] ? broke_off(&t->s) : code;
	}
	if (t->a.status == 422)
		return refused_by_hook(&t->a, false);
	if (t->a.status < 200 || t->a.status >= 300)
		return client_failed(&t->a);
	return broke_off(&t->s);
}

static int run_streaming(struct client *c, const struct request *asked)
{
	struct streaming t = { .whole = { 0 } };
	struct request q = *asked;
	struct err err = { 0 };
	int r;

	run_stream_init(&t.s, STDOUT_FILENO, STDERR_FILENO);
	buf_init(&t.whole, CLIENT_BODY_MAX);
	q.headers[0] = "Accept: application/x-ndjson";
	q.sink = sink;
	q.ctx = &t;
	r = client_ask(c, &q, &t.a, &err);
	r = stream_end(&t, r, &err);
	run_stream_fini(&t.s);
	answer_fini(&t.a);
	buf_fini(&t.whole);
	return r;
}

static int run_whole(struct client *c, struct request *q)
{
	autoanswer a = { 0 };
	struct err err = { 0 };
	int r;

	q->headers[0] = "Accept: application/json";
	r = client_ask(c, q, &a, &err);
	if (r < 0)
		return client_broken(r, &err);
	if (a.status == 422)
		return refused_by_hook(&a, true);
	if (a.status < 200 || a.status >= 300)
		return client_failed(&a);
	{
		autojson step = a.cut ? NULL : step_in(&a.body);

		if (!step) {
			(void)fprintf(stderr, "garth: ended: lost (the answer broke off)\n");
			return EXIT_LOST;
		}
		r = print_json(step);
		run_end_say(step, stderr);
		return print_done(r == EXIT_OK ? run_end_code(step) : r);
	}
}

static int run_detached(struct client *c, struct request *q)
{
	autoanswer a = { 0 };
	autojson j = NULL;
	struct err err = { 0 };
	int r;

	q->headers[0] = "Accept: application/json";
	q->headers[1] = "Prefer: respond-async";
	r = client_ask(c, q, &a, &err);
	if (r < 0)
		return client_broken(r, &err);
	if (a.status == 422)
		return refused_by_hook(&a, false);
	if (a.status < 200 || a.status >= 300)
		return client_failed(&a);
	j = json_loadb(buf_str(&a.body), a.body.len, JSON_ALLOW_NUL, NULL);
	if (!field_text(j, "step")) {
		(void)fprintf(stderr, "garth: the answer names no step\n");
		return EXIT_FAILED;
	}
	(void)printf("%s\n", field_text(j, "step"));
	return print_done(EXIT_OK);
}

static int run(const struct opt_usage *u, const struct run_args *a)
{
	autoclient c = NULL;
	autojson body = NULL;
	struct addr addr;
	struct request q = { .method = "POST" };
	char *text;
	int r = run_body(u, a, &body);

	if (r == EXIT_OK)
		r = client_start(&c);
	if (r != EXIT_OK)
		return r;
	text = json_dumps(body, JSON_COMPACT);
	if (!text)
		return client_broken(-ENOMEM, &(struct err){ -ENOMEM, "no memory" });
	addr_begin(&addr, a->ws, "/steps");
	q.path = addr_str(&addr);
	q.body = bytes_str(text);
	if (a->detach)
		r = run_detached(c, &q);
	else
		r = a->as_json ? run_whole(c, &q) : run_streaming(c, &q);
	free(text);
	return r;
}

int cmd_run(int argc, char **argv)
{
	struct run_args a = { 0 };
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &a.ws, true },
		{ OPT_AGENT, 'a', "agent", "A", "the agent that runs it", &a.agent, true },
		{ OPT_TEXT, 0, "python", "FILE",
		  "run this Python code (- is stdin), kept in the record", &a.python, false },
		{ OPT_TEXT, 0, "bash", "FILE",
		  "run this Bash code (- is stdin), kept in the record", &a.bash, false },
		{ OPT_TEXT, 'c', "code", "CODE", "run this Python code", &a.code, false },
		{ OPT_DURATION, 0, "timeout", "TIME",
		  "end it after this (30s, 5m); default by policy", &a.timeout_ns, false },
		{ OPT_SIZE, 0, "memory", "SIZE", "memory limit (512MiB, 1G)", &a.memory, false },
		{ OPT_COUNT, 0, "pids", "N", "at most this many processes and threads", &a.pids,
		  false },
		{ OPT_CPUS, 0, "cpus", "N", "at most this many cpus (2, 0.5)", &a.cpus_milli,
		  false },
		{ OPT_LIST, 'e', "env", "K=V",
		  "a variable; K alone takes garth's own; several times", &a.env, false },
		{ OPT_FLAG, 'i', "stdin", NULL, "read stdin to its end and give it to the program",
		  &a.use_stdin, false },
		{ OPT_TEXT, 0, "cwd", "DIR", "working directory; default /workspace/task", &a.cwd,
		  false },
		{ OPT_LIST, 0, "file", "NAME=LOCAL",
		  "place a file in task/ before it starts; several times", &a.files, false },
		{ OPT_TEXT, 0, "job", "LABEL", "groups the steps of one task", &a.job, false },
		{ OPT_TEXT, 0, "sandbox", "ID",
		  "a live sandbox; without it a fresh one that ends with the step", &a.sandbox,
		  false },
		{ OPT_FLAG, 'd', "detach", NULL, "print the step's id and do not wait", &a.detach,
		  false },
		{ OPT_FLAG, 0, "json", NULL,
		  "print the step when it has ended, with its output in it", &a.as_json, false },
		{ 0 },
	};
	const struct opt_usage u = {
		"run",
		"-w W -a A [OPTION]... (-- CMD [ARG]... | --python FILE | --bash FILE | -c CODE)",
		"Run a program or code as an agent, in a sandbox: one step. Its output comes as it "
		"is written.",
		"Exit code: the program's own; 128+N for signal N, 124 timeout, 125 lost, 4 "
		"refused by a hook,\n"
		"126 not executable, 127 not found, 137 a limit of memory, disk or pids.",
		opts,
		0,
		-1,
		true
	};
	int r = opts_parse(&u, argc, argv, &a.argv, &a.argc);

	return r == OPTS_DONE ? run(&u, &a) : r;
}
