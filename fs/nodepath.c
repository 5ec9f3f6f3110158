/* SPDX-License-Identifier: MIT */
/*
 * fs/nodepath.c - walks up and down the node table: paths, search bits, who owns a log.
 * Not here: the life of nodes (fs/node.c).
 */
#include <string.h>

#include "core/ids.h"
#include "fs/node.h"
#include "fs/node_own.h"

#define DEPTH_MAX 4096u /* folders above one another; a path of PATH_LEN_MAX bytes has fewer */

static const struct node *parent_of(const struct node *n)
{
	return n->names ? n->names->parent : NULL;
}

/* Put "/part" before what room holds from *at on. */
static int prepend(char *room, size_t *at, const char *part)
{
	size_t len = strlen(part);

	if (*at != PATH_LEN_MAX) {
		if (*at == 0)
			return -ENAMETOOLONG;
		room[--*at] = '/';
	}
	if (len > *at)
		return -ENAMETOOLONG;
	*at -= len;
	memcpy(room + *at, part, len);
	return 0;
}

static int build(const struct node *n, const struct nname *first, const char *name, char *room,
		 size_t *ret_len)
{
	size_t at = PATH_LEN_MAX;
	int r = name ? prepend(room, &at, name) : 0;
	unsigned depth = 0;

	while (r == 0 && n->kind != NODE_ROOT && first && depth++ < DEPTH_MAX) {
		bool task = n->kind == NODE_TASK;

		r = prepend(room, &at, task ? "task" : first->name);
		if (task)
			break;
		n = first->parent;
		first = n->names;
	}
	if (r < 0)
		return r;
	*ret_len = PATH_LEN_MAX - at;
	memmove(room, room + at, *ret_len);
	room[*ret_len] = '\0';
	return 0;
}

int node_path(struct nodes *t, const struct node *n, const char *name, char room[PATH_LEN_MAX + 1],
	      size_t *ret_len)
{
	int r;

	pthread_mutex_lock(&t->lock);
	r = build(n, n->names, name, room, ret_len);
	pthread_mutex_unlock(&t->lock);
	return r;
}

int node_path_nth(struct nodes *t, const struct node *n, unsigned i, char room[PATH_LEN_MAX + 1],
		  size_t *ret_len)
{
	const struct nname *nm;
	int r = -ENOENT;

	pthread_mutex_lock(&t->lock);
	for (nm = n->names; nm && i > 0; nm = nm->next)
		i--;
	if (nm)
		r = build(n, nm, NULL, room, ret_len);
	pthread_mutex_unlock(&t->lock);
	return r;
}

static bool may_search(const struct node *n, uint32_t as, uint32_t block)
{
	bool owner = n->uid == as || (block != 0 && n->uid - block < IDS_BLOCK);

	return (n->mode & (owner ? S_IXUSR : S_IXGRP)) != 0;
}

bool node_searchable(struct nodes *t, const struct node *n, uint32_t as, uint32_t block, bool self)
{
	bool ok = true;
	unsigned depth = 0;

	pthread_mutex_lock(&t->lock);
	for (n = self ? n : parent_of(n); n && ok && depth < DEPTH_MAX; n = parent_of(n), depth++) {
		ok = may_search(n, as, block);
		if (n->kind == NODE_TASK)
			break;
	}
	pthread_mutex_unlock(&t->lock);
	return ok;
}

bool node_hidden(struct nodes *t, const struct node *n, bool self)
{
	bool hidden = false;
	unsigned depth = 0;

	pthread_mutex_lock(&t->lock);
	for (n = self ? n : parent_of(n); n && !hidden && depth < DEPTH_MAX;
	     n = parent_of(n), depth++) {
		hidden = (n->mode & (S_IXUSR | S_IXGRP)) != (S_IXUSR | S_IXGRP);
		if (n->kind == NODE_TASK)
			break;
	}
	pthread_mutex_unlock(&t->lock);
	return hidden;
}

bool node_log_owner(struct nodes *t, const struct node *n, uint32_t *ret_uid)
{
	const struct node *up, *upup;
	bool found = false;

	pthread_mutex_lock(&t->lock);
	for (; n && !found; n = up) {
		up = parent_of(n);
		upup = up ? parent_of(up) : NULL;
		if (!upup || upup->kind != NODE_ROOT)
			continue;
		if (strcmp(up->names->name, "logs") == 0) {
			*ret_uid = n->uid;
			found = true;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}

void node_below(struct nodes *t, const struct node *top, void (*fn)(void *ctx, uint64_t id),
		void *ctx)
{
	pthread_mutex_lock(&t->lock);
	for (uint32_t s = 1; s < t->used; s++) {
		const struct node *n = t->slot[s].node;
		unsigned depth = 0;

		while (n && n != top && depth++ < DEPTH_MAX)
			n = parent_of(n);
		if (n == top && t->slot[s].node)
			fn(ctx, t->slot[s].node->id);
	}
	pthread_mutex_unlock(&t->lock);
}
