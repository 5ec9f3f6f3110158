/* SPDX-License-Identifier: MIT */
/*
 * api/auth.h - who asks, and may a key of that role come in by this route? What a policy says comes later, with the path.
 * Roles: admin everything; agent of W: steps, sandboxes and files of W as that agent; auditor of W: every GET of W; reader of W:
 * GET of output/ alone. What another workspace holds is 404 for a key that is not for it.
 * Not here: the keys (api/keys.h), signed links (api/link.h).
 */
#ifndef GARTH_API_AUTH_H
#define GARTH_API_AUTH_H

#include "api/req.h"

enum access {
	ACCESS_OPEN = 0, /* no key */
	ACCESS_ADMIN,
	ACCESS_KEY,    /* any key; the handler shows what it may see */
	ACCESS_READ,   /* of the workspace: admin, agent, auditor */
	ACCESS_AUDIT,  /* of the workspace: admin, auditor */
	ACCESS_OUTPUT, /* of the workspace: all roles, and a signed link */
	ACCESS_FILES,  /* of the workspace: as READ, and a reader below output/ */
	ACCESS_WORK,   /* of the workspace: admin, agent */
};

/* Pure: may this caller? 0, -EPERM (403), -ENOENT (404: it may not know). @path what {*} is, for FILES; @ws "" where none. */
must_check int auth_decide(const struct caller *c, enum access a, const char *ws, const char *path);

/* Find r->who from the headers and decide; where it fails it has been answered (401, 403, 404). */
must_check int auth_check(struct req *r, enum access a, const char *ws);

/* Who comes with a signed link: is the workspace, made at made_ns, the one it was signed for? If not, it has been answered (403). */
must_check bool auth_same_life(struct req *r, int64_t made_ns);

/*
 * The agent that a request acts for: `named` (may be NULL) or the key's own. An agent's key may name itself alone: else it has been
 * answered with 403, and where there is none with 400.
 */
must_check int auth_agent(struct req *r, const char *named, const char **ret);

#endif
