/* SPDX-License-Identifier: MIT */
/*
 * fs/who.h - who a FUSE request is from, as its uid and gid say: agent, sandbox, step.
 * Identity is taken from the request's fsuid and fsgid alone, never from a pid.
 * Not here: what it may do (fs/place.h), as whom the server then acts (fs/cred.h).
 * Memory: a struct who lives on the stack and holds counts; who_put gives them back.
 */
#ifndef GARTH_FS_WHO_H
#define GARTH_FS_WHO_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/event.h"
#include "core/ids.h"
#include "fs/fs.h"

enum who_kind {
	WHO_NOBODY = 0, /* garth itself */
	WHO_AGENT,
	WHO_HOST, /* root of the host: reads */
};

struct sandbox;
struct step;
struct policy;

struct who {
	enum who_kind kind;
	bool late;
	bool inner_root; /* acts as the owner of its agent's files */
	uint32_t uid, gid;
	uint32_t agent;
	const char *name; /* of the agent */
	struct sandbox *sb;
	struct step *step; /* NULL where it is none or several */
	struct policy *policy;
	unsigned nsteps;                  /* ids in steps, where step is NULL for being ambiguous */
	uint8_t steps[IDS_STEPS_MAX * 8]; /* big-endian */
};

/* 0, -EACCES a uid or gid that is nobody's here. */
must_check int who_of(struct fs *fs, uint32_t uid, uint32_t gid, struct who *ret);
void who_put(struct fs *fs, struct who *w);

/* A second one with counts of its own, for what outlives a request. */
void who_copy(struct fs *fs, const struct who *from, struct who *ret);

/* For events. Borrows from w. */
struct ev_who who_event(const struct who *w);
uint64_t who_step_id(const struct who *w); /* 0: none */

/* As whom to act on something that `owner` owns. */
uint32_t who_acts(const struct fs *fs, const struct who *w, uint32_t owner);

/* For node_searchable: the first uid of the block whose owner it acts as, 0 where it acts only as itself. */
uint32_t who_block(const struct fs *fs, const struct who *w);

#endif
