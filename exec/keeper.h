/* SPDX-License-Identifier: MIT */
/*
 * exec/keeper.h - garth-keeper: makes a workspace's mount, starts its garth-fs, and opens file handles for it, which nobody without
 * CAP_DAC_READ_SEARCH can. docs/PROTOCOL.md "Keeper" has the order.
 * Not here: placing the mount (exec/workspace.h), serving it (fs/).
 * Thread: one.
 */
#ifndef GARTH_EXEC_KEEPER_H
#define GARTH_EXEC_KEEPER_H

#include <sys/types.h>

#include "core/msg.h"

#define KEEPER_DAEMON_FD 3
#define KEEPER_CONTROL_FD 4 /* garth-fs's, passed through */
#define KEEPER_FS_MS 10000  /* that garth-fs's process may take for each part of its start */

struct keeper_config {
	const char *ws, *store, *ring, *libexec;
	uint32_t uid_base;
};

struct keeper {
	struct keeper_config cfg;
	int daemon_fd,
		control_fd; /* sockets of garthd and, until garth-fs has it, of its control */
	int fuse_fd, ring_fd;
	int store_fd;   /* the store folder, in the keeper's own mount namespace */
	int program_fd; /* garth-fs */
	int fs_fd;      /* the socket to garth-fs */
	pid_t fs_pid;
	int fs_pidfd, fs_sync_fd; /* as of a sandbox's child, exec/clone.h */
	bool shut;                /* the host's programs are out of sight */
};

/* ---- keeper_room.c: the mount namespace ---- */
/* A root with the store, and for the while that garth-fs is loaded, /usr and /proc. Opens store_fd there. */
must_check int keeper_room(struct keeper *k, struct err *err);
void keeper_room_proc_gone(void); /* after garth-fs's process has its maps */
void keeper_room_shut(
	struct keeper
		*k); /* after garth-fs is loaded: nothing but the store; more than once is fine */

/* ---- keeper_fs.c: garth-fs's process ---- */
/* Fork it, up to where it waits in its user namespace: the FUSE descriptor can't be read before there is a mount. */
must_check int keeper_fs_fork(struct keeper *k, struct err *err);
/* Let it execute garth-fs. */
must_check int keeper_fs_go(struct keeper *k, struct err *err);

/* ---- keeper_serve.c ---- */
/* Own uid, two capabilities. */
must_check int keeper_rights(const struct keeper *k, struct err *err);
must_check int keeper_mount(struct keeper *k, int *ret_mount_fd, struct err *err);
/* Answer until garth-fs or garthd is gone. 0, or what went wrong. */
must_check int keeper_serve(struct keeper *k, struct err *err);
/* One request; the pure checks are keeper_handle_check. */
must_check int keeper_handle_check(const struct msg_handle_open *m);

#endif
