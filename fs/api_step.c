/* SPDX-License-Identifier: MIT */
/*
 * fs/api_step.c - STEP_BEGIN, STEP_END.
 */
#include <string.h>

#include "core/fd.h"
#include "core/id.h"
#include "core/ids.h"
#include "core/pack.h"
#include "fs/agent.h"
#include "fs/api.h"
#include "fs/cut.h"
#include "fs/emit.h"
#include "fs/logs.h"
#include "fs/seal.h"
#include "fs/step.h"
#include "fs/task.h"

struct texts {
	struct bytes command, env, limits, observed;
};

static bool cut_text(struct bytes *tail, uint32_t len, uint32_t max, struct bytes *ret)
{
	if (len > tail->len || len > max)
		return false;
	*ret = bytes_of(tail->p, len);
	*tail = bytes_of((const char *)tail->p + len, tail->len - len);
	return true;
}

static int check_begin(struct fs *fs, const struct wire_msg *m, struct texts *t, struct err *err)
{
	const struct msg_step_begin *q = msg_body(m);
	struct bytes tail = msg_tail(m);

	if (!cut_text(&tail, q->command_len, API_COMMAND_MAX, &t->command) ||
	    !cut_text(&tail, q->env_len, API_ENV_MAX, &t->env) ||
	    !cut_text(&tail, q->limits_len, API_LIMITS_MAX, &t->limits) ||
	    !cut_text(&tail, q->observed_len, API_OBSERVED_MAX, &t->observed) || tail.len != 0)
		return err_set(err, -EINVAL, "the texts of the step are too long or don't add up");
	if (q->kind >= STEP_KIND_COUNT || !agent_name(fs->agents, q->agent_block))
		return err_set(err, -EINVAL, "no such kind of step, or no such agent");
	return 0;
}

static int store_code(struct fs *fs, struct wire_msg *m, struct sha256 *ret, struct err *err)
{
	autobuf code;
	autofd fd = wire_take_fd(m, 0);
	int r;

	buf_init(&code, API_CODE_MAX);
	r = fd < 0 ? -EINVAL : fd_memfd_read(fd, &code);
	if (r == 0)
		r = cut_store(fs, buf_view(&code), ret);
	return r < 0 ? err_errno(err, r, "keep the step's code") : 0;
}

static void tell_begin(struct fs *fs, const struct step *st, const struct msg_step_begin *q,
		       const struct texts *t, const struct sha256 *code,
		       const struct msg_step_begin_reply *reply, struct bytes beside)
{
	struct event e = { .kind = EV_STEP_BEGIN };

	e.u.step_begin = (struct ev_step_begin){
		.step = st->id,
		.kind = (uint8_t)q->kind,
		.parent = q->parent,
		.sandbox = q->sandbox,
		.agent = q->agent_block,
		.gid = reply->gid,
		.job = bytes_str(q->job),
		.request_id = bytes_str(q->request_id),
		.key = bytes_str(q->key),
		.command = t->command,
		.language = bytes_str(q->language),
		.has_code = q->has_code != 0,
		.policy = st->policy->sha,
		.env = t->env,
		.limits = t->limits,
		.observed = t->observed,
		.wiped_files = reply->wiped_files,
		.wiped_bytes = reply->wiped_bytes,
		.beside = beside,
	};
	if (q->has_code)
		e.u.step_begin.code = *code;
	emit(fs, &e);
}

static void pack_ids(const uint64_t *ids, unsigned n, uint8_t room[IDS_STEPS_MAX * 8])
{
	struct pack k;

	pack_begin(&k, room, (size_t)IDS_STEPS_MAX * 8);
	for (unsigned i = 0; i < n; i++)
		pack_u64(&k, ids[i]);
}

/* The step stands: its slot, its empty task/, its logs. */
static int begin(struct fs *fs, struct client *c, const struct msg_step_begin *q,
		 struct sandbox *sb, struct msg_step_begin_reply *reply, struct step **ret,
		 int fds[4], uint64_t *beside, unsigned *ret_n, struct err *err)
{
	struct step *st = NULL;
	int r;

	*ret_n = steps_open_in(fs->steps, sb, beside, IDS_STEPS_MAX, NULL);
	if (sb->agent != q->agent_block)
		return err_set(err, -EINVAL, "the sandbox is another agent's");
	if (q->wipe && *ret_n == 0) {
		r = task_wipe(fs, sb, &reply->wiped_files, &reply->wiped_bytes, err);
		if (r < 0)
			return r;
	}
	r = step_add(fs->steps, sb, q->step ? q->step : id_make(), c, &st);
	if (r < 0)
		return err_set(err, r, "%u steps of this sandbox have living processes",
			       IDS_STEPS_MAX);
	reply->step = st->id;
	reply->gid = IDS_STEP_GID + st->slot;
	r = logs_begin(fs, st, q->log_max, c, fds, err);
	if (r < 0) {
		step_set_ended(fs->steps, st, false);
		step_put(fs->steps, st);
		return r;
	}
	*ret = st;
	return 0;
}

