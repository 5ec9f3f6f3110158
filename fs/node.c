/* SPDX-License-Identifier: MIT */
/*
 * fs/node.c - the node table: slots, their life, and what is asked of one node.
 * Not here: walks up and down the tree (fs/nodepath.c).
 */
#include "fs/node.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/fd.h"
#include "fs/node_own.h"
#include "fs/task.h"

/* And close what died: the last close of an unlinked file frees its blocks, which takes time. */
static void unlock(struct nodes *t)
{
	struct node *n = t->graves;

	t->graves = NULL;
	pthread_mutex_unlock(&t->lock);
	while (n) {
		struct node *next = n->chain_dead;

		if (t->at_end)
			t->at_end(t->at_end_ctx, n);
		task_unref(n->task);
		fd_closep(&n->keep_fd);
		free(n);
		n = next;
	}
}

static struct node **bucket_of(struct nodes *t, const struct fhandle *h)
{
	return &t->bucket[fhandle_hash(h) & (t->buckets - 1)];
}

static struct node *find(struct nodes *t, const struct fhandle *h)
{
	struct node *n = *bucket_of(t, h);

	while (n && !(n->kind == NODE_PLAIN && fhandle_equal(&n->h, h)))
		n = n->chain;
	return n;
}

static void hash_in(struct nodes *t, struct node *n)
{
	struct node **b = bucket_of(t, &n->h);

	n->chain = *b;
	*b = n;
	t->hashed++;
}

static void hash_out(struct nodes *t, struct node *n)
{
	struct node **p = bucket_of(t, &n->h);

	while (*p && *p != n)
		p = &(*p)->chain;
	if (*p) {
		*p = n->chain;
		t->hashed--;
	}
}

/* Best effort: without memory the chains only grow longer. */
static void hash_grow(struct nodes *t)
{
	struct node **old = t->bucket;
	uint32_t had = t->buckets;
	struct node **wide;

	if (t->hashed < t->buckets)
		return;
	wide = calloc((size_t)had * 4, sizeof *wide);
	if (!wide)
		return;
	t->bucket = wide;
	t->buckets = had * 4;
	t->hashed = 0;
	for (uint32_t i = 0; i < had; i++) {
		struct node *n = old[i];

		while (n) {
			struct node *next = n->chain;

			hash_in(t, n);
			n = next;
		}
	}
	free(old);
}

int nodes_new(struct nodes **ret)
{
	struct nodes *t = calloc(1, sizeof *t);

	if (!t)
		return -ENOMEM;
	t->buckets = NODE_BUCKETS;
	t->bucket = calloc(t->buckets, sizeof(struct node *));
	t->slots = 1024;
	t->slot = calloc(t->slots, sizeof *t->slot);
	if (!t->bucket || !t->slot) {
		free(t->bucket);
		free(t->slot);
		free(t);
		return -ENOMEM;
	}
	pthread_mutex_init(&t->lock, NULL);
	t->used = 1; /* slot 0 is nobody's */
	*ret = t;
	return 0;
}

void nodes_at_end(struct nodes *t, void (*fn)(void *ctx, struct node *n), void *ctx)
{
	t->at_end = fn;
	t->at_end_ctx = ctx;
}

/* A free slot's number, 0 where there is none. */
static uint32_t slot_take(struct nodes *t)
{
	struct node_slot *more;
	uint32_t s = t->free_head;

	if (s) {
		t->free_head = t->slot[s].next_free;
		return s;
	}
	if (t->used == t->slots) {
		if (t->slots >= NODES_MAX)
			return 0;
		more = realloc(t->slot, sizeof *more * t->slots * 2);
		if (!more)
			return 0;
		memset(more + t->slots, 0, sizeof *more * t->slots);
		t->slot = more;
		t->slots *= 2;
	}
	return t->used++;
}

static int node_new(struct nodes *t, const struct fhandle *h, const struct stat *st,
		    struct node **ret)
{
	struct node *n = calloc(1, sizeof *n);
	uint32_t s;

	if (!n)
		return -ENOMEM;
	s = slot_take(t);
	if (!s) {
		free(n);
		return -ENFILE;
	}
	n->id = (uint64_t)t->slot[s].gen << 32 | s;
	n->h = *h;
	n->ino = st->st_ino;
	n->mode = st->st_mode;
	n->uid = st->st_uid;
	n->charged = -1;
	n->keep_fd = -1;
	t->slot[s].node = n;
	hash_grow(t);
	hash_in(t, n);
	*ret = n;
	return 0;
}

static bool is_dead(const struct node *n)
{
	return n->lookups == 0 && n->pins == 0;
}

