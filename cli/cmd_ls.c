/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_ls.c - garth ls: names, or with -l what the record knows of each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/ls_workspaces.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "cli/zone_path.h"

#define DEPTH_MAX 256
#define SHORT_SHA 12

struct ls {
	struct client *c;
	const char *ws;
	bool details, recursive, as_json;
	struct table table;
	json_t *items;
	unsigned depth;
};

static bool is_dir(const json_t *item)
{
	const char *type = field_text(item, "type");

	return type && strcmp(type, "dir") == 0;
}

static void show(struct ls *l, const json_t *item, const char *shown)
{
	char size[NUMBER_TEXT_SIZE], time[NUMBER_TEXT_SIZE], version[NUMBER_TEXT_SIZE],
		sha[SHORT_SHA + 1];
	const char *hash = field_text(item, "sha256");
	char *name = NULL;
	const char *cells[7];

	if (asprintf(&name, "%s%s", shown, is_dir(item) ? "/" : "") < 0) {
		l->table.failed = true;
		return;
	}
	if (!l->details) {
		print_on(stdout, is_dir(item) ? COLOR_BOLD : COLOR_NONE);
		print_safe(stdout, name);
		print_off(stdout, is_dir(item) ? COLOR_BOLD : COLOR_NONE);
		(void)fputc('\n', stdout);
		free(name);
		return;
	}
	(void)snprintf(sha, sizeof sha, "%s", hash ? hash : "-");
	cells[0] = is_dir(item) ? "-" : field_number(item, "size", size);
	cells[1] = field_time(item, "mtime", time);
	cells[2] = field_text(item, "agent");
	cells[3] = field_text(item, "step");
	cells[4] = field_number(item, "version", version);
	cells[5] = sha;
	cells[6] = name;
	table_row(&l->table, COLOR_NONE, cells);
	free(name);
}

static int list_folder(struct ls *l, const char *path, const char *before);

static int list_below(struct ls *l, const char *path, const char *shown)
{
	char *before = NULL;
	int r = EXIT_FAILED;

	l->depth++;
	if (l->depth > DEPTH_MAX)
		(void)fprintf(stderr, "garth ls: folders lie too deep\n");
	else if (asprintf(&before, "%s/", shown) >= 0)
		r = list_folder(l, path, before);
	l->depth--;
	free(before);
	return r;
}

static int list_item(struct ls *l, const char *folder, const char *before, json_t *item)
{
	char *name = field_path(item, "name"), *shown = NULL, *path = NULL;
	int r = EXIT_OK;

	if (!name || asprintf(&shown, "%s%s", before, name) < 0 ||
	    asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0) {
		(void)fprintf(stderr, "garth ls: no memory, or an entry without a name\n");
		r = EXIT_FAILED;
	} else if (l->as_json) {
		(void)json_object_set_new(
			item, "path", json_string(path)); /* a name that is no UTF-8 goes without */
		(void)json_array_append(l->items, item);
	} else {
		show(l, item, shown);
	}
	if (r == EXIT_OK && l->recursive && is_dir(item))
		r = list_below(l, path, shown);
	free(path);
	free(shown);
	free(name);
	return r;
}

/* @before what is shown before each name. */
static int list_folder(struct ls *l, const char *path, const char *before)
{
	autojson items = NULL;
	struct addr a;
	int r;

	addr_begin(&a, l->ws, "/files");
	addr_path(&a, path);
	r = client_list(l->c, addr_str(&a), 0, &items);
	for (size_t i = 0; r == EXIT_OK && i < json_array_size(items); i++)
		r = list_item(l, path, before, json_array_get(items, i));
	return r;
}

/* A file: its row in its folder's listing. */
static int list_file(struct ls *l, const char *path)
{
	char *parent = strdup(path), *slash = parent ? strrchr(parent, '/') : NULL;
	autojson items = NULL;
	struct addr a;
	int r;

	if (!parent)
		return EXIT_FAILED;
	if (slash)
		*slash = '\0';
	addr_begin(&a, l->ws, "/files");
	addr_path(&a, slash ? parent : "");
	r = client_list(l->c, addr_str(&a), 0, &items);
	for (size_t i = 0; r == EXIT_OK && i < json_array_size(items); i++) {
		json_t *item = json_array_get(items, i);
		char *name = field_path(item, "name");

		if (name && strcmp(name, slash ? slash + 1 : parent) == 0) {
			if (l->as_json)
				(void)json_array_append(l->items, item);
			else
				show(l, item, path);
		}
		free(name);
	}
	free(parent);
	return r;
}

/* EXIT_OK and whether the path is a file: its bytes are not to come. */
static int ask_kind(struct ls *l, const char *path, bool *ret_file)
{
	struct addr a;
	struct request q = { .method = "HEAD" };
	autoanswer answer = { 0 };
	struct err err = { 0 };
	int r;

	addr_begin(&a, l->ws, "/files");
	addr_path(&a, path);
	q.path = addr_str(&a);
	r = client_ask(l->c, &q, &answer, &err);
	if (r < 0)
		return client_broken(r, &err);
	/* what fails says why only in a body, so the listing is asked, and fails with a sentence */
	*ret_file = answer.status == 200 && answer.attachment;
	return EXIT_OK;
}

int cmd_ls(int argc, char **argv)
{
	static const char *const heads[] = { ">SIZE",    "MODIFIED", "AGENT", "STEP",
					     ">VERSION", "SHA256",   "NAME",  NULL };
	struct ls l = { 0 };
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &l.ws, false },
		{ OPT_FLAG, 'l', "long", NULL, "size, time, agent, step, version and hash too",
		  &l.details, false },
		{ OPT_FLAG, 'R', "recursive", NULL, "what is in folders too", &l.recursive, false },
		{ OPT_FLAG, 0, "json", NULL, "print {items: [...]}", &l.as_json, false },
		{ 0 },
	};
	const struct opt_usage u = {
		"ls",
		"[-w W] [ZONE/PATH]",
		"List a folder of the workspace (default: its root) or one file. Without -w and "
		"GARTH_WORKSPACE, list the workspaces that the key can see.",
		NULL,
		opts,
		0,
		1,
		false
	};
	autoclient c = NULL;
	autojson items = json_array();
	char path[ZONE_PATH_SIZE];
	struct err err = { 0 };
	bool file = false;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	if (!l.ws && n)
		return opts_wrong(&u, "-w/--workspace is needed for a path, or GARTH_WORKSPACE");
	if (zone_path(n ? args[0] : "", path, &err) < 0)
		return opts_wrong(&u, "'%s': %s", args[0], err.msg);
	r = client_start(&c);
	if (r != EXIT_OK)
		return r;
	if (!l.ws)
		return print_done(ls_workspaces(c, l.as_json));
	l.c = c;
	l.items = items;
	table_init(&l.table, heads);
	if (*path)
		r = ask_kind(&l, path, &file);
	if (r == EXIT_OK)
		r = file ? list_file(&l, path) : list_folder(&l, path, "");
	if (r == EXIT_OK && l.as_json)
		r = print_items(items);
	else if (r == EXIT_OK && l.details)
		r = table_print(&l.table, stdout);
	table_fini(&l.table);
	return print_done(r);
}
