/* SPDX-License-Identifier: MIT */
/*
 * fs/step.h - the sandboxes that live, the steps that are open in them, and the policy they run under.
 * A step holds the policy it began with. A step's slot (its gid) is its own until its last open file is gone; that of a step whose
 * processes live on, until its sandbox ends.
 * Not here: who a request is from (fs/who.h), task/ (fs/task.h), the barrier at a step's end (fs/seal.h).
 * Thread: any. Locks: steps->lock, never held across a system call.
 */
#ifndef GARTH_FS_STEP_H
#define GARTH_FS_STEP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/ids.h"
#include "policy/policy.h"

struct client; /* fs/client.h */
struct node;

struct sandbox {
	uint64_t id;
	uint32_t gid_base, agent;
	bool live;
	struct node *node; /* its task/; pinned */
	unsigned task_seq; /* of its task folders; control thread */
	/* guarded by steps->lock */
	unsigned refs;
	bool ended;
	struct step *slot[IDS_STEPS_MAX];
	struct sandbox *next;
};

enum step_state { STEP_OPEN = 0, STEP_ENDING, STEP_ENDED };

struct readset; /* versions that a step has read; fs/read.c */

struct step {
	uint64_t id;
	uint32_t agent;
	unsigned slot;
	struct sandbox *sb;    /* counted */
	struct policy *policy; /* counted */
	struct client *client; /* compared only, never followed */
	atomic_uint files;     /* open */
	atomic_uint writable;  /* open for writing */
	_Atomic uint64_t artifacts, violations, reads;
	_Atomic uint64_t stdout_bytes, stderr_bytes; /* all that was written */
	atomic_bool stdout_cut, stderr_cut;
	pthread_mutex_t lock; /* guards seen */
	struct readset *seen;
	/* guarded by steps->lock */
	unsigned refs;
	enum step_state state;
	bool alive;        /* its processes live on */
	struct step *next; /* those that have not ended */
};

struct steps;

must_check int steps_new(struct policy *policy,
			 struct steps **ret); /* takes the policy's reference */
void steps_free(struct steps *s);

struct policy *steps_policy(struct steps *s);                  /* the one of now, counted */
void steps_set_policy(struct steps *s, struct policy *policy); /* takes it */

/* 0, -EEXIST a sandbox with this id or overlapping gids, -ENOMEM. One reference for the caller, one for the table. */
must_check int sandbox_add(struct steps *s, uint64_t id, uint32_t gid_base, uint32_t agent,
			   bool live, struct sandbox **ret);
struct sandbox *sandbox_by_id(struct steps *s, uint64_t id); /* counted, or NULL */
struct sandbox *sandbox_by_gid(struct steps *s,
			       uint32_t gid);          /* counted, or NULL; any gid of its block */
void sandbox_end(struct steps *s, struct sandbox *sb); /* out of the table, its slots free */
struct sandbox *sandbox_ref(struct steps *s, struct sandbox *sb); /* NULL is fine */
void sandbox_put(struct steps *s, struct sandbox *sb);            /* NULL is fine */

/* 0; -EAGAIN no free slot. One reference for the caller; the slot and the list of open steps hold their own. */
must_check int step_add(struct steps *s, struct sandbox *sb, uint64_t id, struct client *client,
			struct step **ret);
struct step *
step_by_id(struct steps *s,
	   uint64_t id); /* counted, or NULL; until it has ended, its sandbox may be gone */
struct step *step_ref(struct steps *s, struct step *st);
void step_put(struct steps *s, struct step *st); /* NULL is fine */

/* STEP_OPEN -> STEP_ENDING: true for who makes it so. */
bool step_set_ending(struct steps *s, struct step *st);
void step_set_ended(struct steps *s, struct step *st,
		    bool alive); /* frees the slot as soon as no file is open */
void step_file_closed(struct steps *s,
		      struct step *st); /* after files--: the slot may be free now */
enum step_state step_state(struct steps *s, struct step *st);

/* The step in this slot (counted), whether it has ended, or NULL. */
struct step *step_in_slot(struct steps *s, struct sandbox *sb, int slot, bool *ret_late);

/* Ids of the steps open in this sandbox (at most `max`), and the one (counted) where it is the only one. */
unsigned steps_open_in(struct steps *s, struct sandbox *sb, uint64_t *ids, unsigned max,
		       struct step **ret_only);

/* Each open step (of this client, NULL: of any). Called without the lock, with a reference that fn does not keep. */
void steps_each_open(struct steps *s, const struct client *client,
		     void (*fn)(void *ctx, struct step *st), void *ctx);

#endif
