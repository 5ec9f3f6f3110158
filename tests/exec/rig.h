/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/rig.h - a garthd under test: its folders, its process, and the two who talk to it, the supervisor and garth-api.
 * Included once by each test program of tests/exec, so that those need no library of their own.
 * Programs: the folder in GARTH_BIN, else build/bin.
 */
#ifndef GARTH_TESTS_EXEC_RIG_H
#define GARTH_TESTS_EXEC_RIG_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
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

#include "core/clock.h"
#include "core/fd.h"
#include "core/id.h"
#include "core/ids.h"
#include "core/msg.h"
#include "core/path.h"

#define RIG_MS 20000 /* for any answer */
#define RIG_FIRST 1879048192u
#define RIG_COUNT (600u * IDS_BLOCK)
#define RIG_MEMORY (256ull * 1024 * 1024)

struct rig {
	char base[64], data[80], run[96], bin[PATH_LEN_MAX + 1];
	char server[24];
	pid_t pid;
	int up, api;          /* sockets */
	struct wire_msg note; /* the last thing garthd said unasked */
	struct wire_msg reply;
};

static inline void rig_program_dir(struct rig *g)
{
	const char *bin = getenv("GARTH_BIN");

	if (!realpath(bin ? bin : "build/bin", g->bin))
		fail_msg("no programs in %s", bin ? bin : "build/bin");
}

static inline void rig_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f) {
		(void)fputs(text, f);
		(void)fclose(f);
	}
}

