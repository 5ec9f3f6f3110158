/* SPDX-License-Identifier: MIT */
/*
 * core/msg.c - the table of messages, and the check that everything passes before it is looked at.
 * Not here: sending and receiving bytes (core/wire.c), what a message does (its receiver's folder).
 */
#include "core/msg.h"

#include "core/clock.h"

/* msg_none stands for "no such struct"; every real body is larger. */
#define SIZE_OF(body) \
	(sizeof(struct body) > sizeof(struct msg_none) ? (uint32_t)sizeof(struct body) : 0)
#define X(name, num, from, to, body, fmin, fmax, reply, rfds)       \
	{ (num),  #name,  PEER_##from,    PEER_##to, SIZE_OF(body), \
	  (fmin), (fmax), SIZE_OF(reply), (rfds) },

const struct msg_spec msg_specs[] = { MSG_TABLE(X) };
#undef X
const unsigned msg_spec_count = sizeof msg_specs / sizeof msg_specs[0];

/* Every char[] of a body that is text: it must end within its array. */
struct text_field {
	uint16_t type; /* as on the wire, with WIRE_REPLY for an answer's */
	size_t off, size;
};
#define T(name, body, field)                                                                 \
	{                                                                                    \
		MSG_##name, offsetof(struct body, field), sizeof((struct body *)NULL)->field \
	}
#define R(name, body, field)                                           \
	{                                                              \
		MSG_##name | WIRE_REPLY, offsetof(struct body, field), \
			sizeof((struct body *)NULL)->field             \
	}

static const struct text_field text_fields[] = {
	T(WS_CREATE, msg_ws_create, name),    T(WS_DELETE, msg_ws_delete, name),
	T(WS_OPEN, msg_ws_open, name),        T(SB_CREATE, msg_sb_create, ws),
	T(SB_CREATE, msg_sb_create, agent),   T(SB_KILL, msg_sb_kill, why),
	T(SB_GONE, msg_sb_gone, why),         T(WS_GONE, msg_ws_gone, name),
	T(KEEPER_FAIL, msg_keeper_fail, why), T(FS_SANDBOX_END, msg_fs_sandbox_end, why),
	T(AGENT_ADD, msg_agent_add, name),    T(POLICY_SET, msg_policy_set, key),
	T(STEP_BEGIN, msg_step_begin, job),   T(STEP_BEGIN, msg_step_begin, request_id),
	T(STEP_BEGIN, msg_step_begin, key),   T(STEP_BEGIN, msg_step_begin, language),
	T(FILE_OPEN, msg_file_open, sha),     R(FILE_OPEN, msg_file_open_reply, sha),
	T(VERDICT, msg_verdict, reason),      T(PUT, msg_put, if_sha),
};

const struct msg_spec *msg_spec_of(uint16_t type)
{
	for (unsigned i = 0; i < msg_spec_count; i++)
		if (msg_specs[i].type == type)
			return &msg_specs[i];
	return NULL;
}

static bool is_reply(const struct wire_msg *m)
{
	return (m->head.type & WIRE_REPLY) != 0;
}

static const struct msg_spec *spec_of(const struct wire_msg *m)
{
	return msg_spec_of((uint16_t)(m->head.type & ~WIRE_REPLY));
}

int32_t msg_status_of(const struct wire_msg *m)
{
	int32_t status = 0;

	if (!is_reply(m) || m->head.len < sizeof status)
		return -EBADMSG;
	memcpy(&status, m->body, sizeof status);
	return status;
}

/* The bytes before the tail. A refusal is a bare msg_status, also where the answer would have a struct of its own. */
static size_t body_size(const struct msg_spec *spec, const struct wire_msg *m)
{
	if (!is_reply(m))
		return spec->body;
	return msg_status_of(m) < 0 ? sizeof(struct msg_status) : spec->reply;
}

static int check_request(const struct msg_spec *spec, const struct wire_msg *m, enum msg_peer from,
			 enum msg_peer to, struct err *err)
{
	if (spec->from != from || spec->to != to)
		return err_set(err, -EBADMSG, "message %s goes the wrong way", spec->name);
	if (m->head.fds < spec->fds_min || m->head.fds > spec->fds_max)
		return err_set(err, -EBADMSG, "message %s with %u descriptors", spec->name,
			       m->head.fds);
	return 0;
}

static int check_reply(const struct msg_spec *spec, const struct wire_msg *m, enum msg_peer from,
		       enum msg_peer to, struct err *err)
{
	unsigned want;

