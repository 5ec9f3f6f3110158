/* SPDX-License-Identifier: MIT */
/*
 * guest/spawn.h - the two kinds of children: one that becomes a step's program, one that does a PUT.
 * What a child could not do comes back through a pipe: a struct spawn_end; nothing (the pipe closes by exec) where a program runs.
 * Not here: waiting for them (guest/init.h).
 */
#ifndef GARTH_GUEST_SPAWN_H
#define GARTH_GUEST_SPAWN_H

#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/msg.h"
#include "guest/body.h"
#include "guest/put.h"

struct spawn_end {
	struct err err;   /* code 0: a PUT that worked */
	uint32_t created; /* of a PUT */
};

/*
 * Start a step's program.
 *
 * @b       parsed body; m->language, ids and limits were checked.
 * @stdio   three descriptors, borrowed.
 * @ret_fd  read end of the pipe, non-blocking; the caller closes it.
 *
 * 0 and the child's pid, or the errno of pipe or fork.
 */
must_check int spawn_program(const struct msg_spawn *m, const struct body *b, const int stdio[3],
			     pid_t *ret_pid, int *ret_fd, struct err *err);

/* Start a PUT. content_fd is borrowed. As spawn_program. */
must_check int spawn_put(const struct msg_put *m, const struct put *w, int content_fd,
			 pid_t *ret_pid, int *ret_fd, struct err *err);

#endif
