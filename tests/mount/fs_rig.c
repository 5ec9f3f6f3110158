/* SPDX-License-Identifier: MIT */
/*
 * tests/mount/fs_rig.c - a workspace under test: its life, and its programs. Not here: its record (fs_rig_record.c).
 */
#include "tests/mount/fs_rig.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/fd.h"
#include "core/id.h"
#include "core/ids.h"

#define ANSWER_MS 20000
#define MOVE_ABOVE 20

static const char *bin_dir(void)
{
	const char *b = getenv("GARTH_BIN");

	return b ? b : "build/bin";
}

void rig_need(void)
{
	char path[PATH_LEN_MAX + 1];

	(void)snprintf(path, sizeof path, "%s/garth-keeper", bin_dir());
	if (access(path, X_OK) < 0)
		fail_msg("%s is not built", path);
	if (getuid() != 0)
		fail_msg("a mount needs root");
}

static void make_dir(const char *path, mode_t mode, uid_t uid, gid_t gid)
{
	if (mkdir(path, mode) < 0 || chown(path, uid, gid) < 0 || chmod(path, mode) < 0)
		fail_msg("make %s: %s", path, strerror(errno));
}

void rig_up(struct fs_rig *r)
{
	const char *tmp = getenv("GARTH_TEST_TMP");

	rig_need();
	memset(r, 0, sizeof *r);
	r->d_keeper = r->d_fs = r->api = -1;
	wire_msg_init(&r->m);
	(void)snprintf(r->dir, sizeof r->dir, "%s/fsrig.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(r->dir) || chmod(r->dir, 0755) < 0)
		fail_msg("make %s: %s", r->dir, strerror(errno));
	(void)snprintf(r->store, sizeof r->store, "%s/store", r->dir);
	(void)snprintf(r->ring, sizeof r->ring, "%s/ring", r->dir);
	(void)snprintf(r->mnt, sizeof r->mnt, "%s/mnt", r->dir);
	make_dir(r->store, 02750, ids_fs_uid(RIG_UID_BASE), 0);
	make_dir(r->mnt, 0755, 0, 0);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		fail_msg("a mount namespace of our own: %s", strerror(errno));
	rig_start(r);
}

static _Noreturn void exec_keeper(const struct fs_rig *r, int fd3, int fd4)
{
	char path[PATH_LEN_MAX + 1], base[16];
	int a = fcntl(fd3, F_DUPFD, MOVE_ABOVE), b = fcntl(fd4, F_DUPFD, MOVE_ABOVE);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(path, sizeof path, "%s/garth-keeper", bin_dir());
	(void)snprintf(base, sizeof base, "%u", RIG_UID_BASE);
	if (dup2(a, 3) < 0 || dup2(b, 4) < 0 || close_range(5, ~0u, 0) < 0)
		_exit(127);
	execl(path, "garth-keeper", "--ws", "test", "--uid-base", base, "--store", r->store,
	      "--ring", r->ring, "--libexec", bin_dir(), NULL);
	_exit(127);
}

static void expect(struct fs_rig *r, int sock, uint16_t type)
{
	int e = wire_recv_timeout(sock, &r->m, ANSWER_MS);

	if (e == 1 && r->m.head.type == MSG_KEEPER_FAIL)
		fail_msg("the keeper: %s", ((const struct msg_keeper_fail *)msg_body(&r->m))->why);
	if (e != 1 || r->m.head.type != type)
		fail_msg("message %u did not come (%d)", type, e);
}

void rig_start(struct fs_rig *r)
{
	int keeper[2], fs[2];
	int mnt;

	assert_int_equal(fd_seqpair(keeper), 0);
	assert_int_equal(fd_seqpair(fs), 0);
	r->keeper = fork();
	if (r->keeper == 0)
		exec_keeper(r, keeper[1], fs[1]);
	close(keeper[1]);
	close(fs[1]);
	r->d_keeper = keeper[0];
	r->d_fs = fs[0];
	r->up = true;
	expect(r, r->d_keeper, MSG_KEEPER_READY);
	mnt = wire_take_fd(&r->m, 0);
	if (move_mount(mnt, "", AT_FDCWD, r->mnt, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		fail_msg("place the mount: %s", strerror(errno));
	close(mnt);
	expect(r, r->d_fs, MSG_FS_READY);
	rig_reconnect(r);
}

void rig_reconnect(struct fs_rig *r)
{
	struct msg_fs_client client = { { 0, 0 } };
	int api[2];

	fd_closep(&r->api);
	assert_int_equal(fd_seqpair(api), 0);
	assert_int_equal(wire_send(r->d_fs, MSG_FS_CLIENT, 0, bytes_of(&client, sizeof client),
				   (struct bytes){ 0 }, &api[1], 1),
			 0);
	close(api[1]);
	r->api = api[0];
}

static void let_go(struct fs_rig *r)
{
	fd_closep(&r->api);
	fd_closep(&r->d_fs);
	fd_closep(&r->d_keeper);
	if (r->keeper > 0)
		(void)waitpid(r->keeper, NULL, 0);
	r->keeper = 0;
	(void)umount2(r->mnt, MNT_DETACH);
	r->up = false;
}

void rig_stop(struct fs_rig *r)
{
	struct msg_stop stop = { { 0, 0 } };
	struct err err = { 0 };
	int e;

	fd_closep(&r->api);
	e = msg_ask(r->d_fs, MSG_FS_STOP, bytes_of(&stop, sizeof stop), (struct bytes){ 0 }, NULL,
		    0, PEER_D, PEER_F, &r->m, ANSWER_MS, &err);
	let_go(r);
	if (e < 0)
		fail_msg("stop: %s", err.msg);
	(void)unlink(r->ring);
}

/* The keeper's only child. */
pid_t rig_fs_pid(const struct fs_rig *r)
{
	char path[64], text[64] = "";
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", r->keeper, r->keeper);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	(void)!read(fd, text, sizeof text - 1);
	close(fd);
	return (pid_t)strtol(text, NULL, 10);
}

void rig_kill(struct fs_rig *r)
{
	pid_t p = rig_fs_pid(r);

	if (p > 0)
		kill(p, SIGKILL);
	kill(r->keeper, SIGKILL);
	let_go(r);
}

static void remove_tree(const char *dir)
{
	pid_t p = fork();

	if (p == 0) {
		execl("/bin/rm", "rm", "-rf", "--one-file-system", dir, NULL);
		_exit(127);
	}
	(void)waitpid(p, NULL, 0);
}

void rig_down(struct fs_rig *r)
{
	if (r->up)
		rig_kill(r);
	wire_msg_fini(&r->m);
	if (r->dir[0] && !getenv("GARTH_TEST_KEEP"))
		remove_tree(r->dir);
	r->dir[0] = '\0';
}

int rig_ask(struct fs_rig *r, uint16_t type, const void *body, size_t len, struct bytes tail,
	    const int *fds, unsigned nfds)
{
	struct msg_log_grew ignored;
	const struct msg_spec *spec = msg_spec_of(type);
	uint64_t id = id_make();
	int e;

	(void)ignored;
	wire_msg_fini(&r->m);
	e = wire_send(r->api, type, id, bytes_of(body, len), tail, fds, nfds);
	while (e == 0) { /* LOG_GREW comes unasked */
		wire_msg_fini(&r->m);
		e = wire_recv_timeout(r->api, &r->m, ANSWER_MS);
		if (e != 1)
			return e < 0 ? e : -EPIPE;
		if (msg_check(&r->m, PEER_F, PEER_API, NULL) < 0)
			fail_msg("the answer to %s is no message", spec->name);
		if (r->m.head.type == (type | WIRE_REPLY) && r->m.head.id == id)
			return msg_status_of(&r->m);
		e = 0;
	}
	return e;
}

uint32_t rig_agent(struct fs_rig *r, const char *name)
{
	struct msg_agent_add q = { { 0 } };
	int e;

	(void)snprintf(q.name, sizeof q.name, "%s", name);
	e = rig_ask(r, MSG_AGENT_ADD, &q, sizeof q, (struct bytes){ 0 }, NULL, 0);
	if (e < 0)
		fail_msg("add agent %s: %d", name, e);
	return ((const struct msg_agent_add_reply *)msg_body(&r->m))->agent_block;
}

int rig_policy(struct fs_rig *r, const char *yaml)
{
	struct msg_policy_set q = { { 0 }, { 0 } };
	int fd = -1, e;

	assert_int_equal(fd_memfd("policy", bytes_str(yaml), &fd), 0);
	e = rig_ask(r, MSG_POLICY_SET, &q, sizeof q, (struct bytes){ 0 }, &fd, 1);
	close(fd);
	return e;
}

struct fs_box rig_box(struct fs_rig *r, uint32_t block)
{
	struct fs_box b = { .id = id_make(),
			    .block = block,
			    .gid_base = RIG_GIDS + r->sandboxes++ * IDS_BLOCK };
	struct msg_fs_sandbox q = {
		.sandbox = b.id, .gid_base = b.gid_base, .agent_block = block, .live = 1
	};
	struct err err = { 0 };

	if (msg_ask(r->d_fs, MSG_FS_SANDBOX, bytes_of(&q, sizeof q), (struct bytes){ 0 }, NULL, 0,
		    PEER_D, PEER_F, &r->m, ANSWER_MS, &err) < 0)
		fail_msg("sandbox: %s", err.msg);
	return b;
}

void rig_box_end(struct fs_rig *r, const struct fs_box *b)
{
	struct msg_fs_sandbox_end q = { .sandbox = b->id,
					.gid_base = b->gid_base,
					.why = "killed" };
	struct err err = { 0 };

	if (msg_ask(r->d_fs, MSG_FS_SANDBOX_END, bytes_of(&q, sizeof q), (struct bytes){ 0 }, NULL,
		    0, PEER_D, PEER_F, &r->m, ANSWER_MS, &err) < 0)
		fail_msg("sandbox end: %s", err.msg);
}

struct fs_step rig_step(struct fs_rig *r, const struct fs_box *b, bool wipe)
{
	struct msg_step_begin q = {
		.sandbox = b->id, .agent_block = b->block, .log_max = 1 << 20, .wipe = wipe
	};
	struct fs_step s = { .box = *b };
	const struct msg_step_begin_reply *a;
	int e;

	e = rig_ask(r, MSG_STEP_BEGIN, &q, sizeof q, (struct bytes){ 0 }, NULL, 0);
	if (e < 0)
		fail_msg("begin a step: %d %.*s", e, (int)msg_tail(&r->m).len,
			 (const char *)msg_tail(&r->m).p);
	a = msg_body(&r->m);
	s.id = a->step;
	s.slot = a->gid - IDS_STEP_GID;
	s.wiped_files = a->wiped_files;
	s.wiped_bytes = a->wiped_bytes;
	s.out = wire_take_fd(&r->m, 0);
	s.err = wire_take_fd(&r->m, 1);
	s.log_out = wire_take_fd(&r->m, 2);
	s.log_err = wire_take_fd(&r->m, 3);
	return s;
}

struct msg_step_end_reply rig_end(struct fs_rig *r, struct fs_step *s, bool alive)
{
	struct msg_step_end q = { .step = s->id, .reason = REASON_EXITED, .alive = alive };
	struct msg_step_end_reply a = { 0 };
	int e;

	fd_closep(&s->out);
	fd_closep(&s->err);
	e = rig_ask(r, MSG_STEP_END, &q, sizeof q, (struct bytes){ 0 }, NULL, 0);
	if (e < 0)
		fail_msg("end a step: %d", e);
	memcpy(&a, msg_body(&r->m), sizeof a);
	fd_closep(&s->log_out);
	fd_closep(&s->log_err);
	return a;
}

void rig_flush(struct fs_rig *r)
{
	struct msg_flush q = { { 0, 0 } };

	assert_int_equal(rig_ask(r, MSG_FLUSH, &q, sizeof q, (struct bytes){ 0 }, NULL, 0), 0);
}

/* ---- programs ---- */

static void child_mounts(const struct fs_rig *r, uint32_t gid_base)
{
	char from[300], to[300];

	(void)snprintf(from, sizeof from, "%s/.garth.task.%u", r->mnt, gid_base);
	(void)snprintf(to, sizeof to, "%s/task", r->mnt);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(from, to, NULL, MS_BIND, NULL) < 0) {
		dprintf(2, "bind %s: %s\n", from, strerror(errno));
		_exit(125);
	}
}

static _Noreturn void child(const struct fs_rig *r, uint32_t uid, uint32_t gid, uint32_t gid_base,
			    const char *script)
{
	char task[300];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (gid_base)
		child_mounts(r, gid_base);
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		_exit(125);
	(void)snprintf(task, sizeof task, "%s/%s", r->mnt, gid_base ? "task" : "");
	if (chdir(gid_base ? task : "/") < 0) {
		dprintf(2, "chdir %s: %s\n", task, strerror(errno));
		_exit(125);
	}
	(void)umask(002);
	setenv("W", r->mnt, 1);
	setenv("HOME", "/nonexistent", 1);
	setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
	setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin", 1);
	execl("/bin/bash", "bash", "--norc", "-c", script, NULL);
	_exit(127);
}

int rig_wait(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run(struct fs_rig *r, uint32_t uid, uint32_t gid, uint32_t gid_base, const char *script)
{
	int p[2];
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (dup2(p[1], 1) < 0 || dup2(p[1], 2) < 0)
			_exit(125);
		child(r, uid, gid, gid_base, script);
	}
	close(p[1]);
	while ((n = read(p[0], r->out + len, sizeof r->out - 1 - len)) > 0)
		len += (size_t)n;
	r->out[len] = '\0';
	close(p[0]);
	return rig_wait(pid);
}

static uint32_t uid_of(const struct fs_step *s, uint32_t uid)
{
	return ids_agent_uid(RIG_UID_BASE, s->box.block, uid);
}

static uint32_t gid_of(const struct fs_step *s)
{
	return s->box.gid_base + 4031 + s->slot;
}

int rig_sh(struct fs_rig *r, const struct fs_step *s, uint32_t uid, const char *script)
{
	return run(r, uid_of(s, uid), gid_of(s), s->box.gid_base, script);
}

int rig_sh_ids(struct fs_rig *r, uint32_t uid, uint32_t gid, const char *script)
{
	return run(r, uid, gid, 0, script);
}

pid_t rig_spawn(struct fs_rig *r, const struct fs_step *s, uint32_t uid, const char *script,
		int *ret_in)
{
	int p[2];
	pid_t pid;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (dup2(p[0], 0) < 0)
			_exit(125);
		child(r, uid_of(s, uid), gid_of(s), s->box.gid_base, script);
	}
	close(p[0]);
	*ret_in = p[1];
	return pid;
}

int rig_open(struct fs_rig *r, const char *path, const char *sha, struct msg_file_open_reply *ret)
{
	struct msg_file_open q = { .path_len = (uint32_t)strlen(path), .asker = MSG_ASKER_ALL };
	int fd, e;
	ssize_t n;

	if (sha)
		(void)snprintf(q.sha, sizeof q.sha, "%s", sha);
	e = rig_ask(r, MSG_FILE_OPEN, &q, sizeof q, bytes_str(path), NULL, 0);
	if (e < 0)
		return e;
	memcpy(ret, msg_body(&r->m), sizeof *ret);
	fd = wire_take_fd(&r->m, 0);
	n = pread(fd, r->out, sizeof r->out - 1, 0);
	r->out[n > 0 ? n : 0] = '\0';
	close(fd);
	return 0;
}
