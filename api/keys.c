/* SPDX-License-Identifier: MIT */
/*
 * api/keys.c - the file of keys and its copy in memory.
 */
#include "api/keys.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/clock.h"
#include "core/fd.h"

#define KEYS_FILE_MAX (KEYS_MAX * 512u)
#define KEY_RANDOM 24u /* bytes; 192 bits */

struct keys {
	int dir_fd;
	struct key *items;
	unsigned count;
	struct stat seen; /* of the file as it was read */
};

static const char *const role_names[] = {
	"none", "reader", "auditor", "agent", "admin", "removed"
};

const char *role_text(enum role r)
{
	return role_names[r];
}

enum role role_parse(const char *s)
{
	for (int i = ROLE_READER; i <= ROLE_ADMIN; i++)
		if (strcmp(s, role_names[i]) == 0)
			return (enum role)i;
	return ROLE_NONE;
}

/* The next blank-separated field into out; "-" becomes "". */
static int field(struct bytes *line, char *out, size_t size)
{
	const char *p = line->p;
	size_t i = 0, n = 0;

	while (i < line->len && p[i] == ' ')
		i++;
	while (i + n < line->len && p[i + n] != ' ')
		n++;
	if (n == 0 || n >= size)
		return -EINVAL;
	memcpy(out, p + i, n);
	out[n] = '\0';
	if (strcmp(out, "-") == 0)
		out[0] = '\0';
	line->p = p + i + n;
	line->len -= i + n;
	return 0;
}

/* What a role needs. */
static bool whole(const struct key *k)
{
	switch (k->role) {
	case ROLE_ADMIN:
	case ROLE_REMOVED: return true;
	case ROLE_AGENT: return k->ws[0] != '\0' && k->agent[0] != '\0';
	case ROLE_AUDITOR:
	case ROLE_READER: return k->ws[0] != '\0'; /* only an admin's key is for every workspace */
	case ROLE_NONE: break;
	}
	return false;
}

int key_parse_line(struct bytes line, struct key *ret)
{
	struct key k = { 0 };
	char role[16], sha[SHA256_HEX_SIZE];
	const struct {
		char *to;
		size_t size;
	} fields[] = { { k.id, sizeof k.id },      { role, sizeof role },
		       { k.ws, sizeof k.ws },      { k.agent, sizeof k.agent },
		       { sha, sizeof sha },        { k.created, sizeof k.created },
		       { k.label, sizeof k.label } };

	if (memchr(line.p, '\0', line.len) != NULL)
		return -EINVAL;
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if (field(&line, fields[i].to, fields[i].size) < 0)
			return -EINVAL;
	k.role = strcmp(role, role_names[ROLE_REMOVED]) == 0 ? ROLE_REMOVED : role_parse(role);
	if (k.id[0] == '\0' || !whole(&k))
		return -EINVAL;
	if (k.role != ROLE_REMOVED && sha256_parse(sha, &k.sha) < 0)
		return -EINVAL;
	*ret = k;
	return 0;
}

static unsigned forget(struct key *items, unsigned n, const char *id)
{
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++)
		if (strcmp(items[i].id, id) != 0)
			items[left++] = items[i];
	return left;
}

/* Lines that make no sense are skipped: they open nothing. */
static int parse_all(struct bytes text, struct key **ret, unsigned *ret_count)
{
	struct key *items = calloc(KEYS_MAX, sizeof *items);
	const char *p = text.p, *end = p + text.len;
	unsigned n = 0;

	if (items == NULL)
		return -ENOMEM;
	while (p < end && n < KEYS_MAX) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl != NULL ? nl : end;

		if (stop > p && key_parse_line(bytes_of(p, (size_t)(stop - p)), &items[n]) == 0)
			n = items[n].role == ROLE_REMOVED ? forget(items, n, items[n].id) : n + 1;
		p = stop + 1;
	}
	*ret = items;
	*ret_count = n;
	return 0;
}

