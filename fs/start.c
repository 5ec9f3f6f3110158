/* SPDX-License-Identifier: MIT */
/*
 * fs/start.c - from descriptors to a workspace that can be served.
 */
#include "fs/start.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/ids.h"
#include "fs/agent.h"
#include "fs/api.h"
#include "fs/claim.h"
#include "fs/cred.h"
#include "fs/cut.h"
#include "fs/emit.h"
#include "fs/handle.h"
#include "fs/node.h"
#include "fs/op.h"
#include "fs/quota.h"
#include "fs/rec.h"
#include "fs/seal.h"
#include "fs/step.h"
#include "policy/policy.h"

#define INDEX_TRIES 100 /* of 20 ms */

void left_fini(struct left *l)
{
	for (size_t i = 0; i < l->files; i++)
		free((void *)(uintptr_t)l->file[i].f.path.p);
	free(l->file);
	free(l->step);
	memset(l, 0, sizeof *l);
}

/* ---- folders ---- */

static int open_dir(int at, const char *name, int *ret_fd, struct err *err)
{
	*ret_fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? err_sys(err, "open %s/ of the workspace's store", name) : 0;
}

/* A folder of the store that may be missing in an old or imported one. */
static int ensure_dir(struct fs *fs, int at, const char *name, mode_t mode, struct err *err)
{
	autofd fd = -1;

	if (mkdirat(at, name, mode) < 0)
		return errno == EEXIST ? 0 : err_sys(err, "make %s/", name);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, (uid_t)-1, fs->gid) < 0 || fchmod(fd, mode) < 0)
		return err_sys(err, "set up %s/", name);
	return 0;
}

static int ensure_zones(struct fs *fs, struct err *err)
{
	static const struct {
		const char *name;
		mode_t mode;
		bool operators;
	} zones[] = {
		{ "input", 0775, true }, { "output", 0775, false }, { "agents", 0755, false },
		{ "logs", 0755, false }, { "task", 0755, false },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof zones / sizeof zones[0] && r == 0; i++) {
		autofd fd = -1;
		uint32_t uid = ids_agent_uid(fs->uid_base, 0, IDS_UID_USER);
		struct stat st;

		r = ensure_dir(fs, fs->data_fd, zones[i].name, zones[i].mode, err);
		if (r == 0)
			r = open_dir(fs->data_fd, zones[i].name, &fd, err);
		if (r == 0 && zones[i].operators && (fstat(fd, &st) < 0 || st.st_uid == fs->uid))
			r = cred_chown(fs, fd, uid);
	}
	return r;
}

static int open_store(struct fs *fs, struct err *err)
{
	static const struct {
		const char *name;
		mode_t mode;
	} dirs[] = { { "data", 0775 }, { "objects", 0770 }, { "task", 0770 }, { "trash", 0770 } };
	int *fds[] = { &fs->data_fd, &fs->objects_fd, &fs->task_fd, &fs->trash_fd };
	int r = 0;

	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0] && r == 0; i++) {
		r = ensure_dir(fs, fs->store_fd, dirs[i].name, dirs[i].mode, err);
		if (r == 0)
			r = open_dir(fs->store_fd, dirs[i].name, fds[i], err);
	}
	return r == 0 ? ensure_zones(fs, err) : r;
}

/* ---- the nodes that are always there ---- */

static int make_node(struct fs *fs, int at, const char *name, enum node_kind kind,
		     struct node **ret, struct err *err)
{
	autofd fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct fhandle h;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "open %s/", name);
	r = fhandle_of(fd, &h);
	if (r < 0)
		return err_errno(err, r,
				 "the store's file system has no file handles that fit (ext4, xfs "
				 "and btrfs do)");
	r = nodes_make(fs->nodes, kind, &h, &st, fs->root, name, NULL, ret);
	if (r < 0)
		return err_errno(err, r, "the node of %s", name);
	hcache_offer(fs->hcache, &h, fd_steal(&fd));
	return 0;
}

static int make_nodes(struct fs *fs, struct err *err)
{
	int r = make_node(fs, fs->store_fd, "data", NODE_ROOT, &fs->root, err);

	if (r == 0)
		r = make_node(fs, fs->data_fd, "task", NODE_HOLDER, &fs->holder, err);
	if (r == 0)
		r = make_node(fs, fs->data_fd, "agents", NODE_PLAIN, &fs->agents_node, err);
	if (r == 0)
		r = make_node(fs, fs->data_fd, "logs", NODE_PLAIN, &fs->logs_node, err);
	return r;
}

int start_parts(struct fs *fs, struct err *err)
{
	struct policy *p = NULL;
	int r = open_store(fs, err);

	if (r < 0)
		return r;
	r = policy_parse((struct bytes){ "", 0 }, &p, err);
	if (r == 0)
		r = steps_new(p, &fs->steps);
	if (r == 0)
		r = hcache_new(FD_KEEPER, &fs->hcache);
	if (r == 0)
		r = nodes_new(&fs->nodes);
	if (r == 0)
		nodes_at_end(fs->nodes, op_ended, fs);
	if (r == 0)
		r = agents_new(&fs->agents);
	if (r == 0)
		r = recs_new(&fs->recs);
	if (r == 0)
		r = seal_new(&fs->seal);
	if (r == 0)
		r = quota_new(&fs->quota);
	if (r == 0)
		r = claims_new(&fs->claims);
	if (r < 0)
		return err_errno(err, r, "no memory to begin with");
	return make_nodes(fs, err);
}

