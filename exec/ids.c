/* SPDX-License-Identifier: MIT */
/*
 * exec/ids.c - reservations of uids and gids.
 */
#include "exec/ids.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/ids.h"

#define IDS_LINE_MAX 160u
#define IDS_BLOCKS_MIN (1u + IDS_WS_BLOCKS + 1u) /* garth-api's, one workspace, one sandbox */
#define WS_SPAN (IDS_WS_BLOCKS * IDS_BLOCK)

static struct ids_ws *find(const struct ids *x, const char *name)
{
	for (unsigned i = 0; i < x->ws_count; i++)
		if (strcmp(x->ws[i].name, name) == 0)
			return &x->ws[i];
	return NULL;
}

const struct ids_ws *ids_find(const struct ids *x, const char *name)
{
	return find(x, name);
}

static int add(struct ids *x, const char *name, uint32_t uid_base)
{
	struct ids_ws *more = reallocarray(x->ws, x->ws_count + 1u, sizeof *more);

	if (!more)
		return -ENOMEM;
	x->ws = more;
	more[x->ws_count] = (struct ids_ws){ .uid_base = uid_base };
	memcpy(more[x->ws_count].name, name, strlen(name) + 1);
	x->ws_count++;
	return 0;
}

static void drop(struct ids *x, const char *name)
{
	for (unsigned i = 0; i < x->ws_count; i++) {
		if (strcmp(x->ws[i].name, name) != 0)
			continue;
		x->ws[i] = x->ws[--x->ws_count];
		return;
	}
}

static bool base_is_ours(const struct ids *x, uint32_t base)
{
	return base >= x->first + IDS_BLOCK && base - x->first <= x->count - WS_SPAN &&
	       (base - x->first) % IDS_BLOCK == 0;
}

static bool overlaps(const struct ids *x, uint32_t base)
{
	for (unsigned i = 0; i < x->ws_count; i++)
		if (base < x->ws[i].uid_base + WS_SPAN && x->ws[i].uid_base < base + WS_SPAN)
			return true;
	return false;
}

static int parse_ws(struct ids *x, const char *name, uint32_t base, bool is_free)
{
	struct ids_ws *w = find(x, name);

	if (ident_check(name, "workspace", NULL) < 0 || !base_is_ours(x, base))
		return -EINVAL;
	if (is_free) {
		if (!w || w->uid_base != base)
			return -EINVAL;
		drop(x, name);
		return 0;
	}
	return w || overlaps(x, base) ? -EINVAL : add(x, name, base);
}

static int parse_line(struct ids *x, const char *line)
{
	char verb[8], name[IDENT_SIZE];
	uint32_t a, b;
	int end = 0;

	if (sscanf(line, "range %" SCNu32 " %" SCNu32 "%n", &a, &b, &end) == 2 && line[end] == '\0')
		return a == x->first && b == x->count ? 0 : -EINVAL;
	if (sscanf(line, "%7s %63s %" SCNu32 "%n", verb, name, &a, &end) != 3 || line[end] != '\0')
		return -EINVAL;
	if (strcmp(verb, "ws") == 0)
		return parse_ws(x, name, a, false);
	return strcmp(verb, "free") == 0 ? parse_ws(x, name, a, true) : -EINVAL;
}

int ids_parse(struct ids *x, struct bytes text, struct err *err)
{
	const char *p = text.p;
	size_t left = text.len;

	for (unsigned n = 1; left > 0; n++) {
		const char *nl = memchr(p, '\n', left);
		char line[IDS_LINE_MAX];
		size_t len;
		int r = -EINVAL;

		if (!nl)
			break; /* cut off by a crash */
		len = (size_t)(nl - p);
		if (len < sizeof line && !memchr(p, '\0', len)) {
			memcpy(line, p, len);
			line[len] = '\0';
			r = parse_line(x, line);
		}
		if (r == -ENOMEM)
			return err_set(err, r, "no memory for the file ids");
		if (r < 0)
			return err_set(err, r,
				       "the file ids, line %u, does not fit the range %" PRIu32
				       ",%" PRIu32 " or the lines before it",
				       n, x->first, x->count);
		p += len + 1;
		left -= len + 1;
	}
	return 0;
}

static int load(struct ids *x, struct err *err)
{
	autobuf text = { 0 };
	const char *nl;
	size_t whole = 0;
	int r;

	buf_init(&text, IDS_FILE_MAX);
	r = fd_read_all(x->fd, &text);
	if (r < 0)
		return err_errno(err, r, "read the file ids");
	r = ids_parse(x, buf_view(&text), err);
	if (r < 0)
		return r;
	nl = text.len ? memrchr(text.p, '\n', text.len) : NULL;
	if (nl)
		whole = (size_t)(nl - text.p) + 1;
	if (whole != text.len && (ftruncate(x->fd, (off_t)whole) < 0 || fsync(x->fd) < 0))
		return err_sys(err, "drop the cut line of the file ids");
	return 0;
}

