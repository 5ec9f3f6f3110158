/* SPDX-License-Identifier: MIT */
/*
 * exec/workspace.c - starting, stopping and restarting the processes of a workspace. Making and deleting: exec/workspace_make.c.
 */
#include "exec/workspace.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/ids.h"
#include "core/log.h"
#include "exec/life.h"
#include "exec/live.h"
#include "exec/rights.h"
#include "exec/workspace_make.h"

#define KEEPER "garth-keeper"

static void start(struct workspace *w);

struct workspace *workspace_get(struct daemon *d, const char *name)
{
	const struct ids_ws *known;
	struct workspace *w;

	for (w = d->workspaces; w; w = w->next)
		if (strcmp(w->name, name) == 0)
			return w;
	known = ids_find(&d->ids, name);
	w = known ? calloc(1, sizeof *w) : NULL;
	if (!w)
		return NULL;
	w->d = d;
	memcpy(w->name, known->name, sizeof w->name);
	w->uid_base = known->uid_base;
	child_init(&w->keeper);
	conn_init(&w->k);
	conn_init(&w->f);
	w->mount_fd = -1;
	w->next = d->workspaces;
	d->workspaces = w;
	return w;
}

static void list_write(const struct daemon *d)
{
	struct err err;

	if (live_write(d, &err) < 0)
		log_warn("the list of what lives is old, going on: %s", err.msg);
}

static void mount_path(const struct workspace *w, char *out, size_t size)
{
	(void)snprintf(out, size, "%s/mnt/%s", w->d->cfg.data, w->name);
}

static void unmount(struct workspace *w)
{
	char path[PATH_LEN_MAX + 1];

	if (w->mount_fd < 0)
		return;
	mount_path(w, path, sizeof path);
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
		log_warn("could not unmount, going on: ws=%s errno=%d", w->name, errno);
	fd_closep(&w->mount_fd);
}

static void waiters_fail(struct workspace *w, int code, const struct err *err)
{
	for (unsigned i = 0; i < w->waiting; i++)
		ask_answer(w->d, &w->waiters[i], code, err);
	w->waiting = 0;
}

/* Give who asked a connection to garth-fs of its own. */
static void give_client(struct workspace *w, struct ask *a)
{
	struct msg_fs_client body = { { 0 } };
	struct msg_status ok = { 0 };
	int pair[2];
	int r = fd_seqpair(pair);

	if (r == 0) {
		r = conn_send(&w->f, MSG_FS_CLIENT, 0, bytes_of(&body, sizeof body),
			      bytes_of(NULL, 0), &pair[0], 1);
		(void)close(pair[0]);
		if (r == 0)
			ask_answer_fd(w->d, a, bytes_of(&ok, sizeof ok), pair[1]);
		(void)close(pair[1]);
	}
	if (r < 0)
		ask_answer(w->d, a, r, NULL);
}

static int64_t backoff_ns(unsigned failures)
{
	static const int64_t ms[] = { 0, 200, 500, 1000, 2000, 5000 };
	size_t last = sizeof ms / sizeof ms[0] - 1;

	return ms[failures > last ? last : failures] * NS_PER_MS;
}

static void start_due(void *ctx)
{
	start(ctx);
}

/* Its processes are gone: what now? */
static void ended(struct workspace *w)
{
	bool was_up = w->up_ns != 0;

	reactor_timer_clear(&w->d->loop, &w->timer);
	w->state = WS_OFF;
	w->fs_ready = w->stop_sent = false;
	w->up_ns = 0;
	list_write(w->d);
	if (w->want_stop) {
		struct err err = { 0 };

		w->want_stop = false;
		(void)err_set(&err, -ESHUTDOWN, "the workspace is being stopped");
		waiters_fail(w, -ESHUTDOWN, &err);
		workspace_stopped(w); /* may free w */
		return;
	}
	if (w->failures >= WS_TRIES)
		waiters_fail(w, w->why.code ? w->why.code : -EIO, &w->why);
	if (!was_up && w->waiting == 0 && w->failures >= WS_TRIES)
		return; /* nobody wants it, and it does not start */
	w->state = WS_WAITING;
	reactor_timer_set(&w->d->loop, &w->timer, backoff_ns(w->failures), start_due, w);
	w->failures++;
}

static void keeper_ended(void *ctx, int status)
{
	struct workspace *w = ctx;

	if (w->state != WS_STOPPING)
		workspace_down(w, WIFSIGNALED(status) ? "garth-keeper was killed"
						      : "garth-keeper ended");
	ended(w);
}

void workspace_down(struct workspace *w, const char *why)
{
	struct msg_ws_gone gone = { { 0 } };
	bool was_up = w->state == WS_UP;

	if (w->state == WS_OFF || w->state == WS_WAITING ||
	    (w->state == WS_STOPPING && !w->stop_sent && !w->want_stop))
		return;
	log_warn("workspace is down: ws=%s why=\"%s\"", w->name, why);
	if (w->why.code == 0)
		(void)err_set(&w->why, -EIO, "%s", why);
	w->state = WS_STOPPING;
	w->stop_sent = false;
	if (was_up && clock_mono_ns() - w->up_ns > WS_STEADY_NS)
		w->failures = 0;
	conn_close(&w->k);
	conn_close(&w->f);
	unmount(w);
	child_kill(&w->keeper);
	life_workspace_down(w);
	if (was_up) {
		memcpy(gone.name, w->name, sizeof gone.name);
		daemon_tell_api(w->d, MSG_WS_GONE, bytes_of(&gone, sizeof gone));
	}
}