/* ---- the record ---- */

static int load_agent(void *ctx, uint32_t agent, struct bytes name)
{
	struct fs *fs = ctx;
	uint32_t block;
	int r = agent == 0 ? 0 : agent_add(fs->agents, name, agent, &block);

	return r == -EEXIST ? 0 : r;
}

static void *grown(void *list, size_t size, size_t n, size_t *cap)
{
	if (n < *cap)
		return list;
	*cap = *cap ? *cap * 2 : 256;
	return realloc(list, size * *cap);
}

static int load_file(void *ctx, const struct idx_load_file *f)
{
	struct left *l = ctx;
	struct left_file *all = grown(l->file, sizeof *all, l->files, &l->files_cap);
	char *path = malloc(f->path.len + 1);

	if (all)
		l->file = all;
	if (!all || !path) {
		free(path);
		return -ENOMEM;
	}
	memcpy(path, f->path.p, f->path.len);
	path[f->path.len] = '\0';
	l->file[l->files] = (struct left_file){ .f = *f };
	l->file[l->files++].f.path = bytes_of(path, f->path.len);
	return 0;
}

static int load_step(void *ctx, const struct idx_load_step *s)
{
	struct left *l = ctx;
	struct idx_load_step *all = grown(l->step, sizeof *all, l->steps, &l->steps_cap);

	if (!all)
		return -ENOMEM;
	l->step = all;
	l->step[l->steps++] = *s;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct left_file *x = a, *y = b;
	size_t n = x->f.path.len < y->f.path.len ? x->f.path.len : y->f.path.len;
	int c = memcmp(x->f.path.p, y->f.path.p, n);

	return c ? c : (x->f.path.len > y->f.path.len) - (x->f.path.len < y->f.path.len);
}

static int load_policy(struct fs *fs, const struct idx_load *state, struct err *err)
{
	struct policy *p = NULL;
	autobuf yaml;
	autofd fd = -1;
	int r;

	buf_init(&yaml, POLICY_TEXT_MAX);
	if (!state->has_policy)
		return 0;
	r = cut_object_open(fs, &state->policy, &fd);
	if (r == 0)
		r = fd_read_all(fd, &yaml);
	if (r < 0)
		return err_errno(err, r, "the policy's text in objects/");
	r = policy_parse(buf_view(&yaml), &p, err);
	if (r < 0)
		return err_wrap(err, r, "the policy that holds");
	steps_set_policy(fs->steps, p);
	return 0;
}

/* A garth-fs that was killed may take a moment to be gone. */
static int open_index(struct fs *fs, struct left *ret, struct err *err)
{
	static const struct timespec pause = { .tv_nsec = 20 * NS_PER_MS };
	int r = -EBUSY;

	for (int i = 0; i < INDEX_TRIES && r == -EBUSY; i++) {
		if (i > 0)
			(void)nanosleep(&pause, NULL);
		r = idx_writer_open(fs->store_fd, fs->ring, &fs->idx, &ret->holes, err);
	}
	return r;
}

int start_record(struct fs *fs, struct left *ret, struct err *err)
{
	struct idx_load state = { 0 };
	int r = ring_open(FD_RING, &fs->ring, err);

	if (r < 0)
		return r;
	ret->crashed = ring_head(fs->ring) > 0; /* a clean stop removes the ring */
	cred_own(fs);
	r = open_index(fs, ret, err);
	if (r < 0)
		return r;
	r = idx_load_state(fs->idx, &state);
	if (r == 0)
		r = idx_load_agents(fs->idx, load_agent, fs);
	if (r == 0)
		r = idx_load_files(fs->idx, load_file, ret);
	if (r == 0)
		r = idx_load_open_steps(fs->idx, load_step, ret);
	if (r < 0)
		return err_errno(err, r, "load the record");
	if (ret->files)
		qsort(ret->file, ret->files, sizeof *ret->file, by_path);
	atomic_store(&fs->next_version, state.next_version ? state.next_version : 1);
	if (!state.has_workspace) {
		struct event e = { .kind = EV_WORKSPACE };

		e.u.workspace = (struct ev_workspace){ .name = bytes_str(fs->ws),
						       .uid_base = fs->uid_base,
						       .gid = fs->gid };
		emit(fs, &e);
	}
	return load_policy(fs, &state, err);
}

void start_events(struct fs *fs, struct left *l)
{
	struct event e = { .kind = EV_START };

	e.u.start = (struct ev_start){ .crashed = l->crashed || l->steps > 0,
				       .holes = l->holes,
				       .version = bytes_str(GARTH_VERSION) };
	emit(fs, &e);
	for (uint32_t i = 1; i < IDS_AGENTS_MAX; i++) /* an imported workspace may miss one */
		if (agent_name(fs->agents, i))
			(void)api_make_area(fs, agent_name(fs->agents, i), i, NULL);
	for (size_t i = 0; i < l->steps; i++) {
		struct event end = { .kind = EV_STEP_END };

		end.u.step_end = (struct ev_step_end){
			.step = l->step[i].step,
			.reason = REASON_LOST,
			.exit_code = -1,
			.detail = BYTES_LIT("garth-fs ended before the step did")
		};
		emit(fs, &end);
	}
}
