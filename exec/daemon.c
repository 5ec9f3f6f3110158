/* SPDX-License-Identifier: MIT */
/*
 * exec/daemon.c - who asks garthd what: the supervisor and garth-api; starting and stopping.
 */
#include "exec/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/fd.h"
#include "core/log.h"
#include "core/path.h"
#include "exec/filter.h"
#include "exec/landlock.h"
#include "exec/life.h"
#include "exec/live.h"
#include "exec/reap.h"
#include "exec/store.h"
#include "exec/workspace.h"

struct ask ask_of(const struct daemon *d, const struct wire_msg *m)
{
	return (struct ask){ .id = m->head.id,
			     .generation = d->api_generation,
			     .type = m->head.type };
}

void ask_answer(struct daemon *d, struct ask *a, int status, const struct err *err)
{
	if (a->type && a->generation == d->api_generation)
		conn_reply_status(&d->api, a->type, a->id, status, err);
	a->type = 0;
}

void ask_answer_fd(struct daemon *d, struct ask *a, struct bytes body, int fd)
{
	if (a->type && a->generation == d->api_generation)
		(void)conn_send(&d->api, a->type | WIRE_REPLY, a->id, body, bytes_of(NULL, 0), &fd,
				fd >= 0);
	a->type = 0;
}

void daemon_tell_api(struct daemon *d, uint16_t type, struct bytes body)
{
	(void)conn_send(&d->api, type, 0, body, bytes_of(NULL, 0), NULL, 0);
}

/* A workspace that a message names; the answer is given where there is none. */
static struct workspace *named(struct daemon *d, const char *name, size_t size, struct ask *a)
{
	struct err err = { 0 };
	struct workspace *w = msg_text_ok(name, size) ? workspace_get(d, name) : NULL;

	if (!w)
		ask_answer(d, a, err_set(&err, -ENOENT, "no such workspace"), &err);
	return w;
}

static void take_workspace(struct daemon *d, const struct wire_msg *m, struct ask a)
{
	const struct msg_ws_create *c = msg_body(m); /* the three bodies are one name each */
	struct err err = { 0 };
	struct workspace *w;
	int r;

	if (m->head.type == MSG_WS_CREATE) {
		r = msg_text_ok(c->name, sizeof c->name) ? ident_check(c->name, "workspace", &err)
							 : -EINVAL;
		if (r < 0)
			ask_answer(d, &a, r, &err);
		else
			workspace_create(d, c->name, a);
		return;
	}
	w = named(d, c->name, sizeof c->name, &a);
	if (w && m->head.type == MSG_WS_OPEN)
		workspace_open(w, a);
	else if (w)
		workspace_delete(w, a);
}

_Static_assert(sizeof(struct msg_ws_create) == IDENT_SIZE &&
		       sizeof(struct msg_ws_open) == IDENT_SIZE &&
		       sizeof(struct msg_ws_delete) == IDENT_SIZE,
	       "one name each");

static void take_sandbox(struct daemon *d, const struct wire_msg *m, struct ask a)
{
	const void *body = msg_body(m);
	struct err err = { 0 };
	struct sandbox *s;
	uint64_t id;

	memcpy(&id, body, sizeof id); /* every body begins with it */
	s = life_find(d, id);
	if (!s) {
		ask_answer(d, &a, err_set(&err, -ENOENT, "no such sandbox"), &err);
		return;
	}
	if (m->head.type == MSG_SB_LIMIT)
		life_limit(s, body, a);
	else if (m->head.type == MSG_SB_LIFE)
		life_extend(s, body, a);
	else if (m->head.type == MSG_SB_STAT)
		life_stat(s, a);
	else
		life_kill_asked(s, body, a);
}

static int api_take(void *ctx, struct wire_msg *m)
{
	struct daemon *d = ctx;
	struct ask a = ask_of(d, m);
	struct err err = { 0 };

	if (d->stopping && m->head.type != MSG_SB_KILL && m->head.type != MSG_SB_STAT) {
		ask_answer(d, &a, err_set(&err, -ESHUTDOWN, "the server is stopping"), &err);
		return 0;
	}
	if (m->head.type <= MSG_WS_OPEN)
		take_workspace(d, m, a);
	else if (m->head.type == MSG_SB_CREATE)
		life_create(d, msg_body(m), msg_tail(m), a);
	else
		take_sandbox(d, m, a);
	return 0;
}

static void api_gone(void *ctx)
{
	struct daemon *d = ctx;

	conn_close(&d->api);
	d->api_generation++;
	life_kill_all(d, "killed");
}

static int up_take(void *ctx, struct wire_msg *m)
{
	struct daemon *d = ctx;
	struct err err = { 0 };
	int r = 0;

	if (m->head.type == MSG_API_NEW) {
		if (conn_is_open(&d->api))
			api_gone(d);
		r = conn_open(&d->api, &d->loop, wire_take_fd(m, 0), PEER_API, api_take, api_gone,
			      d, &err);
		conn_reply_status(&d->up, m->head.type, m->head.id, r, &err);
		return 0;
	}
	if (m->head.type != MSG_STOP)
		return -EBADMSG;
	d->answer_stop = true;
	d->stop_id = m->head.id;
	daemon_stop(d);
	return 0;
}

