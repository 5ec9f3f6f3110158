/* SPDX-License-Identifier: MIT */
/*
 * fs/api_set.c - AGENT_ADD, POLICY_SET, VERDICT; and which function answers what.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/ids.h"
#include "fs/agent.h"
#include "fs/api.h"
#include "fs/cred.h"
#include "fs/cut.h"
#include "fs/emit.h"
#include "fs/node.h"
#include "fs/rec.h"
#include "fs/rec_own.h"
#include "fs/retain.h"
#include "fs/seal.h"
#include "fs/step.h"
#include "fs/tell.h"
#include "policy/policy.h"

#define AREA_MODE 0775
#define POLICY_MODE 0640

int api_make_area(struct fs *fs, const char *name, uint32_t block, struct err *err)
{
	autofd agents = -1, dir = -1;
	struct stat st;
	uint32_t uid = ids_agent_uid(fs->uid_base, block, IDS_UID_USER);
	int r;

	cred_own(fs);
	agents = openat(fs->data_fd, "agents", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (agents < 0)
		return err_sys(err, "open agents/");
	if (mkdirat(agents, name, AREA_MODE) < 0 && errno != EEXIST)
		return err_sys(err, "make agents/%s", name);
	dir = openat(agents, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		return err_sys(err, "open agents/%s", name);
	r = st.st_uid == uid ? 0 : cred_chown(fs, dir, uid);
	return r < 0 ? err_errno(err, r, "give agents/%s to its agent", name) : 0;
}

void api_agent_add(struct fs *fs, struct client *c, struct wire_msg *m)
{
	const struct msg_agent_add *q = msg_body(m);
	struct msg_agent_add_reply reply = { 0 };
	struct event e = { .kind = EV_AGENT };
	struct err err = { 0 };
	uint32_t block = 0;
	int r = ident_check(q->name, "agent", &err);

	if (r == 0) {
		r = agent_add(fs->agents, bytes_str(q->name), 0, &block);
		if (r == -EEXIST)
			(void)err_set(&err, r, "agent '%s' exists", q->name);
		else if (r == -ENOSPC)
			(void)err_set(&err, r, "a workspace has at most %u agents",
				      IDS_AGENTS_MAX - 1);
	}
	if (r == 0)
		r = api_make_area(fs, q->name, block, &err);
	if (r == 0) {
		e.u.agent = (struct ev_agent){ .agent = block, .name = bytes_str(q->name) };
		emit(fs, &e);
		r = emit_sync(fs);
		tell_entry(fs, fs->agents_node->id, q->name);
	}
	if (r < 0) {
		client_status(c, MSG_AGENT_ADD, m->head.id, r, &err);
		return;
	}
	reply.agent_block = block;
	client_reply(c, MSG_AGENT_ADD, m->head.id, bytes_of(&reply, sizeof reply),
		     (struct bytes){ 0 }, NULL, 0);
}

/* A copy for people; the truth is the record. */
static void write_copy(struct fs *fs, struct bytes yaml)
{
	autofd fd = -1;

	cred_own(fs);
	fd = openat(fs->store_fd, "policy.yaml.new",
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, POLICY_MODE);
	if (fd < 0 || fd_write_full(fd, yaml.p, yaml.len) < 0 ||
	    renameat(fs->store_fd, "policy.yaml.new", fs->store_fd, "policy.yaml") < 0)
		(void)unlinkat(fs->store_fd, "policy.yaml.new", 0);
}

static int take_policy(struct fs *fs, const char *key, struct bytes yaml, struct err *err)
{
	struct event e = { .kind = EV_POLICY };
	struct policy *p = NULL;
	struct sha256 sha;
	int r = policy_parse(yaml, &p, err);

	if (r < 0)
		return r;
	r = cut_store(fs, yaml, &sha);
	if (r == 0) {
		e.u.policy = (struct ev_policy){ .sha = sha, .key = bytes_str(key) };
		emit(fs, &e);
		cut_stored(fs, &sha);
		r = emit_sync(fs);
	}
	if (r < 0) {
		policy_unref(p);
		return err_errno(err, r, "keep the policy");
	}
	steps_set_policy(fs->steps, p);
	retain_mark(fs);
	retain_hint(fs);
	write_copy(fs, yaml);
	tell_below(fs, fs->root); /* what may be cached for everybody may have changed */
	return 0;
}

void api_policy_set(struct fs *fs, struct client *c, struct wire_msg *m)
{
	const struct msg_policy_set *q = msg_body(m);
	struct err err = { 0 };
	autobuf yaml;
	autofd fd = wire_take_fd(m, 0);
	int r;

	buf_init(&yaml, POLICY_TEXT_MAX);
	r = fd_memfd_read(fd, &yaml);
	if (r < 0)
		(void)err_errno(&err, r, "read the policy");
	else
		r = take_policy(fs, q->key, buf_view(&yaml), &err);
	client_status(c, MSG_POLICY_SET, m->head.id, r, &err);
}

/* The newest version with this number, under the lock; NULL: it is an older one. */
static struct rname *by_version(struct recs *r, uint64_t version)
{
	for (uint32_t i = 0; i < r->path_buckets; i++)
		for (struct rname *m = r->by_path[i]; m; m = m->chain)
			if (m->version == version)
				return m;
	return NULL;
}

void api_verdict(struct fs *fs, struct client *c, struct wire_msg *m)
{
	const struct msg_verdict *q = msg_body(m);
	struct event e = { .kind = q->hold ? EV_VERSION_STATE : EV_VERDICT };
	struct rname *name;

	recs_lock(fs->recs);
	name = by_version(fs->recs, q->version);
	if (q->hold)
		e.u.version_state = (struct ev_version_state){ .version = q->version,
							       .state = STATE_HELD,
							       .kept = !name || name->rec->kept };
	else
		e.u.verdict = (struct ev_verdict){ .version = q->version,
						   .hook_step = q->hook_step,
						   .pass = q->pass != 0,
						   .reason = bytes_str(q->reason) };
	if (name)
		name->rec->held = q->hold || !q->pass;
	emit(fs, &e);
	recs_unlock(fs->recs);
	client_status(c, MSG_VERDICT, m->head.id, emit_sync(fs), NULL);
}

static void api_flush(struct fs *fs, struct client *c, struct wire_msg *m)
{
	int r = seal_flush(fs, c, m->head.type, m->head.id);

	if (r < 0)
		client_status(c, m->head.type, m->head.id, r, NULL);
}

void api_handle(struct fs *fs, struct client *c, struct wire_msg *m)
{
	static const struct {
		uint16_t type;
		void (*answer)(struct fs *fs, struct client *c, struct wire_msg *m);
	} table[] = {
		{ MSG_AGENT_ADD, api_agent_add },
		{ MSG_POLICY_SET, api_policy_set },
		{ MSG_STEP_BEGIN, api_step_begin },
		{ MSG_STEP_END, api_step_end },
		{ MSG_FILE_OPEN, api_file_open },
		{ MSG_DIR_LIST, api_dir_list },
		{ MSG_OBJECT_OPEN, api_object_open },
		{ MSG_VERDICT, api_verdict },
		{ MSG_FLUSH, api_flush },
		{ MSG_SNAPSHOT, api_snapshot },
	};

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (table[i].type == m->head.type)
			table[i].answer(fs, c, m);
	cred_own(fs);
}

static void lost(void *ctx, struct step *st)
{
	api_step_lost(ctx, st);
}

void api_client_gone(struct fs *fs, struct client *c)
{
	steps_each_open(fs->steps, c, lost, fs);
}
