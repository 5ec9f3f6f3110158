/* SPDX-License-Identifier: MIT */
/*
 * core/event_text.c - the closed lists of the record as text. The texts are API (docs/API.md): added to, never changed.
 * Not here: the bytes of an event (core/event.c).
 */
#include <stddef.h>

#include "core/event.h"

static const char *text_of(const char *const *texts, unsigned count, unsigned i)
{
	return i < count ? texts[i] : NULL;
}

const char *ev_reason_text(enum ev_reason r)
{
	static const char *const texts[REASON_COUNT] = {
		[REASON_EXITED] = "exited",   [REASON_SIGNALED] = "signaled",
		[REASON_TIMEOUT] = "timeout", [REASON_MEMORY] = "memory",
		[REASON_DISK] = "disk",       [REASON_PIDS] = "pids",
		[REASON_KILLED] = "killed",   [REASON_REFUSED] = "refused",
		[REASON_LOST] = "lost",
	};

	return text_of(texts, REASON_COUNT, (unsigned)r);
}

const char *ev_step_kind_text(enum ev_step_kind k)
{
	static const char *const texts[STEP_KIND_COUNT] = {
		[STEP_RUN] = "run",
		[STEP_UPLOAD] = "upload",
		[STEP_PRE_HOOK] = "pre_step",
		[STEP_POST_HOOK] = "post_step",
		[STEP_OUTPUT_HOOK] = "on_output",
	};

	return text_of(texts, STEP_KIND_COUNT, (unsigned)k);
}

const char *ev_action_text(enum ev_action a)
{
	static const char *const texts[ACTION_COUNT] = {
		[ACTION_CREATED] = "created",
		[ACTION_MODIFIED] = "modified",
		[ACTION_RENAMED] = "renamed",
		[ACTION_LINKED] = "linked",
	};

	return text_of(texts, ACTION_COUNT, (unsigned)a);
}

const char *ev_state_text(enum ev_state s)
{
	static const char *const texts[STATE_COUNT] = {
		[STATE_OPEN] = "open", [STATE_SEALED] = "sealed", [STATE_UNHASHED] = "unhashed",
		[STATE_HELD] = "held", [STATE_DOUBT] = "doubt",   [STATE_PRUNED] = "pruned",
	};

	return text_of(texts, STATE_COUNT, (unsigned)s);
}

const char *ev_op_text(enum ev_op o)
{
	static const char *const texts[OP_COUNT] = {
		[OP_READ] = "read",           [OP_LIST] = "list",
		[OP_STAT] = "stat",           [OP_CREATE] = "create",
		[OP_WRITE] = "write",         [OP_TRUNCATE] = "truncate",
		[OP_MKDIR] = "mkdir",         [OP_RMDIR] = "rmdir",
		[OP_UNLINK] = "unlink",       [OP_RENAME] = "rename",
		[OP_LINK] = "link",           [OP_SYMLINK] = "symlink",
		[OP_MKNOD] = "mknod",         [OP_CHMOD] = "chmod",
		[OP_CHOWN] = "chown",         [OP_UTIMES] = "utimes",
		[OP_SETXATTR] = "setxattr",   [OP_REMOVEXATTR] = "removexattr",
		[OP_FALLOCATE] = "fallocate", [OP_COPY] = "copy",
		[OP_IOCTL] = "ioctl",
	};

	return text_of(texts, OP_COUNT, (unsigned)o);
}
