/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_put.c - garth put: files and folders into input/, or with --as into what that agent may write.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/local.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "cli/zone_path.h"
#include "core/fd.h"
#include "core/hash.h"

#define DEPTH_MAX 256 /* folders within folders */

struct put {
	struct client *c;
	const char *ws, *as;
	bool recursive, as_json;
	json_t *items; /* the answers, for --json */
	unsigned depth;
};

struct source {
	int fd;
	struct sha256_ctx *hash;
};

static ssize_t give(void *ctx, char *to, size_t cap)
{
	struct source *s = ctx;
	ssize_t n;

	do
		n = read(s->fd, to, cap);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	sha256_add(s->hash, bytes_of(to, (size_t)n));
	return n;
}

/* The answer of one upload: its hash must be that of what we sent. */
static int stored(struct put *p, const char *path, const struct answer *a,
		  const struct sha256 *sent)
{
	autojson j = json_loadb(buf_str(&a->body), a->body.len, JSON_ALLOW_NUL, NULL);
	const char *sha = field_text(j, "sha256");
	char hex[SHA256_HEX_SIZE];

	sha256_hex(sent, hex);
	if (!sha || strcmp(sha, hex) != 0) {
		(void)fputs("garth: ", stderr);
		print_safe(stderr, path);
		(void)fprintf(stderr, ": the server has sha256 %s, sent was %s\n",
			      sha ? sha : "(none)", hex);
		return EXIT_FAILED;
	}
	if (p->as_json) {
		(void)json_array_append(p->items, j);
		return EXIT_OK;
	}
	print_safe(stdout, path);
	(void)printf("  %s\n", hex);
	return EXIT_OK;
}

static int put_fd(struct put *p, int fd, const char *path)
{
	struct source s = { .fd = fd, .hash = sha256_new() };
	struct request q = { .method = "PUT",
			     .type = "application/octet-stream",
			     .read = give,
			     .read_len = -1,
			     .ctx = &s,
			     .progress = true,
			     .progress_name = path };
	autoanswer answer = { 0 };
	struct err err = { 0 };
	struct sha256 sent;
	struct stat st;
	struct addr a;
	int r;

	if (!s.hash)
		return local_failed(path, -ENOMEM);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		q.read_len = st.st_size;
	addr_begin(&a, p->ws, "/files");
	addr_path(&a, path);
	addr_arg(&a, "agent", p->as);
	q.path = addr_str(&a);
	sha256_begin(s.hash);
	r = client_ask(p->c, &q, &answer, &err);
	sha256_end(s.hash, &sent);
	sha256_free(s.hash);
	if (r < 0)
		return client_broken(r, &err);
	if (answer.status < 200 || answer.status >= 300)
		return client_failed(&answer);
	return stored(p, path, &answer, &sent);
}

static int needs_r(const char *name)
{
	(void)fputs("garth put: ", stderr);
	print_safe(stderr, name);
	(void)fputs(" is a folder: say -r\n", stderr);
	return EXIT_USAGE;
}

static int put_at(struct put *p, int dir_fd, const char *name, const char *path, bool follow);

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Everything is tried; the first failure is the answer. */
static int put_folder(struct put *p, int fd, const char *path)
{
	struct dirent **names = NULL;
	int count = scandirat(fd, ".", &names, NULL, by_name), code = EXIT_OK;

	if (count < 0)
		return local_failed(path, -errno);
	for (int i = 0; i < count; i++) {
		char *below = NULL;
		int r = EXIT_OK;

		if (code != EXIT_NO_SERVER && name_check(names[i]->d_name) == 0) {
			r = asprintf(&below, "%s/%s", path, names[i]->d_name) < 0
				    ? local_failed(path, -ENOMEM)
				    : put_at(p, fd, names[i]->d_name, below, false);
			if (r != EXIT_OK && code == EXIT_OK)
				code = r;
			free(below);
		}
		free(names[i]);
	}
	free(names);
	return code;
}

/* One name of the user's side to one path of the workspace. Links are followed only where the user named them. */
static int put_at(struct put *p, int dir_fd, const char *name, const char *path, bool follow)
{
	autofd fd =
		openat(dir_fd, name, O_RDONLY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW | O_NONBLOCK));
	struct stat st;
	int r;

	if (fd < 0 && errno == ELOOP) {
		(void)fputs("garth: skipping ", stderr);
		print_safe(stderr, name);
		(void)fputs(": a symbolic link\n", stderr);
		return EXIT_OK;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return local_failed(name, -errno);
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) || follow ? put_fd(p, fd, path)
						     : local_failed(name, -EINVAL);
	if (!p->recursive)
		return needs_r(name);
	if (++p->depth > DEPTH_MAX)
		return local_failed(name, -ELOOP);
	r = put_folder(p, fd, path);
	p->depth--;
	return r;
}

/* The name a source keeps: its last part; "" for ".", "..", "/": then its content goes right into the target. */
static const char *base_of(char *source)
{
	size_t len = strlen(source);
	char *slash;

	while (len > 1 && source[len - 1] == '/')
		source[--len] = '\0';
	slash = strrchr(source, '/');
	source = slash ? slash + 1 : source;
	return name_check(source) == 0 ? source : "";
}

