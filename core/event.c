/* SPDX-License-Identifier: MIT */
/*
 * core/event.c - events to canonical bytes and back.
 * One walk over the fields serves both directions, so they cannot differ: in `packing` it writes what the struct holds, else it fills it.
 * It also holds the closed lists: a value out of its list is refused both ways.
 * Not here: the texts of the lists (core/event_text.c), shipping (core/ring.c), rows (index/apply.c).
 */
#include "core/event.h"

#include <stdbool.h>

#include "core/ids.h"
#include "core/pack.h"

struct walk {
	bool packing;
	bool bad; /* a value out of its list */
	struct pack k;
	struct unpack u;
};

static void u8(struct walk *w, uint8_t *v)
{
	if (w->packing)
		pack_u8(&w->k, *v);
	else
		*v = unpack_u8(&w->u);
}

static void u32(struct walk *w, uint32_t *v)
{
	if (w->packing)
		pack_u32(&w->k, *v);
	else
		*v = unpack_u32(&w->u);
}

static void u64(struct walk *w, uint64_t *v)
{
	if (w->packing)
		pack_u64(&w->k, *v);
	else
		*v = unpack_u64(&w->u);
}

static void i64(struct walk *w, int64_t *v)
{
	if (w->packing)
		pack_i64(&w->k, *v);
	else
		*v = unpack_i64(&w->u);
}

static void bytes(struct walk *w, struct bytes *v)
{
	if (w->packing)
		pack_bytes(&w->k, *v);
	else
		*v = unpack_bytes(&w->u);
}

/* One of 0..count-1, the first `from` of them left out. */
static void listed(struct walk *w, uint8_t *v, unsigned from, unsigned count)
{
	u8(w, v);
	if (*v < from || *v >= count)
		w->bad = true;
}

static void flag(struct walk *w, uint8_t *v)
{
	listed(w, v, 0, 2);
}

static void sha(struct walk *w, struct sha256 *v)
{
	struct bytes b = bytes_of(v->b, SHA256_LEN);

	bytes(w, &b);
	if (w->packing)
		return;
	if (b.len == SHA256_LEN)
		memcpy(v->b, b.p, SHA256_LEN);
	else
		w->bad = true;
}

/* A flag and, where it is set, the hash; else no bytes, whatever the struct holds. */
static void maybe_sha(struct walk *w, uint8_t *has, struct sha256 *v)
{
	struct bytes none = bytes_of(NULL, 0);

	flag(w, has);
	if (*has) {
		sha(w, v);
		return;
	}
	bytes(w, &none);
	if (!w->packing)
		*v = (struct sha256){ 0 };
	if (none.len)
		w->bad = true;
}

static void agent(struct walk *w, uint32_t *v)
{
	u32(w, v);
	if (*v >= IDS_AGENTS_MAX && *v != EV_NOBODY)
		w->bad = true;
}

/* Big-endian u64 ids, one after the other. */
static void id_list(struct walk *w, struct bytes *v)
{
	bytes(w, v);
	if (v->len % sizeof(uint64_t))
		w->bad = true;
}

static void who(struct walk *w, struct ev_who *v)
{
	agent(w, &v->agent);
	u64(w, &v->sandbox);
	u64(w, &v->step);
	flag(w, &v->late);
	id_list(w, &v->steps);
	if (v->step && v->steps.len)
		w->bad = true;
}

static void workspace(struct walk *w, struct event *e)
{
	bytes(w, &e->u.workspace.name);
	u32(w, &e->u.workspace.uid_base);
	u32(w, &e->u.workspace.gid);
}

static void start(struct walk *w, struct event *e)
{
	flag(w, &e->u.start.crashed);
	u64(w, &e->u.start.holes);
	bytes(w, &e->u.start.version);
}

static void policy(struct walk *w, struct event *e)
{
	sha(w, &e->u.policy.sha);
	bytes(w, &e->u.policy.key);
}

static void new_agent(struct walk *w, struct event *e)
{
	agent(w, &e->u.agent.agent);
	bytes(w, &e->u.agent.name);
}

static void sandbox(struct walk *w, struct event *e)
{
	u64(w, &e->u.sandbox.sandbox);
	agent(w, &e->u.sandbox.agent);
	flag(w, &e->u.sandbox.live);
}

static void sandbox_end(struct walk *w, struct event *e)
{
	u64(w, &e->u.sandbox_end.sandbox);
	bytes(w, &e->u.sandbox_end.why);
}

static void step_begin(struct walk *w, struct event *e)
{
	struct ev_step_begin *v = &e->u.step_begin;

	u64(w, &v->step);
	listed(w, &v->kind, 0, STEP_KIND_COUNT);
	u64(w, &v->parent);
	u64(w, &v->sandbox);
	agent(w, &v->agent);
	u32(w, &v->gid);
	bytes(w, &v->job);
	bytes(w, &v->request_id);
	bytes(w, &v->key);
	bytes(w, &v->command);
	bytes(w, &v->language);
	maybe_sha(w, &v->has_code, &v->code);
	sha(w, &v->policy);
	bytes(w, &v->env);
	bytes(w, &v->limits);
	bytes(w, &v->observed);
	u64(w, &v->wiped_files);
	u64(w, &v->wiped_bytes);
	id_list(w, &v->beside);
}

