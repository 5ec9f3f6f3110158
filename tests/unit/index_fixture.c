/* SPDX-License-Identifier: MIT */
/*
 * index_fixture.c - a workspace's record in a folder of its own.
 * Not here: tests.
 */
#include "tests/unit/index_fixture.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/path.h"

void fx_new_ring(struct fx *x)
{
	struct err err = { 0 };

	ring_close(x->ring);
	fd_closep(&x->ring_fd);
	x->ring_fd = memfd_create("ring", MFD_CLOEXEC);
	assert_true(x->ring_fd >= 0);
	assert_int_equal(ring_open(x->ring_fd, &x->ring, &err), 0);
}

void fx_open(struct fx *x)
{
	*x = (struct fx){ .ring_fd = -1, .next_version = 1, .now = 1000000000 };
	(void)snprintf(x->dir, sizeof x->dir, "/tmp/garth-index-XXXXXX");
	assert_non_null(mkdtemp(x->dir));
	x->dir_fd = open(x->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(x->dir_fd >= 0);
	assert_int_equal(mkdirat(x->dir_fd, "objects", 0770), 0);
	x->objects_fd = openat(x->dir_fd, "objects", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(x->objects_fd >= 0);
	fx_new_ring(x);
}

static void *run(void *arg)
{
	struct fx *x = arg;

	x->run_rc = idx_writer_run(x->w, NULL);
	return NULL;
}

void fx_start(struct fx *x)
{
	struct err err = { 0 };
	int rc = idx_writer_open(x->dir_fd, x->ring, &x->w, &x->holes, &err);

	if (rc < 0)
		fail_msg("idx_writer_open: %d %s", rc, err.msg);
	assert_int_equal(pthread_create(&x->thread, NULL, run, x), 0);
}

void fx_stop(struct fx *x)
{
	if (!x->w)
		return;
	idx_writer_stop(x->w);
	(void)pthread_join(x->thread, NULL);
	idx_writer_close(x->w);
	x->w = NULL;
}

void fx_close(struct fx *x)
{
	autofd tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fx_stop(x);
	ring_close(x->ring);
	x->ring = NULL;
	fd_closep(&x->ring_fd);
	fd_closep(&x->objects_fd);
	fd_closep(&x->dir_fd);
	if (x->dir[0] && path_rm_tree(tmp, x->dir + sizeof "/tmp", NULL) < 0)
		print_error("left behind: %s\n", x->dir);
}

const char *fx_db(const struct fx *x, char out[FX_PATH_SIZE])
{
	(void)snprintf(out, FX_PATH_SIZE, "%s/index.db", x->dir);
	return out;
}

void fx_put(struct fx *x, struct event *e)
{
	static _Thread_local uint8_t room[RING_EVENT_MAX];
	size_t len = 0;

	x->now += 1000;
	e->at_ns = x->now;
	assert_int_equal(event_pack(e, room, sizeof room, &len), 0);
	assert_int_equal(ring_put(x->ring, bytes_of(room, len), &x->end), 0);
}

void fx_sync(struct fx *x)
{
	assert_int_equal(idx_writer_sync(x->w, x->end), 0);
}

void fx_agent(struct fx *x, uint32_t agent, const char *name)
{
	struct event e = { .kind = EV_AGENT };

	e.u.agent = (struct ev_agent){ .agent = agent, .name = bytes_str(name) };
	fx_put(x, &e);
}

void fx_begin(struct fx *x)
{
	struct event e = { .kind = EV_WORKSPACE };

	e.u.workspace = (struct ev_workspace){ .name = BYTES_LIT("w"), .uid_base = 7, .gid = 8 };
	fx_put(x, &e);
	e = (struct event){ .kind = EV_START };
	e.u.start.version = BYTES_LIT("0.1.0");
	fx_put(x, &e);
	e = (struct event){ .kind = EV_POLICY };
	fx_object(x, "agents: {}\n", &e.u.policy.sha);
	e.u.policy.key = BYTES_LIT("k1");
	fx_put(x, &e);
	fx_agent(x, 1, "planner");
	fx_agent(x, 2, "analyzer");
	e = (struct event){ .kind = EV_SANDBOX };
	e.u.sandbox = (struct ev_sandbox){ .sandbox = FX_SANDBOX, .agent = 1, .live = 1 };
	fx_put(x, &e);
}

void fx_step_code(struct fx *x, uint64_t step, uint32_t agent, const char *job, uint64_t parent,
		  const struct sha256 *code)
{
	struct event e = { .kind = EV_STEP_BEGIN };
	struct ev_step_begin *b = &e.u.step_begin;

	b->step = step;
	b->kind = parent ? STEP_OUTPUT_HOOK : STEP_RUN;
	b->parent = parent;
	b->sandbox = FX_SANDBOX;
	b->agent = agent;
	b->gid = 60000;
	b->job = bytes_str(job);
	b->request_id = BYTES_LIT("req");
	b->key = BYTES_LIT("k1");
	b->command = BYTES_LIT("[\"true\"]");
	b->has_code = code != NULL;
	if (code)
		b->code = *code;
	b->env = BYTES_LIT("PATH HOME");
	b->limits = BYTES_LIT("{}");
	b->observed = BYTES_LIT("{\"network\":\"none\"}");
	b->wiped_files = 3;
	b->wiped_bytes = 4096;
	fx_put(x, &e);
}

void fx_step(struct fx *x, uint64_t step, uint32_t agent)
{
	fx_step_code(x, step, agent, "", 0, NULL);
}

void fx_end(struct fx *x, uint64_t step)
{
	struct event e = { .kind = EV_STEP_END };

	e.u.step_end = (struct ev_step_end){ .step = step,
					     .reason = REASON_EXITED,
					     .exit_code = 3,
					     .wall_ns = 5000,
					     .cpu_ns = 4000,
					     .memory_peak = 1 << 20,
					     .stdout_bytes = 12,
					     .stderr_cut = 1,
					     .error = BYTES_LIT("{}"),
					     .detail = BYTES_LIT("fine") };
	fx_put(x, &e);
}

struct ev_who fx_who(uint64_t step)
{
	return (struct ev_who){ .agent = 1, .sandbox = FX_SANDBOX, .step = step };
}

void fx_object(struct fx *x, const char *text, struct sha256 *ret)
{
	char hex[SHA256_HEX_SIZE];
	autofd fd = -1;

	sha256_of(bytes_str(text), ret);
	sha256_hex(ret, hex);
	fd = openat(x->objects_fd, hex, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
}

static uint64_t put_version(struct fx *x, struct event *e, uint64_t step, const char *path)
{
	struct ev_version *v = &e->u.version;

	e->kind = EV_VERSION;
	v->version = x->next_version++;
	v->who = fx_who(step);
	v->path = bytes_str(path);
	v->media_type = BYTES_LIT("text/csv");
	v->ino = 100 + v->version;
	v->gen = 1;
	fx_put(x, e);
	return v->version;
}

uint64_t fx_seal(struct fx *x, uint64_t step, const char *path, const char *text)
{
	struct event e = { 0 };

	fx_object(x, text, &e.u.version.sha);
	e.u.version.has_sha = 1;
	e.u.version.kept = 1;
	e.u.version.size = strlen(text);
	e.u.version.state = STATE_SEALED;
	return put_version(x, &e, step, path);
}

uint64_t fx_version(struct fx *x, uint64_t step, const char *path, enum ev_action action,
		    enum ev_state state, uint64_t source)
{
	struct event e = { 0 };

	e.u.version.action = (uint8_t)action;
	e.u.version.state = (uint8_t)state;
	e.u.version.source = source;
	e.u.version.size = 10;
	return put_version(x, &e, step, path);
}

void fx_state(struct fx *x, uint64_t version, enum ev_state state, const char *text, bool kept)
{
	struct event e = { .kind = EV_VERSION_STATE };
	struct ev_version_state *v = &e.u.version_state;

	v->version = version;
	v->state = (uint8_t)state;
	v->kept = kept;
	if (text) {
		v->has_sha = 1;
		v->size = strlen(text);
		fx_object(x, text, &v->sha);
	}
	fx_put(x, &e);
}

void fx_read(struct fx *x, uint64_t step, uint64_t version, const char *path)
{
	struct event e = { .kind = EV_READ };

	e.u.read = (struct ev_read){ .who = fx_who(step),
				     .version = version,
				     .path = bytes_str(path) };
	fx_put(x, &e);
}

void fx_change(struct fx *x, uint64_t step, enum ev_op op, const char *path, const char *path2)
{
	struct event e = { .kind = EV_CHANGE };

	e.u.change = (struct ev_change){ .who = fx_who(step),
					 .op = (uint8_t)op,
					 .path = bytes_str(path),
					 .path2 = bytes_str(path2) };
	fx_put(x, &e);
}

void fx_violation(struct fx *x, uint64_t step, enum ev_op op, const char *path, const char *rule)
{
	struct event e = { .kind = EV_VIOLATION };

	e.u.violation = (struct ev_violation){ .who = fx_who(step),
					       .op = (uint8_t)op,
					       .path = bytes_str(path),
					       .errnum = EROFS,
					       .rule = bytes_str(rule),
					       .count = 1 };
	fx_put(x, &e);
}

static int live_row(void *ctx, const struct idx_version *v)
{
	(void)snprintf(ctx, 64, "%llu:%llu", (unsigned long long)v->n,
		       (unsigned long long)v->version);
	return 1;
}

const char *fx_live(struct fx *x, const char *path, char out[64])
{
	const struct idx_filter f = { .path = bytes_str(path), .newest = true };
	struct idx_reader *r = NULL;
	char db[FX_PATH_SIZE];

	(void)snprintf(out, 64, "-");
	assert_int_equal(idx_reader_open(fx_db(x, db), &r, NULL), 0);
	assert_int_equal(idx_versions(r, &f, live_row, out), 0);
	idx_reader_close(r);
	return out;
}

int64_t fx_number(struct fx *x, const char *sql)
{
	char path[FX_PATH_SIZE];
	sqlite3 *h = NULL;
	sqlite3_stmt *s = NULL;
	int64_t n = -1;

	if (sqlite3_open_v2(fx_db(x, path), &h, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(h, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		n = sqlite3_column_int64(s, 0);
	else
		print_error("'%s': %s\n", sql, sqlite3_errmsg(h));
	(void)sqlite3_finalize(s);
	(void)sqlite3_close(h);
	return n;
}

void fx_tamper(struct fx *x, const char *sql)
{
	char path[FX_PATH_SIZE];
	char *msg = NULL;
	sqlite3 *h = NULL;

	assert_int_equal(sqlite3_open_v2(fx_db(x, path), &h, SQLITE_OPEN_READWRITE, NULL),
			 SQLITE_OK);
	if (sqlite3_exec(h, sql, NULL, NULL, &msg) != SQLITE_OK)
		fail_msg("'%s': %s", sql, msg);
	(void)sqlite3_close(h);
}

void fx_verify(struct fx *x, struct idx_verify *ret)
{
	char path[FX_PATH_SIZE];
	struct err err = { 0 };
	int rc = idx_verify(fx_db(x, path), x->objects_fd, NULL, NULL, NULL, ret, &err);

	if (rc < 0)
		fail_msg("idx_verify: %d %s", rc, err.msg);
}

void fx_assert_verifies(struct fx *x)
{
	struct idx_verify v;

	fx_verify(x, &v);
	if (!v.ok)
		fail_msg("the record does not hold: event %llu: %s", (unsigned long long)v.bad_seq,
			 v.what);
}
