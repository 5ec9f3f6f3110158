/* SPDX-License-Identifier: MIT */
/*
 * fs/recname.c - the names in the record: links, removals, renames, and the rows that they make.
 * Not here: who is writing (fs/rec.c).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/media.h"
#include "fs/emit.h"
#include "fs/place.h"
#include "fs/rec.h"
#include "fs/rec_own.h"
#include "fs/retain.h"
#include "fs/step.h"

uint32_t path_hash(struct bytes path)
{
	const uint8_t *p = path.p;
	uint64_t x = 1469598103934665603u;

	for (size_t i = 0; i < path.len; i++)
		x = (x ^ p[i]) * 1099511628211u;
	return (uint32_t)(x ^ (x >> 32));
}

static struct bytes name_bytes(const struct rname *m)
{
	return bytes_of(m->path, m->len);
}

static void grow(struct recs *r)
{
	struct rname **old = r->by_path;
	uint32_t had = r->path_buckets;
	struct rname **wide;

	if (r->path_count < had)
		return;
	wide = calloc((size_t)had * 4, sizeof *wide);
	if (!wide)
		return;
	r->by_path = wide;
	r->path_buckets = had * 4;
	for (uint32_t i = 0; i < had; i++) {
		while (old[i]) {
			struct rname *m = old[i];
			struct rname **p = &wide[path_hash(name_bytes(m)) & (had * 4 - 1)];

			old[i] = m->chain;
			m->chain = *p;
			*p = m;
		}
	}
	free(old);
}

void rname_hash_in(struct recs *r, struct rname *m)
{
	struct rname **p;

	grow(r);
	p = &r->by_path[path_hash(name_bytes(m)) & (r->path_buckets - 1)];
	m->chain = *p;
	*p = m;
	r->path_count++;
}

void rname_hash_out(struct recs *r, struct rname *m)
{
	struct rname **p = &r->by_path[path_hash(name_bytes(m)) & (r->path_buckets - 1)];

	while (*p && *p != m)
		p = &(*p)->chain;
	if (*p) {
		*p = m->chain;
		r->path_count--;
	}
}

struct rname *rname_find(struct recs *r, struct bytes path)
{
	struct rname *m = r->by_path[path_hash(path) & (r->path_buckets - 1)];

	while (m && !bytes_equal(name_bytes(m), path))
		m = m->chain;
	return m;
}

void rname_drop(struct recs *r, struct rname *m)
{
	struct rname **p = &m->rec->names;

	rname_hash_out(r, m);
	while (*p != m)
		p = &(*p)->next;
	*p = m->next;
	free(m->path);
	free(m);
}

int rname_add(struct fs *fs, struct rec *c, struct bytes path, struct rname **ret)
{
	struct recs *r = fs->recs;
	struct rname *m = calloc(1, sizeof *m);
	struct rname *was = rname_find(r, path);

	if (!m)
		return -ENOMEM;
	m->path = malloc(path.len + 1);
	if (!m->path) {
		free(m);
		return -ENOMEM;
	}
	memcpy(m->path, path.p, path.len);
	m->path[path.len] = '\0';
	m->len = path.len;
	m->rec = c;
	if (was) { /* another file had this name, and its going was not seen: the name is what counts */
		struct rec *old = was->rec;

		m->existed = was->version != 0 || was->existed;
		c->refs++;
		rname_drop(r, was);
		rec_put_locked(fs, r, old);
		c->refs--;
	}
	m->next = c->names;
	c->names = m;
	c->refs++;
	rname_hash_in(r, m);
	*ret = m;
	return 0;
}

static bool has_bytes(enum ev_state s)
{
	return s == STATE_SEALED || s == STATE_HELD;
}

void rec_emit_version(struct fs *fs, struct rec *c, struct rname *m, const struct who *w,
		      enum ev_action action, enum ev_state state, uint64_t source)
{
	struct event e = { .kind = EV_VERSION };

	m->version = atomic_fetch_add(&fs->next_version, 1);
	m->open_version = state == STATE_OPEN ? m->version : 0;
	m->existed = false;
	c->agent = w->agent;
	c->step = who_step_id(w);
	e.u.version = (struct ev_version){
		.version = m->version,
		.who = who_event(w),
		.path = name_bytes(m),
		.action = (uint8_t)action,
		.state = (uint8_t)state,
		.has_sha = c->has_sha && has_bytes(state),
		.size = c->size,
		.media_type = bytes_str(media_type(name_bytes(m))),
		.source = source,
		.ino = c->ino,
		.gen = c->gen,
		.kept = c->kept && has_bytes(state),
	};
	if (e.u.version.has_sha)
		e.u.version.sha = c->sha;
	if (w->step)
		atomic_fetch_add(&w->step->artifacts, 1);
	emit(fs, &e);
	if (e.u.version.kept)
		retain_mark(fs);
}

static enum zone zone_at(struct bytes path)
{
	struct zone_place at;

	zone_of(path, &at);
	return at.zone;
}

static bool is_recorded(struct bytes path)
{
	enum zone z = zone_at(path);

	return z == ZONE_INPUT || z == ZONE_OUTPUT || z == ZONE_AREA;
}

/* What comes into output/ and isn't kept is cut anew. Without memory it is not, and stays as it was. */
static void keep_if_output(struct fs *fs, const struct who *w, const struct rname *m)
{
	if (!m->rec->dirty && !m->rec->kept && zone_at(name_bytes(m)) == ZONE_OUTPUT)
		(void)rec_touch(fs, m->rec, w);
}

