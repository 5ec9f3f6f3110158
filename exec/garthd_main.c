/* SPDX-License-Identifier: MIT */
/*
 * exec/garthd_main.c - garthd: reads its arguments, and runs until the supervisor says stop.
 *     garthd --data DIR --run RUNDIR --ids FIRST,COUNT --api-gid G --sandboxes N --libexec BINDIR
 *     garthd --data DIR --run RUNDIR --sweep       clean up what a crashed garthd left, then exit
 *     garthd --check                               say what it needs of this host, exec/check.h
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/log.h"
#include "exec/check.h"
#include "exec/daemon.h"
#include "exec/live.h"

#define UP_FD 3
#define EXIT_USAGE 2

enum option_id {
	OPT_DATA = 1,
	OPT_RUN,
	OPT_IDS,
	OPT_API_GID,
	OPT_SANDBOXES,
	OPT_LIBEXEC,
	OPT_SWEEP,
	OPT_CHECK
};

static int number(const char *text, uint32_t *ret)
{
	int end = 0;

	return sscanf(text, "%" SCNu32 "%n", ret, &end) == 1 && text[end] == '\0' ? 0 : -EINVAL;
}

enum mode { MODE_RUN = 0, MODE_SWEEP, MODE_CHECK };

static int take(int option, const char *value, struct daemon_config *c, enum mode *mode)
{
	int end = 0;

	switch ((enum option_id)option) {
	case OPT_DATA: c->data = value; return 0;
	case OPT_RUN: c->run = value; return 0;
	case OPT_IDS:
		return sscanf(value, "%" SCNu32 ",%" SCNu32 "%n", &c->ids_first, &c->ids_count,
			      &end) == 2 &&
				       value[end] == '\0'
			       ? 0
			       : -EINVAL;
	case OPT_API_GID: return number(value, &c->api_gid);
	case OPT_SANDBOXES: return number(value, &c->sandboxes);
	case OPT_LIBEXEC: c->libexec = value; return 0;
	case OPT_SWEEP: *mode = MODE_SWEEP; return 0;
	case OPT_CHECK: *mode = MODE_CHECK; return 0;
	}
	return -EINVAL;
}

static int parse(int argc, char **argv, struct daemon_config *c, enum mode *mode)
{
	static const struct option options[] = {
		{ "data", required_argument, NULL, OPT_DATA },
		{ "run", required_argument, NULL, OPT_RUN },
		{ "ids", required_argument, NULL, OPT_IDS },
		{ "api-gid", required_argument, NULL, OPT_API_GID },
		{ "sandboxes", required_argument, NULL, OPT_SANDBOXES },
		{ "libexec", required_argument, NULL, OPT_LIBEXEC },
		{ "sweep", no_argument, NULL, OPT_SWEEP },
		{ "check", no_argument, NULL, OPT_CHECK },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (take(option, optarg, c, mode) < 0)
			return -EINVAL;
	if (*mode == MODE_CHECK)
		return optind == argc ? 0 : -EINVAL;
	if (optind != argc || !c->data || !c->run || c->data[0] != '/' || c->run[0] != '/')
		return -EINVAL;
	return *mode == MODE_SWEEP || (c->libexec && c->ids_count && c->sandboxes) ? 0 : -EINVAL;
}

static int sweep_only(const struct daemon_config *c)
{
	const char *slash = strrchr(c->run, '/');
	struct err err = { 0 };

	if (live_sweep(c->data, c->run, slash + 1, &err) == 0)
		return EXIT_SUCCESS;
	log_error("%s", err.msg);
	return EXIT_FAILURE;
}

/* The supervisor's first question is API_NEW, not read yet: the sentence that the operator sees comes as its answer. */
static bool told_why(int code, const struct err *err)
{
	struct msg_status s = { .status = code };

	return wire_send(UP_FD, MSG_API_NEW | WIRE_REPLY, 1, bytes_of(&s, sizeof s),
			 bytes_str(err->msg), NULL, 0) == 0;
}

/* Some descriptors a sandbox, and the soft limit is often 1024. */
static void raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
	struct daemon_config cfg = { 0 };
	struct daemon d;
	struct err err = { 0 };
	enum mode mode = MODE_RUN;
	bool told;
	int r;

	log_init("garthd", LOG_INFO);
	if (parse(argc, argv, &cfg, &mode) < 0) {
		log_error("usage: garthd --data DIR --run RUNDIR --ids FIRST,COUNT --api-gid G "
			  "--sandboxes N --libexec BINDIR");
		return EXIT_USAGE;
	}
	if (mode == MODE_CHECK) {
		check_all(stdout);
		return EXIT_SUCCESS;
	}
	if (mode == MODE_SWEEP)
		return sweep_only(&cfg);
	(void)umask(022);
	raise_files();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN); /* a terminal's ^C is for the supervisor */
	r = daemon_init(&d, &cfg, UP_FD, &err);
	told = r < 0 && told_why(r, &err);
	if (r == 0)
		r = daemon_run(&d, &err);
	daemon_fini(&d);
	if (r < 0 && !told)
		log_error("%s", err.msg);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