void api_step_begin(struct fs *fs, struct client *c, struct wire_msg *m)
{
	const struct msg_step_begin *q = msg_body(m);
	struct msg_step_begin_reply reply = { 0 };
	int fds[4] = { -1, -1, -1, -1 };
	uint64_t beside[IDS_STEPS_MAX];
	uint8_t packed[IDS_STEPS_MAX * 8];
	struct sandbox *sb = NULL;
	struct step *st = NULL;
	struct err err = { 0 };
	struct sha256 code;
	bool stored = false;
	struct texts t;
	unsigned n = 0;
	int r = check_begin(fs, m, &t, &err);

	if (r == 0) {
		sb = sandbox_by_id(fs->steps, q->sandbox);
		r = sb ? 0 : err_set(&err, -ENOENT, "no such sandbox");
	}
	if (r == 0 && q->has_code) {
		r = store_code(fs, m, &code, &err);
		stored = r == 0;
	}
	if (r == 0)
		r = begin(fs, c, q, sb, &reply, &st, fds, beside, &n, &err);
	if (r == 0) {
		pack_ids(beside, n, packed);
		tell_begin(fs, st, q, &t, &code, &reply, bytes_of(packed, (size_t)n * 8));
		r = emit_sync(fs);
	}
	if (stored)
		cut_stored(fs, &code);
	if (r < 0)
		client_status(c, MSG_STEP_BEGIN, m->head.id, r, &err);
	else
		client_reply(c, MSG_STEP_BEGIN, m->head.id, bytes_of(&reply, sizeof reply),
			     (struct bytes){ 0 }, fds, 4);
	for (int i = 0; i < 4; i++)
		fd_closep(&fds[i]);
	step_put(fs->steps, st);
	sandbox_put(fs->steps, sb);
}

static int check_end(const struct wire_msg *m, struct ev_step_end *ret, struct err *err)
{
	const struct msg_step_end *q = msg_body(m);
	struct bytes tail = msg_tail(m);

	*ret = (struct ev_step_end){
		.step = q->step,
		.reason = (uint8_t)q->reason,
		.exit_code = q->exit_code,
		.signal = q->signal,
		.wall_ns = q->wall_ns,
		.cpu_ns = q->cpu_ns,
		.memory_peak = q->memory_peak,
	};
	if (!cut_text(&tail, q->error_len, API_ERROR_MAX, &ret->error) ||
	    !cut_text(&tail, q->detail_len, API_DETAIL_MAX, &ret->detail) || tail.len != 0)
		return err_set(err, -E2BIG, "the error has at most %u bytes, the detail %u",
			       API_ERROR_MAX, API_DETAIL_MAX);
	if (q->reason == REASON_NONE || q->reason >= REASON_COUNT)
		return err_set(err, -EINVAL, "no such reason");
	return 0;
}

void api_step_end(struct fs *fs, struct client *c, struct wire_msg *m)
{
	const struct msg_step_end *q = msg_body(m);
	struct ev_step_end end;
	struct err err = { 0 };
	struct step *st = NULL;
	int r = check_end(m, &end, &err);

	if (r == 0) {
		st = step_by_id(fs->steps, q->step);
		r = st && st->client == c ? 0
					  : err_set(&err, -ENOENT, "no such open step of yours");
	}
	if (r == 0 && !step_set_ending(fs->steps, st))
		r = err_set(&err, -EALREADY, "the step is ending");
	if (r == 0) {
		r = seal_step(fs, st, &end, q->alive != 0, c, m->head.id);
		st = NULL;
	}
	if (r < 0)
		client_status(c, MSG_STEP_END, m->head.id, r, &err);
	step_put(fs->steps, st);
}

void api_step_lost(struct fs *fs, struct step *st)
{
	struct ev_step_end end = { .step = st->id, .reason = REASON_LOST, .exit_code = -1 };

	if (step_set_ending(fs->steps, st))
		(void)seal_step(fs, step_ref(fs->steps, st), &end, true, NULL, 0);
}