/* @exact: target is the file's new path, not the folder it goes to. */
static int put_source(struct put *p, const struct opt_usage *u, const char *source,
		      const char *target, bool exact)
{
	char *copy = strdup(source), *path = NULL;
	struct err err = { 0 };
	const char *base;
	int r = EXIT_FAILED;

	if (!copy)
		return local_failed(source, -ENOMEM);
	base = base_of(copy);
	if (asprintf(&path, "%s%s%s", target, exact || !*base ? "" : "/", exact ? "" : base) < 0)
		path = NULL;
	if (path && path_check(bytes_str(path), &err) < 0)
		r = opts_wrong(u, "'%s': %s", path, err.msg);
	else if (path && strcmp(source, "-") == 0)
		r = exact ? put_fd(p, STDIN_FILENO, path)
			  : opts_wrong(u, "'-' needs the path it goes to, such as input/data.csv");
	else if (path)
		r = put_at(p, AT_FDCWD, source, path, true);
	free(path);
	free(copy);
	return r;
}

/* Is the last argument where the others go? "input/raw/" is; "input/raw.csv" too, unless it is a file of the user's. */
static bool is_target(const char *arg)
{
	char path[ZONE_PATH_SIZE];
	size_t len = strlen(arg);
	struct stat st;

	if (zone_path(arg, path, NULL) < 0 || !zone_path_known(path))
		return false;
	return arg[len - 1] == '/' || lstat(arg, &st) < 0;
}

/* Where all goes, and whether that is the new path of one file. */
struct target {
	char path[ZONE_PATH_SIZE];
	bool exact;
	int sources; /* of the arguments, how many are sources */
};

static int find_target(const struct put *p, const struct opt_usage *u, char **args, int n,
		       struct target *t)
{
	bool given = n > 1 && is_target(args[n - 1]);
	const char *typed = given ? args[n - 1] : "input";
	struct err err = { 0 };

	if (zone_path(typed, t->path, &err) < 0)
		return opts_wrong(u, "'%s': %s", typed, err.msg);
	if (!p->as && strncmp(t->path, "input", 5) != 0)
		return opts_wrong(u, "'%s': only input/ without --as AGENT", typed);
	t->sources = n - (given ? 1 : 0);
	/* "input" alone is a folder */
	t->exact = given && typed[strlen(typed) - 1] != '/' && strchr(t->path, '/');
	if (t->exact && t->sources > 1)
		return opts_wrong(u, "'%s' is to be a folder: write '%s/'", typed, typed);
	return EXIT_OK;
}

/* What is plainly wrong is said before anything is sent. */
static int check_sources(const struct put *p, char **args, int n)
{
	struct stat st;

	for (int i = 0; i < n; i++) {
		if (!*args[i] || strcmp(args[i], "-") == 0)
			continue;
		if (stat(args[i], &st) < 0 && errno == ENOENT && i > 0 && i == n - 1) {
			(void)fputs("garth put: ", stderr);
			print_safe(stderr, args[i]);
			(void)fputs(
				" is no file here; a target begins with its zone, as input/DIR/ "
				"does\n",
				stderr);
			return EXIT_FAILED;
		}
		if (stat(args[i], &st) < 0)
			return local_failed(args[i], -errno);
		if (S_ISDIR(st.st_mode) && !p->recursive)
			return needs_r(args[i]);
	}
	return EXIT_OK;
}

static int put_all(struct put *p, const struct opt_usage *u, char **args, int n)
{
	struct target t;
	int r, code = find_target(p, u, args, n, &t);

	if (code == EXIT_OK)
		code = check_sources(p, args, t.sources);
	if (code != EXIT_OK)
		return code;
	for (int i = 0; i < t.sources; i++) {
		r = *args[i] ? put_source(p, u, args[i], t.path, t.exact)
			     : opts_wrong(u, "a FILE is empty");
		if (code == EXIT_OK)
			code = r;
		if (r == EXIT_NO_SERVER || r == EXIT_USAGE)
			break;
	}
	return code;
}

int cmd_put(int argc, char **argv)
{
	struct put p = { 0 };
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &p.ws, true },
		{ OPT_FLAG, 'r', "recursive", NULL, "folders too, with all in them", &p.recursive,
		  false },
		{ OPT_TEXT, 0, "as", "AGENT", "as this agent, into what its policy lets it write",
		  &p.as, false },
		{ OPT_FLAG, 0, "json", NULL, "print {items: [{path, sha256, size, version}]}",
		  &p.as_json, false },
		{ 0 },
	};
	const struct opt_usage u = {
		"put",
		"-w W FILE... [input/DIR/]",
		"Upload files and print the path and sha256 of each.",
		"Without a target they go to input/. A target that ends with a slash is a folder; "
		"one without is\n"
		"the new path of a single FILE, which may then be - for stdin.",
		opts,
		1,
		-1,
		false
	};
	autoclient c = NULL;
	autojson items = json_array();
	struct err err = { 0 };
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	if (p.as && ident_check(p.as, "agent", &err) < 0)
		return opts_wrong(&u, "--as: '%s': %s", p.as, err.msg);
	r = client_start(&c);
	if (r != EXIT_OK)
		return r;
	p.c = c;
	p.items = items;
	r = put_all(&p, &u, args, n);
	if (p.as_json && print_items(items) != EXIT_OK && r == EXIT_OK)
		r = EXIT_FAILED;
	return print_done(r);
}
