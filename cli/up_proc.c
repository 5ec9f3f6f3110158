/* SPDX-License-Identifier: MIT */
/*
 * cli/up_proc.c - starting the programs that the supervisor watches, with exactly the descriptors that docs/PROTOCOL.md names.
 */
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cli/up.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/msg.h"

#define FDS_MAX 2u
#define ABOVE 32

struct program {
	const char *name;
	const char *const *argv;
	int fds[FDS_MAX]; /* become 3, 4 */
	unsigned n;
	uint32_t id;      /* uid and gid; 0: root */
	const char *room; /* where it finds the data folder; NULL: in its place */
};

static bool place_fds(const struct up *u, const struct program *p)
{
	int high[FDS_MAX], null = open("/dev/null", O_RDWR | O_CLOEXEC),
			   out = u->child_err_fd >= 0 ? u->child_err_fd : STDERR_FILENO;

	out = fcntl(out, F_DUPFD_CLOEXEC, ABOVE);
	null = fcntl(null, F_DUPFD_CLOEXEC, ABOVE);
	for (unsigned i = 0; i < p->n; i++) {
		high[i] = fcntl(p->fds[i], F_DUPFD_CLOEXEC, ABOVE);
		if (high[i] < 0)
			return false;
	}
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(out, STDERR_FILENO) < 0)
		return false;
	for (unsigned i = 0; i < p->n; i++)
		if (dup2(high[i], 3 + (int)i) < 0)
			return false;
	return syscall(SYS_close_range, 3u + p->n, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) == 0;
}

static bool become(uint32_t id)
{
	if (id == 0)
		return true;
	return setgroups(0, NULL) == 0 && setresgid(id, id, id) == 0 &&
	       setresuid(id, id, id) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) == 0;
}

static _Noreturn void child(const struct up *u, const struct program *p, pid_t parent)
{
	char path[PATH_LEN_MAX + 32];
	const char *log = getenv("GARTH_LOG");
	char log_env[64];
	const char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", NULL, NULL };
	sigset_t none;
	int program;

	if (log && (size_t)snprintf(log_env, sizeof log_env, "GARTH_LOG=%s", log) < sizeof log_env)
		env[2] = log_env;
	(void)setpgid(0, 0); /* a terminal's ^C is for the supervisor, which stops them in order */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)snprintf(path, sizeof path, "%s/%s", u->libexec, p->name);
	/* Opened as root: the program's folder may be closed to others too. */
	program = open(path, O_RDONLY | O_CLOEXEC);
	if (program >= 0)
		program = fcntl(program, F_DUPFD_CLOEXEC, ABOVE);
	if (program >= 0 && place_fds(u, p) &&
	    (p->room == NULL || up_room_enter(u->data, p->room)) && become(p->id) &&
	    prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L) == 0 && getppid() == parent) {
		if (p->room == NULL)
			(void)syscall(SYS_execve, path, p->argv, env);
		else
			(void)syscall(SYS_execveat, program, "", p->argv, env, AT_EMPTY_PATH);
	}
	(void)fprintf(stderr, "garth: could not execute %s: %s\n", path, strerrordesc_np(errno));
	_exit(127);
}

static int start(const struct up *u, const struct program *p, pid_t *ret, struct err *err)
{
	pid_t self = getpid(), pid = fork();

	if (pid < 0)
		return err_sys(err, "start %s", p->name);
	if (pid == 0)
		child(u, p, self);
	*ret = pid;
	return 0;
}

int up_start_garthd(struct up *u, struct err *err)
{
	char ids[32], gid[16], n[16];
	const char *const argv[] = { "garthd", "--data",    u->data,     "--run", u->run,
				     "--ids",  ids,         "--api-gid", gid,     "--sandboxes",
				     n,        "--libexec", u->libexec,  NULL };
	struct program p = { .name = "garthd", .argv = argv, .n = 1 };
	autofd theirs = -1;
	int pair[2];
	int r = fd_seqpair(pair);

	if (r < 0)
		return err_errno(err, r, "make a socket pair");
	fd_closep(&u->garthd_fd);
	u->garthd_fd = pair[0];
	theirs = pair[1];
	p.fds[0] = theirs;
	(void)snprintf(ids, sizeof ids, "%" PRIu32 ",%" PRIu32, u->cfg.ids_first, u->cfg.ids_count);
	(void)snprintf(gid, sizeof gid, "%" PRIu32, u->cfg.ids_first);
	(void)snprintf(n, sizeof n, "%" PRIu32, u->cfg.sandboxes);
	u->garthd_ns = clock_mono_ns();
	return start(u, &p, &u->garthd, err);
}

int up_announce_api(struct up *u, struct err *err)
{
	struct msg_api_new hello = { { 0 } };
	autofd theirs = -1;
	int pair[2];
	int r = fd_seqpair(pair);

	if (r < 0)
		return err_errno(err, r, "make a socket pair");
	fd_closep(&u->api_fd);
	u->api_fd = pair[0];
	theirs = pair[1];
	r = wire_send(u->garthd_fd, MSG_API_NEW, ++u->next_id, bytes_of(&hello, sizeof hello),
		      bytes_of(NULL, 0), &theirs, 1);
	if (r < 0 && r != -EPIPE &&
	    r != -ECONNRESET) /* a dead garthd is dealt with where it is reaped */
		return err_errno(err, r, "tell garthd of garth-api");
	return 0;
}

int up_start_api(struct up *u, struct err *err)
{
	char queue[16], n[16];
	const char *const argv[] = { "garth-api", "--data", u->run,        "--url", u->url,
				     "--queue",   queue,    "--sandboxes", n,       NULL };
	struct program p = { .name = "garth-api",
			     .argv = argv,
			     .fds = { u->api_fd, u->listen_fd },
			     .n = 2,
			     .id = u->cfg.ids_first,
			     .room = u->run };
	int r;

	(void)snprintf(queue, sizeof queue, "%" PRIu32, u->cfg.queue);
	(void)snprintf(n, sizeof n, "%" PRIu32, u->cfg.sandboxes);
	u->api_ns = clock_mono_ns();
	r = start(u, &p, &u->api, err);
	fd_closep(&u->api_fd);
	return r;
}

void up_sweep(const struct up *u)
{
	const char *const argv[] = {
		"garthd", "--data", u->data, "--run", u->run, "--sweep", NULL
	};
	struct program p = { .name = "garthd", .argv = argv };
	pid_t pid = 0;
	int status;

	if (start(u, &p, &pid, NULL) < 0)
		return;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}
