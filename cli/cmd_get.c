/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_get.c - garth get: a file becomes a file, a folder a folder. Files are written beside and renamed when their hash is right.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/fetch.h"
#include "cli/local.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "cli/zone_path.h"
#include "core/fd.h"

#define DEPTH_MAX 256 /* folders within folders */

struct get {
	struct client *c;
	const char *ws, *version;
	unsigned depth;
};

static int get_into(struct get *g, const char *path, int dir_fd, const char *name);

/* The page after this one of a folder's listing, appended to items. */
static int more(struct get *g, const char *path, json_t *first, json_t *items)
{
	struct addr a;
	autojson rest = NULL;
	const char *cursor = field_text(first, "next");
	int r;

	(void)json_array_extend(items, json_object_get(first, "items"));
	while (cursor) {
		json_t *page = NULL;

		addr_begin(&a, g->ws, "/files");
		addr_path(&a, path);
		addr_arg(&a, "cursor", cursor);
		r = client_call(g->c, "GET", addr_str(&a), NULL, &page);
		if (r != EXIT_OK)
			return r;
		json_decref(rest);
		rest = page;
		(void)json_array_extend(items, json_object_get(rest, "items"));
		cursor = field_text(rest, "next");
	}
	return EXIT_OK;
}

static int get_entry(struct get *g, const char *path, int dir_fd, const json_t *item)
{
	char *name = field_path(item, "name"), *below = NULL;
	int r = EXIT_FAILED;

	if (!name ||
	    name_check(name) < 0) { /* what a server says is no reason to write elsewhere */
		(void)fputs("garth: skipping a name that is none\n", stderr);
	} else if (field_text(item, "type") && strcmp(field_text(item, "type"), "dir") != 0 &&
		   strcmp(field_text(item, "type"), "file") != 0) {
		(void)fputs("garth: skipping ", stderr);
		print_safe(stderr, name);
		(void)fprintf(stderr, ": neither file nor folder\n");
		r = EXIT_OK;
	} else if (asprintf(&below, "%s%s%s", path, *path ? "/" : "", name) >= 0) {
		r = get_into(g, below, dir_fd, name);
	}
	free(below);
	free(name);
	return r;
}

/* Everything is tried; the first failure is the answer. */
static int get_folder(struct get *g, const char *path, int dir_fd, const char *name,
		      const struct buf *listing)
{
	autojson first = json_loadb(buf_str(listing), listing->len, JSON_ALLOW_NUL, NULL);
	autojson items = json_array();
	autofd fd = -1;
	int r, code = EXIT_OK;

	if (g->version) {
		(void)fprintf(stderr, "garth get: --version is for a file, and this is a folder\n");
		return EXIT_USAGE;
	}
	if (++g->depth > DEPTH_MAX)
		return local_failed(name, -ELOOP);
	if (mkdirat(dir_fd, name, 0777) < 0 && errno != EEXIST)
		return local_failed(name, -errno);
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return local_failed(name, -errno);
	code = more(g, path, first, items);
	for (size_t i = 0; i < json_array_size(items); i++) {
		r = get_entry(g, path, fd, json_array_get(items, i));
		if (code == EXIT_OK)
			code = r;
		if (r == EXIT_NO_SERVER)
			break;
	}
	g->depth--;
	return code;
}

/* path of the workspace to dir_fd/name, be it a file or a folder. */
static int get_into(struct get *g, const char *path, int dir_fd, const char *name)
{
	struct local_new new;
	struct fetch f;
	struct addr a;
	int r = local_new_open(&new, dir_fd, name);

	if (r < 0)
		return local_failed(name, r);
	addr_begin(&a, g->ws, "/files");
	addr_path(&a, path);
	addr_arg(&a, "version", g->version);
	r = fetch_file(g->c, addr_str(&a), path, new.fd, &f);
	if (r == EXIT_OK && f.is_folder) {
		local_new_drop(&new);
		r = get_folder(g, path, dir_fd, name, &f.listing);
	} else if (r == EXIT_OK) {
		int e = local_new_done(&new);

		r = e < 0 ? local_failed(name, e) : EXIT_OK;
	}
	local_new_drop(&new);
	fetch_fini(&f);
	return r;
}

/* To what can't be taken back. */
static int get_to_fd(struct get *g, const char *path, int fd)
{
	struct fetch f;
	struct addr a;
	int r;

	addr_begin(&a, g->ws, "/files");
	addr_path(&a, path);
	addr_arg(&a, "version", g->version);
	r = fetch_file(g->c, addr_str(&a), path, fd, &f);
	if (r == EXIT_OK && f.is_folder) {
		(void)fprintf(stderr, "garth get: a folder can go to a folder alone\n");
		r = EXIT_USAGE;
	}
	fetch_fini(&f);
	return r;
}

/* A name that is not there yet, or a file's: the folder before it, and its last part. */
static int get_to_new(struct get *g, const char *path, const char *local)
{
	char *parent = strdup(local), *name;
	autofd dir = -1;
	int r;

	if (!parent)
		return local_failed(local, -ENOMEM);
	for (size_t n = strlen(parent); n > 1 && parent[n - 1] == '/'; n--)
		parent[n - 1] = '\0';
	name = strrchr(parent, '/');
	if (name)
		*name++ = '\0';
	dir = open(!name ? "." : *parent ? parent : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = dir < 0 ? local_failed(parent, -errno) : get_into(g, path, dir, name ? name : parent);
	free(parent);
	return r;
}

/* A folder that is there takes it under its own name, as cp does; else local is the new name. */
static int get_to_local(struct get *g, const char *path, const char *local)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	autofd dir = open(local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autofd fd = -1;
	char *real;
	int r;

	if (dir >= 0)
		return get_into(g, path, dir, *base ? base : g->ws); /* "": the whole workspace */
	if (errno != ENOENT && errno != ENOTDIR)
		return local_failed(local, -errno);
	if (local_is_special(local)) {
		fd = open(local, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return fd < 0 ? local_failed(local, -errno) : get_to_fd(g, path, fd);
	}
	real = realpath(local, NULL); /* what a link leads to, not the link */
	r = get_to_new(g, path, real ? real : local);
	free(real);
	return r;
}

int cmd_get(int argc, char **argv)
{
	struct get g = { 0 };
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &g.ws, true },
		{ OPT_TEXT, 0, "version", "N or SHA256",
		  "this version of a file; without it the newest", &g.version, false },
		{ 0 },
	};
	const struct opt_usage u = { "get",
				     "-w W ZONE/PATH [LOCAL or -] [--version N or SHA256]",
				     "Download a file, or a folder with all in it. What does not "
				     "have its recorded sha256 is not kept.",
				     "LOCAL: a folder that is there, a new name, or - for stdout; "
				     "without it the file's own name.",
				     opts,
				     1,
				     2,
				     false };
	autoclient c = NULL;
	char path[ZONE_PATH_SIZE];
	struct err err = { 0 };
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	if (zone_path(args[0], path, &err) < 0)
		return opts_wrong(&u, "'%s': %s", args[0], err.msg);
	r = client_start(&c);
	if (r != EXIT_OK)
		return r;
	g.c = c;
	if (n == 2 && strcmp(args[1], "-") == 0)
		return get_to_fd(&g, path, STDOUT_FILENO);
	return get_to_local(&g, path, n == 2 ? args[1] : ".");
}
