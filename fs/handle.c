/* SPDX-License-Identifier: MIT */
/*
 * fs/handle.c - the file handles of the store, and a bounded cache of O_PATH descriptors for them.
 */
#include "fs/handle.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/bytes.h"
#include "core/fd.h"
#include "core/msg.h"

#define BUCKETS 4096u /* a power of two */

struct hentry {
	struct fhandle h;
	int fd;
	unsigned refs;
	bool dropped; /* out of the table; ends with its last reference */
	struct hentry *chain;
	struct hentry *prev, *next; /* least recently used last */
};

struct hcache {
	pthread_mutex_t lock; /* guards all but the keeper's socket */
	pthread_mutex_t ask;  /* one question to the keeper at a time; guards reply */
	int keeper_fd;
	struct wire_msg *reply;
	unsigned count, max;
	struct hentry *bucket[BUCKETS];
	struct hentry lru; /* head */
};

bool fhandle_equal(const struct fhandle *a, const struct fhandle *b)
{
	return a->type == b->type && a->len == b->len && memcmp(a->b, b->b, a->len) == 0;
}

uint32_t fhandle_hash(const struct fhandle *h)
{
	uint64_t x = 1469598103934665603u;

	for (uint32_t i = 0; i < h->len; i++)
		x = (x ^ h->b[i]) * 1099511628211u;
	return (uint32_t)(x ^ (x >> 32));
}

int fhandle_of(int fd, struct fhandle *ret)
{
	struct {
		struct file_handle h;
		uint8_t room[FHANDLE_MAX];
	} u;
	int mount_id;

	memset(&u, 0, sizeof u);
	u.h.handle_bytes = FHANDLE_MAX;
	if (name_to_handle_at(fd, "", &u.h, &mount_id, AT_EMPTY_PATH) < 0)
		return -errno;
	memset(ret, 0, sizeof *ret);
	ret->type = u.h.handle_type;
	ret->len = u.h.handle_bytes;
	memcpy(ret->b, u.h.f_handle, u.h.handle_bytes);
	return 0;
}

static unsigned cache_max(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0 || lim.rlim_cur / 4 > HCACHE_FDS_MAX)
		return HCACHE_FDS_MAX;
	return lim.rlim_cur < 64 ? 16 : (unsigned)lim.rlim_cur / 4;
}

int hcache_new(int keeper_fd, struct hcache **ret)
{
	struct hcache *c = calloc(1, sizeof *c);

	if (!c)
		return -ENOMEM;
	c->reply = calloc(1, sizeof *c->reply);
	if (!c->reply) {
		free(c);
		return -ENOMEM;
	}
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->ask, NULL);
	c->keeper_fd = keeper_fd;
	c->max = cache_max();
	c->lru.prev = c->lru.next = &c->lru;
	wire_msg_init(c->reply);
	*ret = c;
	return 0;
}

static void lru_remove(struct hentry *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
	e->prev = e->next = NULL;
}

static void lru_front(struct hcache *c, struct hentry *e)
{
	e->next = c->lru.next;
	e->prev = &c->lru;
	e->next->prev = e;
	c->lru.next = e;
}

static struct hentry **find(struct hcache *c, const struct fhandle *h)
{
	struct hentry **p = &c->bucket[fhandle_hash(h) & (BUCKETS - 1)];

	while (*p && !fhandle_equal(&(*p)->h, h))
		p = &(*p)->chain;
	return p;
}

/* Out of the table; gives it back where nobody holds it, so that the caller frees it outside the lock. */
static struct hentry *unhook(struct hcache *c, struct hentry **p)
{
	struct hentry *e = *p;

	invariant(e);
	*p = e->chain;
	lru_remove(e);
	c->count--;
	e->dropped = true;
	return e->refs == 0 ? e : NULL;
}

static void entry_free(struct hentry *e)
{
	if (!e)
		return;
	fd_closep(&e->fd);
	free(e);
}

static struct hentry *evict_one(struct hcache *c)
{
	for (struct hentry *e = c->lru.prev; e != &c->lru; e = e->prev)
		if (e->refs == 0)
			return unhook(c, find(c, &e->h));
	return NULL;
}

