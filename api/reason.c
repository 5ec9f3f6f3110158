/* SPDX-License-Identifier: MIT */
/*
 * api/reason.c - the order in which causes are looked at.
 */
#include "api/reason.h"

#include <signal.h>
#include <sys/wait.h>

#define EXIT_KILLED 137 /* what a shell says of a child that SIGKILL ended */

struct end reason_of(const struct end_facts *f)
{
	struct end e = { .reason = REASON_LOST, .exit_code = -1 };
	bool failed;

	if (f->exited && WIFEXITED(f->wait_status))
		e.exit_code = WEXITSTATUS(f->wait_status);
	else if (f->exited && WIFSIGNALED(f->wait_status))
		e.signal = (unsigned)WTERMSIG(f->wait_status);
	failed = e.exit_code != 0;
	if (f->forced != REASON_NONE)
		e.reason = f->forced;
	else if (!f->exited)
		e.reason = REASON_LOST;
	else if (f->oom_kills > 0 && (e.signal == SIGKILL || e.exit_code == EXIT_KILLED))
		e.reason = REASON_MEMORY;
	else if (failed && f->pids_refused > 0)
		e.reason = REASON_PIDS;
	else if (failed && f->disk_full)
		e.reason = REASON_DISK;
	else
		e.reason = e.signal != 0 ? REASON_SIGNALED : REASON_EXITED;
	return e;
}

bool reason_disk_text(struct bytes text)
{
	static const char *const words[] = { "Disk quota exceeded", "No space left on device" };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (memmem(text.p, text.len, words[i], strlen(words[i])) != NULL)
			return true;
	return false;
}

bool reason_file_text(struct bytes text)
{
	static const char words[] = "File too large";

	return memmem(text.p, text.len, words, sizeof words - 1) != NULL;
}
