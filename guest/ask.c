/* SPDX-License-Identifier: MIT */
/*
 * guest/ask.c - answers to SPAWN, KILL and PUT.
 * Not here: what children do (guest/spawn.c), the end of jobs (guest/init.c).
 */
#include "guest/ask.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/ids.h"
#include "core/msg.h"
#include "core/path.h"
#include "guest/place.h"
#include "guest/proc.h"

#define KILL_PAUSE_MS 2
#define SEALS_NEEDED (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int refuse(struct init *in, int code, const struct err *why)
{
	return msg_reply_status(in->sock, &in->msg, code, why);
}

static int check_ids(uint32_t uid, uint32_t gid, struct err *err)
{
	if (uid > IDS_INSIDE_LAST || gid < IDS_STEP_GID || gid - IDS_STEP_GID >= IDS_STEPS_MAX)
		return err_set(err, -EINVAL, "user %u and group %u are not a step's", uid, gid);
	return 0;
}

/* Map the body of a SPAWN. Sealed, so that its bytes stay what was checked, and its end where it is. */
static int map_body(int fd, struct bytes *ret, struct err *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *p;

	if (seals < 0 || (seals & SEALS_NEEDED) != SEALS_NEEDED)
		return err_set(err, -EBADMSG, "spawn: the body is not sealed");
	if (fstat(fd, &st) < 0)
		return err_sys(err, "spawn: body");
	if (st.st_size <= 0)
		return err_set(err, -EBADMSG, "spawn: no body");
	if ((uintmax_t)st.st_size > GUEST_BODY_MAX)
		return err_set(err, -E2BIG, "code and files are more than %u MiB",
			       GUEST_BODY_MAX >> 20);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(err, "spawn: map the body");
	*ret = bytes_of(p, (size_t)st.st_size);
	return 0;
}

static void unmap_body(struct bytes b)
{
	void *p;

	memcpy(&p, &b.p, sizeof p);
	if (b.len)
		(void)munmap(p, b.len);
}

/* Code and report: what must stand before the program starts. */
static int prepare(struct init *in, const struct msg_spawn *m, const struct body *b,
		   struct job *job, struct err *err)
{
	int r;

	if (m->language == BODY_LANG_ARGV)
		return 0;
	r = place_code(in->code_fd, m->language == BODY_LANG_PYTHON ? "main.py" : "main.sh",
		       b->code, err);
	if (r < 0 || m->language != BODY_LANG_PYTHON)
		return r;
	r = place_report_make(in->report_fd, job->report, m->uid, &job->report_fd, err);
	return r;
}

static int start_program(struct init *in, const struct msg_spawn *m, struct bytes bytes,
			 struct job *job, struct err *err)
{
	char path[PLACE_REPORT_SIZE];
	struct body b = { 0 };
	int r;

	place_report_name(m->step, job->report, path);
	r = body_parse(m, bytes, path, &b, err);
	if (r < 0)
		return r;
	r = prepare(in, m, &b, job, err);
	if (r == 0)
		r = spawn_program(m, &b, in->msg.fd, &job->pid, &job->pipe_fd, err);
	body_fini(&b);
	return r;
}

static int on_spawn(struct init *in, struct err *err)
{
	struct msg_spawn m;
	struct bytes bytes = { 0 };
	struct err why = { 0 };
	struct job *job = job_new(&in->jobs);
	int r;

	memcpy(&m, msg_body(&in->msg), sizeof m);
	r = check_ids(m.uid, m.gid, &why);
	if (r == 0 && (!job || job_by_step(&in->jobs, m.step)))
		r = err_set(&why, job ? -EEXIST : -EAGAIN,
			    job ? "the step runs already" : "too many programs in this sandbox");
	if (r == 0)
		r = map_body(in->msg.fd[3], &bytes, &why);
	if (r == 0)
		r = start_program(in, &m, bytes, job, &why);
	unmap_body(bytes);
	if (r == -EBADMSG)
		return err_set(err, r, "%s", why.msg);
	if (r < 0) {
		if (job && job->report[0] != '\0')
			(void)unlinkat(in->report_fd, job->report, 0);
		job_free(job);
		return refuse(in, r, &why);
	}
	job->kind = JOB_SPAWN;
	job->id = in->msg.head.id;
	job->step = m.step;
	job->gid = m.gid;
	job->deadline_ns = clock_mono_ns() + GUEST_START_MS * NS_PER_MS;
	return 0;
}