static void up_gone(void *ctx)
{
	struct daemon *d = ctx;

	conn_close(&d->up);
	log_warn("the supervisor is gone, stopping");
	daemon_stop(d);
}

void daemon_check_stop(struct daemon *d)
{
	if (!d->stopping || d->sandboxes)
		return;
	for (const struct workspace *w = d->workspaces; w; w = w->next)
		if (w->state != WS_OFF)
			return;
	d->loop.stop = true;
}

void daemon_stop(struct daemon *d)
{
	if (d->stopping)
		return;
	d->stopping = true;
	for (struct workspace *w = d->workspaces, *next; w; w = next) {
		next = w->next; /* only a deletion frees one, and only that one */
		if (w->state != WS_OFF)
			workspace_stop(w);
	}
	daemon_check_stop(d);
}

/* ---- starting ---- */

static int folders(struct daemon *d, struct err *err)
{
	const char *slash = strrchr(d->cfg.run, '/');
	size_t len = slash ? strlen(slash + 1) : 0;

	if (len == 0 || len >= sizeof d->server || name_check(slash + 1) < 0)
		return err_set(err, -EINVAL, "--run: '%s' does not end in a server's name",
			       d->cfg.run);
	memcpy(d->server, slash + 1, len + 1);
	d->data_fd = open(d->cfg.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->data_fd < 0)
		return err_sys(err, "open %s", d->cfg.data);
	d->run_fd = open(d->cfg.run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->run_fd < 0)
		return err_sys(err, "open %s", d->cfg.run);
	return store_open(d->data_fd, d->cfg.api_gid, err);
}

static int programs(struct daemon *d, struct err *err)
{
	char path[PATH_LEN_MAX + 1];

	if (snprintf(path, sizeof path, "%s/garth-init", d->cfg.libexec) >= (int)sizeof path)
		return err_set(err, -ENAMETOOLONG, "--libexec: too long");
	d->init_fd = open(path, O_PATH | O_CLOEXEC);
	if (d->init_fd < 0)
		return err_sys(err, "open %s", path);
	return filter_compile(&d->filter_fd, err);
}

/* What a deletion before the last crash left; in a child, for it may be much. */
static void burn_leftovers(struct daemon *d)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(store_burn(d->data_fd, NULL, NULL) < 0);
	if (pid > 0)
		child_leave(&d->loop, pid);
}

/* What this kernel has not, and garth does without. `garth doctor` says the same. */
static void tell_missing(const struct daemon *d)
{
	int abi = landlock_abi();

	if (abi < LANDLOCK_ABI_MIN)
		log_warn("no Landlock, going on with one wall less: abi=%d needed=%d", abi,
			 LANDLOCK_ABI_MIN);
	if (cgroups_peak(&d->cg) == CGROUP_PEAK_NONE)
		log_warn("no memory.peak, going on: peaks of memory are not exact");
}

int daemon_init(struct daemon *d, const struct daemon_config *cfg, int up_fd, struct err *err)
{
	int r;

	*d = (struct daemon){
		.cfg = *cfg, .data_fd = -1, .run_fd = -1, .init_fd = -1, .filter_fd = -1
	};
	d->ids.fd = -1;
	d->loop.epoll_fd = -1;
	conn_init(&d->up);
	conn_init(&d->api);
	r = folders(d, err);
	if (r == 0)
		r = live_sweep(cfg->data, cfg->run, d->server, err);
	if (r == 0 && mkdirat(d->run_fd, LIVE_ROOT, 0755) < 0 && errno != EEXIST)
		r = err_sys(err, "make %s/" LIVE_ROOT, cfg->run);
	if (r == 0)
		r = programs(d, err);
	if (r == 0)
		r = ids_open(d->data_fd, cfg->ids_first, cfg->ids_count, &d->ids, err);
	if (r == 0)
		r = cgroups_open(&d->cg, d->server, err);
	if (r == 0)
		r = etc_refresh(&d->etc, d->run_fd, err);
	if (r == 0)
		r = reactor_init(&d->loop, err);
	if (r == 0)
		r = live_write(d, err);
	if (r == 0)
		burn_leftovers(d);
	if (r == 0)
		tell_missing(d);
	return r < 0 ? r : conn_open(&d->up, &d->loop, up_fd, PEER_UP, up_take, up_gone, d, err);
}

int daemon_run(struct daemon *d, struct err *err)
{
	int r = reactor_run(&d->loop, err);

	if (r == 0 && d->answer_stop)
		conn_reply_status(&d->up, MSG_STOP, d->stop_id, 0, NULL);
	return r;
}

void daemon_fini(struct daemon *d)
{
	struct err err;
	bool clean = d->run_fd >= 0;

	workspaces_free(d);
	conn_close(&d->api);
	conn_close(&d->up);
	cgroups_close(&d->cg);
	ids_close(&d->ids);
	fd_closep(&d->init_fd);
	fd_closep(&d->filter_fd);
	if (clean && live_sweep(d->cfg.data, d->cfg.run, d->server, &err) < 0)
		log_warn("not all was cleaned up: %s", err.msg);
	fd_closep(&d->run_fd);
	fd_closep(&d->data_fd);
	reactor_fini(&d->loop);
}
