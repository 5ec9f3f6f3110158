/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/guest_box.h - a small sandbox around garth-init, without garthd and the mount: namespaces, a root of tmpfs with the host's
 * /usr, a /workspace of tmpfs, and the other end of the guest socket.
 * Not here: garth's own sandbox (exec/clone.h), which tests/exec/rig.h and tests/e2e start.
 */
#ifndef GARTH_TESTS_EXEC_GUEST_BOX_H
#define GARTH_TESTS_EXEC_GUEST_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/msg.h"

#define BOX_UID_BASE 200000u
#define BOX_GID_BASE 300000u
#define BOX_WAIT_MS 120000 /* pandas on a slow machine */
#define BOX_OUT_MAX (4u * 1024 * 1024)

struct box {
	pid_t pid;   /* the helper that ends with the sandbox */
	int sock;    /* garth-api's end */
	int dead_fd; /* pidfd of the helper */
	struct wire_msg msg;
};

/* What to run; zero is: uid 1000, gid 60000, cwd /workspace/task, no limits worth the name. */
struct box_step {
	uint64_t step;
	uint32_t uid, gid, language;
	uint64_t file_max;
	uint32_t open_files;
	const char *cwd;
	const char *const *argv; /* NULL-terminated */
	const char *const *env;
	const char *code;
	const char *const *files; /* name, content, name, content, NULL */
	const char *stdin_text;
};

struct box_end {
	int status;    /* of the answer to SPAWN */
	char why[256]; /* where status is not 0 */
	int wait;      /* wait(2) status */
	uint32_t alive;
	uint64_t maxrss;
	struct buf out, err, report;
};

/* 0, or -1 where this machine can't (why printed). A second open is fine. */
int box_open(struct box *b, bool landlock);
void box_close(struct box *b);

/* Run to the end: SPAWN, its output, EXITED. 0, or -1 where the protocol failed (printed). box_end_fini in any case. */
int box_run(struct box *b, const struct box_step *s, struct box_end *ret);
void box_end_fini(struct box_end *e);

/* SPAWN alone: the answer's status; the read ends of stdout and stderr. */
int box_spawn(struct box *b, const struct box_step *s, int ret_out[2], struct box_end *ret);

/* Wait for EXITED of a step. */
int box_exited(struct box *b, uint64_t step, struct box_end *ret);

/* The answer's status. */
int box_kill(struct box *b, uint64_t step, uint32_t gid, int sig);
int box_put(struct box *b, uint32_t uid, uint32_t gid, const char *path, const char *content,
	    bool replace, const char *if_sha, bool *ret_created);

/* Send what no garth-api would, and see that garth-init ends: 1 it did. */
int box_provoke(struct box *b, uint16_t type, const void *body, size_t len, const int *fds,
		unsigned nfds);

#endif
