/* SPDX-License-Identifier: MIT */
/*
 * core/path.c - names, workspace paths, and opening below a directory.
 * Not here: which zone a path is in (policy/zone.c), removing trees (core/rmtree.c).
 */
#include "core/path.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/fd.h"

#define OPEN_RETRIES 64 /* openat2 gives EAGAIN where somebody renames on the way */
#define MKDIRS_MODE 0755u

int name_check_bytes(struct bytes name)
{
	const char *p = name.p;

	if (name.len == 0 || memchr(p, '/', name.len) || memchr(p, '\0', name.len))
		return -EINVAL;
	if (p[0] == '.' && (name.len == 1 || (name.len == 2 && p[1] == '.')))
		return -EINVAL;
	return name.len > NAME_LEN_MAX ? -ENAMETOOLONG : 0;
}

int name_check(const char *name)
{
	return name_check_bytes(bytes_str(name));
}

int path_check(struct bytes path, struct err *err)
{
	const char *p = path.p, *end = p + path.len;

	if (path.len == 0)
		return 0;
	if (path.len > PATH_LEN_MAX)
		return err_set(err, -ENAMETOOLONG, "path is longer than %d bytes", PATH_LEN_MAX);
	if (memchr(p, '\0', path.len))
		return err_set(err, -EINVAL, "path has a NUL byte");
	if (p[0] == '/')
		return err_set(err, -EINVAL, "path begins with a slash");
	for (;;) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		struct bytes part = bytes_of(p, (size_t)((slash ? slash : end) - p));

		if (part.len == 0)
			return err_set(err, -EINVAL,
				       slash ? "path has an empty part" : "path ends with a slash");
		if (part.len > NAME_LEN_MAX)
			return err_set(err, -ENAMETOOLONG, "path has a part longer than %d bytes",
				       NAME_LEN_MAX);
		if (name_check_bytes(part) < 0)
			return err_set(err, -EINVAL, "path has a '%.*s' part", (int)part.len, p);
		if (!slash)
			return 0;
		p = slash + 1;
	}
}

int ident_check(const char *name, const char *what, struct err *err)
{
	size_t len = strnlen(name, IDENT_SIZE);

	if (len == 0)
		return err_set(err, -EINVAL, "%s name is empty", what);
	if (len > IDENT_LEN_MAX)
		return err_set(err, -EINVAL, "%s name is longer than %d characters", what,
			       IDENT_LEN_MAX);
	for (size_t i = 0; i < len; i++) {
		bool plain =
			(name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9');

		if (!plain && (i == 0 || (name[i] != '-' && name[i] != '_')))
			return err_set(err, -EINVAL, "%s name must match [a-z0-9][a-z0-9_-]{0,62}",
				       what);
	}
	return 0;
}

int path_open_beneath(int dir_fd, const char *path, uint64_t flags, unsigned mode, int *ret_fd,
		      struct err *err)
{
	bool creates = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
	struct open_how how = {
		.flags = flags | O_CLOEXEC | O_NOFOLLOW,
		.mode = creates ? mode : 0, /* openat2 refuses a mode without a use */
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd, tries = 0;

	do
		fd = (int)syscall(SYS_openat2, dir_fd, *path ? path : ".", &how, sizeof how);
	while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < OPEN_RETRIES)));
	if (fd < 0)
		return err_sys(err, "open '%s'", path);
	*ret_fd = fd;
	return 0;
}

int path_mkdirs(int dir_fd, const char *path, unsigned mode, struct err *err)
{
	char part[NAME_LEN_MAX + 1];
	autofd at = -1;
	int r = path_check(bytes_str(path), err);

	if (r < 0)
		return r;
	while (*path) {
		size_t len = strcspn(path, "/");
		int from = at >= 0 ? at : dir_fd, next;

		memcpy(part, path, len);
		part[len] = '\0';
		if (mkdirat(from, part, mode ? mode : MKDIRS_MODE) < 0 && errno != EEXIST)
			return err_sys(err, "make folder '%s'", part);
		r = path_open_beneath(from, part, O_PATH | O_DIRECTORY, 0, &next, err);
		if (r < 0)
			return r;
		fd_closep(&at);
		at = next;
		path += len + (path[len] == '/');
	}
	return 0;
}