static void start_late(void *ctx)
{
	workspace_down(ctx, "it did not become ready in time");
}

static void stop_late(void *ctx)
{
	workspace_down(ctx, "garth-fs did not stop in time");
}

static void peer_gone(void *ctx)
{
	struct workspace *w = ctx;

	/* After an answered FS_STOP both end by themselves; keeper_ended comes. */
	if (w->state == WS_STOPPING && w->clean) {
		conn_close(&w->k);
		conn_close(&w->f);
		return;
	}
	workspace_down(w, "garth-fs or its keeper is gone");
}

static void now_up(struct workspace *w)
{
	reactor_timer_clear(&w->d->loop, &w->timer);
	w->state = WS_UP;
	w->up_ns = clock_mono_ns();
	w->why = (struct err){ 0 };
	list_write(w->d);
	log_info("workspace is up: ws=%s", w->name);
	for (unsigned i = 0; i < w->waiting; i++)
		give_client(w, &w->waiters[i]);
	w->waiting = 0;
	if (w->want_stop)
		workspace_stop(w);
}

/* Attach the mount that the keeper made at DIR/mnt/W, without looking into it. */
static int place_mount(struct workspace *w, int fd, struct err *err)
{
	struct mount_attr alone = { .propagation = MS_PRIVATE };
	char name[8 + IDENT_SIZE];

	(void)snprintf(name, sizeof name, "mnt/%s", w->name);
	if (mkdirat(w->d->data_fd, name, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "make the mount point %s", name);
	if (move_mount(fd, "", w->d->data_fd, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, "place the mount %s", name);
	w->mount_fd = fd;
	if (mount_setattr(fd, "", AT_EMPTY_PATH, &alone, sizeof alone) < 0)
		return err_sys(err, "separate the mount %s", name);
	return 0;
}

static int keeper_ready(struct workspace *w, struct wire_msg *m)
{
	struct err err = { 0 };
	int fd;

	if (w->state != WS_STARTING || w->mount_fd >= 0)
		return -EBADMSG;
	fd = wire_take_fd(m, 0);
	if (place_mount(w, fd, &err) < 0) {
		w->why = err;
		if (w->mount_fd < 0)
			(void)close(fd);
		return -EIO;
	}
	list_write(w->d);
	if (w->fs_ready)
		now_up(w);
	return 0;
}

static int keeper_take(void *ctx, struct wire_msg *m)
{
	struct workspace *w = ctx;
	const struct msg_keeper_fail *f;

	if (m->head.type == MSG_KEEPER_READY)
		return keeper_ready(w, m);
	if (m->head.type != MSG_KEEPER_FAIL)
		return -EBADMSG;
	f = msg_body(m);
	if (!msg_text_ok(f->why, sizeof f->why) || f->code >= 0)
		return -EBADMSG;
	(void)err_set(&w->why, f->code, "the workspace %s can't be started: %s", w->name, f->why);
	return -EIO;
}

static int fs_take(void *ctx, struct wire_msg *m)
{
	struct workspace *w = ctx;
	bool answer = m->head.type & WIRE_REPLY;
	uint16_t type = m->head.type & (uint16_t)~WIRE_REPLY;

	if (!answer && type == MSG_FS_READY && w->state == WS_STARTING && !w->fs_ready) {
		w->fs_ready = true;
		if (w->mount_fd >= 0)
			now_up(w);
		return 0;
	}
	if (answer && (type == MSG_FS_SANDBOX || type == MSG_FS_SANDBOX_END)) {
		life_fs_answer(w, m->head.id, msg_status_of(m), msg_tail(m));
		return 0;
	}
	if (answer && type == MSG_FS_STOP && w->stop_sent) {
		w->clean = msg_status_of(m) == 0;
		if (!w->clean)
			log_error("garth-fs stopped badly: ws=%s status=%d", w->name,
				  msg_status_of(m));
		return 0;
	}
	return -EBADMSG;
}

static _Noreturn void keeper_exec(struct workspace *w, int k_fd, int f_fd)
{
	char program[PATH_LEN_MAX + 1], base[16], store[PATH_LEN_MAX + 1], ring[PATH_LEN_MAX + 1];
	const struct daemon_config *c = &w->d->cfg;
	char *const env[] = { (char[]){ "PATH=/usr/local/bin:/usr/bin:/bin" },
			      (char[]){ "LANG=C.UTF-8" }, NULL };
	char *argv[] = { (char[]){ KEEPER },
			 (char[]){ "--ws" },
			 w->name,
			 (char[]){ "--uid-base" },
			 base,
			 (char[]){ "--store" },
			 store,
			 (char[]){ "--ring" },
			 ring,
			 (char[]){ "--libexec" },
			 NULL,
			 NULL };
	char libexec[PATH_LEN_MAX + 1];
	int fds[] = { k_fd, f_fd }, none = -1, null_fd;
	sigset_t empty;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L);
	(void)sigemptyset(&empty);
	(void)sigprocmask(SIG_SETMASK, &empty, NULL);
	(void)snprintf(program, sizeof program, "%s/" KEEPER, c->libexec);
	(void)snprintf(base, sizeof base, "%u", w->uid_base);
	(void)snprintf(store, sizeof store, "%s/workspaces/%s", c->data, w->name);
	(void)snprintf(ring, sizeof ring, "%s/%s.ring", c->run, w->name);
	(void)snprintf(libexec, sizeof libexec, "%s", c->libexec);
	argv[10] = libexec;
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd >= 0 && rights_fds(fds, 2, null_fd, 1, &none, NULL) == 0)
		(void)execve(program, argv, env);
	log_error("could not execute " KEEPER ": errno=%d", errno);
	_exit(127);
}

