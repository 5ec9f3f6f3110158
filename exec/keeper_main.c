/* SPDX-License-Identifier: MIT */
/*
 * exec/keeper_main.c - garth-keeper: reads its arguments, and does one thing after the other. docs/PROTOCOL.md "Keeper".
 *     garth-keeper --ws W --uid-base N --store DIR/workspaces/W --ring RUNDIR/W.ring --libexec BINDIR
 */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/fd.h"
#include "core/log.h"
#include "exec/keeper.h"

#define EXIT_USAGE 2

static int parse(int argc, char **argv, struct keeper_config *c)
{
	static const struct option options[] = {
		{ "ws", required_argument, NULL, 'w' },
		{ "uid-base", required_argument, NULL, 'u' },
		{ "store", required_argument, NULL, 's' },
		{ "ring", required_argument, NULL, 'r' },
		{ "libexec", required_argument, NULL, 'l' },
		{ 0 },
	};
	int option, end = 0;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'w')
			c->ws = optarg;
		else if (option == 's')
			c->store = optarg;
		else if (option == 'r')
			c->ring = optarg;
		else if (option == 'l')
			c->libexec = optarg;
		else if (option != 'u' ||
			 sscanf(optarg, "%" SCNu32 "%n", &c->uid_base, &end) != 1 ||
			 optarg[end] != '\0')
			return -EINVAL;
	}
	if (optind != argc || !c->ws || !c->store || !c->ring || !c->libexec || !c->uid_base)
		return -EINVAL;
	return ident_check(c->ws, "workspace", NULL);
}

static int open_all(struct keeper *k, struct err *err)
{
	char path[PATH_LEN_MAX + 1];

	if (fd_set_cloexec(KEEPER_DAEMON_FD, true) < 0 ||
	    fd_set_cloexec(KEEPER_CONTROL_FD, true) < 0)
		return err_sys(err, "descriptors 3 and 4 are not open");
	k->fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (k->fuse_fd < 0)
		return err_sys(err, "open /dev/fuse (is the module fuse loaded?)");
	k->ring_fd = open(k->cfg.ring, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (k->ring_fd < 0)
		return err_sys(err, "open the event ring");
	if (snprintf(path, sizeof path, "%s/garth-fs", k->cfg.libexec) >= (int)sizeof path)
		return err_set(err, -ENAMETOOLONG, "--libexec: too long");
	k->program_fd = open(path, O_PATH | O_CLOEXEC);
	return k->program_fd < 0 ? err_sys(err, "open %s", path) : 0;
}

static int begin(struct keeper *k, struct err *err)
{
	struct msg_keeper_ready ready = { { 0 } };
	autofd mount_fd = -1;
	int r = open_all(k, err);

	if (r == 0)
		r = keeper_room(k, err);
	if (r == 0)
		r = keeper_fs_fork(k, err);
	if (r < 0)
		return r;
	keeper_room_proc_gone();
	r = keeper_rights(k, err);
	if (r == 0)
		r = keeper_mount(k, &mount_fd, err);
	if (r == 0)
		r = keeper_fs_go(k, err);
	if (r < 0)
		return r;
	r = wire_send(k->daemon_fd, MSG_KEEPER_READY, 0, bytes_of(&ready, sizeof ready),
		      bytes_of(NULL, 0), &mount_fd, 1);
	return r < 0 ? err_errno(err, r, "tell garthd") : 0;
}

int main(int argc, char **argv)
{
	struct keeper k = { .daemon_fd = KEEPER_DAEMON_FD,
			    .control_fd = KEEPER_CONTROL_FD,
			    .fs_fd = -1,
			    .fs_sync_fd = -1 };
	struct msg_keeper_fail fail = { 0 };
	struct err err = { 0 };
	int r;

	log_init("garth-keeper", LOG_INFO);
	if (parse(argc, argv, &k.cfg) < 0) {
		log_error("usage: garth-keeper --ws W --uid-base N --store DIR --ring FILE "
			  "--libexec BINDIR");
		return EXIT_USAGE;
	}
	(void)umask(077);
	(void)signal(SIGPIPE, SIG_IGN);
	r = begin(&k, &err);
	if (r < 0) {
		fail.code = r;
		(void)snprintf(fail.why, sizeof fail.why, "%.*s", (int)sizeof fail.why - 1,
			       err.msg);
		(void)!wire_send(k.daemon_fd, MSG_KEEPER_FAIL, 0, bytes_of(&fail, sizeof fail),
				 bytes_of(NULL, 0), NULL, 0);
	} else {
		r = keeper_serve(&k, &err);
	}
	if (r < 0)
		log_error("ws=%s %s", k.cfg.ws, err.msg);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