/* Takes fd. The entry with one reference more than before where `hold`. */
static struct hentry *insert(struct hcache *c, const struct fhandle *h, int fd, bool hold)
{
	struct hentry *mine = calloc(1, sizeof *mine);
	struct hentry *old = NULL, *e;
	struct hentry **p;

	pthread_mutex_lock(&c->lock);
	p = find(c, h);
	e = *p;
	if (mine && !e) {
		mine->h = *h;
		mine->fd = fd_steal(&fd);
		mine->chain = *p;
		*p = mine;
		e = mine;
		mine = NULL;
		lru_front(c, e);
		if (++c->count > c->max) {
			e->refs++;
			old = evict_one(c);
			e->refs--;
		}
	}
	if (e && hold)
		e->refs++;
	pthread_mutex_unlock(&c->lock);
	entry_free(old);
	free(mine);
	fd_closep(&fd);
	return e;
}

static int ask_keeper(struct hcache *c, const struct fhandle *h, int *ret_fd)
{
	struct msg_handle_open q = { .handle_type = (uint32_t)h->type, .handle_len = h->len };
	int r;

	memcpy(q.handle, h->b, h->len);
	pthread_mutex_lock(&c->ask);
	r = msg_ask(c->keeper_fd, MSG_HANDLE_OPEN, bytes_of(&q, sizeof q), (struct bytes){ 0 },
		    NULL, 0, PEER_F, PEER_K, c->reply, KEEPER_TIMEOUT_MS, NULL);
	if (r == 0)
		*ret_fd = wire_take_fd(c->reply, 0);
	wire_msg_fini(c->reply);
	pthread_mutex_unlock(&c->ask);
	return r;
}

int hcache_get(struct hcache *c, const struct fhandle *h, struct hentry **ret, int *ret_fd)
{
	struct hentry *e;
	int fd = -1;
	int r;

	pthread_mutex_lock(&c->lock);
	e = *find(c, h);
	if (e) {
		e->refs++;
		lru_remove(e);
		lru_front(c, e);
	}
	pthread_mutex_unlock(&c->lock);
	if (!e) {
		r = ask_keeper(c, h, &fd);
		if (r < 0)
			return r;
		e = insert(c, h, fd, true);
		if (!e)
			return -ENOMEM;
	}
	*ret = e;
	*ret_fd = e->fd;
	return 0;
}

void hcache_put(struct hcache *c, struct hentry *e)
{
	bool last;

	if (!e)
		return;
	pthread_mutex_lock(&c->lock);
	last = --e->refs == 0 && e->dropped;
	pthread_mutex_unlock(&c->lock);
	if (last)
		entry_free(e);
}

void hcache_offer(struct hcache *c, const struct fhandle *h, int fd)
{
	(void)insert(c, h, fd, false);
}

void hcache_drop(struct hcache *c, const struct fhandle *h)
{
	struct hentry *e = NULL;
	struct hentry **p;

	pthread_mutex_lock(&c->lock);
	p = find(c, h);
	if (*p)
		e = unhook(c, p);
	pthread_mutex_unlock(&c->lock);
	entry_free(e);
}

void hcache_sweep(struct hcache *c)
{
	for (unsigned b = 0; b < BUCKETS; b++) {
		struct hentry **p = &c->bucket[b];
		struct hentry *list = NULL, *e;
		struct stat st;

		pthread_mutex_lock(&c->lock);
		while (*p) {
			if (fstat((*p)->fd, &st) < 0 || st.st_nlink > 0) {
				p = &(*p)->chain;
				continue;
			}
			e = unhook(c, p);
			if (e) {
				e->chain = list;
				list = e;
			}
		}
		pthread_mutex_unlock(&c->lock);
		while ((e = list)) {
			list = e->chain;
			entry_free(e);
		}
	}
}

void hcache_free(struct hcache *c)
{
	if (!c)
		return;
	while (c->lru.next != &c->lru)
		entry_free(unhook(c, find(c, &c->lru.next->h)));
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->ask);
	free(c->reply);
	free(c);
}