static inline void rig_spawn(struct rig *g, int up_theirs)
{
	char ids[32], program[PATH_LEN_MAX + 16];

	(void)snprintf(ids, sizeof ids, "%u,%u", RIG_FIRST, RIG_COUNT);
	(void)snprintf(program, sizeof program, "%s/garthd", g->bin);
	g->pid = fork();
	if (g->pid != 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setpgid(0, 0);
	(void)dup2(up_theirs, 3);
	(void)execl(program, "garthd", "--data", g->data, "--run", g->run, "--ids", ids,
		    "--api-gid", "1879048192", "--sandboxes", "8", "--libexec", g->bin,
		    (char *)NULL);
	_exit(127);
}

/* Ask over a socket and keep what comes unasked meanwhile. The reply is g->reply. */
static inline int rig_ask(struct rig *g, int sock, uint16_t type, const void *body, size_t len,
			  struct bytes tail, const int *fds, unsigned nfds)
{
	static uint64_t id = 100;
	int r = wire_send(sock, type, ++id, bytes_of(body, len), tail, fds, nfds);

	while (r == 0) {
		wire_msg_fini(&g->reply);
		wire_msg_init(&g->reply);
		r = wire_recv_timeout(sock, &g->reply, RIG_MS);
		if (r != 1)
			return r == 0 ? -EPIPE : r;
		if (g->reply.head.id == id && (g->reply.head.type & WIRE_REPLY))
			return msg_status_of(&g->reply);
		r = 0;
		memcpy(&g->note, &g->reply, sizeof g->note);
	}
	return r;
}

#define RIG_ASK(g, type, body) \
	rig_ask((g), (g)->api, (type), &(body), sizeof(body), bytes_of(NULL, 0), NULL, 0)

/* The sentence of a reply that failed. */
static inline const char *rig_sentence(struct rig *g)
{
	static char text[300];
	struct bytes t = msg_tail(&g->reply);

	(void)snprintf(text, sizeof text, "%.*s",
		       (int)(t.len < sizeof text ? t.len : sizeof text - 1),
		       t.p ? (const char *)t.p : "");
	return text;
}

/* Wait for something unasked of this type. */
static inline bool rig_wait_note(struct rig *g, uint16_t type)
{
	int64_t until = clock_mono_ns() + RIG_MS * NS_PER_MS;

	if (g->note.head.type == type) {
		return true;
	}
	while (clock_mono_ns() < until) {
		wire_msg_fini(&g->note);
		wire_msg_init(&g->note);
		if (wire_recv_timeout(g->api, &g->note, RIG_MS) != 1)
			return false;
		if (g->note.head.type == type)
			return true;
	}
	return false;
}

static inline void rig_new_api(struct rig *g)
{
	struct msg_api_new m = { { 0 } };
	int pair[2];

	assert_int_equal(fd_seqpair(pair), 0);
	if (g->api >= 0)
		(void)close(g->api);
	g->api = pair[0];
	assert_int_equal(
		rig_ask(g, g->up, MSG_API_NEW, &m, sizeof m, bytes_of(NULL, 0), &pair[1], 1), 0);
	(void)close(pair[1]);
}

static inline void rig_begin(struct rig *g)
{
	int pair[2];

	assert_int_equal(fd_seqpair(pair), 0);
	rig_spawn(g, pair[1]);
	(void)close(pair[1]);
	g->up = pair[0];
	rig_new_api(g);
}

static inline void rig_start(struct rig *g)
{
	memset(g, 0, sizeof *g);
	g->up = g->api = -1;
	wire_msg_init(&g->note);
	wire_msg_init(&g->reply);
	rig_program_dir(g);
	(void)snprintf(g->base, sizeof g->base, "/tmp/garth-rig-XXXXXX");
	if (!mkdtemp(g->base))
		fail_msg("no scratch folder");
	(void)chmod(g->base, 0711);
	(void)snprintf(g->server, sizeof g->server, "t%08x", (unsigned)id_make());
	(void)snprintf(g->data, sizeof g->data, "%s/data", g->base);
	(void)snprintf(g->run, sizeof g->run, "%s/%s", g->base, g->server);
	(void)mkdir(g->data, 0711);
	(void)mkdir(g->run, 0700);
	rig_begin(g);
}

static inline int rig_wait_exit(struct rig *g)
{
	int status = -1;

	for (int i = 0; i < RIG_MS / 10; i++) {
		if (waitpid(g->pid, &status, WNOHANG) == g->pid) {
			g->pid = 0;
			return status;
		}
		(void)poll(NULL, 0, 10);
	}
	(void)kill(g->pid, SIGKILL);
	(void)waitpid(g->pid, NULL, 0);
	g->pid = 0;
	return -1;
}

static inline int rig_end(struct rig *g)
{
	struct msg_stop m = { { 0 } };
	int status = 0, r = 0;

	if (g->pid) {
		r = rig_ask(g, g->up, MSG_STOP, &m, sizeof m, bytes_of(NULL, 0), NULL, 0);
		status = rig_wait_exit(g);
	}
	(void)close(g->up);
	(void)close(g->api);
	g->up = g->api = -1;
	wire_msg_fini(&g->note);
	wire_msg_fini(&g->reply);
	return r != 0 ? r : status;
}

/* After everything: sweep in any case, then the folder. */
static inline void rig_clean(struct rig *g)
{
	char program[PATH_LEN_MAX + 16];
	pid_t pid;

	if (g->pid) {
		(void)kill(g->pid, SIGKILL);
		(void)waitpid(g->pid, NULL, 0);
	}
	(void)snprintf(program, sizeof program, "%s/garthd", g->bin);
	pid = fork();
	if (pid == 0) {
		(void)execl(program, "garthd", "--data", g->data, "--run", g->run, "--sweep",
			    (char *)NULL);
		_exit(127);
	}
	(void)waitpid(pid, NULL, 0);
	autofd tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)!path_rm_tree(tmp, g->base + 5, NULL);
}

