/* SPDX-License-Identifier: MIT */
/*
 * cli/up_keys.c - the first key of a server, keys of its config, and garth-api's spool. The format of keys: api/keys.h.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "cli/up.h"
#include "core/clock.h"
#include "core/fd.h"

#define KEYS_FILE_MAX (4u * 1024 * 1024)
#define ADMIN_PREFIX "garth_admin_"
#define SECRET_LEN 32u

static int add_key(int keys_fd, const struct config_key *k, struct err *err)
{
	char id[2 * 6 + 1], when[RFC3339_SIZE], line[512];
	uint8_t rnd[6];
	int len, r;

	if (getrandom(rnd, sizeof rnd, 0) != (ssize_t)sizeof rnd)
		return err_sys(err, "make a key");
	for (size_t i = 0; i < sizeof rnd; i++)
		(void)snprintf(id + 2 * i, 3, "%02x", rnd[i]);
	clock_rfc3339(clock_wall_ns(), when);
	len = snprintf(line, sizeof line, "k_%s %s %s %s %s %s %s\n", id, k->role,
		       k->ws[0] ? k->ws : "-", k->agent[0] ? k->agent : "-", k->sha, when,
		       k->label[0] ? k->label : "-");
	r = fd_write_full(keys_fd, line, (size_t)len);
	if (r == 0 && fsync(keys_fd) < 0)
		r = -errno;
	return r < 0 ? err_errno(err, r, "write the file keys in the data folder") : 0;
}

static int open_keys(struct up *u, int *ret_fd, struct buf *text, struct err *err)
{
	uint32_t api = u->cfg.ids_first;
	autofd fd = openat(u->data_fd, "keys", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
			   0600);
	int r;

	if (fd < 0 || fchown(fd, api, api) < 0 || fchmod(fd, 0600) < 0)
		return err_sys(err, "open the file keys in %s", u->data);
	r = fd_read_all(fd, text);
	if (r == 0 && text->len && text->p[text->len - 1] != '\n')
		r = fd_write_full(
			fd, "\n",
			1); /* a line that a crash cut off stays a line of its own, which nobody's key has */
	if (r < 0)
		return err_errno(err, r, "read the file keys in %s", u->data);
	*ret_fd = fd_steal(&fd);
	return 0;
}

/* admin.key is the one copy of the key's text; its hash must stand in keys. */
static int admin_key(struct up *u, int keys_fd, const struct buf *known, struct err *err)
{
	struct config_key k = { .role = "admin", .label = "admin.key" };
	char text[UP_SMALL_FILE], hex[2 * SECRET_LEN + 1];
	uint8_t secret[SECRET_LEN];
	struct sha256 sha;
	int r = up_small_file(u->data_fd, "admin.key", text, sizeof text);
	bool fresh = r == -ENOENT;

	if (r < 0 && !fresh)
		return err_errno(err, r, "read %s/admin.key", u->data);
	if (fresh) {
		if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret)
			return err_sys(err, "make a key");
		for (size_t i = 0; i < sizeof secret; i++)
			(void)snprintf(hex + 2 * i, 3, "%02x", secret[i]);
		(void)snprintf(text, sizeof text, ADMIN_PREFIX "%s", hex);
	}
	text[strcspn(text, "\r\n")] = '\0';
	sha256_of(bytes_str(text), &sha);
	sha256_hex(&sha, k.sha);
	if (!memmem(buf_str(known), known->len, k.sha, SHA256_HEX_LEN)) {
		r = add_key(keys_fd, &k, err);
		if (r < 0)
			return r;
	}
	if (!fresh)
		return 0;
	text[strlen(text) + 1] = '\0';
	text[strlen(text)] = '\n';
	return up_put_file(u->data_fd, "admin.key", text, err);
}

static int spool(struct up *u, struct err *err)
{
	uint32_t api = u->cfg.ids_first;
	autofd fd = -1;

	if (mkdirat(u->data_fd, "spool", 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make the folder spool in %s", u->data);
	fd = openat(u->data_fd, "spool", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fchown(fd, api, api) < 0 || fchmod(fd, 0700) < 0)
		return err_sys(err, "set the owner of the folder spool in %s", u->data);
	return 0;
}

int up_keys(struct up *u, struct err *err)
{
	autobuf known = { 0 };
	autofd fd = -1;
	int r;

	buf_init(&known, KEYS_FILE_MAX);
	r = open_keys(u, &fd, &known, err);
	if (r == 0)
		r = admin_key(u, fd, &known, err);
	for (unsigned i = 0; r == 0 && i < u->cfg.key_count; i++)
		if (!memmem(buf_str(&known), known.len, u->cfg.keys[i].sha, SHA256_HEX_LEN))
			r = add_key(fd, &u->cfg.keys[i], err);
	return r == 0 ? spool(u, err) : r;
}
