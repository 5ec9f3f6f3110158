/* SPDX-License-Identifier: MIT */
/*
 * guest/spawn.c - children of garth-init: from fork to exec.
 * Not here: waiting for them (guest/init.c), giving up rights (guest/confine.c).
 */
#include "guest/spawn.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>

#include "core/fd.h"
#include "core/path.h"
#include "guest/confine.h"
#include "guest/layout.h"

#define CHILD_FAILED 126 /* exit status; nobody looks at it: the pipe says why */
#define FOLDER_MODE 0777u
#define FILE_MODE 0666u

static int set_limit(__rlimit_resource_t what, uint64_t value, const char *name, struct err *err)
{
	struct rlimit now, want = { .rlim_cur = value, .rlim_max = value };

	if (getrlimit(what, &now) < 0)
		return err_sys(err, "limit %s", name);
	if (now.rlim_max != RLIM_INFINITY && want.rlim_max > now.rlim_max)
		want.rlim_cur = want.rlim_max = now.rlim_max; /* raising it is not ours */
	if (setrlimit(what, &want) < 0)
		return err_sys(err, "limit %s", name);
	return 0;
}

static int set_limits(uint64_t file_max, uint32_t open_files, struct err *err)
{
	const struct {
		__rlimit_resource_t what;
		uint64_t value;
		const char *name;
	} limits[] = {
		{ RLIMIT_CORE, 0, "core" },
		{ RLIMIT_RTPRIO, 0, "real-time priority" }, /* whatever garthd was started with */
		{ RLIMIT_NICE, 0, "niceness" },
		{ RLIMIT_FSIZE, file_max, "file size" },
		{ RLIMIT_NOFILE, open_files, "open files" },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof limits / sizeof limits[0]; i++)
		r = set_limit(limits[i].what, limits[i].value, limits[i].name, err);
	return r;
}

/*
 * The host's /dev/null becomes the sandbox's own: it lies on a mount that nobody in here may open by path, so `cat /dev/stdin` would
 * fail.
 */
static void own_null(int fd)
{
	struct stat st;
	autofd own = -1;

	if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
		return;
	own = open("/dev/null", (fcntl(fd, F_GETFL) & O_ACCMODE) | O_CLOEXEC);
	if (own >= 0)
		(void)dup2(own, fd);
}

/* Descriptors 0 to 2 as given, all others gone at exec. */
static int take_stdio(const int stdio[3], struct err *err)
{
	for (int i = 0; i < 3; i++) {
		if (dup2(stdio[i], i) < 0)
			return err_sys(err, "descriptor %d", i);
		own_null(i);
	}
	if (syscall(SYS_close_range, 3U, UINT_MAX, CLOSE_RANGE_CLOEXEC) < 0)
		return err_sys(err, "close descriptors");
	return 0;
}

static int place_file(int task_fd, const struct body_file *f, struct err *err)
{
	char path[PATH_LEN_MAX + 1];
	autofd fd = -1;
	char *slash;
	int r;

	memcpy(path, f->name.p, f->name.len);
	path[f->name.len] = '\0';
	slash = strrchr(path, '/');
	if (slash) {
		*slash = '\0';
		r = path_mkdirs(task_fd, path, FOLDER_MODE, err);
		if (r < 0)
			return r;
		*slash = '/';
	}
	r = path_open_beneath(task_fd, path, O_WRONLY | O_CREAT | O_TRUNC, FILE_MODE, &fd, err);
	if (r < 0)
		return r;
	r = fd_write_full(fd, f->content.p, f->content.len);
	return r < 0 ? err_errno(err, r, "write") : 0;
}