/* End n, and the parents that nothing else keeps. Called under the lock. */
static void reap(struct nodes *t, struct node *n)
{
	struct node *list = n;

	n->chain_dead = NULL;
	while (list) {
		struct node *dead = list;
		uint32_t s = (uint32_t)dead->id;

		list = dead->chain_dead;
		hash_out(t, dead);
		while (dead->names) {
			struct nname *nm = dead->names;
			struct node *up = nm->parent;

			dead->names = nm->next;
			up->pins--;
			if (is_dead(up)) {
				up->chain_dead = list;
				list = up;
			}
			free(nm->name);
			free(nm);
		}
		t->slot[s].node = NULL;
		t->slot[s].gen++;
		t->slot[s].next_free = t->free_head;
		t->free_head = s;
		dead->chain_dead = t->graves;
		t->graves = dead;
	}
}

void nodes_free(struct nodes *t)
{
	if (!t)
		return;
	for (uint32_t s = 1; s < t->used; s++) {
		struct node *n = t->slot[s].node;

		if (!n)
			continue;
		while (n->names) {
			struct nname *nm = n->names;

			n->names = nm->next;
			free(nm->name);
			free(nm);
		}
		task_unref(n->task);
		fd_closep(&n->keep_fd);
		free(n);
	}
	pthread_mutex_destroy(&t->lock);
	free(t->bucket);
	free(t->slot);
	free(t);
}

struct node *nodes_get(struct nodes *t, uint64_t id)
{
	uint32_t s = (uint32_t)id;
	struct node *n = NULL;

	pthread_mutex_lock(&t->lock);
	if (s > 0 && s < t->used && t->slot[s].node && t->slot[s].node->id == id)
		n = t->slot[s].node;
	unlock(t);
	return n;
}

static struct nname *name_find(const struct node *n, const struct node *parent, const char *name)
{
	for (struct nname *nm = n->names; nm; nm = nm->next)
		if (nm->parent == parent && strcmp(nm->name, name) == 0)
			return nm;
	return NULL;
}

static void names_clear(struct nodes *t, struct node *n)
{
	while (n->names) {
		struct nname *nm = n->names;

		n->names = nm->next;
		nm->parent->pins--;
		if (is_dead(nm->parent))
			reap(t, nm->parent);
		free(nm->name);
		free(nm);
	}
}

/* The name becomes the first. A folder has one only. Called under the lock. */
static int name_add(struct nodes *t, struct node *n, struct node *parent, const char *name)
{
	struct nname *nm = n->gone ? NULL : name_find(n, parent, name);
	struct nname **p = &n->names;

	if (nm) {
		while (*p != nm)
			p = &(*p)->next;
		*p = nm->next;
	} else {
		nm = calloc(1, sizeof *nm);
		if (!nm)
			return -ENOMEM;
		nm->name = strdup(name);
		if (!nm->name) {
			free(nm);
			return -ENOMEM;
		}
		nm->parent = parent;
		parent->pins++;
		if (n->gone || S_ISDIR(n->mode))
			names_clear(t, n);
		n->gone = false;
	}
	nm->next = n->names;
	n->names = nm;
	return 0;
}

int nodes_make(struct nodes *t, enum node_kind kind, const struct fhandle *h, const struct stat *st,
	       struct node *parent, const char *name, struct task *task, struct node **ret)
{
	struct node *n = NULL;
	int r;

	pthread_mutex_lock(&t->lock);
	r = node_new(t, h, st, &n);
	if (r == 0) {
		n->kind = kind;
		n->pins = 1;
		n->task = task ? task_ref(task) : NULL;
		if (parent)
			r = name_add(t, n, parent, name);
		if (r < 0) {
			n->pins = 0;
			reap(t, n);
		}
	}
	unlock(t);
	if (r == 0)
		*ret = n;
	return r;
}

/* Under the lock. */
static int enter_name(struct nodes *t, struct node *n, struct node *parent, const char *name,
		      bool fresh, bool *ret_named)
{
	*ret_named = false;
	if (!fresh && (n->gone || S_ISDIR(n->mode)))
		return 0;
	*ret_named = name && !name_find(n, parent, name);
	return name_add(t, n, parent, name ? name : NODE_NAMELESS);
}

int nodes_enter(struct nodes *t, struct node *parent, const char *name, const struct fhandle *h,
		const struct stat *st, struct node **ret, bool *ret_named)
{
	struct node *n;
	bool fresh = false;
	int r = 0;

	pthread_mutex_lock(&t->lock);
	n = find(t, h);
	if (!n) {
		r = node_new(t, h, st, &n);
		fresh = true;
	}
	if (r == 0 && fresh && parent->task)
		n->task = task_ref(parent->task);
	if (r == 0) {
		r = enter_name(t, n, parent, name, fresh, ret_named);
		if (fresh && !name)
			n->gone = true;
		if (r < 0 && fresh)
			reap(t, n);
	}
	if (r == 0) {
		n->lookups++;
		*ret = n;
	}
	unlock(t);
	return r;
}

