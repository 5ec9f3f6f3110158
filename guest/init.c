/* SPDX-License-Identifier: MIT */
/*
 * guest/init.c - the loop of garth-init: messages, ends of children, deadlines.
 * Not here: what a message asks for (guest/ask.c), the table of jobs (guest/job.c).
 */
#include "guest/init.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "core/fd.h"
#include "guest/ask.h"
#include "guest/place.h"
#include "guest/proc.h"

#define POLL_FIXED 2u /* socket, signals */

int init_new(int sock, int run_fd, struct init **ret, struct err *err)
{
	struct init *in = calloc(1, sizeof *in);
	sigset_t set;
	int r;

	if (!in)
		return err_set(err, -ENOMEM, "no memory");
	in->sock = sock;
	in->signal_fd = in->code_fd = in->report_fd = -1;
	wire_msg_init(&in->msg);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	r = sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? err_sys(err, "block SIGCHLD") : 0;
	if (r == 0) {
		in->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
		r = in->signal_fd < 0 ? err_sys(err, "signalfd") : 0;
	}
	if (r == 0)
		r = place_init(run_fd, &in->code_fd, &in->report_fd, err);
	if (r < 0) {
		init_free(in);
		return r;
	}
	*ret = in;
	return 0;
}

void init_free(struct init *in)
{
	if (!in)
		return;
	for (unsigned i = 0; i < GUEST_JOBS_MAX; i++)
		if (in->jobs.at[i].kind != JOB_FREE)
			job_free(&in->jobs.at[i]);
	wire_msg_fini(&in->msg);
	fd_closep(&in->signal_fd);
	fd_closep(&in->code_fd);
	fd_closep(&in->report_fd);
	free(in);
}

static int answer(struct init *in, struct job *job, const struct spawn_end *end)
{
	struct msg_put_reply done = { .created = end->created };
	struct msg_status status = { .status = end->err.code };
	bool full = job->kind == JOB_PUT && end->err.code == 0;
	uint16_t type = job->kind == JOB_PUT ? MSG_PUT : MSG_SPAWN;

	fd_closep(&job->pipe_fd);
	if (job->id == 0)
		return 0;
	return wire_send(in->sock, (uint16_t)(type | WIRE_REPLY), job->id,
			 full ? bytes_of(&done, sizeof done) : bytes_of(&status, sizeof status),
			 end->err.code ? bytes_str(end->err.msg) : bytes_of(NULL, 0), NULL, 0);
}

/* A child says what it could not do, or the pipe closes: its program runs, or it died before. */
static int on_pipe(struct init *in, struct job *job, bool dead)
{
	struct spawn_end end = { 0 };
	ssize_t n = read(job->pipe_fd, &end, sizeof end);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (!dead)
			return 0;
		n = 0;
	}
	end.err.msg[sizeof end.err.msg - 1] = '\0';
	if (n != (ssize_t)sizeof end) {
		end = (struct spawn_end){ 0 };
		if (job->kind == JOB_PUT)
			(void)err_set(&end.err, -EIO, "the write was killed");
		else
			job->running = true; /* or it was killed on the way: its status says so */
	}
	return answer(in, job, &end);
}

static int send_exited(struct init *in, struct job *job, int status, const struct rusage *use)
{
	struct msg_exited m = {
		.step = job->step,
		.status = status,
		.utime_ns =
			(int64_t)use->ru_utime.tv_sec * NS_PER_S + use->ru_utime.tv_usec * 1000LL,
		.stime_ns =
			(int64_t)use->ru_stime.tv_sec * NS_PER_S + use->ru_stime.tv_usec * 1000LL,
		.maxrss = (uint64_t)use->ru_maxrss * 1024,
	};
	autobuf report;
	int alive = proc_signal(job->gid, 0, 0, NULL);

	m.alive = alive > 0 ? (uint32_t)alive : 0;
	buf_init(&report, GUEST_REPORT_MAX);
	if (job->report_fd >= 0 && place_report_read(job->report_fd, &report) < 0)
		buf_reset(&report);
	m.error_len = (uint32_t)report.len;
	return wire_send(in->sock, MSG_EXITED, 0, bytes_of(&m, sizeof m), buf_view(&report), NULL,
			 0);
}