static void step_end(struct walk *w, struct event *e)
{
	struct ev_step_end *v = &e->u.step_end;

	u64(w, &v->step);
	listed(w, &v->reason, REASON_EXITED, REASON_COUNT);
	i64(w, &v->exit_code);
	u32(w, &v->signal);
	i64(w, &v->wall_ns);
	i64(w, &v->cpu_ns);
	u64(w, &v->memory_peak);
	u64(w, &v->stdout_bytes);
	u64(w, &v->stderr_bytes);
	flag(w, &v->stdout_cut);
	flag(w, &v->stderr_cut);
	bytes(w, &v->error);
	bytes(w, &v->detail);
}

static void version(struct walk *w, struct event *e)
{
	struct ev_version *v = &e->u.version;

	u64(w, &v->version);
	who(w, &v->who);
	bytes(w, &v->path);
	listed(w, &v->action, 0, ACTION_COUNT);
	listed(w, &v->state, 0, STATE_COUNT);
	maybe_sha(w, &v->has_sha, &v->sha);
	u64(w, &v->size);
	bytes(w, &v->media_type);
	u64(w, &v->source);
	u64(w, &v->ino);
	u64(w, &v->gen);
	flag(w, &v->kept);
}

static void version_state(struct walk *w, struct event *e)
{
	struct ev_version_state *v = &e->u.version_state;

	u64(w, &v->version);
	listed(w, &v->state, 0, STATE_COUNT);
	maybe_sha(w, &v->has_sha, &v->sha);
	u64(w, &v->size);
	flag(w, &v->kept);
}

static void reading(struct walk *w, struct event *e)
{
	who(w, &e->u.read.who);
	u64(w, &e->u.read.version);
	bytes(w, &e->u.read.path);
	flag(w, &e->u.read.open);
}

static void change(struct walk *w, struct event *e)
{
	who(w, &e->u.change.who);
	listed(w, &e->u.change.op, OP_NONE + 1, OP_COUNT);
	bytes(w, &e->u.change.path);
	bytes(w, &e->u.change.path2);
}

static void violation(struct walk *w, struct event *e)
{
	struct ev_violation *v = &e->u.violation;

	who(w, &v->who);
	listed(w, &v->op, OP_NONE + 1, OP_COUNT);
	bytes(w, &v->path);
	u32(w, &v->errnum);
	bytes(w, &v->rule);
	u64(w, &v->count);
}

static void doubt(struct walk *w, struct event *e)
{
	u64(w, &e->u.doubt.step);
	u64(w, &e->u.doubt.version);
	bytes(w, &e->u.doubt.path);
	bytes(w, &e->u.doubt.why);
}

static void verdict(struct walk *w, struct event *e)
{
	u64(w, &e->u.verdict.version);
	u64(w, &e->u.verdict.hook_step);
	flag(w, &e->u.verdict.pass);
	bytes(w, &e->u.verdict.reason);
}

static void (*const fields[EV_KIND_COUNT])(struct walk *, struct event *) = {
	[EV_WORKSPACE] = workspace,   [EV_START] = start,
	[EV_POLICY] = policy,         [EV_AGENT] = new_agent,
	[EV_SANDBOX] = sandbox,       [EV_SANDBOX_END] = sandbox_end,
	[EV_STEP_BEGIN] = step_begin, [EV_STEP_END] = step_end,
	[EV_VERSION] = version,       [EV_VERSION_STATE] = version_state,
	[EV_READ] = reading,          [EV_CHANGE] = change,
	[EV_VIOLATION] = violation,   [EV_DOUBT] = doubt,
	[EV_VERDICT] = verdict,
};

int event_pack(const struct event *e, void *room, size_t cap, size_t *ret_len)
{
	struct walk w = { .packing = true };
	struct event copy = *e; /* the walk takes what it can also fill; packing changes nothing */
	uint8_t kind = (uint8_t)e->kind;

	if (e->kind <= EV_NONE || e->kind >= EV_KIND_COUNT)
		return -EINVAL;
	pack_begin(&w.k, room, cap);
	u8(&w, &kind);
	i64(&w, &copy.at_ns);
	fields[kind](&w, &copy);
	return w.bad ? -EINVAL : pack_end(&w.k, ret_len);
}

int event_unpack(struct bytes from, struct event *ret)
{
	struct walk w = { .packing = false };
	struct event e = { .kind = EV_NONE };
	uint8_t kind = 0;

	unpack_begin(&w.u, from);
	u8(&w, &kind);
	if (kind <= EV_NONE || kind >= EV_KIND_COUNT)
		return -EBADMSG;
	e.kind = (enum event_kind)kind;
	i64(&w, &e.at_ns);
	fields[kind](&w, &e);
	if (w.bad || unpack_end(&w.u) < 0)
		return -EBADMSG;
	*ret = e;
	return 0;
}
