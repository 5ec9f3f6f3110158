/* SPDX-License-Identifier: MIT */
/*
 * tests/mount/fs_rig.h - a workspace under test: a real garth-keeper and garth-fs on a store of its own, and the two who talk to
 * garth-fs, garthd and garth-api, played by the test. Programs run on the mount as agents do: their uid, their sandbox's gid, their task/.
 * Not here: sandboxes' walls (tests/exec); what runs here is the test's own code.
 * Every function ends the test where it fails, unless it says otherwise.
 */
#ifndef GARTH_TESTS_MOUNT_FS_RIG_H
#define GARTH_TESTS_MOUNT_FS_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/msg.h"
#include "index/query.h"

#define RIG_UID_BASE 2000000000u
#define RIG_GIDS 2100000000u /* of the first sandbox */
#define RIG_OUT_SIZE (1u << 18)

struct fs_rig {
	char dir[200], store[220], ring[220], mnt[220];
	pid_t keeper;
	int d_keeper, d_fs, api; /* our ends: garthd's of the keeper and of garth-fs, garth-api's */
	bool up;
	unsigned sandboxes;
	struct wire_msg m;      /* the last answer */
	char out[RIG_OUT_SIZE]; /* what the last program wrote */
};

struct fs_box { /* a sandbox */
	uint64_t id;
	uint32_t block, gid_base;
};

struct fs_step {
	struct fs_box box;
	uint64_t id;
	uint32_t slot;
	int out, err;         /* write ends */
	int log_out, log_err; /* the log files */
	uint64_t wiped_files, wiped_bytes;
};

/* The programs are there, and we are root: else the test is skipped. */
void rig_need(void);

void rig_up(struct fs_rig *r);    /* a new workspace */
void rig_start(struct fs_rig *r); /* start it (again) on the store that is there */
void rig_stop(struct fs_rig *r);  /* as garthd does: all is in the database then */
void rig_kill(struct fs_rig *r);  /* kill -9 of garth-fs and its keeper */
void rig_down(
	struct fs_rig *r); /* stop where it runs, unmount, remove; for teardown: never fails */

pid_t rig_fs_pid(const struct fs_rig *r);

uint32_t rig_agent(struct fs_rig *r, const char *name);
int rig_policy(struct fs_rig *r, const char *yaml); /* the status */
struct fs_box rig_box(struct fs_rig *r, uint32_t block);
void rig_box_end(struct fs_rig *r, const struct fs_box *b);
struct fs_step rig_step(struct fs_rig *r, const struct fs_box *b, bool wipe);
struct msg_step_end_reply rig_end(struct fs_rig *r, struct fs_step *s, bool alive);
void rig_flush(struct fs_rig *r);

/*
 * Run this shell script as the step's program: cwd is task/, $W the workspace. @uid inside: 1000, 0 for the agent's root.
 * Its exit status; stdout and stderr are in r->out.
 */
int rig_sh(struct fs_rig *r, const struct fs_step *s, uint32_t uid, const char *script);
/* The same in the background; rig_wait gives the status. *ret_in: its stdin, closed by the caller. */
pid_t rig_spawn(struct fs_rig *r, const struct fs_step *s, uint32_t uid, const char *script,
		int *ret_in);
int rig_wait(pid_t pid);
/* As another uid and gid of the host altogether. */
int rig_sh_ids(struct fs_rig *r, uint32_t uid, uint32_t gid, const char *script);

/* garth-api's connection breaks, and a new one comes. */
void rig_reconnect(struct fs_rig *r);

/* A download: 0 and its bytes in r->out, or the status. */
int rig_open(struct fs_rig *r, const char *path, const char *sha, struct msg_file_open_reply *ret);

/* Ask garth-fs anything: the status. */
int rig_ask(struct fs_rig *r, uint16_t type, const void *body, size_t len, struct bytes tail,
	    const int *fds, unsigned nfds);

/* The record, read as garth-api does; all of it, after rig_flush or a step's end. */
struct rig_rows {
	unsigned n;
	struct rig_row {
		uint64_t id, n, step, source, count;
		uint32_t agent, errnum;
		uint8_t op, state, action, late;
		bool has_sha, kept, newest, open;
		char path[256], path2[256], rule[64], sha[SHA256_HEX_SIZE];
		uint64_t size;
	} row[512];
};
void rig_versions(struct fs_rig *r, const char *path, struct rig_rows *ret); /* NULL: all */
void rig_newest(struct fs_rig *r, const char *path, struct rig_rows *ret); /* the one that lives */
unsigned rig_live(struct fs_rig *r, const char *below); /* how many paths live below this folder */
void rig_violations(struct fs_rig *r, struct rig_rows *ret);
void rig_reads(struct fs_rig *r, uint64_t step, struct rig_rows *ret);
void rig_changes(struct fs_rig *r, uint64_t step, struct rig_rows *ret);
bool rig_step_row(struct fs_rig *r, uint64_t step, uint8_t *ret_reason, uint64_t *ret_stdout,
		  bool *ret_cut);
/* The chain and every table hold. */
void rig_verify(struct fs_rig *r);

#endif