static int end_job(struct init *in, struct job *job, int status, const struct rusage *use)
{
	int r = job->pipe_fd >= 0 ? on_pipe(in, job, true) : 0;

	if (r == 0 && job->kind == JOB_SPAWN && job->running)
		r = send_exited(in, job, status, use);
	if (job->report[0] != '\0')
		(void)unlinkat(in->report_fd, job->report, 0);
	job_free(job);
	return r;
}

int init_reap(struct init *in)
{
	for (;;) {
		struct rusage use = { 0 };
		int status = 0, r;
		pid_t pid = wait4(-1, &status, WNOHANG, &use);
		struct job *job;

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return 0; /* none is dead, or none is left */
		job = job_by_pid(&in->jobs, pid);
		r = job ? end_job(in, job, status, &use) : 0; /* else an orphan of some program */
		if (r < 0)
			return r;
	}
}

static int on_signal(struct init *in)
{
	struct signalfd_siginfo si;

	while (read(in->signal_fd, &si, sizeof si) == (ssize_t)sizeof si)
		continue;
	return init_reap(in);
}

static int on_deadlines(struct init *in)
{
	int64_t now = clock_mono_ns();

	for (unsigned i = 0; i < GUEST_JOBS_MAX; i++) {
		struct job *job = &in->jobs.at[i];
		struct spawn_end end = { 0 };
		int r;

		if (job->kind == JOB_FREE || job->pipe_fd < 0 || job->deadline_ns > now)
			continue;
		(void)kill(job->pid, SIGKILL);
		(void)err_set(&end.err, -ETIMEDOUT, "the workspace does not answer");
		r = answer(in, job, &end);
		if (r < 0)
			return r;
	}
	return 0;
}

static int on_message(struct init *in, struct err *err)
{
	int r = wire_recv(in->sock, &in->msg);

	if (r == 1) {
		r = ask_handle(in, err);
		wire_msg_fini(&in->msg);
		return r < 0 ? r : 1;
	}
	if (r == -ECONNRESET || r == 0)
		return 0;
	return r == -EAGAIN ? 1 : err_errno(err, r, "receive");
}

/* Which jobs' pipes are to be watched; entries in the order of the table. */
static unsigned poll_set(struct init *in, struct pollfd *set, struct job **of)
{
	unsigned n = POLL_FIXED;

	set[0] = (struct pollfd){ .fd = in->sock, .events = POLLIN };
	set[1] = (struct pollfd){ .fd = in->signal_fd, .events = POLLIN };
	for (unsigned i = 0; i < GUEST_JOBS_MAX; i++) {
		struct job *job = &in->jobs.at[i];

		if (job->kind == JOB_FREE || job->pipe_fd < 0)
			continue;
		of[n] = job;
		set[n++] = (struct pollfd){ .fd = job->pipe_fd, .events = POLLIN };
	}
	return n;
}

int init_serve(struct init *in, struct err *err)
{
	struct pollfd set[POLL_FIXED + GUEST_JOBS_MAX];
	struct job *of[POLL_FIXED + GUEST_JOBS_MAX];
	int r = 1;

	while (r > 0) {
		unsigned n = poll_set(in, set, of);

		if (poll(set, n, job_next_ms(&in->jobs, clock_mono_ns())) < 0 && errno != EINTR)
			return err_sys(err, "poll");
		r = 0;
		for (unsigned i = POLL_FIXED; r == 0 && i < n; i++)
			if (set[i].revents && of[i]->pipe_fd == set[i].fd)
				r = on_pipe(in, of[i], false);
		if (r == 0 && set[1].revents)
			r = on_signal(in);
		if (r == 0)
			r = on_deadlines(in);
		if (r < 0)
			return r == -EPIPE || r == -ECONNRESET ? 0 : err_errno(err, r, "answer");
		r = set[0].revents ? on_message(in, err) : 1;
	}
	return r;
}