static int fork_keeper(struct workspace *w, int k_fd, int f_fd, struct err *err)
{
	pid_t pid = fork();
	int pidfd;

	if (pid < 0)
		return err_sys(err, "fork a keeper");
	if (pid == 0)
		keeper_exec(w, k_fd, f_fd);
	(void)setpgid(pid, pid);
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0) {
		int r = err_sys(err, "pidfd_open");

		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return r;
	}
	w->keeper_start = live_start_of(pid);
	return child_watch(&w->keeper, &w->d->loop, pid, pidfd, true, keeper_ended, w, err);
}

static int start_keeper(struct workspace *w, struct err *err)
{
	autofd k_theirs = -1, f_theirs = -1;
	int pair[2];
	int r = fd_seqpair(pair);

	if (r < 0)
		return err_errno(err, r, "make a socket pair");
	k_theirs = pair[1];
	r = conn_open(&w->k, &w->d->loop, pair[0], PEER_K, keeper_take, peer_gone, w, err);
	if (r < 0)
		return r;
	r = fd_seqpair(pair);
	if (r < 0)
		return err_errno(err, r, "make a socket pair");
	f_theirs = pair[1];
	r = conn_open(&w->f, &w->d->loop, pair[0], PEER_F, fs_take, peer_gone, w, err);
	return r < 0 ? r : fork_keeper(w, k_theirs, f_theirs, err);
}

static void start(struct workspace *w)
{
	char path[PATH_LEN_MAX + 1];
	int r;

	mount_path(w, path, sizeof path);
	while (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		log_warn("unmounted what an earlier life left: ws=%s", w->name);
	w->why = (struct err){ 0 };
	w->clean = false;
	w->state = WS_STARTING;
	r = start_keeper(w, &w->why);
	if (r < 0) {
		log_error("workspace does not start: ws=%s why=\"%s\"", w->name, w->why.msg);
		conn_close(&w->k);
		conn_close(&w->f);
		ended(w);
		return;
	}
	list_write(w->d);
	reactor_timer_set(&w->d->loop, &w->timer, WS_START_NS, start_late, w);
}

void workspace_open(struct workspace *w, struct ask a)
{
	struct err err = { 0 };
	int r = 0;

	if (w->want_stop || w->d->stopping)
		r = err_set(&err, -ESHUTDOWN, "the workspace %s is being stopped", w->name);
	else if (w->waiting == WS_WAITERS_MAX)
		r = err_set(&err, -EAGAIN, "too many wait for the workspace %s", w->name);
	if (r < 0) {
		ask_answer(w->d, &a, r, &err);
		return;
	}
	if (w->state == WS_UP) {
		give_client(w, &a);
		return;
	}
	w->waiters[w->waiting++] = a;
	if (w->state == WS_OFF) {
		w->failures = 1;
		start(w);
	}
}

void workspace_stop(struct workspace *w)
{
	struct msg_fs_stop body = { { 0 } };

	w->want_stop = true;
	if (w->state == WS_WAITING || w->state == WS_OFF) {
		ended(w);
		return;
	}
	if (w->state == WS_STARTING) {
		workspace_down(w, "stopped while it started");
		return;
	}
	if (w->state != WS_UP || w->stop_sent)
		return;
	for (struct sandbox *s = w->d->sandboxes, *next; s; s = next) {
		next = s->next;
		if (s->ws == w)
			life_kill(s, "workspace");
	}
	if (life_count(w->d, w) > 0)
		return; /* workspace_sandbox_gone comes back here */
	w->stop_sent = true;
	w->state = WS_STOPPING;
	reactor_timer_set(&w->d->loop, &w->timer, WS_STOP_NS, stop_late, w);
	(void)conn_send(&w->f, MSG_FS_STOP, ++w->d->next_id, bytes_of(&body, sizeof body),
			bytes_of(NULL, 0), NULL, 0);
	unmount(w);
}

void workspace_sandbox_gone(struct workspace *w)
{
	if (w->want_stop && w->state == WS_UP && life_count(w->d, w) == 0)
		workspace_stop(w);
}
