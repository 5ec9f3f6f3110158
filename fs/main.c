/* SPDX-License-Identifier: MIT */
/*
 * fs/main.c - garth-fs: serves one workspace's mount, decides by policy, records, is the only writer of its index.db.
 * Started by garth-keeper with its rights and descriptors (docs/PROTOCOL.md); it opens no path but in the store.
 * Not here: the mount itself (garth-keeper), sandboxes (garthd).
 */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/ids.h"
#include "core/log.h"
#include "core/msg.h"
#include "fs/control.h"
#include "fs/cred.h"
#include "fs/emit.h"
#include "fs/filter.h"
#include "fs/logs.h"
#include "fs/retain.h"
#include "fs/seal.h"
#include "fs/session.h"
#include "fs/start.h"
#include "fs/work.h"

static int parse_args(int argc, char **argv, struct fs *fs)
{
	static const struct option options[] = {
		{ "ws", required_argument, NULL, 'w' },
		{ "uid-base", required_argument, NULL, 'u' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		char *end = NULL;

		if (c == 'w' && ident_check(optarg, "workspace", NULL) == 0) {
			(void)snprintf(fs->ws, sizeof fs->ws, "%s", optarg);
		} else if (c == 'u') {
			unsigned long n = strtoul(optarg, &end, 10);

			if (*end || n == 0 || n > UINT32_MAX - IDS_WS_BLOCKS * IDS_BLOCK)
				return -EINVAL;
			fs->uid_base = (uint32_t)n;
		} else {
			return -EINVAL;
		}
	}
	return fs->ws[0] && fs->uid_base && optind == argc ? 0 : -EINVAL;
}

static int set_up_process(struct fs *fs, struct err *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct rlimit lim;

	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0,
		    0); /* same-uid processes read no memory of it; there are none */
	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &lim);
	}
	fs->uid = ids_fs_uid(fs->uid_base);
	fs->gid = ids_ws_gid(fs->uid_base);
	if (getuid() != fs->uid || getgid() != fs->gid)
		return err_set(err, -EPERM,
			       "garth-fs runs as %u:%u, not as %u:%u; garth-keeper starts it",
			       getuid(), getgid(), fs->uid, fs->gid);
	fs->store_fd = FD_STORE;
	/* "17" is then descriptor 17 (fs/act.h) */
	if (fchdir(FD_PROC) < 0)
		return err_sys(err, "descriptor %d is no folder of descriptors", FD_PROC);
	return cred_check(fs, err);
}

static void *index_thread(void *arg)
{
	struct fs *fs = arg;
	struct err err = { 0 };
	int r;

	(void)prctl(PR_SET_NAME, "index", 0L, 0L, 0L);
	r = idx_writer_run(fs->idx, &err);

	if (r < 0) {
		log_error("the record cannot be written, stopping ws=%s error=\"%s\"", fs->ws,
			  err.msg);
		_exit(1);
	}
	return NULL;
}

static int start_threads(struct fs *fs, struct err *err)
{
	int r = work_new(fs, "trash", NULL, &fs->trash);

	if (r == 0)
		r = retain_new(fs, &fs->retain); /* before those who mark what is for it */
	if (r == 0)
		r = work_new(fs, "teller", NULL, &fs->teller);
	if (r == 0)
		r = work_new(fs, "mender", NULL, &fs->mender);
	if (r == 0)
		r = work_new(fs, "desk", NULL, &fs->desk);
	if (r == 0)
		r = work_new(fs, "sealer", seal_tick, &fs->sealer);
	if (r == 0)
		r = logs_new(fs, &fs->logs);
	return r < 0 ? err_errno(err, r, "start threads") : 0;
}

/* From now on the record is written while the store is looked through. */
static int start(struct fs *fs, pthread_t *ret_index, struct err *err)
{
	struct left left = { 0 };
	sigset_t all, old;
	int r = start_parts(fs, err);

	if (r == 0)
		r = start_record(fs, &left, err);
	if (r == 0) {
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &old);
		r = -pthread_create(ret_index, NULL, index_thread, fs);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		if (r < 0)
			(void)err_errno(err, r, "start the index thread");
	}
	if (r == 0)
		r = session_open(fs, err);
	if (r == 0)
		r = start_threads(fs, err);
	if (r == 0) {
		start_events(fs, &left);
		r = start_check(fs, &left, err);
	}
	if (r == 0)
		r = emit_sync(fs);
	if (r == 0)
		retain_begin(fs->retain);
	left_fini(&left);
	return r;
}

/* Everything that was closed has its version, everything is in the database. */
static void stop(struct fs *fs, pthread_t index, uint64_t stop_id)
{
	struct wire_msg *ask = calloc(1, sizeof *ask);

	seal_last(fs);
	idx_writer_stop(fs->idx);
	(void)pthread_join(index, NULL);
	idx_writer_close(fs->idx);
	if (ask) {
		ask->head.type = MSG_FS_STOP;
		ask->head.id = stop_id;
		(void)msg_reply_status(FD_CONTROL, ask, 0, NULL);
	}
	free(ask);
}

int main(int argc, char **argv)
{
	struct fs fs = { 0 };
	struct msg_fs_ready ready = { { 0, 0 } };
	struct err err = { 0 };
	uint64_t stop_id = 0;
	pthread_t index;
	int r;

	log_init("garth-fs", LOG_INFO);
	if (parse_args(argc, argv, &fs) < 0) {
		log_error("usage: garth-fs --ws NAME --uid-base N (garth-keeper starts it)");
		return 2;
	}
	r = set_up_process(&fs, &err);
	if (r == 0)
		r = start(&fs, &index, &err);
	if (r == 0)
		r = session_start(&fs, &err);
	if (r == 0)
		r = filter_on(&err); /* the last thread has been started */
	if (r == 0)
		r = wire_send(FD_CONTROL, MSG_FS_READY, 0, bytes_of(&ready, sizeof ready),
			      (struct bytes){ 0 }, NULL, 0);
	if (r == 0)
		r = control_run(&fs, &stop_id, &err);
	if (r != 0) {
		log_error("stopped ws=%s error=\"%s\"", fs.ws, err.msg);
		_exit(1); /* the threads' files end with the process; what they told is in the ring */
	}
	stop(&fs, index, stop_id);
	_exit(0);
}
