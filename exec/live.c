/* SPDX-License-Identifier: MIT */
/*
 * exec/live.c - the list of what lives, and cleaning up by it.
 */
#include "exec/live.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/path.h"
#include "exec/workspace.h"

#define LIVE "live"
#define LIVE_NEW "live.new"
#define LIVE_MAX (1024u * 1024)
#define STAT_SIZE 1024u
#define PROGRAMS "garth-" /* how the names of what a keeper's group holds begin */
#define GROUP_NS (5 * NS_PER_S)
#define UMOUNTS_MAX 64
#define ETC "etc." /* exec/etc.c */
#define RING ".ring"

/* The fields of /proc/PID/stat that come after the name; false: no such process. */
static bool stat_of(long pid, char name[64], long *ret_pgrp, long long *ret_start)
{
	char path[64], text[STAT_SIZE];
	autofd fd = -1;
	char *open_at, *close_at, state;
	ssize_t n;

	(void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	open_at = strchr(text, '(');
	close_at = strrchr(text, ')');
	if (!open_at || !close_at)
		return false;
	(void)snprintf(name, 64, "%.*s", (int)(close_at - open_at - 1), open_at + 1);
	/* state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime prio nice threads it start */
	if (sscanf(close_at + 1, " %c", &state) != 1 || state == 'Z' || state == 'X')
		return false; /* dead; whose child it is has not looked yet, and may be waiting for us */
	return sscanf(close_at + 1,
		      " %*c %*d %ld %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
		      "%*d %lld",
		      ret_pgrp, ret_start) == 2;
}

long long live_start_of(long pid)
{
	char name[64];
	long pgrp;
	long long start;

	return stat_of(pid, name, &pgrp, &start) ? start : 0;
}

int live_write(const struct daemon *d, struct err *err)
{
	autobuf text = { 0 };
	autofd fd = -1;
	int r = 0;

	buf_init(&text, LIVE_MAX);
	for (unsigned i = 0; r == 0 && i < d->cg.n; i++)
		if (d->cg.h[i].base_fd >= 0)
			r = buf_addf(&text, "cgroup %s/garth/%s\n", d->cg.h[i].root, d->server);
	for (const struct workspace *w = d->workspaces; r == 0 && w; w = w->next) {
		if (w->keeper.pid)
			r = buf_addf(&text, "group %d %lld\n", (int)w->keeper.pid, w->keeper_start);
		if (r == 0 && w->mount_fd >= 0)
			r = buf_addf(&text, "mount %s/mnt/%s\n", d->cfg.data, w->name);
	}
	if (r < 0)
		return err_set(err, r, "no memory for the list of what lives");
	fd = openat(d->run_fd, LIVE_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	r = fd < 0 ? -errno : fd_write_full(fd, text.p, text.len);
	if (r == 0 && renameat(d->run_fd, LIVE_NEW, d->run_fd, LIVE) < 0)
		r = -errno;
	return r < 0 ? err_errno(err, r, "write %s/" LIVE, d->cfg.run) : 0;
}

/* SIGKILL what is in the group and is garth's; how many there were. */
static unsigned group_kill(long pgrp)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)) != NULL) {
		long pid = strtol(e->d_name, NULL, 10), got;
		char name[64];
		long long start;

		if (pid <= 1 || !stat_of(pid, name, &got, &start) || got != pgrp ||
		    strncmp(name, PROGRAMS, strlen(PROGRAMS)) != 0)
			continue;
		(void)kill((pid_t)pid, SIGKILL);
		n++;
	}
	if (d)
		(void)closedir(d);
	return n;
}

static void group_sweep(const char *value)
{
	int64_t until = clock_mono_ns() + GROUP_NS;
	long pgrp;
	long long start, now;

	if (sscanf(value, "%ld %lld", &pgrp, &start) != 2 || pgrp <= 1)
		return;
	now = live_start_of(pgrp);
	if (now != 0 && now != start)
		return; /* another process has the number now */
	while (group_kill(pgrp) > 0 && clock_mono_ns() < until)
		(void)poll(NULL, 0, 10);
}

static void mount_sweep(const char *path)
{
	for (int i = 0; i < UMOUNTS_MAX && umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0; i++)
		;
}

/* Mounts below DIR/mnt that the list does not name: garthd died between mounting and writing it. */
static void mounts_sweep(const char *data)
{
	char path[PATH_LEN_MAX + 1];
	DIR *d;
	const struct dirent *e;

	if (snprintf(path, sizeof path, "%s/mnt", data) >= (int)sizeof path)
		return;
	d = opendir(path);
	while (d && (e = readdir(d)) != NULL)
		if (ident_check(e->d_name, "workspace", NULL) == 0 &&
		    snprintf(path, sizeof path, "%s/mnt/%s", data, e->d_name) < (int)sizeof path)
			mount_sweep(path);
	if (d)
		(void)closedir(d);
}

static int list_sweep(const char *run, struct err *err)
{
	autofd dir = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autofd fd = dir < 0 ? -1 : openat(dir, LIVE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	autobuf text = { 0 };
	char *save = NULL;
	int r;

	if (dir < 0)
		return err_sys(err, "open %s", run);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, "open %s/" LIVE, run);
	buf_init(&text, LIVE_MAX);
	r = fd_read_all(fd, &text);
	if (r < 0)
		return err_errno(err, r, "read %s/" LIVE, run);
	for (char *line = text.p ? strtok_r(text.p, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "group ", 6) == 0)
			group_sweep(line + 6);
		else if (strncmp(line, "mount ", 6) == 0)
			mount_sweep(line + 6);
	}
	return unlinkat(dir, LIVE, 0) < 0 ? err_sys(err, "remove %s/" LIVE, run) : 0;
}

/* Is it W.ring, and no folder W in DIR/workspaces? Where that can't be looked at, it is kept. */
static bool is_lost_ring(const char *name, int workspaces_fd)
{
	size_t len = strlen(name), tail = strlen(RING);
	char ws[IDENT_SIZE];
	struct stat st;

	if (len <= tail || len - tail >= sizeof ws || strcmp(name + len - tail, RING) != 0)
		return false;
	(void)snprintf(ws, sizeof ws, "%.*s", (int)(len - tail), name);
	return ident_check(ws, "workspace", NULL) == 0 && workspaces_fd >= 0 &&
	       fstatat(workspaces_fd, ws, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* Nothing of this server runs any more: its folders in RUNDIR are of no use. */
static void folders_sweep(const char *data, const char *run)
{
	char path[PATH_LEN_MAX + 1];
	autofd workspaces = -1;
	DIR *d = opendir(run);
	const struct dirent *e;

	if (snprintf(path, sizeof path, "%s/workspaces", data) < (int)sizeof path)
		workspaces = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	while (d && (e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, ETC, strlen(ETC)) == 0)
			(void)!path_rm_tree(dirfd(d), e->d_name, NULL);
		else if (strcmp(e->d_name, LIVE_ROOT) == 0)
			(void)unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
		else if (is_lost_ring(e->d_name, workspaces))
			(void)unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		(void)closedir(d);
}

int live_sweep(const char *data, const char *run, const char *server, struct err *err)
{
	struct cgroups cg;
	int r = list_sweep(run, err);
	int c = cgroups_probe(&cg, r == 0 ? err : NULL);

	mounts_sweep(data);
	folders_sweep(data, run);
	if (c == 0)
		c = cgroups_sweep(&cg, server, r == 0 ? err : NULL);
	return r < 0 ? r : c;
}