int ids_open(int dir_fd, uint32_t first, uint32_t count, struct ids *ret, struct err *err)
{
	struct ids x = {
		.fd = -1, .first = first, .count = count, .gid_blocks = count / IDS_BLOCK
	};
	int r;

	if (x.gid_blocks < IDS_BLOCKS_MIN || UINT32_MAX - first < count)
		return err_set(err, -EINVAL,
			       "the range %" PRIu32 ",%" PRIu32 " is too small: it needs %u ids",
			       first, count, IDS_BLOCKS_MIN * IDS_BLOCK);
	x.gid_used = calloc(x.gid_blocks, 1);
	if (!x.gid_used)
		return err_set(err, -ENOMEM, "no memory for the gid blocks");
	r = path_open_beneath(dir_fd, "ids", O_RDWR | O_CREAT | O_APPEND, 0600, &x.fd, err);
	if (r == 0)
		r = load(&x, err);
	if (r < 0) {
		ids_close(&x);
		return r;
	}
	*ret = x;
	return 0;
}

void ids_close(struct ids *x)
{
	fd_closep(&x->fd);
	free(x->ws);
	free(x->gid_used);
	x->ws = NULL;
	x->gid_used = NULL;
	x->ws_count = 0;
}

static int append(struct ids *x, const char *verb, const char *name, uint32_t base, struct err *err)
{
	char line[IDS_LINE_MAX];
	off_t end = lseek(x->fd, 0, SEEK_END);
	int len = snprintf(line, sizeof line, "%s %s %" PRIu32 "\n", verb, name, base);
	int r = fd_write_full(x->fd, line, (size_t)len);

	if (r == 0 && fdatasync(x->fd) < 0)
		r = -errno;
	if (r < 0) {
		if (end >= 0)
			(void)ftruncate(x->fd, end);
		return err_errno(err, r, "write the file ids");
	}
	return 0;
}

/* The end, in blocks from the bottom of the range, of what sandboxes hold or may have held as gids: the lowest of them. */
static uint32_t lowest_gid_block(const struct ids *x)
{
	for (uint32_t i = x->gid_blocks; i > 0; i--)
		if (x->gid_used[i - 1])
			return x->gid_blocks - i;
	return x->gid_blocks - 1; /* one is kept for a sandbox */
}

int ids_reserve(struct ids *x, const char *name, uint32_t *ret_uid_base, struct err *err)
{
	uint32_t end = x->first + lowest_gid_block(x) * IDS_BLOCK;
	uint32_t base = x->first + IDS_BLOCK;
	int r;

	if (find(x, name))
		return err_set(err, -EEXIST, "the workspace '%s' exists", name);
	while (base <= end - WS_SPAN && overlaps(x, base))
		base += WS_SPAN;
	if (end < WS_SPAN || base > end - WS_SPAN)
		return err_set(err, -ENOSPC,
			       "no user ids are left for another workspace: give the server a "
			       "larger 'ids' range");
	r = add(x, name, base);
	if (r < 0)
		return err_set(err, r, "no memory for a workspace");
	r = append(x, "ws", name, base, err);
	if (r < 0) {
		drop(x, name);
		return r;
	}
	*ret_uid_base = base;
	return 0;
}

int ids_release(struct ids *x, const char *name, struct err *err)
{
	struct ids_ws *w = find(x, name);
	int r;

	if (!w)
		return err_set(err, -ENOENT, "no workspace '%s'", name);
	r = append(x, "free", name, w->uid_base, err);
	if (r == 0)
		drop(x, name);
	return r;
}

/* Gid blocks must stay above every workspace's ids: its group is a number in its own range. */
static uint32_t gid_blocks_usable(const struct ids *x)
{
	uint32_t top = 1;

	for (unsigned i = 0; i < x->ws_count; i++) {
		uint32_t end = (x->ws[i].uid_base - x->first) / IDS_BLOCK + IDS_WS_BLOCKS;

		if (end > top)
			top = end;
	}
	return x->gid_blocks > top ? x->gid_blocks - top : 0;
}

int ids_gid_take(struct ids *x, uint32_t *ret_gid_base)
{
	uint32_t usable = gid_blocks_usable(x);

	for (uint32_t k = 0; k < usable; k++) {
		uint32_t i = (x->gid_next + k) % usable;

		if (x->gid_used[i])
			continue;
		x->gid_used[i] = 1;
		x->gid_next = i + 1;
		*ret_gid_base = x->first + (x->gid_blocks - 1 - i) * IDS_BLOCK;
		return 0;
	}
	return -ENOSPC;
}

void ids_gid_put(struct ids *x, uint32_t gid_base)
{
	uint32_t i = x->gid_blocks - 1 - (gid_base - x->first) / IDS_BLOCK;

	invariant(gid_base >= x->first && i < x->gid_blocks && x->gid_used[i]);
	x->gid_used[i] = 0;
}
