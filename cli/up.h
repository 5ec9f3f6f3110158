/* SPDX-License-Identifier: MIT */
/*
 * cli/up.h - what the parts of `garth up` share: the supervisor's state.
 *     up.c         arguments, order, detaching
 *     up_place.c   folders, the lock
 *     up_version.c is anything there newer than we are
 *     up_keys.c    keys
 *     up_ids.c     which ids this server holds, among all servers of the host
 *     up_listen.c  the address: binding, asking /healthz, telling systemd
 *     up_proc.c    starting garthd and garth-api
 *     up_run.c     watching them, restarting, stopping
 */
#ifndef GARTH_CLI_UP_H
#define GARTH_CLI_UP_H

#include <sys/types.h>

#include "cli/config.h"

#define UP_RUN_ROOT "/run/garth"
#define UP_SERVER_LEN 16
#define UP_PID_FILE "up.pid"
#define UP_LOG_FILE "garth.log"
#define UP_SMALL_FILE 4096u
#define UP_VERSION 1u                       /* of the data folder's layout */
#define UP_DISK_LEAST (16ull * 1024 * 1024) /* bytes free to start with */
#define UP_READY_MS 90000                   /* from the start of garthd to a served request */
#define UP_API_STOP_MS 20000
#define UP_GARTHD_STOP_MS 120000
#define UP_STEADY_MS 10000 /* alive for so long: earlier deaths are forgotten */
#define UP_DEATHS_MAX 10u  /* deaths one after the other before the supervisor gives up */

struct up {
	struct config cfg;
	char data[PATH_LEN_MAX + 1]; /* real path */
	char run[sizeof UP_RUN_ROOT + UP_SERVER_LEN + 2];
	char server[UP_SERVER_LEN + 1];
	char libexec[PATH_LEN_MAX + 1];
	char url[CONFIG_ADDR_SIZE + 24];
	int data_fd, run_fd, lock_fd, listen_fd, signal_fd;
	int child_err_fd;          /* stderr of the programs; -1: as the supervisor's */
	int ready_fd;              /* --detach: who waits for the ready line; -1 */
	int garthd_fd;             /* the socket to garthd */
	int api_fd;                /* the next garth-api's end of its socket to garthd; -1 */
	pid_t garthd, api;         /* 0: not running */
	int64_t garthd_ns, api_ns; /* when they were started, monotonic */
	unsigned deaths;
	uint64_t next_id; /* of messages to garthd */
	bool started;     /* the ready line is out */
	bool hurry;       /* asked to stop a second time */
};

/* up.c: a descriptor of /dev/fuse, or a negative errno; -ENODEV too where the name is another device's */
must_check int up_fuse_open(void);

/* up_place.c. All: 0, or a negative errno with a sentence. */
must_check int up_server_name(const char *data, char out[UP_SERVER_LEN + 1],
			      char real[PATH_LEN_MAX + 1], struct err *err);
must_check int up_place(struct up *u, struct err *err);    /* DIR, RUNDIR, the lock, the version */
must_check int up_programs(struct up *u, struct err *err); /* where they are */
must_check int up_small_file(int dir_fd, const char *name, char *room,
			     size_t size); /* no sentence */
must_check int up_put_file(int dir_fd, const char *name, const char *text,
			   struct err *err); /* new, renamed, synced */
void up_place_leave(struct up *u);
/* Who holds the lock of this RUNDIR; 0: nobody. */
pid_t up_holder(const char *run);
long long up_start_of(pid_t pid); /* /proc/PID/stat; 0: no such */

/* up_version.c: nothing in DIR is newer than we are */
must_check int up_version(const struct up *u, struct err *err);

/* up_keys.c: admin.key, keys, spool */
must_check int up_keys(struct up *u, struct err *err);

/* up_ids.c */
must_check int up_ids(struct up *u, struct err *err);
/* What up_ids would say, without taking anything. data_fd -1: there is no DIR yet. */
must_check int up_ids_check(struct up *u, struct err *err);

/* up_listen.c */
must_check int up_listen(struct up *u, struct err *err);
bool up_healthy(const struct up *u); /* does /healthz answer 200 now? Waits half a second at most */
void up_notify(const char *what);    /* systemd's socket; none: nothing */

/* up_proc.c */
must_check int up_start_garthd(struct up *u, struct err *err);
/* Tell garthd of a garth-api to come (API_NEW); up_start_api follows when it has answered. */
must_check int up_announce_api(struct up *u, struct err *err);
must_check int up_start_api(struct up *u, struct err *err);
void up_sweep(const struct up *u); /* garthd --sweep, waited for */

/*
 * up_room.c. A mount namespace in which the data folder stands at `place` too, without workspaces' mounts; for a program without
 * rights. False: errno says why. For a child before exec.
 */
bool up_room_enter(const char *data, const char *place);

/* up_run.c. The exit code. */
int up_run(struct up *u);

#endif