static int place_files(const struct body *b, struct err *err)
{
	autofd task = -1;

	if (b->nfiles == 0)
		return 0;
	task = open(GUEST_TASK, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (task < 0)
		return err_sys(err, "open %s", GUEST_TASK);
	for (uint32_t i = 0; i < b->nfiles; i++) {
		const struct body_file *f = &b->files[i];
		int r = place_file(task, f, err);

		if (r < 0)
			return err_wrap(err, r, "file '%.*s'", (int)f->name.len,
					(const char *)f->name.p);
	}
	return 0;
}

static int exec_failed(const char *program, int code, struct err *err)
{
	if (code == -ENOENT && faccessat(AT_FDCWD, program, F_OK, 0) == 0)
		return err_set(err, code,
			       "program '%s' is there, but the interpreter that it names is not",
			       program);
	return err_errno(err, code, "program '%s'", program);
}

/* As execvpe, but with the PATH of the environment that is given, and -ENOEXEC is not handed to a shell. */
static int exec_search(char *const *argv, char *const *env, struct err *err)
{
	const char *dirs = body_env(env, "PATH"), *name = argv[0];
	bool denied = false;
	char path[PATH_MAX];

	if (strchr(name, '/') || name[0] == '\0') {
		(void)execve(name, argv, env);
		return exec_failed(name, -errno, err);
	}
	for (dirs = dirs ? dirs : GUEST_PATH;; dirs++) {
		size_t len = strcspn(dirs, ":");

		if (snprintf(path, sizeof path, "%.*s%s%s", (int)len, dirs, len ? "/" : "", name) <
		    (int)sizeof path) {
			(void)execve(path, argv, env);
			if (errno == EACCES)
				denied = true;
			else if (errno != ENOENT && errno != ENOTDIR)
				return exec_failed(path, -errno, err);
			else if (errno == ENOENT && faccessat(AT_FDCWD, path, F_OK, 0) == 0)
				return exec_failed(path, -ENOENT, err);
		}
		dirs += len;
		if (*dirs == '\0')
			break;
	}
	if (denied)
		return err_set(err, -EACCES, "program '%s': Permission denied", name);
	return err_set(err, -ENOENT, "program '%s' is not in PATH", name);
}

static int run_program(const struct msg_spawn *m, const struct body *b, const int stdio[3],
		       struct err *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	int r;

	confine_signals();
	(void)sigaction(SIGXFSZ, &ignore,
			NULL); /* until exec: files that are too large are an error with a name */
	if (setsid() < 0)
		return err_sys(err, "new session");
	confine_oom_first();
	(void)umask(m->umask & 0777);
	r = take_stdio(stdio, err);
	if (r == 0)
		r = set_limits(m->file_max, m->open_files, err);
	if (r == 0)
		r = confine_ids(m->uid, m->gid, err);
	if (r < 0)
		return r;
	r = place_files(b, err);
	if (r < 0)
		return r;
	if (chdir(b->cwd) < 0)
		return err_sys(err, "cwd '%s'", b->cwd);
	confine_signals();
	return exec_search(b->argv, b->env, err);
}

static _Noreturn void say(int fd, const struct spawn_end *end)
{
	(void)!write(fd, end, sizeof *end); /* less than PIPE_BUF: whole or not at all */
	_exit(end->err.code == 0 ? 0 : CHILD_FAILED);
}

static int start(pid_t *ret_pid, int pipe_fd[2], struct err *err)
{
	pid_t pid;
	int r;

	_Static_assert(sizeof(struct spawn_end) <= PIPE_BUF, "one write");
	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	pid = fork();
	if (pid < 0) {
		r = err_sys(err, "start a process");
		fd_closep(&pipe_fd[0]);
		fd_closep(&pipe_fd[1]);
		return r;
	}
	*ret_pid = pid;
	if (pid == 0)
		return 0;
	fd_closep(&pipe_fd[1]);
	return fd_set_nonblock(pipe_fd[0], true);
}

int spawn_program(const struct msg_spawn *m, const struct body *b, const int stdio[3],
		  pid_t *ret_pid, int *ret_fd, struct err *err)
{
	struct spawn_end end = { 0 };
	int fds[2];
	int r = start(ret_pid, fds, err);

	if (r < 0)
		return r;
	if (*ret_pid == 0) {
		end.err.code = run_program(m, b, stdio, &end.err);
		say(fds[1], &end);
	}
	*ret_fd = fds[0];
	return 0;
}

static int run_put(const struct msg_put *m, const struct put *w, int content_fd,
		   uint32_t *ret_created, struct err *err)
{
	autofd root = -1;
	bool created = false;
	int r;

	confine_signals();
	confine_oom_first();
	(void)umask(GUEST_UMASK_PUT);
	r = confine_ids(m->uid, m->gid, err);
	if (r < 0)
		return r;
	root = open(GUEST_WORKSPACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_sys(err, "open %s", GUEST_WORKSPACE);
	r = put_file(root, w, content_fd, &created, err);
	*ret_created = created;
	return r;
}

int spawn_put(const struct msg_put *m, const struct put *w, int content_fd, pid_t *ret_pid,
	      int *ret_fd, struct err *err)
{
	struct spawn_end end = { 0 };
	int fds[2];
	int r = start(ret_pid, fds, err);

	if (r < 0)
		return r;
	if (*ret_pid == 0) {
		end.err.code = run_put(m, w, content_fd, &end.created, &end.err);
		say(fds[1], &end);
	}
	*ret_fd = fds[0];
	return 0;
}
