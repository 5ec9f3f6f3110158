/* SPDX-License-Identifier: MIT */
/*
 * exec/workspace_make.c - making workspaces and deleting them.
 */
#include "exec/workspace_make.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/prctl.h>

#include "core/fd.h"
#include "core/log.h"
#include "exec/store.h"

#define BURN_NICE 10

void workspace_create(struct daemon *d, const char *name, struct ask a)
{
	struct err err = { 0 };
	uint32_t base = 0;
	int r = ids_reserve(&d->ids, name, &base, &err);

	if (r == 0) {
		r = store_make(d->data_fd, name, base, d->cfg.api_gid, &err);
		if (r < 0 && ids_release(&d->ids, name, NULL) < 0)
			log_error("ids of a workspace that was not made stay reserved: ws=%s",
				  name);
	}
	ask_answer(d, &a, r, &err);
}

static void forget(struct workspace *w)
{
	struct workspace **p = &w->d->workspaces;

	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
	conn_close(&w->k);
	conn_close(&w->f);
	free(w);
}

/* Removing the bytes may take long, so a child does it. */
static void burn(struct daemon *d, const char *aside)
{
	pid_t pid = fork();

	if (pid < 0)
		log_warn("a deleted workspace's bytes stay until the next start: errno=%d", errno);
	if (pid > 0)
		child_leave(&d->loop, pid);
	if (pid != 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L);
	(void)setpriority(PRIO_PROCESS, 0, BURN_NICE);
	_exit(store_burn(d->data_fd, aside, NULL) < 0);
}

/* The point of no return is the rename: what comes after a crash there is cleaned at the next start. */
static int delete_now(struct workspace *w, struct err *err)
{
	struct daemon *d = w->d;
	char name[IDENT_SIZE + 8], aside[64];
	int r = store_aside(d->data_fd, w->name, aside, err);

	if (r == 0)
		r = ids_release(&d->ids, w->name, err);
	if (r < 0)
		return r;
	(void)snprintf(name, sizeof name, "mnt/%s", w->name);
	(void)unlinkat(d->data_fd, name, AT_REMOVEDIR);
	(void)snprintf(name, sizeof name, "%s.ring", w->name);
	(void)unlinkat(d->run_fd, name, 0);
	if (aside[0])
		burn(d, aside);
	return 0;
}

void workspace_stopped(struct workspace *w)
{
	struct daemon *d = w->d;
	char ring[IDENT_SIZE + 8];
	struct err err = { 0 };

	if (w->remove.type) {
		int r = delete_now(w, &err);
		struct ask a = w->remove;

		w->remove = (struct ask){ 0 };
		if (r == 0)
			forget(w);
		ask_answer(d, &a, r, &err);
	} else if (w->clean) {
		(void)snprintf(ring, sizeof ring, "%s.ring", w->name);
		(void)unlinkat(d->run_fd, ring, 0);
	}
	daemon_check_stop(d);
}

void workspace_delete(struct workspace *w, struct ask a)
{
	struct err err = { 0 };

	if (w->remove.type || w->d->stopping) {
		ask_answer(w->d, &a,
			   err_set(&err, -EBUSY,
				   "the workspace %s is being deleted or stopped already", w->name),
			   &err);
		return;
	}
	w->remove = a;
	workspace_stop(w);
}

void workspaces_free(struct daemon *d)
{
	while (d->workspaces)
		forget(d->workspaces); /* NOLINT(clang-analyzer-unix.Malloc): forget takes it off the list */
}
