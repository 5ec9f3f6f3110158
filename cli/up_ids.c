/* SPDX-License-Identifier: MIT */
/*
 * cli/up_ids.c - which range of ids this server holds. Its files carry these ids for ever, so the range is written into DIR/ids when
 * DIR gets its first one, and never changes; /run/garth/ids says which server of the host holds which, under a lock:
 *     FIRST COUNT PID START DIR
 * Without `ids` in the config the default range is cut in UP_SLICES; a new DIR takes the slice that the hash of its name points at, or
 * the next one that nobody has. Data folders that are gone hold nothing.
 * Not here: workspaces' and sandboxes' blocks (exec/ids.h).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>

#include "cli/up.h"
#include "core/fd.h"
#include "core/ids.h"

#define UP_SLICES 16u
#define REGISTRY_MAX (256u * 1024)
#define IDS_FILE_MAX (4u * 1024 * 1024)
#define SUBID_MAX (1024u * 1024)
#define SLICE_COUNT (IDS_COUNT_DEFAULT / UP_SLICES / IDS_BLOCK * IDS_BLOCK)

struct holder {
	uint32_t first, count;
	int pid;
	long long start;
	char *dir; /* into the text */
};

static bool overlap(uint32_t a, uint32_t a_count, uint32_t b, uint32_t b_count)
{
	return (uint64_t)a < (uint64_t)b + b_count && (uint64_t)b < (uint64_t)a + a_count;
}

static bool holder_parse(char *line, struct holder *h)
{
	int at = 0;

	if (sscanf(line, "%" SCNu32 " %" SCNu32 " %d %lld %n", &h->first, &h->count, &h->pid,
		   &h->start, &at) != 4 ||
	    at == 0 || !line[at])
		return false;
	h->dir = line + at;
	return true;
}

/* Does its data folder still stand, with files that carry these ids? */
static bool stands(const struct holder *h)
{
	autofd dir = open(h->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir >= 0 && faccessat(dir, "ids", F_OK, 0) == 0;
}

static bool alive(const struct holder *h)
{
	return h->pid > 1 && up_start_of(h->pid) == h->start;
}

/* The range that DIR/ids names; false: none yet. */
static int kept_range(const struct up *u, uint32_t *ret_first, uint32_t *ret_count, bool *ret_any,
		      struct err *err)
{
	autofd fd =
		u->data_fd < 0 ? -1 : openat(u->data_fd, "ids", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	autobuf text = { 0 };
	int r;

	*ret_any = false;
	buf_init(&text, IDS_FILE_MAX);
	if (u->data_fd < 0)
		return 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, "open %s/ids", u->data);
	r = fd_read_all(fd, &text);
	if (r < 0)
		return err_errno(err, r, "read %s/ids", u->data);
	*ret_any = sscanf(buf_str(&text), "range %" SCNu32 " %" SCNu32, ret_first, ret_count) == 2;
	return 0;
}

static int keep_range(const struct up *u, struct err *err)
{
	char line[64];
	autofd fd = openat(u->data_fd, "ids",
			   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	int len = snprintf(line, sizeof line, "range %" PRIu32 " %" PRIu32 "\n", u->cfg.ids_first,
			   u->cfg.ids_count);
	int r = fd < 0 ? -errno : fd_write_full(fd, line, (size_t)len);

	if (r == 0 && (fsync(fd) < 0 || fsync(u->data_fd) < 0))
		r = -errno;
	return r < 0 ? err_errno(err, r, "write %s/ids", u->data) : 0;
}

/* Ids that the host gives to its users' containers. */
static int subid_check(const struct up *u, const char *file, struct err *err)
{
	autofd fd = open(file, O_RDONLY | O_CLOEXEC);
	autobuf text = { 0 };
	char *save = NULL;
	unsigned n = 0;

	buf_init(&text, SUBID_MAX);
	if (fd < 0 || fd_read_all(fd, &text) < 0 || !text.p)
		return 0; /* a host without any */
	for (char *line = strtok_r(text.p, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		uint32_t first, count;

		n++;
		if (sscanf(line, "%*[^:]:%" SCNu32 ":%" SCNu32, &first, &count) == 2 &&
		    overlap(first, count, u->cfg.ids_first, u->cfg.ids_count))
			return err_set(err, -EADDRINUSE,
				       "the ids %" PRIu32 "..%" PRIu32
				       " overlap with line %u of %s: choose others with 'ids' in "
				       "the config",
				       u->cfg.ids_first, u->cfg.ids_first + u->cfg.ids_count - 1, n,
				       file);
	}
	return 0;
}

/* Is this range another DIR's? With `living`, only while its server runs. */
static const struct holder *taken(const struct holder *h, unsigned n, uint32_t first,
				  uint32_t count, const char *dir, bool living)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(h[i].dir, dir) != 0 && overlap(first, count, h[i].first, h[i].count) &&
		    (!living || alive(&h[i])))
			return &h[i];
	return NULL;
}

/* A slice of the default range that nobody has, or that nobody uses now. */
static int choose_slice(struct up *u, const struct holder *h, unsigned n, struct err *err)
{
	unsigned start = (unsigned)strtoul((char[]){ u->server[0], u->server[1], '\0' }, NULL, 16);

	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned k = 0; k < UP_SLICES; k++) {
			uint32_t first = IDS_FIRST_DEFAULT + (start + k) % UP_SLICES * SLICE_COUNT;

			if (taken(h, n, first, SLICE_COUNT, u->data, pass == 1))
				continue;
			u->cfg.ids_first = first;
			u->cfg.ids_count = SLICE_COUNT;
			return 0;
		}
	}
	return err_set(err, -ENOSPC,
		       "too few ids: %u servers of this host use the whole default range; give "
		       "this one another with 'ids' in the config",
		       UP_SLICES);
}

