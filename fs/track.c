/* SPDX-License-Identifier: MIT */
/*
 * fs/track.c - names that come, go and move, in the node table, in the record and in the ring at once.
 */
#include "fs/track.h"

#include "fs/emit.h"
#include "fs/place.h"
#include "fs/rec_own.h"

/* Under the lock: the record of n as it is called now; NULL where none is kept. */
static int file_locked(struct fs *fs, struct node *n, struct rec **ret)
{
	struct node_look look;
	struct place at;
	int r = place_of(fs, n, NULL, &at);

	*ret = NULL;
	if (r < 0 || !place_recorded(&at))
		return r;
	node_look(fs->nodes, n, &look);
	if (look.gone)
		at.len = 0;
	return rec_enter_locked(fs, &n->h, n->ino, look.uid, place_bytes(&at), ret);
}

int track_file(struct fs *fs, struct node *n, struct rec **ret)
{
	int r;

	recs_lock(fs->recs);
	r = file_locked(fs, n, ret);
	recs_unlock(fs->recs);
	return r;
}

/* A file that comes without having been opened has a version like any other. Under the lock. */
static int adopt(struct fs *fs, const struct who *w, struct node *n)
{
	struct rec *c = NULL;
	int r = file_locked(fs, n, &c);

	if (r == 0 && c) {
		r = rec_touch(fs, c, w);
		rec_put_locked(fs, fs->recs, c);
	}
	return r;
}

int track_made(struct fs *fs, const struct who *w, enum ev_op op, struct node *n, const char *text)
{
	struct place at;
	int r;

	recs_lock(fs->recs);
	r = place_of(fs, n, NULL, &at);
	if (r == 0 && S_ISREG(n->mode))
		r = adopt(fs, w, n);
	else if (r == 0 && place_recorded(&at) && op != OP_MKNOD)
		emit_change(fs, w, op, place_bytes(&at),
			    text ? bytes_str(text) : (struct bytes){ 0 });
	recs_unlock(fs->recs);
	return r;
}

/* Under the lock. */
static int link_locked(struct fs *fs, const struct who *w, struct node *n, struct node *dir,
		       const char *name)
{
	struct node_look look;
	struct place from, to;
	struct rec *c = NULL;
	int r = place_of(fs, n, NULL, &from);

	if (r == 0)
		r = place_of(fs, dir, name, &to);
	if (r != 0 || !place_recorded(&to))
		return r;
	if (!S_ISREG(n->mode)) {
		emit_change(fs, w, OP_LINK, place_bytes(&from), place_bytes(&to));
		return 0;
	}
	node_look(fs->nodes, n, &look);
	r = rec_enter_locked(fs, &n->h, n->ino, look.uid, (struct bytes){ 0 }, &c);
	if (r < 0)
		return r;
	r = rec_linked(fs, w, c, place_bytes(&from), place_bytes(&to));
	rec_put_locked(fs, fs->recs, c);
	return r;
}

int track_linked(struct fs *fs, const struct who *w, struct node *n, struct node *dir,
		 const char *name)
{
	int r;

	recs_lock(fs->recs);
	r = link_locked(fs, w, n, dir, name);
	if (r == 0)
		r = node_link(fs->nodes, n, dir, name);
	recs_unlock(fs->recs);
	return r;
}

void track_removed(struct fs *fs, const struct who *w, enum ev_op op, struct node *dir,
		   const char *name, struct node *n, bool gone)
{
	struct place at;

	recs_lock(fs->recs);
	if (place_of(fs, dir, name, &at) == 0 && place_recorded(&at))
		rec_unlinked(fs, w, op, place_bytes(&at));
	if (n)
		node_unlink(fs->nodes, n, dir, name, gone);
	recs_unlock(fs->recs);
}

/* Without memory for a name the old one stays: then the record's paths are the old ones. */
static void move_nodes(struct fs *fs, const struct track_move *m)
{
	if (m->victim && !m->exchange)
		node_unlink(fs->nodes, m->victim, m->to_dir, m->to, m->victim_gone);
	if (m->victim && m->exchange && node_link(fs->nodes, m->victim, m->from_dir, m->from) == 0)
		node_unlink(fs->nodes, m->victim, m->to_dir, m->to, false);
	if (m->what && node_link(fs->nodes, m->what, m->to_dir, m->to) == 0)
		node_unlink(fs->nodes, m->what, m->from_dir, m->from, false);
}

void track_moved(struct fs *fs, const struct who *w, const struct track_move *m)
{
	struct place from, to;
	bool named, was, is;

	recs_lock(fs->recs);
	named = place_of(fs, m->from_dir, m->from, &from) == 0 &&
		place_of(fs, m->to_dir, m->to, &to) == 0;
	was = named && place_recorded(&from);
	is = named && place_recorded(&to);
	if (was || is)
		rec_renamed(fs, w, place_bytes(&from), place_bytes(&to), m->dir, m->exchange);
	move_nodes(fs, m);
	if (!was && is && m->what && S_ISREG(m->what->mode))
		(void)adopt(fs, w, m->what); /* from where nothing is recorded */
	recs_unlock(fs->recs);
}
