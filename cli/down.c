/* SPDX-License-Identifier: MIT */
/*
 * cli/down.c - garth down: asks the server of a data folder to stop, and waits until it has.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>

#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/opts.h"
#include "cli/up.h"
#include "core/fd.h"

#define DOWN_MS (UP_API_STOP_MS + UP_GARTHD_STOP_MS + 10000)

/* The server's process, for whom a signal can be sent; the exit code where there is none. */
static int find(const char *data, pid_t *ret_pid, int *ret_pidfd)
{
	char run[sizeof UP_RUN_ROOT + UP_SERVER_LEN + 2], server[UP_SERVER_LEN + 1];
	char real[PATH_LEN_MAX + 1];
	struct err err = { 0 };
	int r = up_server_name(data, server, real, &err);

	if (r < 0) {
		(void)fprintf(stderr, "garth: %s\n", err.msg);
		return r == -ENOENT ? EXIT_NO_SERVER : EXIT_FAILED;
	}
	(void)snprintf(run, sizeof run, UP_RUN_ROOT "/%s", server);
	*ret_pid = up_holder(run);
	*ret_pidfd = *ret_pid ? pidfd_open(*ret_pid, 0) : -1;
	if (*ret_pidfd >= 0)
		return EXIT_OK;
	if (geteuid() != 0) {
		(void)fputs("garth: garth down needs root; try 'sudo garth down'\n", stderr);
		return EXIT_FAILED;
	}
	(void)fprintf(stderr, "garth: no server runs for %s\n", real);
	return EXIT_NO_SERVER;
}

static int stop(pid_t pid, int pidfd)
{
	struct pollfd w = { .fd = pidfd, .events = POLLIN };

	if (pidfd_send_signal(pidfd, SIGTERM, NULL, 0) < 0) {
		(void)fprintf(stderr, "garth: stop process %d: %s\n", (int)pid,
			      strerrordesc_np(errno));
		return EXIT_FAILED;
	}
	if (poll(&w, 1, DOWN_MS) == 1)
		return EXIT_OK;
	(void)fprintf(stderr, "garth: the server (process %d) has not stopped within %d s\n",
		      (int)pid, DOWN_MS / 1000);
	return EXIT_FAILED;
}

int cmd_down(int argc, char **argv)
{
	const char *data = NULL, *config = NULL;
	const struct opt opts[] = {
		{ OPT_TEXT, 0, "data", "DIR",
		  "the data folder of the server (default /var/lib/garth)", &data, false },
		{ OPT_TEXT, 0, "config", "FILE",
		  "the config that names it (default " CONFIG_FILE ", where it exists)", &config,
		  false },
		{ 0 },
	};
	const struct opt_usage usage = {
		"down",
		"[--data DIR]",
		"Stop the server of a data folder, and wait until it has stopped. Needs root.",
		NULL,
		opts,
		0,
		0,
		false
	};
	struct config cfg;
	struct err err = { 0 };
	autofd pidfd = -1;
	pid_t pid = 0;
	char **args;
	int n, r = opts_parse(&usage, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	config_default(&cfg);
	if (config_read(config, &cfg, &err) < 0) {
		(void)fprintf(stderr, "garth: %s\n", err.msg);
		return EXIT_FAILED;
	}
	r = find(data ? data : cfg.data, &pid, &pidfd);
	return r == EXIT_OK ? stop(pid, pidfd) : r;
}