	if (spec->reply == 0 || spec->from != to || spec->to != from || m->head.id == 0)
		return err_set(err, -EBADMSG, "an answer to %s that nobody asked for", spec->name);
	if (m->head.len < sizeof(struct msg_status))
		return err_set(err, -EBADMSG, "answer to %s is too short", spec->name);
	want = msg_status_of(m) < 0 ? 0 : spec->reply_fds;
	if (m->head.fds != want)
		return err_set(err, -EBADMSG, "answer to %s with %u descriptors", spec->name,
			       m->head.fds);
	return 0;
}

int msg_check(const struct wire_msg *m, enum msg_peer from, enum msg_peer to, struct err *err)
{
	const struct msg_spec *spec = spec_of(m);
	size_t size;
	int r;

	if (!spec)
		return err_set(err, -EBADMSG, "unknown message %u", m->head.type & ~WIRE_REPLY);
	r = is_reply(m) ? check_reply(spec, m, from, to, err)
			: check_request(spec, m, from, to, err);
	if (r < 0)
		return r;
	size = body_size(spec, m);
	if (m->head.len < size || m->head.len - size > WIRE_TAIL_MAX)
		return err_set(err, -EBADMSG, "message %s with %u bytes", spec->name, m->head.len);
	for (unsigned i = 0; i < sizeof text_fields / sizeof text_fields[0]; i++) {
		const struct text_field *f = &text_fields[i];

		if (f->type != m->head.type || f->off + f->size > size)
			continue;
		if (!msg_text_ok((const char *)m->body + f->off, f->size))
			return err_set(err, -EBADMSG, "message %s with text that does not end",
				       spec->name);
	}
	return 0;
}

const void *msg_body(const struct wire_msg *m)
{
	return m->body;
}

struct bytes msg_tail(const struct wire_msg *m)
{
	const struct msg_spec *spec = spec_of(m);
	size_t size;

	if (!spec)
		return bytes_of(NULL, 0);
	size = body_size(spec, m);
	if (m->head.len <= size)
		return bytes_of(NULL, 0);
	return bytes_of(m->body + size, m->head.len - size);
}

bool msg_text_ok(const char *s, size_t size)
{
	return memchr(s, '\0', size) != NULL;
}

int msg_reply_status(int sock, const struct wire_msg *request, int status, const struct err *err)
{
	struct msg_status body = { .status = status };
	struct bytes tail = bytes_of(NULL, 0);

	if (request->head.id == 0)
		return 0; /* it wants no answer */
	if (status != 0 && err)
		tail = bytes_str(err->msg);
	return wire_send(sock, (uint16_t)(request->head.type | WIRE_REPLY), request->head.id,
			 bytes_of(&body, sizeof body), tail, NULL, 0);
}

int msg_ask(int sock, uint16_t type, struct bytes body, struct bytes tail, const int *fds,
	    unsigned nfds, enum msg_peer me, enum msg_peer peer, struct wire_msg *reply,
	    int timeout_ms, struct err *err)
{
	const struct msg_spec *spec = msg_spec_of(type);
	uint64_t id = (uint64_t)clock_mono_ns() |
		      1; /* never 0; unlike that of a question given up before */
	int r;

	if (!spec || spec->reply == 0 || body.len != spec->body)
		return err_set(err, -EINVAL, "message %u cannot be asked so", type);
	r = wire_send(sock, type, id, body, tail, fds, nfds);
	if (r < 0)
		return err_errno(err, r == -ECONNRESET ? -EPIPE : r, "ask %s", spec->name);
	r = wire_recv_timeout(sock, reply, timeout_ms);
	if (r == 0 || r == -ECONNRESET)
		return err_set(err, -EPIPE, "ask %s: the peer is gone", spec->name);
	if (r < 0)
		return err_errno(err, r, "ask %s", spec->name);
	r = msg_check(reply, peer, me, err);
	if (r == 0 && (reply->head.type != (type | WIRE_REPLY) || reply->head.id != id))
		r = err_set(err, -EBADMSG, "ask %s: something else came", spec->name);
	if (r < 0) {
		wire_msg_fini(reply);
		return r;
	}
	r = msg_status_of(reply);
	if (r < 0) {
		struct bytes why = msg_tail(reply);

		if (why.len)
			(void)err_set(err, r, "%.*s", (int)why.len, (const char *)why.p);
		else
			(void)err_errno(err, r, "%s", spec->name);
	}
	return r;
}