static int on_put(struct init *in, struct err *err)
{
	struct bytes tail = msg_tail(&in->msg);
	struct err why = { 0 };
	struct job *job = job_new(&in->jobs);
	char path[PATH_LEN_MAX + 1];
	struct put w = { .path = path };
	struct msg_put m;
	int r;

	memcpy(&m, msg_body(&in->msg), sizeof m);
	if (m.path_len != tail.len || tail.len > PATH_LEN_MAX)
		return err_set(err, -EBADMSG, "put: a path of %u bytes in %zu", m.path_len,
			       tail.len);
	r = check_ids(m.uid, m.gid, &why);
	if (r == 0)
		r = tail.len == 0 ? err_set(&why, -EINVAL, "no path") : path_check(tail, &why);
	if (r == 0 && !job)
		r = err_set(&why, -EAGAIN, "too many writes in this sandbox");
	if (r < 0)
		return refuse(in, r, &why);
	memcpy(path, tail.p, tail.len);
	path[tail.len] = '\0';
	w.replace = m.replace != 0;
	w.if_sha = m.if_sha;
	r = spawn_put(&m, &w, in->msg.fd[0], &job->pid, &job->pipe_fd, &why);
	if (r < 0)
		return refuse(in, r, &why);
	job->kind = JOB_PUT;
	job->id = in->msg.head.id;
	job->step = m.step;
	job->gid = m.gid;
	job->deadline_ns = clock_mono_ns() + GUEST_PUT_MS * NS_PER_MS;
	return 0;
}

/* The program of a step that may not have its gid yet; 0 none. */
static pid_t starting(struct init *in, uint64_t step)
{
	struct job *job = job_by_step(&in->jobs, step);

	return job && job->pipe_fd >= 0 ? job->pid : 0;
}

/*
 * Stop them first: a fork bomb that stands still can be counted. Then kill until a pass finds none. This holds up the loop, and nothing
 * else in it matters more; it ends by GUEST_KILL_MS, and then garth-api ends the whole sandbox.
 */
static int kill_all(struct init *in, const struct msg_kill *m, struct err *err)
{
	int64_t end = clock_mono_ns() + GUEST_KILL_MS * NS_PER_MS;
	int count = proc_signal(m->gid, SIGSTOP, starting(in, m->step), err);

	if (count < 0)
		return count;
	for (;;) {
		int n = proc_signal(m->gid, SIGKILL, starting(in, m->step), err);
		int r = init_reap(in);

		if (n < 0 || r < 0)
			return n < 0 ? n : r;
		if (n == 0)
			return count;
		if (n > count)
			count = n;
		if (clock_mono_ns() > end)
			return err_set(err, -ETIMEDOUT, "%d processes of the step would not die",
				       n);
		(void)poll(NULL, 0, KILL_PAUSE_MS);
	}
}

static int on_kill(struct init *in, struct err *err)
{
	struct err why = { 0 };
	struct msg_kill m;
	int r;

	(void)err;
	memcpy(&m, msg_body(&in->msg), sizeof m);
	r = check_ids(0, m.gid, &why);
	if (r == 0 && (m.signal < 1 || m.signal > SIGRTMAX))
		r = err_set(&why, -EINVAL, "signal %d", m.signal);
	if (r == 0)
		r = m.signal == SIGKILL ? kill_all(in, &m, &why)
					: proc_signal(m.gid, m.signal, starting(in, m.step), &why);
	return refuse(in, r, r < 0 ? &why : NULL);
}

int ask_handle(struct init *in, struct err *err)
{
	int r = msg_check(&in->msg, PEER_API, PEER_G, err);

	if (r < 0)
		return r;
	switch (in->msg.head.type) {
	case MSG_SPAWN: return on_spawn(in, err);
	case MSG_KILL: return on_kill(in, err);
	case MSG_PUT: return on_put(in, err);
	default:
		return err_set(err, -EBADMSG, "message %u is not for garth-init",
			       in->msg.head.type);
	}
}
