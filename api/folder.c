/* SPDX-License-Identifier: MIT */
/*
 * api/folder.c - the listing of one folder, sorted by name.
 */
#include "api/folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "api/files.h"
#include "api/jsonx.h"
#include "api/reqws.h"
#include "api/view.h"
#include "core/fd.h"
#include "core/id.h"

#define LISTING_MAX (256u << 20)
#define PAD 8u

struct entry {
	const struct msg_dirent *d;
	struct bytes name;
};

struct folder {
	struct req *r;
	struct ws *ws;
	struct call call;
	struct buf path, text;
	struct entry *entries;
	size_t count;
	json_t *known; /* path -> artifact */
};

static void folder_free(void *own)
{
	struct folder *f = own;

	call_cancel(&f->call);
	buf_fini(&f->path);
	buf_fini(&f->text);
	free(f->entries);
	json_decref(f->known);
	free(f);
}

/* ---- whose log is it ---- */

static int take_agent(void *ctx, const struct idx_step *s)
{
	char *out = ctx;

	(void)snprintf(out, IDENT_SIZE, "%.*s",
		       (int)(s->agent_name.len < IDENT_SIZE ? s->agent_name.len : IDENT_SIZE - 1),
		       (const char *)s->agent_name.p);
	return 1;
}

const char *folder_log_agent(struct ws *ws, struct bytes path, char out[IDENT_SIZE])
{
	struct idx_filter f = { .limit = 1 };
	char id[ID_TEXT_SIZE];
	const char *p = path.p, *end;
	size_t n;

	if (path.len == 4 && memcmp(p, "logs", 4) == 0)
		return "";
	if (path.len < 6 || memcmp(p, "logs/", 5) != 0)
		return NULL;
	end = memchr(p + 5, '/', path.len - 5);
	n = end != NULL ? (size_t)(end - p) - 5 : path.len - 5;
	if (n >= sizeof id)
		return NULL;
	memcpy(id, p + 5, n);
	id[n] = '\0';
	out[0] = '\0';
	if (id_parse(ID_STEP, id, &f.step) < 0 || idx_steps(ws->reader, &f, take_agent, out) < 0 ||
	    out[0] == '\0')
		return NULL;
	return out;
}

/* ---- entries ---- */

static int by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	size_t n = x->name.len < y->name.len ? x->name.len : y->name.len;
	int c = memcmp(x->name.p, y->name.p, n);

	return c != 0 ? c : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

static int parse(struct folder *f)
{
	size_t at = 0, max = f->text.len / sizeof(struct msg_dirent);

	f->entries = calloc(max + 1, sizeof *f->entries);
	if (f->entries == NULL)
		return -ENOMEM;
	while (f->text.len - at >= sizeof(struct msg_dirent)) {
		const struct msg_dirent *d = (const void *)(f->text.p + at);
		size_t len = (sizeof *d + (size_t)d->name_len + PAD - 1) / PAD * PAD;

		if (d->name_len == 0 || d->name_len > PATH_LEN_MAX || len > f->text.len - at)
			return -EBADMSG;
		f->entries[f->count++] =
			(struct entry){ d, bytes_of(f->text.p + at + sizeof *d, d->name_len) };
		at += len;
	}
	qsort(f->entries, f->count, sizeof *f->entries, by_name);
	return 0;
}

static int take_known(void *ctx, const struct idx_version *v)
{
	json_t *j = view_version(v);
	const char *key = json_string_value(json_object_get(j, "path"));
	int rc = key != NULL ? json_object_set(ctx, key, j)
			     : 0; /* names that are not UTF-8 go without */

	json_decref(j);
	return rc < 0 ? -ENOMEM : 0;
}

static const char *type_of(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR: return "dir";
	case S_IFREG: return "file";
	case S_IFLNK: return "symlink";
	case S_IFSOCK: return "socket";
	case S_IFIFO: return "fifo";
	default: return "device";
	}
}

/* The entry's path from the workspace's root. */
static int full_path(const struct folder *f, const struct entry *e, struct buf *out)
{
	int rc = 0;

	if (f->path.len > 0) {
		rc = buf_add(out, f->path.p, f->path.len);
		if (rc == 0)
			rc = buf_add_char(out, '/');
	}
	return rc == 0 ? buf_add(out, e->name.p, e->name.len) : rc;
}

