/* SPDX-License-Identifier: MIT */
/*
 * api/keys.h - who may do what: DIR/keys, one line a key,
 *     id role workspace agent sha256-of-the-key created label
 * blank-separated, "-" for none; role admin, agent, auditor or reader; created as RFC 3339. The key itself stands nowhere.
 * Lines are only appended, and synced; a removal is one more line, of the same id with the role "removed" (garth-api may write this
 * file, not its folder). A change by others is seen at the next look.
 * `garth up` writes the first line, of admin.key.
 * Not here: which route asks for what (api/auth.h).
 * Thread: one.
 */
#ifndef GARTH_API_KEYS_H
#define GARTH_API_KEYS_H

#include "core/bytes.h"
#include "core/err.h"
#include "core/hash.h"
#include "core/msg.h"
#include "core/path.h"

#define KEYS_FILE "keys"
#define KEYS_MAX 4096u
#define KEY_ID_SIZE MSG_KEY_SIZE
#define KEY_LABEL_SIZE 65
#define KEY_CREATED_SIZE 33
#define KEY_TEXT_SIZE 64 /* of a new key */

enum role { ROLE_NONE = 0, ROLE_READER, ROLE_AUDITOR, ROLE_AGENT, ROLE_ADMIN, ROLE_REMOVED };

struct key {
	char id[KEY_ID_SIZE];
	enum role role;
	char ws[IDENT_SIZE];    /* "": every workspace */
	char agent[IDENT_SIZE]; /* "": none */
	struct sha256 sha;
	char created[KEY_CREATED_SIZE];
	char label[KEY_LABEL_SIZE];
};

const char *role_text(enum role r);
enum role role_parse(const char *s); /* ROLE_NONE: no such */

/* One line without its newline; of a removal only id and role count. 0 or -EINVAL. Pure. */
must_check int key_parse_line(struct bytes line, struct key *ret);

struct keys;

/* @dir_fd DIR, borrowed. A missing file is an empty one. */
must_check int keys_open(int dir_fd, struct keys **ret, struct err *err);
void keys_close(struct keys *k);

/* Read the file again where it has changed; what can't be read leaves what was known. */
void keys_refresh(struct keys *k);

/* The key whose hash is that of `text`; all are compared, each in constant time. NULL: none. Valid until the next change. */
const struct key *keys_find(struct keys *k, struct bytes text);

/* Make one: fills id, sha, created; ret_text is the only copy of the key. 0, -ENOSPC too many, errno. */
must_check int keys_add(struct keys *k, struct key *key, char ret_text[KEY_TEXT_SIZE],
			struct err *err);
must_check int keys_remove(struct keys *k, const char *id, struct err *err); /* -ENOENT */

/* All keys of one workspace, which is gone: they must not open another that gets its name. */
must_check int keys_remove_ws(struct keys *k, const char *ws, struct err *err);

const struct key *keys_at(const struct keys *k, unsigned i); /* NULL past the last */

#endif
