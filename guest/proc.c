/* SPDX-License-Identifier: MIT */
/*
 * guest/proc.c - finds processes by gid in /proc.
 * Not here: reaping (guest/init.c).
 */
#include "guest/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fd.h"

#define STATUS_MAX 1024u /* bytes: "Gid:" is the tenth line, and a name takes 64 with all escapes */
#define PID_TEXT_SIZE 32

/* What follows "\nKEY" on its line; NULL where there is no such line. @text NUL-terminated. */
static const char *field(const char *text, const char *key)
{
	const char *p = text;
	size_t len = strlen(key);

	for (; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, key, len) == 0)
			return p + len;
	}
	return NULL;
}

bool proc_status_is(struct bytes status, uint32_t gid)
{
	char text[STATUS_MAX + 1];
	size_t len = status.len < STATUS_MAX ? status.len : STATUS_MAX;
	const char *state, *p;

	memcpy(text, status.p, len);
	text[len] = '\0';
	state = field(text, "State:");
	p = field(text, "Gid:");
	if (!state || !p)
		return false;
	state += strspn(state, " \t");
	if (*state == 'Z' || *state == 'X')
		return false;
	for (unsigned i = 0; i < 4; i++) {
		char *end;
		unsigned long v = strtoul(p, &end, 10);

		if (end == p)
			return false;
		if (v == gid)
			return true;
		p = end;
	}
	return false;
}

static bool process_is(int proc_fd, const char *pid, uint32_t gid)
{
	char name[PID_TEXT_SIZE], text[STATUS_MAX];
	autofd fd = -1;
	ssize_t n;

	if (snprintf(name, sizeof name, "%s/status", pid) >= (int)sizeof name)
		return false;
	fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false; /* gone */
	n = read(fd, text, sizeof text);
	return n > 0 && proc_status_is(bytes_of(text, (size_t)n), gid);
}

static pid_t pid_of(const char *name)
{
	char *end;
	long v;

	if (name[0] < '1' || name[0] > '9')
		return 0;
	v = strtol(name, &end, 10);
	return *end == '\0' && v < INT_MAX ? (pid_t)v : 0;
}

int proc_signal(uint32_t gid, int sig, pid_t also, struct err *err)
{
	DIR *dir = opendir("/proc");
	pid_t self = getpid();
	struct dirent *d;
	int n = 0;

	if (!dir)
		return err_sys(err, "open /proc");
	while ((d = readdir(dir))) {
		pid_t pid = pid_of(d->d_name);

		if (pid == 0 || pid == self)
			continue;
		if (pid != also && !process_is(dirfd(dir), d->d_name, gid))
			continue;
		if (kill(pid, sig) == 0)
			n++;
	}
	(void)closedir(dir);
	return n;
}
