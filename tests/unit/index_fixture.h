/* SPDX-License-Identifier: MIT */
/*
 * index_fixture.h - a workspace's record in a folder of its own, with a ring and an index thread, and short ways to put events.
 * Not here: tests.
 */
#ifndef GARTH_TESTS_INDEX_FIXTURE_H
#define GARTH_TESTS_INDEX_FIXTURE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "index/query.h"
#include "index/verify.h"
#include "index/writer.h"

#define FX_PATH_SIZE 512
#define FX_STEP(n) ((uint64_t)(0x1000 + (n))) /* ids of steps */
#define FX_SANDBOX UINT64_C(0x77)

struct fx {
	char dir[64];
	int dir_fd, objects_fd, ring_fd;
	struct ring *ring;
	struct idx_writer *w; /* NULL: not running */
	pthread_t thread;
	int run_rc;
	uint64_t holes;
	uint64_t end; /* ring position behind what was put last */
	uint64_t next_version;
	int64_t now; /* a clock that the test turns */
};

void fx_open(struct fx *x);  /* folder and ring, no writer */
void fx_start(struct fx *x); /* a writer and its thread */
void fx_stop(struct fx *x);  /* waits until all is stored */
void fx_close(struct fx *x); /* stops, and removes everything */
void fx_new_ring(struct fx *x);
const char *fx_db(const struct fx *x, char out[FX_PATH_SIZE]);

void fx_put(struct fx *x, struct event *e); /* at the fixture's time */
void fx_sync(struct fx *x);

/* Workspace, policy, and the agents planner (1) and analyzer (2). */
void fx_begin(struct fx *x);
void fx_agent(struct fx *x, uint32_t agent, const char *name);
void fx_step(struct fx *x, uint64_t step, uint32_t agent);
void fx_step_code(struct fx *x, uint64_t step, uint32_t agent, const char *job, uint64_t parent,
		  const struct sha256 *code);
void fx_end(struct fx *x, uint64_t step);
/* A sealed version whose content is `text`, kept as an object. Gives its number. */
uint64_t fx_seal(struct fx *x, uint64_t step, const char *path, const char *text);
uint64_t fx_version(struct fx *x, uint64_t step, const char *path, enum ev_action action,
		    enum ev_state state, uint64_t source);
void fx_state(struct fx *x, uint64_t version, enum ev_state state, const char *text, bool kept);
void fx_read(struct fx *x, uint64_t step, uint64_t version, const char *path);
void fx_change(struct fx *x, uint64_t step, enum ev_op op, const char *path, const char *path2);
void fx_violation(struct fx *x, uint64_t step, enum ev_op op, const char *path, const char *rule);
struct ev_who fx_who(uint64_t step);
void fx_object(struct fx *x, const char *text, struct sha256 *ret); /* objects/<sha> */

/* The newest version that lives at path, as "n:version", "-" for none. Asks through idx_versions. */
const char *fx_live(struct fx *x, const char *path, char out[64]);
/* One number out of index.db, by SQL that is the test's. */
int64_t fx_number(struct fx *x, const char *sql);
/* Change index.db behind everybody's back (the writer is stopped). */
void fx_tamper(struct fx *x, const char *sql);
void fx_verify(struct fx *x, struct idx_verify *ret);
void fx_assert_verifies(struct fx *x);

#endif
