/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_audit.c - garth audit verify (by the server, or of a copied folder without one) and audit export.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/local.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "core/fd.h"
#include "index/verify.h"

static int tell(const json_t *j, bool as_json)
{
	bool ok = json_is_true(json_object_get(j, "ok"));
	const char *what = field_text(j, "what"), *head = field_text(j, "head");
	enum color color = ok ? COLOR_GREEN : COLOR_RED;

	if (as_json) {
		int r = print_json(j);

		return print_done(r == EXIT_OK && !ok ? EXIT_FAILED : r);
	}
	print_on(stdout, color);
	(void)fputs(ok ? "holds" : "does not hold", stdout);
	print_off(stdout, color);
	(void)printf(": %lld events, %lld rows, %lld objects, head %s\n",
		     (long long)field_int(j, "events"), (long long)field_int(j, "rows"),
		     (long long)field_int(j, "objects"), head ? head : "-");
	if (!ok) {
		(void)printf("event %lld: ", (long long)field_int(j, "bad_seq"));
		print_safe(stdout, what ? what : "-");
		(void)fputc('\n', stdout);
	}
	return print_done(ok ? EXIT_OK : EXIT_FAILED);
}

static json_t *result_json(const struct idx_verify *v)
{
	char head[SHA256_HEX_SIZE];

	sha256_hex(&v->head, head);
	return json_pack("{s:b, s:I, s:I, s:I, s:I, s:s, s:s}", "ok", v->ok, "events",
			 (json_int_t)v->events, "rows", (json_int_t)v->rows, "objects",
			 (json_int_t)v->objects, "bad_seq", (json_int_t)v->bad_seq, "what", v->what,
			 "head", head);
}

/* A folder that somebody copied: no server, and nothing in it is changed. */
static int verify_folder(const char *dir, bool as_json)
{
	struct idx_verify v = { 0 };
	struct err err = { 0 };
	autofd objects = -1;
	autofd folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autojson j = NULL;
	char *db = NULL;
	int r;

	if (folder < 0) {
		r = -errno;
		(void)local_failed(dir, r);
		return r == -ENOENT || r == -ENOTDIR ? EXIT_NOT_FOUND : EXIT_FAILED;
	}
	objects = openat(folder, "objects", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (objects < 0) { /* with no objects the record can't be said to hold */
		(void)fprintf(stderr, "garth: ");
		print_safe(stderr, dir);
		(void)fprintf(stderr, " has no folder objects: is it a workspace?\n");
		return EXIT_NOT_FOUND;
	}
	if (asprintf(&db, "%s/index.db", dir) < 0)
		return local_failed(dir, -ENOMEM);
	r = idx_verify(db, objects, NULL, NULL, NULL, &v, &err);
	free(db);
	if (r < 0) {
		(void)client_broken(r, &err);
		return r == -ENOENT ? EXIT_NOT_FOUND : EXIT_FAILED;
	}
	j = result_json(&v);
	return tell(j, as_json);
}

static int audit_verify(int argc, char **argv)
{
	const char *ws = NULL;
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "a workspace of the server", &ws, false },
		{ OPT_FLAG, 0, "json", NULL,
		  "print {ok, events, rows, objects, bad_seq, what, head}", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = { "audit verify",
				     "(-w W | DIR)",
				     "Recompute the record's hash chain, compare every row with "
				     "it, and hash every kept object.",
				     "DIR is a copied workspace; no server is needed for it. Exit "
				     "code 1 with the first event that doesn't hold.",
				     opts,
				     0,
				     1,
				     false };
	autojson j = NULL;
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	if (n == 1)
		return verify_folder(args[0], as_json);
	if (!ws)
		return opts_wrong(&u, "-w/--workspace or DIR is needed");
	addr_begin(&a, ws, "/audit/verify");
	r = client_once("GET", addr_str(&a), NULL, &j);
	return r == EXIT_OK ? tell(j, as_json) : r;
}

static int to_fd(void *ctx, struct bytes data)
{
	return fd_write_full(*(const int *)ctx, data.p, data.len);
}

static int export_to(struct client *c, const char *ws, int fd, const char *name)
{
	struct addr a;
	struct request q = {
		.method = "GET", .sink = to_fd, .ctx = &fd, .progress = true, .progress_name = name
	};
	autoanswer answer = { 0 };

	addr_begin(&a, ws, "/audit/export");
	q.path = addr_str(&a);
	return client_whole(c, &q, &answer, "export ended; nothing is kept");
}

static int audit_export(int argc, char **argv)
{
	const char *ws = NULL;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &ws, true }, { 0 }
	};
	const struct opt_usage u = {
		"audit export",
		"-w W FILE",
		"Write a consistent copy of the record, its objects and its policy to FILE (tar; - "
		"is stdout).",
		"Unpacked elsewhere it is what 'garth audit verify DIR' checks.",
		opts,
		1,
		1,
		false
	};
	autoclient c = NULL;
	autonew new = { .fd = -1 };
	char **args;
	int n, e, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	r = client_start(&c);
	if (r != EXIT_OK)
		return r;
	if (strcmp(args[0], "-") == 0)
		return export_to(c, ws, STDOUT_FILENO, "export");
	e = local_new_beside(&new, args[0]);
	if (e < 0)
		return local_failed(args[0], e);
	r = export_to(c, ws, new.fd, args[0]);
	if (r != EXIT_OK)
		return r;
	e = local_new_done(&new);
	return e < 0 ? local_failed(args[0], e) : EXIT_OK;
}

int cmd_audit(int argc, char **argv)
{
	static const struct sub subs[] = {
		{ "verify", audit_verify, "check that the record holds" },
		{ "export", audit_export, "write a copy to verify elsewhere" },
	};

	return sub_run("audit", subs, sizeof subs / sizeof subs[0], argc, argv);
}
