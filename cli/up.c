/* SPDX-License-Identifier: MIT */
/*
 * cli/up.c - garth up: arguments, and one thing after the other until the server runs.
 */
#include "cli/up.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/opts.h"
#include "core/fd.h"
#include "core/log.h"

#define READY_LINE_SIZE 256
#define FUSE_MAJOR 10 /* misc devices */
#define FUSE_MINOR 229

struct flags {
	const char *data, *listen, *config, *libexec;
	bool detach;
};

static int configure(const struct flags *f, struct up *u, struct err *err)
{
	int r;

	config_default(&u->cfg);
	r = config_read(f->config, &u->cfg, err);
	if (r == 0 && f->libexec)
		(void)snprintf(u->libexec, sizeof u->libexec, "%s", f->libexec);
	return r;
}

/* Flags over the file. OPTS_DONE or the exit code. */
static int flags_over(const struct opt_usage *usage, const struct flags *f, struct up *u)
{
	struct err err = { 0 };

	if (f->data && config_data(f->data, &u->cfg, &err) < 0)
		return opts_wrong(usage, "--data: %s", err.msg);
	if (f->listen && config_listen(f->listen, &u->cfg, &err) < 0)
		return opts_wrong(usage, "--listen: %s", err.msg);
	return OPTS_DONE;
}

int up_fuse_open(void)
{
	autofd fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(FUSE_MAJOR, FUSE_MINOR))
		return -ENODEV;
	return fd_steal(&fd);
}

static int preflight(struct err *err)
{
	autofd fuse = -1;

	if (geteuid() != 0)
		return err_set(
			err, -EPERM,
			"garth up needs root: it makes mounts and sandboxes; try 'sudo garth up'");
	fuse = up_fuse_open();
	if (fuse < 0)
		return err_set(err, -ENODEV,
			       "/dev/fuse can't be opened (%s): load the kernel module with "
			       "'modprobe fuse', or pass the device to the container",
			       strerrordesc_np(-fuse));
	return 0;
}

static int open_signals(struct up *u, struct err *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	u->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (u->signal_fd < 0)
		return err_sys(err, "make a signalfd");
	/* What outlives its parent among the programs comes to us to be reaped. */
	return prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) < 0
		       ? err_sys(err, "become the reaper of orphans")
		       : 0;
}

static int prepare(struct up *u, struct err *err)
{
	int r = preflight(err);

	(void)umask(022);
	if (r == 0)
		r = up_programs(u, err);
	if (r == 0)
		r = up_place(u, err);
	if (r == 0)
		r = up_ids(u, err);
	if (r == 0)
		r = up_listen(u, err);
	if (r == 0)
		r = up_keys(u, err);
	return r == 0 ? open_signals(u, err) : r;
}

static int serve(struct up *u)
{
	struct err err = { 0 };
	int code = EXIT_FAILED;

	if (prepare(u, &err) < 0)
		(void)fprintf(stderr, "garth: %s\n", err.msg);
	else
		code = up_run(u);
	up_place_leave(u);
	fd_closep(&u->listen_fd);
	fd_closep(&u->signal_fd);
	fd_closep(&u->garthd_fd);
	fd_closep(&u->api_fd);
	return code;
}

/* The child of --detach: a session of its own; the programs' words go to DIR/garth.log. */
static int serve_detached(struct up *u, int ready_fd)
{
	autofd null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char log[PATH_LEN_MAX + 32];

	(void)setsid();
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
	}
	u->ready_fd = ready_fd;
	if (mkdir(u->cfg.data, 0711) < 0 && errno != EEXIST && errno != ENOENT)
		return EXIT_FAILED;
	(void)snprintf(log, sizeof log, "%s/" UP_LOG_FILE, u->cfg.data);
	u->child_err_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return serve(u);
}

/* Wait for the ready line, show it, and leave; or for the end, which has said why on stderr. */
static int detach(struct up *u)
{
	char line[READY_LINE_SIZE];
	size_t got = 0;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		(void)fprintf(stderr, "garth: pipe: %s\n", strerrordesc_np(errno));
		return EXIT_FAILED;
	}
	pid = fork();
	if (pid == 0) {
		(void)close(ends[0]);
		return serve_detached(u, ends[1]);
	}
	(void)close(ends[1]);
	while (pid > 0 && got < sizeof line) {
		ssize_t n = read(ends[0], line + got, sizeof line - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	(void)close(ends[0]);
	if (got == 0)
		return EXIT_FAILED;
	return fd_write_full(STDOUT_FILENO, line, got) < 0 ? EXIT_FAILED : EXIT_OK;
}

int cmd_up(int argc, char **argv)
{
	struct flags f = { 0 };
	const struct opt opts[] = {
		{ OPT_TEXT, 0, "data", "DIR", "where everything is kept (default /var/lib/garth)",
		  &f.data, false },
		{ OPT_TEXT, 0, "listen", "ADDR:PORT",
		  "where to serve (default " CONFIG_LISTEN "; port 0 picks one)", &f.listen,
		  false },
		{ OPT_TEXT, 0, "config", "FILE",
		  "the config (default " CONFIG_FILE ", where it exists)", &f.config, false },
		{ OPT_TEXT, 0, "libexec", "DIR", "where garth's other programs are", &f.libexec,
		  false },
		{ OPT_FLAG, 0, "detach", NULL,
		  "return when the server is ready; its log is DIR/" UP_LOG_FILE, &f.detach,
		  false },
		{ 0 },
	};
	const struct opt_usage usage = {
		"up",
		"[--data DIR] [--listen ADDR:PORT] [--config FILE] [--detach]",
		"Start the server; stop it with ^C, SIGTERM or 'garth down'. Needs root.",
		NULL,
		opts,
		0,
		0,
		false
	};
	struct up u;
	struct err err = { 0 };
	char **args;
	int n, r = opts_parse(&usage, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	u = (struct up){ .data_fd = -1,
			 .run_fd = -1,
			 .lock_fd = -1,
			 .listen_fd = -1,
			 .signal_fd = -1,
			 .child_err_fd = -1,
			 .ready_fd = -1,
			 .garthd_fd = -1,
			 .api_fd = -1 };
	log_init("garth", LOG_INFO);
	if (configure(&f, &u, &err) < 0) {
		(void)fprintf(stderr, "garth: %s\n", err.msg);
		return EXIT_FAILED;
	}
	r = flags_over(&usage, &f, &u);
	if (r != OPTS_DONE)
		return r;
	return f.detach ? detach(&u) : serve(&u);
}
