/* SPDX-License-Identifier: MIT */
/*
 * exec/life.c - sandboxes from the question for one to the freeing of its gids. What is asked of a living one: exec/life_ask.c.
 */
#include "exec/life.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"
#include "exec/clone.h"

#define ROOT_DIR \
	"root" /* RUNDIR/root: an empty folder on which roots are put together, each in a mount namespace of its own */

struct sandbox *life_find(const struct daemon *d, uint64_t id)
{
	for (struct sandbox *s = d->sandboxes; s; s = s->next)
		if (s->plan.sandbox == id && s->state <= LIFE_DYING)
			return s;
	return NULL;
}

unsigned life_count(const struct daemon *d, const struct workspace *w)
{
	unsigned n = 0;

	for (const struct sandbox *s = d->sandboxes; s; s = s->next)
		n += s->ws == w;
	return n;
}

/* Nothing of it is left, and garth-fs does not care: forget it. */
static void forget(struct sandbox *s)
{
	struct daemon *d = s->d;
	struct workspace *w = s->ws;
	struct sandbox **p = &d->sandboxes;

	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	reactor_timer_clear(&d->loop, &s->timer);
	ids_gid_put(&d->ids, s->plan.gid_base);
	sb_plan_fini(&s->plan);
	free(s);
	workspace_sandbox_gone(w);
	daemon_check_stop(d);
}

static void fs_late(void *ctx)
{
	struct sandbox *s = ctx;

	workspace_down(s->ws, "garth-fs does not answer"); /* forgets s */
}

/* Tell who asked, then garth-fs. */
static void gone(struct sandbox *s)
{
	struct msg_sb_gone note = { .sandbox = s->plan.sandbox };
	struct msg_fs_sandbox_end end = { .sandbox = s->plan.sandbox,
					  .gid_base = s->plan.gid_base };
	bool lived = s->create.type == 0;

	if (!lived)
		ask_answer(s->d, &s->create, s->err.code ? s->err.code : -EIO, &s->err);
	for (unsigned i = 0; i < s->kills; i++)
		ask_answer(s->d, &s->kill[i], 0, NULL);
	s->kills = 0;
	if (lived) {
		memcpy(note.why, s->why, sizeof note.why);
		daemon_tell_api(s->d, MSG_SB_GONE, bytes_of(&note, sizeof note));
	}
	s->state = LIFE_TOLD;
	if (!s->told_fs || s->ws->state != WS_UP) {
		forget(s);
		return;
	}
	memcpy(end.why, s->why, sizeof end.why);
	s->fs_id = ++s->d->next_id;
	reactor_timer_set(&s->d->loop, &s->timer, LIFE_BUILD_NS, fs_late, s);
	(void)conn_send(&s->ws->f, MSG_FS_SANDBOX_END, s->fs_id, bytes_of(&end, sizeof end),
			bytes_of(NULL, 0), NULL, 0);
}

static void clean(void *ctx)
{
	struct sandbox *s = ctx;

	if (s->has_cgroups && cgroup_remove(&s->d->cg, s->plan.name) < 0) {
		if (clock_mono_ns() < s->clean_until_ns) {
			cgroup_kill(&s->d->cg, s->plan.name);
			reactor_timer_set(&s->d->loop, &s->timer, LIFE_RETRY_NS, clean, s);
			return;
		}
		log_error("a cgroup stays behind, going on: sandbox=%s", s->plan.name);
	}
	gone(s);
}

static void close_all(struct sandbox *s)
{
	reactor_io_del(&s->d->loop, &s->sync_io);
	reactor_io_del(&s->d->loop, &s->oom_io);
	reactor_timer_clear(&s->d->loop, &s->oom_timer);
	fd_closep(&s->sync_fd);
	fd_closep(&s->oom_fd);
	fd_closep(&s->peak_fd);
	fd_closep(&s->guest_fd);
}

