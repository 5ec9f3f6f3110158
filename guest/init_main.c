/* SPDX-License-Identifier: MIT */
/*
 * guest/init_main.c - garth-init: pid 1 of a sandbox. docs/PROTOCOL.md says with which descriptors and rights it starts.
 * Not here: what it does then (guest/init.h).
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/fd.h"
#include "core/log.h"
#include "guest/confine.h"
#include "guest/init.h"
#include "guest/layout.h"

static int confine(bool landlock, struct err *err)
{
	int filter = GUEST_SECCOMP_FD, ruleset = GUEST_LANDLOCK_FD;
	int r = confine_self(err);

	if (r == 0 && landlock)
		r = confine_landlock(ruleset, err);
	if (r == 0)
		r = confine_seccomp(filter, err);
	fd_closep(&filter);
	if (landlock)
		fd_closep(&ruleset);
	return r;
}

static int run(bool landlock, struct err *err)
{
	autofd sock = GUEST_SOCK_FD, run_fd = -1;
	struct init *in = NULL;
	int r = fd_set_cloexec(sock, true);

	if (r < 0)
		return err_errno(err, r, "descriptor %d", sock);
	r = confine(landlock, err);
	if (r < 0)
		return r;
	run_fd = open(GUEST_RUN, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (run_fd < 0)
		return err_sys(err, "open %s", GUEST_RUN);
	r = init_new(sock, run_fd, &in, err);
	if (r == 0)
		r = init_serve(in, err);
	init_free(in);
	return r;
}

int main(int argc, char **argv)
{
	bool landlock = !(argc > 1 && strcmp(argv[1], "--no-landlock") == 0);
	struct err err = { 0 };
	int r;

	log_init("garth-init", LOG_INFO);
	r = run(landlock, &err);
	if (r < 0)
		log_error("ends why=\"%s\"", err.msg);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
