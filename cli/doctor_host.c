/* SPDX-License-Identifier: MIT */
/*
 * cli/doctor_host.c - what holds for the whole host.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "cli/doctor.h"
#include "core/fd.h"

#define CHECK_TEXT_MAX 65536u
#define KERNEL_MAJOR 5
#define KERNEL_MINOR 15

void doctor_parse(struct doctor *d, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *field[4] = { line, NULL, NULL, NULL };
		unsigned n = 1;

		for (char *p = line; *p; p++) {
			if (*p != '\t' || n == 4)
				continue;
			*p = '\0';
			field[n++] = p + 1;
		}
		if (n == 4)
			doctor_add(d,
				   strcmp(field[1], "ok") == 0     ? DOCTOR_OK
				   : strcmp(field[1], "warn") == 0 ? DOCTOR_WARN
								   : DOCTOR_FAIL,
				   field[0], field[3], "%s", field[2]);
	}
}

static void kernel(struct doctor *d)
{
	struct utsname u;
	int major = 0, minor = 0;
	bool old;

	(void)uname(&u);
	(void)sscanf(u.release, "%d.%d", &major, &minor);
	old = major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR);
	doctor_add(d, old ? DOCTOR_FAIL : DOCTOR_OK, "kernel", old ? "use Linux 5.15 or newer" : "",
		   "Linux %.200s", u.release);
}

static void fuse(struct doctor *d)
{
	autofd fd = up_fuse_open();

	if (fd >= 0)
		doctor_add(d, DOCTOR_OK, "/dev/fuse", "", "can be opened");
	else
		doctor_add(d, DOCTOR_FAIL, "/dev/fuse",
			   fd == -EACCES ? "run as root"
					 : "modprobe fuse, or pass the device to the container",
			   "%s", strerrordesc_np(-fd));
}

/* What garthd says of itself. */
static int check_output(const struct doctor *d, struct buf *out)
{
	char path[PATH_LEN_MAX + 32];
	int ends[2], status = 0, r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	(void)snprintf(path, sizeof path, "%s/garthd", d->up.libexec);
	pid = fork();
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)execl(path, "garthd", "--check", (char *)NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	r = pid < 0 ? -errno : fd_read_all(ends[0], out);
	(void)close(ends[0]);
	if (pid > 0 && waitpid(pid, &status, 0) < 0)
		return -errno;
	return r == 0 && status != 0 ? -EIO : r;
}

static void programs(struct doctor *d)
{
	static const char *const names[] = { "garthd", "garth-keeper", "garth-fs", "garth-api",
					     "garth-init" };
	char path[PATH_LEN_MAX + 32];
	autobuf text = { 0 };
	struct err err = { 0 };

	buf_init(&text, CHECK_TEXT_MAX);
	if (up_programs(&d->up, &err) < 0) {
		doctor_add(d, DOCTOR_FAIL, "programs", "build or install garth", "%s", err.msg);
		return;
	}
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", d->up.libexec, names[i]);
		if (access(path, X_OK) < 0) {
			doctor_add(d, DOCTOR_FAIL, "programs", "build or install garth",
				   "%s is not there", names[i]);
			return;
		}
	}
	doctor_add(d, DOCTOR_OK, "programs", "", "in %.280s", d->up.libexec);
	if (check_output(d, &text) < 0 || text.len == 0)
		doctor_add(d, DOCTOR_FAIL, "garthd", "build or install garth again",
			   "does not run");
	else
		doctor_parse(d, text.p);
}

void doctor_host(struct doctor *d)
{
	if (geteuid() == 0)
		doctor_add(d, DOCTOR_OK, "root", "", "yes");
	else
		doctor_add(d, DOCTOR_FAIL, "root", "run garth up, and this check, as root", "no");
	kernel(d);
	fuse(d);
	programs(d);
}
