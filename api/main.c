/* SPDX-License-Identifier: MIT */
/*
 * api/main.c - garth-api: HTTP in front, garthd and the workspaces behind. Started by `garth up` as an unprivileged user with two
 * descriptors: 3 a socket to garthd, 4 the listening socket. docs/PROTOCOL.md.
 * Not here: anything but arguments, opening things, and the loop's beginning and end.
 */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/garthd.h"
#include "api/keys.h"
#include "api/link.h"
#include "api/listen.h"
#include "api/slots.h"
#include "api/stop.h"
#include "core/fd.h"
#include "core/log.h"

#define GARTHD_FD 3
#define LISTEN_FD 4
#define QUEUE_DEFAULT 256u
#define SANDBOXES_DEFAULT 4u
#define COUNT_MAX 1000000ul

static int count_arg(const char *text, unsigned *ret)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n == 0 || n > COUNT_MAX)
		return -EINVAL;
	*ret = (unsigned)n;
	return 0;
}

static int arguments(int argc, char **argv, struct app *app)
{
	static const struct option options[] = { { "data", required_argument, NULL, 'd' },
						 { "url", required_argument, NULL, 'u' },
						 { "queue", required_argument, NULL, 'q' },
						 { "sandboxes", required_argument, NULL, 's' },
						 { NULL, 0, NULL, 0 } };
	int c, rc = 0;

	while (rc == 0 && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'd')
			app->data = optarg;
		else if (c == 'u')
			app->url = optarg;
		else if (c == 'q')
			rc = count_arg(optarg, &app->queue_max);
		else if (c == 's')
			rc = count_arg(optarg, &app->sandboxes_max);
		else
			rc = -EINVAL;
	}
	if (rc == 0 && optind == argc && app->data != NULL && app->url != NULL)
		return 0;
	(void)fprintf(stderr, "usage: garth-api --data DIR --url URL [--queue N] [--sandboxes N]   "
			      "(started by garth up)\n");
	return -EINVAL;
}

/* No core dumps (they would hold keys), no privileges by exec, as many descriptors as we may have. */
static void confine(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct rlimit none = { 0, 0 }, files;

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_NAME, "garth-api", 0, 0, 0); /* it was executed by descriptor */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)umask(077);
	(void)sigaction(SIGPIPE, &ignore, NULL);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

static int open_data(struct app *app, struct err *err)
{
	int rc;

	app->data_fd = open(app->data, O_PATH | O_DIRECTORY | O_CLOEXEC); /* it is 0711, not ours */
	if (app->data_fd < 0)
		return err_sys(err, "open the data folder '%s'", app->data);
	app->spool_fd =
		openat(app->data_fd, "spool", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (app->spool_fd < 0)
		return err_sys(err, "open the folder 'spool'");
	rc = keys_open(app->data_fd, &app->keys, err);
	return rc == 0 ? link_key_open(app->spool_fd, app->link_key, err) : rc;
}

static void on_signal(void *ctx, uint32_t events)
{
	struct app *app = ctx;
	struct signalfd_siginfo si;

	(void)events;
	(void)!read(app->signal_fd, &si, sizeof si);
	stop_begin(app);
}

static int watch_signals(struct app *app, struct watch *w, struct err *err)
{
	sigset_t set;
	int rc;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	app->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (app->signal_fd < 0)
		return err_sys(err, "signalfd");
	rc = loop_watch(app->loop, w, app->signal_fd, EPOLLIN, on_signal, app);
	return rc < 0 ? err_errno(err, rc, "watch signals") : 0;
}

static int run(struct app *app, struct err *err)
{
	struct watch signals = { 0 };
	int rc = loop_new(&app->loop, err);

	if (rc == 0)
		rc = open_data(app, err);
	if (rc == 0)
		rc = slots_new(app, &app->slots);
	if (rc == 0)
		rc = watch_signals(app, &signals, err);
	if (rc == 0)
		rc = garthd_start(app, GARTHD_FD, err);
	if (rc == 0)
		rc = listen_start(app, LISTEN_FD, err);
	if (rc < 0)
		return rc;
	log_info("serving url=%s", app->url);
	rc = loop_run(app->loop, err);
	listen_stop(app);
	return rc;
}

int main(int argc, char **argv)
{
	struct app app = { .data_fd = -1,
			   .spool_fd = -1,
			   .signal_fd = -1,
			   .queue_max = QUEUE_DEFAULT,
			   .sandboxes_max = SANDBOXES_DEFAULT };
	struct err err = { 0 };

	log_init("garth-api", LOG_INFO);
	if (arguments(argc, argv, &app) < 0)
		return 2;
	confine();
	if (fd_set_cloexec(GARTHD_FD, true) < 0 || fd_set_cloexec(LISTEN_FD, true) < 0) {
		log_error("descriptors 3 and 4 are not there; garth-api is started by garth up");
		return 1;
	}
	if (run(&app, &err) < 0) {
		log_error("%s", err.msg);
		_exit(1);
	}
	_exit(0); /* steps, sandboxes and sockets end with us: the kernel closes them, garthd cleans up */
}