static json_t *entry_json(const struct folder *f, const struct entry *e, const struct buf *path)
{
	static const char *const copied[] = { "version",    "sha256", "step",
					      "media_type", "state",  "agent" };
	const json_t *known = json_object_get(f->known, buf_str(path));
	const char *owner = ws_agent_name(f->ws, e->d->agent_block);
	json_t *j = json_object();

	jx_set_bytes(j, "name", e->name);
	(void)json_object_set_new(j, "type", json_string(type_of(e->d->mode)));
	(void)json_object_set_new(j, "size",
				  json_integer(S_ISDIR(e->d->mode) ? 0 : (json_int_t)e->d->size));
	(void)json_object_set_new(j, "mtime", jx_time(e->d->mtime_ns));
	(void)json_object_set_new(j, "mode", json_sprintf("%04o", e->d->mode & 07777u));
	(void)json_object_set_new(j, "agent", owner != NULL ? json_string(owner) : json_null());
	for (size_t i = 0; known != NULL && i < sizeof copied / sizeof copied[0]; i++)
		(void)json_object_set(j, copied[i], json_object_get(known, copied[i]));
	return j;
}

static bool visible(const struct folder *f, const struct buf *path)
{
	char agent[IDENT_SIZE];

	if (f->r->who.role != ROLE_AGENT)
		return true;
	return req_may_read(f->r, f->ws, buf_view(path),
			    folder_log_agent(f->ws, buf_view(path), agent));
}

static void answer(struct folder *f)
{
	uint64_t limit = UINT64_MAX, skip = 0, seen = 0, shown = 0;
	struct req *r = f->r;
	json_t *items = json_array();
	char next[24] = "";

	if (req_number(r, "limit", 1, UINT64_MAX, &limit) < 0 ||
	    req_number(r, "cursor", 0, UINT64_MAX, &skip) < 0) {
		json_decref(items);
		return;
	}
	for (size_t i = 0; i < f->count; i++) {
		autobuf path;

		buf_init(&path, 2 * PATH_LEN_MAX);
		if (full_path(f, &f->entries[i], &path) < 0 || !visible(f, &path) || seen++ < skip)
			continue;
		if (shown == limit) {
			(void)snprintf(next, sizeof next, "%" PRIu64, skip + shown);
			break;
		}
		shown++;
		(void)json_array_append_new(items, entry_json(f, &f->entries[i], &path));
	}
	req_json(r, 200,
		 json_pack("{s:o, s:o, s:s?}", "path", jx_str(buf_view(&f->path)), "items", items,
			   "next", next[0] != '\0' ? next : NULL));
}

static void on_list(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct folder *f = ctx;
	struct idx_filter filter = { .newest = true };
	autofd fd = -1;

	if (status == 0) {
		fd = wire_take_fd(reply, 0);
		status = fd_memfd_read(fd, &f->text);
	}
	if (status == 0)
		status = parse(f);
	if (status == 0 && f->path.len > 0) {
		filter.below = buf_view(&f->path);
		if (f->ws->reader == NULL ||
		    idx_versions(f->ws->reader, &filter, take_known, f->known) < 0)
			status = -EIO;
	}
	if (status < 0)
		req_fail(f->r, status, "'%.300s' can't be listed: %.100s", buf_str(&f->path),
			 status == -ENOENT ? "it is not there" : why);
	else
		answer(f);
}

void folder_answer(struct req *r, struct ws *ws, struct bytes path)
{
	struct folder *f = calloc(1, sizeof *f);
	const char *recursive = req_arg(r, "recursive");

	if (f != NULL)
		buf_init(&f->path, PATH_LEN_MAX);
	if (f == NULL || (path.len > 0 && buf_add(&f->path, path.p, path.len) < 0)) {
		free(f);
		req_send(r, 503, NULL);
		return;
	}
	f->r = r;
	f->ws = ws;
	f->known = json_object();
	buf_init(&f->text, LISTING_MAX);
	if (r->fini != NULL)
		r->fini(r->own);
	r->own = f;
	r->fini = folder_free;
	files_list(ws, &f->call, req_asker(r, ws), buf_view(&f->path),
		   recursive != NULL && strcmp(recursive, "0") != 0, on_list, f);
}
