/* SPDX-License-Identifier: MIT */
/*
 * cli/key_file.c - which key a client shows.
 */
#include "cli/key_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/fd.h"

static int accept_key(struct bytes key, const char *from, char **ret, struct err *err)
{
	const char *p = key.p;

	while (key.len &&
	       (p[key.len - 1] == '\n' || p[key.len - 1] == '\r' || p[key.len - 1] == ' '))
		key.len--;
	if (key.len == 0)
		return err_set(err, -EINVAL, "%s: the key is empty", from);
	for (size_t i = 0; i < key.len; i++)
		if (p[i] <= ' ' || p[i] > '~')
			return err_set(err, -EINVAL, "%s: the key has characters that no key has",
				       from);
	*ret = strndup(p, key.len);
	return *ret ? 0 : err_set(err, -ENOMEM, "no memory");
}

int key_find(char **ret, struct err *err)
{
	const char *key = getenv("GARTH_API_KEY"), *data = getenv("GARTH_DATA");
	autofd dir = -1;
	autofd fd = -1;
	autobuf text;
	int r;

	buf_init(&text, KEY_LEN_MAX);
	if (key && *key)
		return accept_key(bytes_str(key), "GARTH_API_KEY", ret, err);
	dir = open(data && *data ? data : DATA_DEFAULT, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = dir < 0 ? -1
		     : openat(dir, "admin.key", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return err_set(err, -ENOENT, "no key");
	r = fd_read_all(fd, &text);
	if (r < 0)
		return err_errno(err, r, "admin.key");
	return accept_key(buf_view(&text), "admin.key", ret, err);
}