struct node *nodes_find(struct nodes *t, const struct fhandle *h)
{
	struct node *n;

	pthread_mutex_lock(&t->lock);
	n = find(t, h);
	if (n)
		n->pins++;
	unlock(t);
	return n;
}

void node_looked_up(struct nodes *t, struct node *n)
{
	pthread_mutex_lock(&t->lock);
	n->lookups++;
	unlock(t);
}

void node_pin(struct nodes *t, struct node *n)
{
	pthread_mutex_lock(&t->lock);
	n->pins++;
	unlock(t);
}

void node_unpin(struct nodes *t, struct node *n)
{
	pthread_mutex_lock(&t->lock);
	n->pins--;
	if (is_dead(n))
		reap(t, n);
	unlock(t);
}

void node_forget(struct nodes *t, uint64_t id, uint64_t count)
{
	struct node *n;
	uint32_t s = (uint32_t)id;

	pthread_mutex_lock(&t->lock);
	n = s > 0 && s < t->used ? t->slot[s].node : NULL;
	if (n && n->id == id) {
		n->lookups -= count < n->lookups ? count : n->lookups;
		if (is_dead(n))
			reap(t, n);
	}
	unlock(t);
}

void node_look(struct nodes *t, const struct node *n, struct node_look *ret)
{
	pthread_mutex_lock(&t->lock);
	ret->mode = n->mode;
	ret->uid = n->uid;
	ret->gone = n->gone;
	unlock(t);
}

void node_set(struct nodes *t, struct node *n, const struct stat *st)
{
	pthread_mutex_lock(&t->lock);
	n->mode = st->st_mode;
	n->uid = st->st_uid;
	unlock(t);
}

struct task *node_repoint(struct nodes *t, struct node *n, const struct fhandle *h, uint64_t ino,
			  struct task *task)
{
	struct task *old;

	pthread_mutex_lock(&t->lock);
	hash_out(t, n);
	n->h = *h;
	n->ino = ino;
	hash_in(t, n);
	old = n->task;
	n->task = task;
	unlock(t);
	return old;
}

void node_handle(struct nodes *t, const struct node *n, struct fhandle *ret)
{
	pthread_mutex_lock(&t->lock);
	*ret = n->h;
	unlock(t);
}

struct task *node_task(struct nodes *t, const struct node *n)
{
	struct task *k;

	pthread_mutex_lock(&t->lock);
	k = n->task ? task_ref(n->task) : NULL;
	unlock(t);
	return k;
}

bool node_keep(struct nodes *t, struct node *n, int fd)
{
	bool had;
	int old;

	pthread_mutex_lock(&t->lock);
	old = n->keep_fd;
	n->keep_fd = fd;
	unlock(t);
	had = old >= 0;
	fd_closep(&old);
	return had;
}

int node_kept(struct nodes *t, const struct node *n)
{
	int fd;

	pthread_mutex_lock(&t->lock);
	fd = n->keep_fd >= 0 ? fcntl(n->keep_fd, F_DUPFD_CLOEXEC, 0) : -1;
	unlock(t);
	return fd;
}

struct rec *node_keep_rec(struct nodes *t, struct node *n, struct rec *c)
{
	struct rec *old;

	pthread_mutex_lock(&t->lock);
	old = n->rec;
	n->rec = c;
	unlock(t);
	return old;
}

int node_link(struct nodes *t, struct node *n, struct node *parent, const char *name)
{
	int r;

	pthread_mutex_lock(&t->lock);
	r = name_add(t, n, parent, name);
	unlock(t);
	return r;
}

void node_unlink(struct nodes *t, struct node *n, struct node *parent, const char *name, bool gone)
{
	struct nname *nm;
	struct nname **p;

	pthread_mutex_lock(&t->lock);
	nm = name_find(n, parent, name);
	if (nm && !nm->next && n->names == nm) {
		n->gone = n->gone ||
			  gone; /* the last name stays: whoever has it open is still asked by it */
	} else if (nm) {
		for (p = &n->names; *p != nm; p = &(*p)->next)
			;
		*p = nm->next;
		nm->parent->pins--;
		if (is_dead(nm->parent))
			reap(t, nm->parent);
		free(nm->name);
		free(nm);
	}
	unlock(t);
}
