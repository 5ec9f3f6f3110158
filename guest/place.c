/* SPDX-License-Identifier: MIT */
/*
 * guest/place.c - the runner, the code and the reports in /run/garth.
 * Not here: files of the workspace (guest/spawn.c, guest/put.c).
 */
#include "guest/place.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include "core/fd.h"
#include "core/path.h"
#include "guest/hints_py.h"
#include "guest/layout.h"
#include "guest/runner_py.h"

#define FOLDER_MODE 0755u
#define REPORTS_MODE \
	0731u /* programs may open a name they know; inside root's group, which is garth-init alone, may make one */
#define READ_ONLY 0444u
#define REPORT_MODE 0600u
#define NEW_NAME ".new"

static int make_folder(int run_fd, const char *name, unsigned mode, int *ret_fd, struct err *err)
{
	autofd fd = -1;
	int r;

	if (mkdirat(run_fd, name, mode) < 0 && errno != EEXIST)
		return err_sys(err, "make %s", name);
	r = path_open_beneath(run_fd, name, O_RDONLY | O_DIRECTORY, 0, &fd, err);
	if (r < 0)
		return r;
	if (fchmod(fd, mode) < 0)
		return err_sys(err, "chmod %s", name);
	*ret_fd = fd_steal(&fd);
	return 0;
}

/* Write beside, then rename: a program that is being started reads the old or the new text, never half of one. */
static int write_file(int dir_fd, const char *name, struct bytes data, struct err *err)
{
	autofd fd = -1;
	int r;

	(void)unlinkat(dir_fd, NEW_NAME, 0);
	r = path_open_beneath(dir_fd, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL, READ_ONLY, &fd, err);
	if (r < 0)
		return r;
	r = fd_write_full(fd, data.p, data.len);
	if (r == 0 && (fchmod(fd, READ_ONLY) < 0 || renameat(dir_fd, NEW_NAME, dir_fd, name) < 0))
		r = -errno;
	if (r < 0) {
		(void)unlinkat(dir_fd, NEW_NAME, 0);
		return err_errno(err, r, "write %s", name);
	}
	return 0;
}

int place_init(int run_fd, int *ret_code_fd, int *ret_report_fd, struct err *err)
{
	autofd code = -1, report = -1;
	int r = make_folder(run_fd, GUEST_CODE_DIR, FOLDER_MODE, &code, err);

	if (r == 0)
		r = make_folder(run_fd, GUEST_REPORT_DIR, REPORTS_MODE, &report, err);
	if (r == 0)
		r = write_file(run_fd, "runner.py", bytes_of(guest_runner_py, guest_runner_py_len),
			       err);
	if (r == 0)
		r = write_file(run_fd, "hints.py", bytes_of(guest_hints_py, guest_hints_py_len),
			       err);
	if (r < 0)
		return r;
	*ret_code_fd = fd_steal(&code);
	*ret_report_fd = fd_steal(&report);
	return 0;
}

int place_code(int code_fd, const char *name, struct bytes code, struct err *err)
{
	static const char *const names[] = { "main.py", "main.sh" };
	int r;

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(names[i], name) != 0)
			(void)unlinkat(code_fd, names[i], 0);
	r = write_file(code_fd, name, code, err);
	if (r != -ENOSPC)
		return r;
	(void)unlinkat(code_fd, name, 0); /* there is room for one long program, not for two */
	return write_file(code_fd, name, code, err);
}

void place_report_name(uint64_t step, char name[PLACE_REPORT_SIZE], char path[PLACE_REPORT_SIZE])
{
	(void)snprintf(name, PLACE_REPORT_SIZE, "%016" PRIx64, step);
	(void)snprintf(path, PLACE_REPORT_SIZE, GUEST_RUN "/" GUEST_REPORT_DIR "/%s", name);
}

int place_report_make(int report_fd, const char *name, uint32_t uid, int *ret_fd, struct err *err)
{
	uid_t self = (uid_t)setfsuid(uid);
	int fd, r;

	(void)unlinkat(report_fd, name, 0);
	r = path_open_beneath(report_fd, name, O_RDWR | O_CREAT | O_EXCL, REPORT_MODE, &fd, err);
	(void)setfsuid(self);
	if (r < 0)
		return err_wrap(err, r, "report");
	*ret_fd = fd;
	return 0;
}

int place_report_read(int fd, struct buf *b)
{
	struct stat st;
	size_t got = 0;
	char *room;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < 0 || (uintmax_t)st.st_size > b->max - b->len)
		return -EFBIG;
	if (st.st_size == 0)
		return 0;
	r = buf_reserve(b, (size_t)st.st_size, &room);
	if (r < 0)
		return r;
	while (got < (size_t)st.st_size) { /* its program may still be writing, or cutting it */
		ssize_t n = pread(fd, room + got, (size_t)st.st_size - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	b->len += got;
	b->p[b->len] = '\0';
	return 0;
}