static void child_ended(void *ctx, int status)
{
	struct sandbox *s = ctx;

	if (s->state == LIFE_BUILD && s->err.code == 0)
		(void)err_set(&s->err, -EIO,
			      "the sandbox's first process ended while it was built (status %d)",
			      status);
	if (s->state == LIFE_LIVE)
		(void)snprintf(s->why, sizeof s->why, "exited");
	close_all(s);
	s->state = LIFE_CLEAN;
	s->clean_until_ns = clock_mono_ns() + LIFE_CLEAN_NS;
	clean(s);
}

static void die_late(void *ctx)
{
	struct sandbox *s = ctx;

	/* Killed and not dead: it waits for an answer of garth-fs. Without garth-fs the wait ends. */
	workspace_down(s->ws, "a killed sandbox hangs in a file operation");
}

void life_kill(struct sandbox *s, const char *why)
{
	if (s->state >= LIFE_DYING)
		return;
	(void)snprintf(s->why, sizeof s->why, "%s", why);
	if (s->create.type && s->err.code == 0)
		(void)err_set(&s->err, -ESHUTDOWN, "the sandbox was ended before it began: %s",
			      why);
	if (s->state == LIFE_KNOWN) {
		gone(s);
		return;
	}
	s->state = LIFE_DYING;
	cgroup_kill(&s->d->cg, s->plan.name);
	child_kill(&s->child);
	reactor_timer_set(&s->d->loop, &s->timer, LIFE_DIE_NS, die_late, s);
}

void life_kill_all(struct daemon *d, const char *why)
{
	for (struct sandbox *s = d->sandboxes, *next; s; s = next) {
		next = s->next;
		life_kill(s, why);
	}
}

void life_workspace_down(struct workspace *w)
{
	for (struct sandbox *s = w->d->sandboxes, *next; s; s = next) {
		next = s->next;
		if (s->ws != w)
			continue;
		if (s->state == LIFE_TOLD)
			forget(s);
		else
			life_kill(s, "workspace");
	}
}

static void lifetime_over(void *ctx)
{
	life_kill(ctx, "lifetime");
}

static void build_late(void *ctx)
{
	struct sandbox *s = ctx;

	(void)err_set(&s->err, -ETIMEDOUT, "the sandbox was not built within %d s",
		      (int)(LIFE_BUILD_NS / NS_PER_S));
	life_kill(s, "killed");
}

/* v1 gives notice before the kill is counted, so the count is looked at for a while. */
static void oom_look(void *ctx)
{
	struct sandbox *s = ctx;
	struct msg_sb_oom note = { .sandbox = s->plan.sandbox };
	struct cgroup_stat now;

	cgroup_stat(&s->d->cg, s->plan.name, s->peak_fd, &now);
	if (now.oom_kills > s->oom_told) {
		s->oom_told = now.oom_kills;
		daemon_tell_api(s->d, MSG_SB_OOM, bytes_of(&note, sizeof note));
	} else if (++s->oom_looks < LIFE_OOM_LOOKS) {
		reactor_timer_set(&s->d->loop, &s->oom_timer, LIFE_OOM_LOOK_NS, oom_look, s);
	}
}

static void oom_ready(void *ctx, uint32_t events)
{
	struct sandbox *s = ctx;
	char drain[512];

	(void)events;
	if (read(s->oom_fd, drain, sizeof drain) < 0 && errno == EAGAIN)
		return;
	s->oom_looks = 0;
	oom_look(s);
}

/* It has executed garth-init: the answer. */
static void alive(struct sandbox *s)
{
	struct msg_sb_create_reply reply = { .gid_base = s->plan.gid_base };
	struct err err = { 0 };

	s->state = LIFE_LIVE;
	reactor_timer_set(&s->d->loop, &s->timer, s->plan.lifetime_ns, lifetime_over, s);
	if (cgroup_oom_fd(&s->d->cg, s->plan.name, &s->oom_fd, &err) < 0 ||
	    reactor_io_add(&s->d->loop, &s->oom_io, s->oom_fd, EPOLLIN, oom_ready, s, &err) < 0)
		log_warn("no notice of memory kills, going on: sandbox=%s why=\"%s\"", s->plan.name,
			 err.msg);
	ask_answer_fd(s->d, &s->create, bytes_of(&reply, sizeof reply), s->guest_fd);
	fd_closep(&s->guest_fd);
}

