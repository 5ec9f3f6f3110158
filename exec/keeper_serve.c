/* SPDX-License-Identifier: MIT */
/*
 * exec/keeper_serve.c - the keeper after its start: few rights, one mount, file handles.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "core/fd.h"
#include "core/ids.h"
#include "exec/keeper.h"
#include "exec/rights.h"

#define CAP_BIT(c) (1ull << (c))
#define KEEPER_SHUT_MS 10 /* between looks whether garth-fs is loaded */
#define KEEPER_CAPS (CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_DAC_READ_SEARCH))

int keeper_rights(const struct keeper *k, struct err *err)
{
	uint32_t id = ids_keeper_uid(k->cfg.uid_base);
	int r = rights_ids(id, id, 1, err);

	if (r == 0)
		r = rights_caps(KEEPER_CAPS, KEEPER_CAPS, KEEPER_CAPS, 0, err);
	if (r == 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) < 0 ||
		       prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L) < 0))
		r = err_sys(err, "set no_new_privs");
	/* The change of ids has cleared it. */
	if (r == 0 && prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L) < 0)
		r = err_sys(err, "die with garthd");
	return r;
}

int keeper_mount(struct keeper *k, int *ret_mount_fd, struct err *err)
{
	static const struct {
		const char *key, *value;
	} options[] = { { "source", "garth" },
			{ "subtype", "garth" },
			{ "rootmode", "40000" },
			{ "user_id", "0" },
			{ "group_id", "0" } };
	char number[16];
	autofd fs = fsopen("fuse", FSOPEN_CLOEXEC);
	int mount_fd;

	if (fs < 0)
		return err_sys(err, "open the filesystem type fuse");
	(void)snprintf(number, sizeof number, "%d", k->fuse_fd);
	if (fsconfig(fs, FSCONFIG_SET_STRING, "fd", number, 0) < 0)
		return err_sys(err, "give the mount its /dev/fuse");
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
		if (fsconfig(fs, FSCONFIG_SET_STRING, options[i].key, options[i].value, 0) < 0)
			return err_sys(err, "set the mount option %s", options[i].key);
	if (fsconfig(fs, FSCONFIG_SET_FLAG, "allow_other", NULL, 0) < 0)
		return err_sys(err, "set the mount option allow_other");
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(err, "make the FUSE filesystem");
	mount_fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (mount_fd < 0)
		return err_sys(err, "mount the FUSE filesystem");
	*ret_mount_fd = mount_fd;
	return 0;
}

int keeper_handle_check(const struct msg_handle_open *m)
{
	return m->handle_len > 0 && m->handle_len <= sizeof m->handle && m->handle_type <= 255
		       ? 0
		       : -EBADMSG;
}

/* Only files that have the workspace's gid: what is in the store beside them (index.db) is nobody's to open by a handle. */
static int open_handle(const struct keeper *k, const struct msg_handle_open *m, int *ret_fd)
{
	union {
		struct file_handle h;
		uint8_t room[sizeof(struct file_handle) + sizeof m->handle];
	} u = { .h = { .handle_bytes = m->handle_len, .handle_type = (int)m->handle_type } };
	struct stat st;
	autofd fd = -1;

	memcpy(u.room + offsetof(struct file_handle, f_handle), m->handle, m->handle_len);
	fd = open_by_handle_at(k->store_fd, &u.h, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_gid != ids_ws_gid(k->cfg.uid_base))
		return -ESTALE;
	*ret_fd = fd_steal(&fd);
	return 0;
}

/* 0, or negative where garth-fs is gone or talks nonsense. */
static int answer(struct keeper *k, struct err *err)
{
	struct msg_status s = { 0 };
	struct wire_msg m;
	autofd fd = -1;
	int r;

	wire_msg_init(&m);
	r = wire_recv(k->fs_fd, &m);
	if (r == 1)
		r = msg_check(&m, PEER_F, PEER_K, err);
	else
		r = err_set(err, r < 0 ? r : -EPIPE, "garth-fs closed its socket");
	if (r == 0 && keeper_handle_check(msg_body(&m)) < 0)
		r = err_set(err, -EBADMSG, "garth-fs sent a handle that makes no sense");
	if (r == 0) {
		s.status = open_handle(k, msg_body(&m), &fd);
		r = wire_send(k->fs_fd, m.head.type | WIRE_REPLY, m.head.id, bytes_of(&s, sizeof s),
			      bytes_of(NULL, 0), &fd, s.status == 0);
		if (r < 0)
			(void)err_errno(err, r, "answer garth-fs");
	}
	wire_msg_fini(&m);
	return r;
}

/* FUSE's first request waits from the mount on; whoever has read it is a program that runs. */
static bool is_loaded(const struct keeper *k)
{
	struct pollfd w = { .fd = k->fuse_fd, .events = POLLIN };

	return poll(&w, 1, 0) >= 0 && !(w.revents & POLLIN);
}

int keeper_serve(struct keeper *k, struct err *err)
{
	struct pollfd w[] = { { .fd = k->daemon_fd, .events = POLLIN },
			      { .fd = k->fs_fd, .events = POLLIN },
			      { .fd = k->fs_pidfd, .events = POLLIN } };

	for (;;) {
		int n = poll(w, 3, k->shut ? -1 : KEEPER_SHUT_MS), r;

		if (n < 0 && errno != EINTR)
			return err_sys(err, "poll");
		if (!k->shut && is_loaded(k))
			keeper_room_shut(k);
		if (n <= 0)
			continue;
		if (w[2].revents ||
		    w[0].revents) /* garthd has nothing to say to a keeper: this is its end */
			return 0;
		if (!w[1].revents)
			continue;
		r = answer(k, err);
		if (r < 0)
			return r == -EPIPE || r == -ECONNRESET ? 0 : r;
	}
}
