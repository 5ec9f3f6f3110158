/* SPDX-License-Identifier: MIT */
/*
 * exec/keeper_fs.c - the process that becomes garth-fs: a user namespace that knows nobody but the workspace, two capabilities.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/fd.h"
#include "core/ids.h"
#include "exec/clone.h"
#include "exec/keeper.h"
#include "exec/rights.h"

#define CAP_BIT(c) (1ull << (c))
#define FS_CAPS (CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_CHOWN))
#define MAP_SIZE 64u

/* The next note from the other side, in time. 1, 0 end of file, negative. */
static int hear(int fd, struct clone_note *n)
{
	struct pollfd w = { .fd = fd, .events = POLLIN };
	int r;

	do {
		r = poll(&w, 1, KEEPER_FS_MS);
	} while (r < 0 && errno == EINTR);
	if (r <= 0)
		return r < 0 ? -errno : -ETIMEDOUT;
	return clone_hear(fd, n);
}

/* In a user namespace of its own, as the workspace's fs uid. */
static int become(const struct keeper *k, int sync_fd, struct err *err)
{
	struct rlimit files;
	struct clone_note n = { 0 };
	int r;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max; /* it caches descriptors of files */
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) < 0)
		return err_sys(err, "make garth-fs's user namespace");
	r = clone_say(sync_fd, CLONE_MAP);
	if (r == 0)
		r = hear(sync_fd, &n) == 1 && n.word == CLONE_MAPPED ? 0 : -EPIPE;
	if (r < 0)
		return err_set(err, r, "the keeper gave up on garth-fs");
	r = rights_ids(ids_fs_uid(k->cfg.uid_base), ids_ws_gid(k->cfg.uid_base), 1, err);
	if (r == 0)
		r = rights_caps(FS_CAPS, FS_CAPS, FS_CAPS, FS_CAPS, err);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) < 0)
		r = err_sys(err, "set no_new_privs");
	return r;
}

static _Noreturn void child(const struct keeper *k, int fs_fd, int sync_fd)
{
	char base[16], ws[IDENT_SIZE];
	char *const env[] = { (char[]){ "PATH=/usr/bin:/bin" }, (char[]){ "LANG=C.UTF-8" }, NULL };
	char *const argv[] = {
		(char[]){ "garth-fs" }, (char[]){ "--ws" }, ws, (char[]){ "--uid-base" }, base, NULL
	};
	struct clone_note note = { .word = CLONE_FAILED };
	struct err err = { 0 };
	int tree = open_tree(AT_FDCWD, "/proc/self/fd", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int program = k->program_fd, r = 0;

	(void)snprintf(ws, sizeof ws, "%s", k->cfg.ws);
	(void)snprintf(base, sizeof base, "%" PRIu32, k->cfg.uid_base);
	if (tree < 0)
		r = err_sys(&err, "clone /proc/self/fd");
	if (r == 0) {
		int fds[] = { k->control_fd, fs_fd, k->fuse_fd, k->ring_fd, k->store_fd, tree };

		rights_keyring();
		/* there is no /dev here: the standard descriptors are /dev/null already */
		r = rights_fds(fds, 6, null_fd < 0 ? STDIN_FILENO : null_fd, 1, &program, &err);
	}
	if (r == 0)
		r = become(k, sync_fd, &err);
	if (r == 0) {
		(void)syscall(SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
		r = err_sys(&err, "execute garth-fs");
	}
	note.code = r;
	memcpy(note.msg, err.msg, sizeof note.msg);
	(void)!fd_write_full(sync_fd, &note, sizeof note);
	_exit(1);
}

static int maps(const struct keeper *k, struct err *err)
{
	uint32_t base = k->cfg.uid_base, gid = ids_ws_gid(k->cfg.uid_base);
	char uid_map[MAP_SIZE], gid_map[MAP_SIZE];

	(void)snprintf(uid_map, sizeof uid_map, "%" PRIu32 " %" PRIu32 " %u\n", base, base,
		       IDS_WS_BLOCKS * IDS_BLOCK);
	(void)snprintf(gid_map, sizeof gid_map, "%" PRIu32 " %" PRIu32 " 1\n", gid, gid);
	return clone_map(k->fs_pid, uid_map, gid_map, err);
}

/* What a note that was not hoped for says. */
static int failed(int r, const struct clone_note *n, struct err *err)
{
	if (r == 1 && n->word == CLONE_FAILED)
		return err_set(err, n->code < 0 ? n->code : -EIO, "%s", n->msg);
	return err_set(err, r < 0 ? r : -EIO, "garth-fs's process ended or hung while it started");
}

int keeper_fs_fork(struct keeper *k, struct err *err)
{
	autofd sync_theirs = -1, fs_theirs = -1;
	struct clone_note n = { 0 };
	int pair[2];
	int r = fd_seqpair(pair);

	if (r < 0)
		return err_errno(err, r, "make a socket pair");
	k->fs_fd = pair[0];
	fs_theirs = pair[1];
	r = fd_seqpair(pair);
	if (r < 0)
		return err_errno(err, r, "make a socket pair");
	k->fs_sync_fd = pair[0];
	sync_theirs =
		fcntl(pair[1], F_DUPFD_CLOEXEC, 64); /* above the numbers that rights_fds uses */
	(void)close(pair[1]);
	if (sync_theirs < 0)
		return err_sys(err, "move a descriptor");
	k->fs_pid = fork();
	if (k->fs_pid < 0)
		return err_sys(err, "fork garth-fs");
	if (k->fs_pid == 0) {
		(void)close(k->fs_sync_fd);
		(void)close(k->fs_fd);
		child(k, fs_theirs, sync_theirs);
	}
	k->fs_pidfd = pidfd_open(k->fs_pid, 0);
	if (k->fs_pidfd < 0)
		return err_sys(err, "pidfd_open");
	r = hear(k->fs_sync_fd, &n);
	if (r != 1 || n.word != CLONE_MAP)
		return failed(r, &n, err);
	fd_closep(&k->control_fd);
	return maps(k, err);
}

int keeper_fs_go(struct keeper *k, struct err *err)
{
	struct clone_note n = { 0 };
	int r = clone_say(k->fs_sync_fd, CLONE_MAPPED);

	if (r < 0)
		return err_errno(err, r, "let garth-fs begin");
	r = hear(k->fs_sync_fd, &n);
	if (r != 0)
		return failed(r, &n, err);
	fd_closep(&k->fs_sync_fd);
	return 0;
}