static void sync_ready(void *ctx, uint32_t events)
{
	struct sandbox *s = ctx;
	struct clone_note n;
	siginfo_t dead = { 0 };
	int r = clone_hear(s->sync_fd, &n);

	(void)events;
	if (r == 1 && n.word == CLONE_MAP) {
		r = clone_map(s->child.pid, s->plan.uid_map, s->plan.gid_map, &s->err);
		if (r == 0)
			r = clone_say(s->sync_fd, CLONE_MAPPED);
		if (r < 0)
			life_kill(s, "killed");
		return;
	}
	reactor_io_del(&s->d->loop, &s->sync_io);
	if (r == 1 && n.word == CLONE_FAILED) {
		(void)err_set(&s->err, n.code < 0 ? n.code : -EIO, "%s", n.msg);
		return; /* it exits: child_ended */
	}
	if (r == 0 && s->state == LIFE_BUILD &&
	    waitid(P_PIDFD, (id_t)s->child.pidfd, &dead, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    dead.si_pid == 0)
		alive(s);
}

/* What the child gets, and the child. */
static int build(struct sandbox *s, struct err *err)
{
	struct daemon *d = s->d;
	char at[PATH_LEN_MAX + 1], etc[PATH_LEN_MAX + 1], link[32];
	autofd tree =
		open_tree(s->ws->mount_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	autofd filter = -1, group = -1, guest = -1;
	struct clone_request c = { .plan = &s->plan, .init_fd = d->init_fd };
	int pair[2], pidfd = -1;
	pid_t pid = 0;
	int r;

	if (tree < 0)
		return err_sys(err, "clone the workspace's mount");
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", d->filter_fd);
	filter = open(link, O_RDONLY | O_CLOEXEC);
	if (filter < 0)
		return err_sys(err, "open the system call filter");
	r = fd_seqpair(pair);
	if (r < 0)
		return err_errno(err, r, "make a socket pair");
	s->guest_fd = pair[0];
	guest = pair[1];
	group = cgroup_clone_fd(&d->cg, s->plan.name);
	(void)snprintf(at, sizeof at, "%s/" ROOT_DIR, d->cfg.run);
	(void)snprintf(etc, sizeof etc, "%s/%s", d->cfg.run, d->etc.name);
	c.place = (struct root_place){
		.at = at, .etc = etc, .data_dir = d->cfg.data, .tree_fd = tree
	};
	c.guest_fd = guest;
	c.filter_fd = filter;
	c.cgroup_fd = group;
	r = clone_start(&c, &pid, &pidfd, &s->sync_fd, err);
	if (r == 0)
		r = child_watch(&s->child, &d->loop, pid, pidfd, false, child_ended, s, err);
	return r;
}

static int begin(struct sandbox *s, struct err *err)
{
	struct daemon *d = s->d;
	int r = etc_refresh(&d->etc, d->run_fd, err);

	if (r == 0)
		r = cgroup_make(&d->cg, s->plan.name, &s->plan.limits, err);
	if (r < 0)
		return r;
	s->has_cgroups = true;
	r = build(s, err);
	if (r < 0)
		return r;
	s->state = LIFE_BUILD;
	r = cgroup_attach(&d->cg, s->plan.name, s->child.pid, err);
	if (r == 0)
		r = reactor_io_add(&d->loop, &s->sync_io, s->sync_fd, EPOLLIN, sync_ready, s, err);
	if (r == 0)
		r = clone_say(s->sync_fd, CLONE_ATTACHED);
	reactor_timer_set(&d->loop, &s->timer, LIFE_BUILD_NS, build_late, s);
	return r;
}

void life_fs_answer(struct workspace *w, uint64_t fs_id, int status, struct bytes why)
{
	char text[LOG_ESC_SIZE];
	struct sandbox *s = w->d->sandboxes;

	while (s && !(s->ws == w && s->fs_id == fs_id))
		s = s->next;
	if (!s)
		return; /* of a sandbox that was killed meanwhile */
	s->fs_id = 0;
	if (s->state == LIFE_TOLD) {
		forget(s);
		return;
	}
	if (s->state != LIFE_KNOWN)
		return;
	reactor_timer_clear(&w->d->loop, &s->timer);
	if (status < 0) {
		s->told_fs = false;
		(void)err_set(&s->err, status, "garth-fs refused the sandbox: %s",
			      log_esc(why, text));
	} else if (begin(s, &s->err) == 0) {
		return;
	}
	if (s->child.pid) {
		life_kill(s, "killed");
		return;
	}
	close_all(s);
	s->state = LIFE_CLEAN;
	clean(s);
}

static void tell_fs(struct sandbox *s)
{
	struct msg_fs_sandbox m = { .sandbox = s->plan.sandbox,
				    .gid_base = s->plan.gid_base,
				    .agent_block = s->plan.agent_block,
				    .live = s->plan.live };

	s->fs_id = ++s->d->next_id;
	reactor_timer_set(&s->d->loop, &s->timer, LIFE_BUILD_NS, fs_late, s);
	s->told_fs = true;
	/* A failure shows as the peer's end in the loop, or as fs_late. */
	(void)conn_send(&s->ws->f, MSG_FS_SANDBOX, s->fs_id, bytes_of(&m, sizeof m),
			bytes_of(NULL, 0), NULL, 0);
}

/* Those of which something may be left; of the others only garth-fs has not answered yet. */
static unsigned running(const struct daemon *d)
{
	unsigned n = 0;

	for (const struct sandbox *s = d->sandboxes; s; s = s->next)
		n += s->state != LIFE_TOLD;
	return n;
}

/* May there be one more? */
static int admit(struct daemon *d, const struct msg_sb_create *m, struct workspace **ret_ws,
		 struct err *err)
{
	struct workspace *w;

	if (!msg_text_ok(m->ws, sizeof m->ws))
		return err_set(err, -EINVAL, "ws: no text");
	w = workspace_get(d, m->ws);
	if (!w)
		return err_set(err, -ENOENT, "no workspace '%s'", m->ws);
	if (w->state != WS_UP || w->want_stop)
		return err_set(err, -EAGAIN, "the workspace %s is not up", w->name);
	if (running(d) >= d->cfg.sandboxes)
		return err_set(err, -EAGAIN,
			       "%u sandboxes are running, which is the server's limit",
			       d->cfg.sandboxes);
	for (const struct sandbox *s = d->sandboxes; s; s = s->next)
		if (s->plan.sandbox == m->sandbox)
			return err_set(err, -EEXIST, "this sandbox id is taken");
	*ret_ws = w;
	return 0;
}

/* Checked, with ids; not in the list yet. */
static int make(struct daemon *d, struct workspace *w, const struct msg_sb_create *m,
		struct bytes tail, struct sandbox **ret, struct err *err)
{
	struct sandbox *s = calloc(1, sizeof *s);
	uint32_t gid_base = 0;
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "no memory for a sandbox");
	r = sb_plan_make(m, tail, w->uid_base, &s->plan, err);
	if (r == 0 && ids_gid_take(&d->ids, &gid_base) < 0)
		r = err_set(err, -ENOSPC,
			    "no group ids are left for another sandbox: give the server a larger "
			    "'ids' range");
	if (r < 0) {
		sb_plan_fini(&s->plan);
		free(s);
		return r;
	}
	sb_plan_gids(&s->plan, gid_base);
	s->d = d;
	s->ws = w;
	s->sync_fd = s->guest_fd = s->oom_fd = s->peak_fd = -1;
	child_init(&s->child);
	*ret = s;
	return 0;
}

void life_create(struct daemon *d, const struct msg_sb_create *m, struct bytes tail, struct ask a)
{
	struct workspace *w = NULL;
	struct sandbox *s = NULL;
	struct err err = { 0 };
	int r = admit(d, m, &w, &err);

	if (r == 0)
		r = make(d, w, m, tail, &s, &err);
	if (r < 0 || !s) {
		ask_answer(d, &a, r, &err);
		return;
	}
	s->create = a;
	s->next = d->sandboxes;
	d->sandboxes = s;
	tell_fs(s);
}
