/* SPDX-License-Identifier: MIT */
/*
 * guest/job.c - the table of programs and PUTs under way.
 * Not here: what is done with them (guest/init.c).
 */
#include "guest/job.h"

#include <limits.h>

#include "core/clock.h"
#include "core/fd.h"

struct job *job_new(struct jobs *jobs)
{
	for (unsigned i = 0; i < GUEST_JOBS_MAX; i++)
		if (jobs->at[i].kind == JOB_FREE) {
			jobs->at[i] = (struct job){ .pipe_fd = -1, .report_fd = -1 };
			return &jobs->at[i];
		}
	return NULL;
}

void job_free(struct job *job)
{
	if (!job)
		return;
	fd_closep(&job->pipe_fd);
	fd_closep(&job->report_fd);
	job->kind = JOB_FREE;
}

struct job *job_by_pid(struct jobs *jobs, pid_t pid)
{
	for (unsigned i = 0; i < GUEST_JOBS_MAX; i++)
		if (jobs->at[i].kind != JOB_FREE && jobs->at[i].pid == pid)
			return &jobs->at[i];
	return NULL;
}

struct job *job_by_step(struct jobs *jobs, uint64_t step)
{
	for (unsigned i = 0; i < GUEST_JOBS_MAX; i++)
		if (jobs->at[i].kind == JOB_SPAWN && jobs->at[i].step == step)
			return &jobs->at[i];
	return NULL;
}

int job_next_ms(const struct jobs *jobs, int64_t now_ns)
{
	int64_t next = INT64_MAX, left;

	for (unsigned i = 0; i < GUEST_JOBS_MAX; i++) {
		const struct job *job = &jobs->at[i];

		if (job->kind != JOB_FREE && job->pipe_fd >= 0 && job->deadline_ns < next)
			next = job->deadline_ns;
	}
	if (next == INT64_MAX)
		return -1;
	left = (next - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}