/* A process by its name among the descendants of garthd; 0: none. */
static inline pid_t rig_find(const struct rig *g, const char *name)
{
	struct {
		pid_t pid, parent;
		char name[32];
	} all[4096];
	unsigned n = 0;
	DIR *d = opendir("/proc");
	const struct dirent *e;

	while (d && n < 4096 && (e = readdir(d)) != NULL) {
		char path[64];
		FILE *f;

		if (strtol(e->d_name, NULL, 10) <= 0)
			continue;
		(void)snprintf(path, sizeof path, "/proc/%.20s/stat", e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%d (%31[^)]) %*c %d", &all[n].pid, all[n].name, &all[n].parent) == 3)
			n++;
		(void)fclose(f);
	}
	if (d)
		(void)closedir(d);
	for (unsigned i = 0; i < n; i++) {
		pid_t up = all[i].parent;

		if (strcmp(all[i].name, name) != 0)
			continue;
		for (unsigned hops = 0; hops < 8 && up > 1; hops++) {
			if (up == g->pid)
				return all[i].pid;
			for (unsigned k = 0; k < n; k++)
				if (all[k].pid == up) {
					up = all[k].parent;
					break;
				}
		}
	}
	return 0;
}

static inline bool rig_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

/* The value of a line of /proc/PID/status, "CapEff". */
static inline const char *rig_status_of(pid_t pid, const char *key)
{
	static char line[256];
	char path[64];
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':') {
			(void)fclose(f);
			line[strcspn(line, "\n")] = '\0';
			return line + strlen(key) + 1 + strspn(line + strlen(key) + 1, " \t");
		}
	if (f)
		(void)fclose(f);
	return "";
}

/* How many lines of the host's mountinfo, and groups in all cgroup trees, name this rig. */
static inline unsigned rig_left(const struct rig *g)
{
	static const char *const trees[] = { "memory", "pids", "cpu", "cpuacct", "unified", "" };
	char line[4096], path[256];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	unsigned n = 0;
	struct stat st;

	while (f && fgets(line, sizeof line, f))
		n += strstr(line, g->base) != NULL;
	if (f)
		(void)fclose(f);
	for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
		(void)snprintf(path, sizeof path, "/sys/fs/cgroup/%s/garth/%s", trees[i],
			       g->server);
		n += stat(path, &st) == 0;
	}
	return n;
}

static inline int rig_make_ws(struct rig *g, const char *name)
{
	struct msg_ws_create m = { { 0 } };

	(void)snprintf(m.name, sizeof m.name, "%s", name);
	return RIG_ASK(g, MSG_WS_CREATE, m);
}

/* The connection to its garth-fs, or a negative errno. */
static inline int rig_open_ws(struct rig *g, const char *name)
{
	struct msg_ws_open m = { { 0 } };
	int r;

	(void)snprintf(m.name, sizeof m.name, "%s", name);
	r = RIG_ASK(g, MSG_WS_OPEN, m);
	return r < 0 ? r : wire_take_fd(&g->reply, 0);
}

/* A workspace with the agent "tester" in block 1, and garth-api's connection to its garth-fs. */
static inline int rig_ready_ws(struct rig *g, const char *name)
{
	struct msg_agent_add a = { "tester" };
	int fd;

	if (rig_make_ws(g, name) != 0)
		fail_msg("make %s: %s", name, rig_sentence(g));
	fd = rig_open_ws(g, name);
	if (fd < 0)
		fail_msg("open %s: %d %s", name, fd, rig_sentence(g));
	if (rig_ask(g, fd, MSG_AGENT_ADD, &a, sizeof a, bytes_of(NULL, 0), NULL, 0) != 0)
		fail_msg("add an agent: %s", rig_sentence(g));
	return fd;
}

static inline struct msg_sb_create rig_request(const char *ws, uint32_t block)
{
	struct msg_sb_create m = { .sandbox = id_make(),
				   .agent_block = block,
				   .live = 1,
				   .memory = RIG_MEMORY,
				   .pids = 32,
				   .cpus_milli = 2000,
				   .tmp = 16u << 20,
				   .open_files = 256,
				   .lifetime_ns = 600 * NS_PER_S };

	(void)snprintf(m.ws, sizeof m.ws, "%s", ws);
	(void)snprintf(m.agent, sizeof m.agent, "%s", block ? "tester" : "operator");
	return m;
}

/* The guest socket, or a negative errno. */
static inline int rig_sandbox(struct rig *g, const struct msg_sb_create *m)
{
	int r = rig_ask(g, g->api, MSG_SB_CREATE, m, sizeof *m, bytes_of(NULL, 0), NULL, 0);

	return r < 0 ? r : wire_take_fd(&g->reply, 0);
}