/* A copy under another name is held back like the first. */
static enum ev_state state_now(const struct rec *c)
{
	return c->held ? STATE_HELD : (enum ev_state)c->state;
}

int rec_linked(struct fs *fs, const struct who *w, struct rec *c, struct bytes from,
	       struct bytes to)
{
	struct rname *had = rname_find(fs->recs, from);
	struct rname *m = NULL;
	int r;

	emit_change(fs, w, OP_LINK, from, to);
	r = rname_add(fs, c, to, &m);
	if (r < 0)
		return r;
	keep_if_output(fs, w, m);
	if (had && !c->dirty && had->version)
		rec_emit_version(fs, c, m, w, ACTION_LINKED, state_now(c), had->version);
	return 0;
}

void rec_unlinked(struct fs *fs, const struct who *w, enum ev_op op, struct bytes path)
{
	struct rname *m = rname_find(fs->recs, path);
	struct rec *c = m ? m->rec : NULL;

	emit_change(fs, w, op, path, (struct bytes){ 0 });
	if (m) {
		rname_drop(fs->recs, m);
		rec_put_locked(fs, fs->recs, c);
	}
}

/* Is path `dir` itself or below it? */
static bool is_within(const struct rname *m, struct bytes dir)
{
	return m->len >= dir.len && memcmp(m->path, dir.p, dir.len) == 0 &&
	       (m->len == dir.len || m->path[dir.len] == '/');
}

uint64_t rec_owners_below(struct fs *fs, struct bytes dir)
{
	struct recs *r = fs->recs;
	uint64_t owners = 0;
	uint32_t block;

	static_assert(IDS_AGENTS_MAX <= 64, "a bit for each agent");
	recs_lock(r);
	for (uint32_t i = 0; i < r->path_buckets; i++)
		for (const struct rname *m = r->by_path[i]; m; m = m->chain)
			if (is_within(m, dir) && ids_agent_of(fs->uid_base, m->rec->uid, &block))
				owners |= (uint64_t)1 << block;
	recs_unlock(r);
	return owners;
}

struct moves {
	struct rname *list; /* by chain: they are out of the table */
	struct bytes from, to;
};

/* Take the names at or below mv->from out of the table. */
static void take_names(struct recs *r, struct moves *mv, bool dir)
{
	struct rname *m;

	mv->list = NULL;
	if (!dir) {
		m = rname_find(r, mv->from);
		if (m) {
			rname_hash_out(r, m);
			m->chain = NULL;
			mv->list = m;
		}
		return;
	}
	for (uint32_t i = 0; i < r->path_buckets; i++) {
		struct rname **p = &r->by_path[i];

		while ((m = *p)) {
			if (!is_within(m, mv->from)) {
				p = &m->chain;
				continue;
			}
			*p = m->chain;
			r->path_count--;
			m->chain = mv->list;
			mv->list = m;
		}
	}
}

/* "from/rest" becomes "to/rest"; false without memory: the name is lost to the record until its next version. */
static bool repath(struct rname *m, const struct moves *mv)
{
	size_t rest = m->len - mv->from.len;
	char *path = malloc(mv->to.len + rest + 1);

	if (!path)
		return false;
	memcpy(path, mv->to.p, mv->to.len);
	memcpy(path + mv->to.len, m->path + mv->from.len, rest + 1);
	free(m->path);
	m->path = path;
	m->len = mv->to.len + rest;
	return true;
}

/* The file has a new name. Under the lock, m is in the table again. */
static void moved_file(struct fs *fs, const struct who *w, struct rname *m, bool existed)
{
	struct rec *c = m->rec;
	uint64_t source = m->version;

	m->version = m->open_version = 0;
	m->existed = existed;
	if (source)
		rec_emit_version(fs, c, m, w, ACTION_RENAMED, c->dirty ? STATE_OPEN : state_now(c),
				 source);
}

static void put_names(struct fs *fs, const struct who *w, struct moves *mv, bool existed)
{
	struct recs *r = fs->recs;
	bool recorded = is_recorded(mv->to);

	while (mv->list) {
		struct rname *m = mv->list;
		struct rec *c = m->rec;
		bool file = m->len == mv->from.len;
		bool moved = repath(m, mv);

		mv->list = m->chain;
		rname_hash_in(r, m);
		if (!moved || !recorded) {
			rname_drop(r, m);
			rec_put_locked(fs, r, c);
			continue;
		}
		keep_if_output(fs, w, m);
		if (file)
			moved_file(fs, w, m, existed);
	}
}

/* The file that was at `to` is gone: true where it had versions. */
static bool drop_victim(struct fs *fs, struct bytes to)
{
	struct rname *victim = rname_find(fs->recs, to);
	struct rec *c = victim ? victim->rec : NULL;
	bool existed = victim && (victim->version || victim->existed);

	if (victim) {
		rname_drop(fs->recs, victim);
		rec_put_locked(fs, fs->recs, c);
	}
	return existed;
}

void rec_renamed(struct fs *fs, const struct who *w, struct bytes from, struct bytes to, bool dir,
		 bool exchange)
{
	struct recs *r = fs->recs;
	struct moves there = { .from = from, .to = to }, back = { .from = to, .to = from };
	bool existed = false;

	emit_change(fs, w, OP_RENAME, from, to);
	if (exchange)
		take_names(r, &back, true);
	else
		existed = drop_victim(fs, to);
	take_names(r, &there, dir || exchange);
	put_names(fs, w, &there, existed);
	put_names(fs, w, &back, false);
}
