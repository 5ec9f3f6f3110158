/* SPDX-License-Identifier: MIT */
/*
 * fs/logs.h - stdout and stderr of steps: pipes, a thread that pumps them into logs/<step>/, bounded, all bytes counted.
 * The folder logs/<step> is owned by the step's agent, which is how it is known whose it is; the files are the server's.
 * Thread: begin from the control thread, step_done and step_end from the sealer.
 */
#ifndef GARTH_FS_LOGS_H
#define GARTH_FS_LOGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define LOGS_GREW_MS 20 /* between two LOG_GREW of a step */

struct client;
struct fs;
struct logs;
struct step;

must_check int logs_new(struct fs *fs, struct logs **ret);
void logs_free(struct logs *l); /* stops the thread */

/*
 * Make the files and the pipes. ret_fds: write ends of stdout and stderr, then the two files, read-only; the caller's.
 * The step is counted until both pipes have ended. @client is told as they grow; may be NULL.
 */
must_check int logs_begin(struct fs *fs, struct step *st, uint64_t log_max, struct client *client,
			  int ret_fds[4], struct err *err);

/* Have both pipes ended? True also for a step that is not known. */
bool logs_step_done(struct logs *l, uint64_t step);

/* What is in the pipes now is written; where not `alive`, nothing more is taken. */
void logs_step_end(struct logs *l, uint64_t step, bool alive);

#endif