static inline int rig_need_sandbox(struct rig *g, const struct msg_sb_create *m)
{
	int fd = rig_sandbox(g, m);

	if (fd < 0)
		fail_msg("no sandbox: %d %s", fd, rig_sentence(g));
	return fd;
}

static inline int rig_kill(struct rig *g, uint64_t sandbox)
{
	struct msg_sb_kill m = { .sandbox = sandbox, .why = "killed" };

	return RIG_ASK(g, MSG_SB_KILL, m);
}

/* ---- playing garth-api to a garth-init ---- */

struct rig_result {
	int status;      /* as wait(2); -1 it could not be started */
	char out[65536]; /* stdout and stderr */
	size_t len;
	uint32_t alive;
};

static inline void rig_put(struct buf *b, const char *s)
{
	uint32_t len = (uint32_t)strlen(s);

	assert_int_equal(buf_add(b, &len, sizeof len), 0);
	assert_int_equal(buf_add(b, s, len), 0);
}

/* Start argv as step k; the read end of its output, or a negative errno. */
static inline int rig_spawn_step(int guest, unsigned k, uint32_t uid, const char *const *argv)
{
	static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/user",
					   "LANG=C.UTF-8", NULL };
	struct msg_spawn m = { .step = 1000 + k,
			       .uid = uid,
			       .gid = IDS_STEP_GID + k,
			       .umask = 002,
			       .file_max = 1u << 30,
			       .open_files = 256 };
	static struct wire_msg reply;
	struct err err = { 0 };
	autofd null = open("/dev/null", O_RDWR | O_CLOEXEC), body_fd = -1;
	autobuf body = { 0 };
	int ends[2], r;

	buf_init(&body, 1 << 20);
	rig_put(&body, "/workspace/task");
	for (; argv[m.argc]; m.argc++)
		rig_put(&body, argv[m.argc]);
	for (; env[m.envc]; m.envc++)
		rig_put(&body, env[m.envc]);
	rig_put(&body, "");
	assert_int_equal(fd_memfd("spawn", buf_view(&body), &body_fd), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	(void)fchmod(ends[1], 0666); /* so that the step may open /dev/stdout */
	{
		int fds[] = { null, ends[1], ends[1], body_fd };

		wire_msg_init(&reply);
		r = msg_ask(guest, MSG_SPAWN, bytes_of(&m, sizeof m), bytes_of(NULL, 0), fds, 4,
			    PEER_API, PEER_G, &reply, RIG_MS, &err);
		wire_msg_fini(&reply);
	}
	(void)close(ends[1]);
	if (r < 0) {
		(void)close(ends[0]);
		return r;
	}
	return ends[0];
}

/* Everything it writes, and its end. */
static inline struct rig_result *rig_finish(int guest, int out)
{
	static struct rig_result res;
	static struct wire_msg m;
	const struct msg_exited *e;
	ssize_t n;

	memset(&res, 0, sizeof res);
	while (res.len < sizeof res.out - 1 &&
	       (n = read(out, res.out + res.len, sizeof res.out - 1 - res.len)) > 0)
		res.len += (size_t)n;
	(void)close(out);
	wire_msg_init(&m);
	if (wire_recv_timeout(guest, &m, RIG_MS) != 1 || m.head.type != MSG_EXITED) {
		res.status = -1;
		return &res;
	}
	e = msg_body(&m);
	res.status = e->status;
	res.alive = e->alive;
	wire_msg_fini(&m);
	return &res;
}

static inline struct rig_result *rig_step(int guest, const char *script)
{
	static struct rig_result failed = { .status = -1 };
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	int out = rig_spawn_step(guest, 0, 1000, argv);

	if (out < 0) {
		(void)snprintf(failed.out, sizeof failed.out, "spawn: %d", out);
		return &failed;
	}
	return rig_finish(guest, out);
}

#endif
