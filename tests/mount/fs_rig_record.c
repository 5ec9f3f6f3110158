/* SPDX-License-Identifier: MIT */
/*
 * tests/mount/fs_rig_record.c - the record of a workspace under test, read as garth-api reads it.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "index/verify.h"
#include "tests/mount/fs_rig.h"

static struct idx_reader *reader(const struct fs_rig *r)
{
	struct idx_reader *x = NULL;
	struct err err = { 0 };
	char path[300];

	(void)snprintf(path, sizeof path, "%s/index.db", r->store);
	if (idx_reader_open(path, &x, &err) < 0)
		fail_msg("read the record: %s", err.msg);
	return x;
}

static struct rig_row *next(struct rig_rows *all)
{
	struct rig_row *w;

	if (all->n == sizeof all->row / sizeof all->row[0])
		fail_msg("more rows than the test has room for");
	w = &all->row[all->n++];
	memset(w, 0, sizeof *w);
	return w;
}

static void text(char *out, size_t size, struct bytes b)
{
	(void)snprintf(out, size, "%.*s", (int)b.len, b.len ? (const char *)b.p : "");
}

static int add_version(void *ctx, const struct idx_version *v)
{
	struct rig_row *w = next(ctx);

	w->id = v->version;
	w->n = v->n;
	w->step = v->step;
	w->agent = v->agent;
	w->action = v->action;
	w->state = v->state;
	w->late = v->late;
	w->has_sha = v->has_sha;
	w->kept = v->kept;
	w->newest = v->newest;
	w->size = v->size;
	w->source = v->source;
	text(w->path, sizeof w->path, v->path);
	if (v->has_sha)
		sha256_hex(&v->sha, w->sha);
	return 0;
}

void rig_versions(struct fs_rig *r, const char *path, struct rig_rows *ret)
{
	struct idx_reader *x = reader(r);
	struct idx_filter f = { .path = path ? bytes_str(path) : (struct bytes){ 0 } };

	ret->n = 0;
	assert_int_equal(idx_versions(x, &f, add_version, ret), 0);
	idx_reader_close(x);
}

void rig_newest(struct fs_rig *r, const char *path, struct rig_rows *ret)
{
	struct idx_reader *x = reader(r);
	struct idx_filter f = { .path = bytes_str(path), .newest = true };

	ret->n = 0;
	assert_int_equal(idx_versions(x, &f, add_version, ret), 0);
	idx_reader_close(x);
}

static int count(void *ctx, const struct idx_version *v)
{
	unsigned *n = ctx;

	*n += v->newest;
	return 0;
}

unsigned rig_live(struct fs_rig *r, const char *below)
{
	struct idx_reader *x = reader(r);
	struct idx_filter f = { .below = bytes_str(below), .newest = true };
	unsigned n = 0;

	assert_int_equal(idx_versions(x, &f, count, &n), 0);
	idx_reader_close(x);
	return n;
}

static int add_violation(void *ctx, const struct idx_violation *v)
{
	struct rig_row *w = next(ctx);

	w->id = v->row;
	w->step = v->step;
	w->agent = v->agent;
	w->op = v->op;
	w->late = v->late;
	w->errnum = v->errnum;
	w->count = v->count;
	text(w->path, sizeof w->path, v->path);
	text(w->rule, sizeof w->rule, v->rule);
	return 0;
}

void rig_violations(struct fs_rig *r, struct rig_rows *ret)
{
	struct idx_reader *x = reader(r);
	struct idx_filter f = { 0 };

	ret->n = 0;
	assert_int_equal(idx_violations(x, &f, add_violation, ret), 0);
	idx_reader_close(x);
}

static int add_read(void *ctx, const struct idx_read *v)
{
	struct rig_row *w = next(ctx);

	w->id = v->version;
	w->n = v->n;
	w->open = v->open;
	w->has_sha = v->has_sha;
	text(w->path, sizeof w->path, v->path);
	return 0;
}

void rig_reads(struct fs_rig *r, uint64_t step, struct rig_rows *ret)
{
	struct idx_reader *x = reader(r);

	ret->n = 0;
	assert_int_equal(idx_reads(x, step, add_read, ret), 0);
	idx_reader_close(x);
}

static int add_change(void *ctx, const struct idx_change *v)
{
	struct rig_row *w = next(ctx);

	w->op = v->op;
	text(w->path, sizeof w->path, v->path);
	text(w->path2, sizeof w->path2, v->path2);
	return 0;
}

void rig_changes(struct fs_rig *r, uint64_t step, struct rig_rows *ret)
{
	struct idx_reader *x = reader(r);

	ret->n = 0;
	assert_int_equal(idx_changes(x, step, add_change, ret), 0);
	idx_reader_close(x);
}

struct step_ask {
	uint64_t step;
	bool found;
	uint8_t reason;
	uint64_t out;
	bool cut;
};

static int add_step(void *ctx, const struct idx_step *s)
{
	struct step_ask *a = ctx;

	if (s->step != a->step)
		return 0;
	a->found = true;
	a->reason = s->reason;
	a->out = s->stdout_bytes;
	a->cut = s->stdout_cut;
	return 1;
}

bool rig_step_row(struct fs_rig *r, uint64_t step, uint8_t *ret_reason, uint64_t *ret_stdout,
		  bool *ret_cut)
{
	struct idx_reader *x = reader(r);
	struct idx_filter f = { .step = step };
	struct step_ask a = { .step = step };

	assert_int_equal(idx_steps(x, &f, add_step, &a), 0);
	idx_reader_close(x);
	*ret_reason = a.reason;
	*ret_stdout = a.out;
	*ret_cut = a.cut;
	return a.found;
}

void rig_verify(struct fs_rig *r)
{
	struct idx_verify v = { 0 };
	struct err err = { 0 };
	char path[300];
	int objects;

	(void)snprintf(path, sizeof path, "%s/objects", r->store);
	objects = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(path, sizeof path, "%s/index.db", r->store);
	if (idx_verify(path, objects, NULL, NULL, NULL, &v, &err) < 0)
		fail_msg("verify: %s", err.msg);
	close(objects);
	if (!v.ok)
		fail_msg("the record does not hold at event %llu: %s",
			 (unsigned long long)v.bad_seq, v.what);
}
