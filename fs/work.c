/* SPDX-License-Identifier: MIT */
/*
 * fs/work.c - one thread with a queue of jobs, and a tick where it has something to do by the clock.
 */
#include "fs/work.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/clock.h"
#include "fs/cred.h"

struct work {
	struct fs *fs;
	const char *name;
	int64_t (*tick)(struct fs *fs);
	pthread_t thread;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t cond;
	struct job *head, **tail;
	bool woken, stop;
	int64_t next_ns;
};

static void wait_until(struct work *w, int64_t mono_ns)
{
	struct timespec at = { .tv_sec = mono_ns / NS_PER_S, .tv_nsec = mono_ns % NS_PER_S };

	if (mono_ns == WORK_NEVER)
		pthread_cond_wait(&w->cond, &w->lock);
	else
		(void)pthread_cond_timedwait(&w->cond, &w->lock, &at);
}

static struct job *take(struct work *w)
{
	struct job *j = w->head;

	w->head = j->next;
	if (!w->head)
		w->tail = &w->head;
	return j;
}

static void *loop(void *arg)
{
	struct work *w = arg;

	(void)prctl(PR_SET_NAME, w->name, 0L, 0L, 0L); /* pthread_setname_np would need /proc */
	pthread_mutex_lock(&w->lock);
	for (;;) {
		if (w->head) {
			struct job *j = take(w);

			pthread_mutex_unlock(&w->lock);
			j->run(w->fs, j);
			cred_own(w->fs);
			pthread_mutex_lock(&w->lock);
		} else if (w->stop) {
			break;
		} else if (w->tick && (w->woken || clock_mono_ns() >= w->next_ns)) {
			int64_t next;

			w->woken = false;
			pthread_mutex_unlock(&w->lock);
			next = w->tick(w->fs);
			cred_own(w->fs);
			pthread_mutex_lock(&w->lock);
			w->next_ns = next;
		} else {
			wait_until(w, w->next_ns);
		}
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int work_new(struct fs *fs, const char *name, int64_t (*tick)(struct fs *fs), struct work **ret)
{
	struct work *w = calloc(1, sizeof *w);
	pthread_condattr_t attr;
	sigset_t all, old;
	int r;

	if (!w)
		return -ENOMEM;
	w->fs = fs;
	w->name = name;
	w->tick = tick;
	w->tail = &w->head;
	w->next_ns = WORK_NEVER;
	w->woken = tick != NULL;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->cond, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old); /* signals are the main thread's */
	r = pthread_create(&w->thread, NULL, loop, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0) {
		free(w);
		return -r;
	}
	*ret = w;
	return 0;
}

void work_post(struct work *w, struct job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&w->lock);
	*w->tail = job;
	w->tail = &job->next;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

void work_wake(struct work *w)
{
	pthread_mutex_lock(&w->lock);
	w->woken = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

void work_free(struct work *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