static int read_file(struct keys *k)
{
	autofd fd = openat(k->dir_fd, KEYS_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	autobuf text;
	struct key *items = NULL;
	struct stat st;
	unsigned n = 0;
	int rc;

	buf_init(&text, KEYS_FILE_MAX);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	rc = fd_read_all(fd, &text);
	if (rc == 0 && text.len > 0)
		rc = parse_all(buf_view(&text), &items, &n);
	if (rc < 0)
		return rc;
	free(k->items);
	k->items = items;
	k->count = n;
	k->seen = st;
	return 0;
}

int keys_open(int dir_fd, struct keys **ret, struct err *err)
{
	struct keys *k = calloc(1, sizeof *k);
	int rc;

	if (k == NULL)
		return err_set(err, -ENOMEM, "no memory for the keys");
	k->dir_fd = dir_fd;
	rc = read_file(k);
	if (rc < 0) {
		free(k);
		return err_errno(err, rc, "read the file 'keys'");
	}
	*ret = k;
	return 0;
}

void keys_close(struct keys *k)
{
	if (k == NULL)
		return;
	free(k->items);
	free(k);
}

void keys_refresh(struct keys *k)
{
	struct stat st;

	if (fstatat(k->dir_fd, KEYS_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (st.st_ino == k->seen.st_ino && st.st_size == k->seen.st_size &&
	    st.st_mtim.tv_sec == k->seen.st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == k->seen.st_mtim.tv_nsec)
		return;
	(void)read_file(k);
}

const struct key *keys_find(struct keys *k, struct bytes text)
{
	const struct key *found = NULL;
	struct sha256 sha;

	keys_refresh(k);
	sha256_of(text, &sha);
	for (unsigned i = 0; i < k->count; i++)
		if (CRYPTO_memcmp(sha.b, k->items[i].sha.b, sizeof sha.b) == 0)
			found = &k->items[i];
	return found;
}

static const char *dash(const char *s)
{
	return s[0] != '\0' ? s : "-";
}

static int print_line(struct buf *b, const struct key *key)
{
	char sha[SHA256_HEX_SIZE];

	sha256_hex(&key->sha, sha);
	return buf_addf(b, "%s %s %s %s %s %s %s\n", key->id, role_text(key->role), dash(key->ws),
			dash(key->agent), sha, dash(key->created), dash(key->label));
}

/* "garth_agent_<48 hex digits>" */
static int invent(struct key *key, char text[KEY_TEXT_SIZE])
{
	uint8_t id[8], rnd[KEY_RANDOM];
	char when[RFC3339_SIZE];
	size_t n;

	if (RAND_bytes(id, sizeof id) != 1 || RAND_bytes(rnd, sizeof rnd) != 1)
		return -EIO;
	(void)snprintf(key->id, sizeof key->id, "k_");
	for (size_t i = 0; i < sizeof id; i++)
		(void)snprintf(key->id + 2 + 2 * i, 3, "%02x", id[i]);
	n = (size_t)snprintf(text, KEY_TEXT_SIZE, "garth_%s_", role_text(key->role));
	for (size_t i = 0; i < KEY_RANDOM && n + 2 < KEY_TEXT_SIZE; i++, n += 2)
		(void)snprintf(text + n, 3, "%02x", rnd[i]);
	clock_rfc3339(clock_wall_ns(), when);
	(void)snprintf(key->created, sizeof key->created, "%s", when);
	sha256_of(bytes_str(text), &key->sha);
	OPENSSL_cleanse(rnd, sizeof rnd);
	return 0;
}

/* A crash may have left half a line: then a newline goes first, so that ours stands alone. */
static int append(struct keys *k, const struct key *key, struct err *err)
{
	autofd fd = openat(k->dir_fd, KEYS_FILE,
			   O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;
	autobuf line;
	char last = '\n';
	int rc = 0;

	buf_init(&line, 1024);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "open the file 'keys'");
	if (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1)
		return err_sys(err, "read the file 'keys'");
	if (last != '\n')
		rc = buf_add_char(&line, '\n');
	if (rc == 0)
		rc = print_line(&line, key);
	if (rc == 0)
		rc = fd_write_full(fd, line.p, line.len);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	return rc < 0 ? err_errno(err, rc, "write the file 'keys'") : read_file(k);
}

int keys_add(struct keys *k, struct key *key, char ret_text[KEY_TEXT_SIZE], struct err *err)
{
	int rc;

	keys_refresh(k);
	if (k->count >= KEYS_MAX - 1)
		return err_set(err, -ENOSPC, "there are %u keys already; remove some", k->count);
	rc = invent(key, ret_text);
	if (rc < 0)
		return err_set(err, rc, "no random numbers for a key");
	return append(k, key, err);
}

int keys_remove(struct keys *k, const char *id, struct err *err)
{
	struct key gone = { .role = ROLE_REMOVED };
	char when[RFC3339_SIZE];

	keys_refresh(k);
	for (unsigned i = 0; i < k->count; i++) {
		if (strcmp(k->items[i].id, id) != 0)
			continue;
		(void)snprintf(gone.id, sizeof gone.id, "%s", id);
		clock_rfc3339(clock_wall_ns(), when);
		(void)snprintf(gone.created, sizeof gone.created, "%s", when);
		return append(k, &gone, err);
	}
	return err_set(err, -ENOENT, "no key '%s'", id);
}

int keys_remove_ws(struct keys *k, const char *ws, struct err *err)
{
	unsigned i = 0, before;
	int rc = 0;

	keys_refresh(k);
	while (i < k->count && rc == 0) {
		char id[KEY_ID_SIZE];

		if (strcmp(k->items[i].ws, ws) != 0) {
			i++;
			continue;
		}
		before = k->count;
		memcpy(id, k->items[i].id, sizeof id);
		rc = keys_remove(k, id, err); /* what is behind it moves up */
		if (rc == 0 && k->count >= before)
			rc = err_set(err, -EIO, "the key '%s' stays in the file 'keys'", id);
	}
	return rc;
}

const struct key *keys_at(const struct keys *k, unsigned i)
{
	return i < k->count ? &k->items[i] : NULL;
}
