/* SPDX-License-Identifier: MIT */
/*
 * guest/job.h - what runs in the sandbox at garth-init's hand: one entry a program or PUT, from its message to its end.
 * Not here: starting (guest/spawn.h), messages (guest/init.h).
 */
#ifndef GARTH_GUEST_JOB_H
#define GARTH_GUEST_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/layout.h"
#include "guest/place.h"

enum job_kind { JOB_FREE = 0, JOB_SPAWN, JOB_PUT };

struct job {
	enum job_kind kind;
	bool running; /* a program: its exec has worked */
	pid_t pid;
	int pipe_fd;   /* -1: the answer is given */
	int report_fd; /* -1: none */
	uint64_t id;   /* of the message that wants the answer */
	uint64_t step;
	uint32_t gid;
	int64_t deadline_ns; /* monotonic; until the answer */
	char report[PLACE_REPORT_SIZE];
};

struct jobs {
	struct job at[GUEST_JOBS_MAX];
};

/* A free entry, emptied, with descriptors -1; NULL where all are taken. It stays free until its kind is set. */
struct job *job_new(struct jobs *jobs);

/* Closes what it holds. The report's name is not removed. */
void job_free(struct job *job);

struct job *job_by_pid(struct jobs *jobs, pid_t pid);
struct job *job_by_step(struct jobs *jobs, uint64_t step); /* a JOB_SPAWN */

/* Milliseconds until the next deadline of an answer: -1 none, 0 one has passed. */
int job_next_ms(const struct jobs *jobs, int64_t now_ns);

#endif