static int choose(struct up *u, const struct holder *h, unsigned n, bool *ret_new, struct err *err)
{
	uint32_t first = 0, count = 0;
	const struct holder *other;
	bool kept;
	int r = kept_range(u, &first, &count, &kept, err);

	if (r < 0)
		return r;
	*ret_new = !kept;
	if (kept && u->cfg.ids_given && (first != u->cfg.ids_first || count != u->cfg.ids_count))
		return err_set(err, -EINVAL,
			       "the files in %s belong to the ids [%" PRIu32 ", %" PRIu32
			       "], and the config says [%" PRIu32 ", %" PRIu32
			       "]: give it the former",
			       u->data, first, count, u->cfg.ids_first, u->cfg.ids_count);
	if (kept) {
		u->cfg.ids_first = first;
		u->cfg.ids_count = count;
	} else if (!u->cfg.ids_given) {
		r = choose_slice(u, h, n, err);
		if (r < 0)
			return r;
	}
	other = taken(h, n, u->cfg.ids_first, u->cfg.ids_count, u->data, true);
	if (other)
		return err_set(err, -EADDRINUSE,
			       "the ids %" PRIu32 "..%" PRIu32
			       " are in use by the server of %s: stop it, or give a new data "
			       "folder other ids in its config",
			       u->cfg.ids_first, u->cfg.ids_first + u->cfg.ids_count - 1,
			       other->dir);
	return 0;
}

static int enough(const struct up *u, struct err *err)
{
	uint32_t least = (1 + IDS_WS_BLOCKS + 1) * IDS_BLOCK;

	if (u->cfg.ids_count >= least)
		return 0;
	return err_set(err, -ENOSPC,
		       "too few ids: %" PRIu32 ", and one workspace and one sandbox need %" PRIu32
		       "; widen 'ids' in the config",
		       u->cfg.ids_count, least);
}

static int registry_write(const struct up *u, int run_fd, const struct holder *h, unsigned n,
			  struct err *err)
{
	autobuf text = { 0 };
	int r;

	buf_init(&text, REGISTRY_MAX);
	r = buf_addf(&text, "%" PRIu32 " %" PRIu32 " %d %lld %s\n", u->cfg.ids_first,
		     u->cfg.ids_count, (int)getpid(), up_start_of(getpid()), u->data);
	for (unsigned i = 0; r == 0 && i < n; i++)
		if (strcmp(h[i].dir, u->data) != 0)
			r = buf_addf(&text, "%" PRIu32 " %" PRIu32 " %d %lld %s\n", h[i].first,
				     h[i].count, h[i].pid, h[i].start, h[i].dir);
	if (r < 0)
		return err_set(err, r, "too many servers in " UP_RUN_ROOT "/ids");
	return up_put_file(run_fd, "ids", buf_str(&text), err);
}

static int registry_read(int run_fd, struct buf *text, struct holder **ret, unsigned *ret_n,
			 struct err *err)
{
	autofd fd = openat(run_fd, "ids", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct holder *h = NULL;
	char *save = NULL;
	unsigned n = 0;
	int r = fd < 0 ? 0 : fd_read_all(fd, text);

	if (r < 0)
		return err_errno(err, r, "read " UP_RUN_ROOT "/ids");
	for (char *line = text->p ? strtok_r(text->p, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct holder *more = reallocarray(h, n + 1u, sizeof *h);

		if (!more) {
			free(h);
			return err_set(err, -ENOMEM, "no memory");
		}
		h = more;
		n += holder_parse(line, &h[n]) && (alive(&h[n]) || stands(&h[n]));
	}
	*ret = h;
	*ret_n = n;
	return 0;
}

/* Choose, and say what is wrong with it. */
static int decide(struct up *u, int run_fd, struct buf *text, struct holder **ret_h,
		  unsigned *ret_n, bool *ret_new, struct err *err)
{
	int r = registry_read(run_fd, text, ret_h, ret_n, err);

	if (r == 0)
		r = choose(u, *ret_h, *ret_n, ret_new, err);
	if (r == 0)
		r = enough(u, err);
	if (r == 0)
		r = subid_check(u, "/etc/subuid", err);
	return r == 0 ? subid_check(u, "/etc/subgid", err) : r;
}

int up_ids_check(struct up *u, struct err *err)
{
	autofd run = open(UP_RUN_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct holder *h = NULL;
	autobuf text = { 0 };
	unsigned n = 0;
	bool fresh;
	int r;

	buf_init(&text, REGISTRY_MAX);
	r = decide(u, run, &text, &h, &n, &fresh, err);
	free(h);
	return r;
}

int up_ids(struct up *u, struct err *err)
{
	autofd run = open(UP_RUN_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autofd lock =
		run < 0 ? -1
			: openat(run, "ids.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct holder *h = NULL;
	autobuf text = { 0 };
	unsigned n = 0;
	bool fresh = false;
	int r;

	buf_init(&text, REGISTRY_MAX);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return err_sys(err, "lock " UP_RUN_ROOT "/ids");
	r = decide(u, run, &text, &h, &n, &fresh, err);
	if (r == 0)
		r = registry_write(u, run, h, n, err);
	if (r == 0 && fresh)
		r = keep_range(u, err);
	free(h);
	return r;
}
