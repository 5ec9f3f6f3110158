/* SPDX-License-Identifier: MIT */
/*
 * api/auth.c - from headers to a caller, from a caller to yes or no.
 */
#include "api/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "api/link.h"
#include "core/clock.h"

#define BEARER "Bearer "
#define KEY_TEXT_MAX 256u
#define LINK_HINT "Ask whoever gave you this link for a new one."

static bool role_may(enum role role, enum access a, const char *path)
{
	bool output = strncmp(path, "output/", 7) == 0 || strcmp(path, "output") == 0;

	switch (a) {
	case ACCESS_OPEN:
	case ACCESS_KEY: return true;
	case ACCESS_ADMIN: return role == ROLE_ADMIN;
	case ACCESS_AUDIT: return role == ROLE_ADMIN || role == ROLE_AUDITOR;
	case ACCESS_READ: return role == ROLE_ADMIN || role == ROLE_AUDITOR || role == ROLE_AGENT;
	case ACCESS_WORK: return role == ROLE_ADMIN || role == ROLE_AGENT;
	case ACCESS_OUTPUT: return role != ROLE_NONE && role != ROLE_REMOVED;
	case ACCESS_FILES: return role == ROLE_READER ? output : role_may(role, ACCESS_READ, path);
	}
	return false;
}

int auth_decide(const struct caller *c, enum access a, const char *ws, const char *path)
{
	if (ws[0] != '\0' && c->ws[0] != '\0' && strcmp(c->ws, ws) != 0)
		return -ENOENT;
	if (!role_may(c->role, a, path))
		return -EPERM;
	return 0;
}

/* The key that the headers hold; NULL: none. */
static const char *key_text(const struct req *r)
{
	const char *h = req_header(r, "Authorization");

	if (h != NULL && strncasecmp(h, BEARER, sizeof BEARER - 1) == 0) {
		h += sizeof BEARER - 1;
		return h + strspn(h, " ");
	}
	return req_header(r, "X-API-Key");
}

/* Forged, expired, or of another workspace: its holder has no key to change. */
static int no_link(struct req *r, const char *detail)
{
	struct problem p = problem_named("forbidden");

	p.hint = LINK_HINT;
	req_problem(r, &p, detail, NULL);
	return -EPERM;
}

static bool number(const char *text, int64_t *ret)
{
	char *end;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*ret = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0';
}

/* 0 the signature is good, -ENOENT there is none, -EPERM (answered). */
static int by_link(struct req *r, const char *ws)
{
	const char *sig = req_arg(r, "sig");
	char path[PATH_LEN_MAX + 16];
	int64_t n, at, made;
	int rc;

	if (sig == NULL)
		return -ENOENT;
	if (!number(req_arg(r, "version"), &n) || !number(req_arg(r, "expires"), &at) ||
	    !number(req_arg(r, "made"), &made))
		return no_link(r, "the link is not whole");
	(void)snprintf(path, sizeof path, "output/%s", r->rest != NULL ? r->rest : "");
	rc = link_check(r->app->link_key, ws, made, bytes_str(path), (uint64_t)n, at, sig,
			clock_wall_ns() / NS_PER_S);
	if (rc < 0)
		return no_link(r, rc == -ESTALE ? "the link has expired"
						: "the link's signature is wrong");
	r->who = (struct caller){ .role = ROLE_READER, .link_made_ns = made };
	(void)snprintf(r->who.key, sizeof r->who.key, "link");
	(void)snprintf(r->who.ws, sizeof r->who.ws, "%s", ws);
	return 0;
}

static int by_key(struct req *r)
{
	const char *text = key_text(r);
	const struct key *key = NULL;

	if (text != NULL && text[0] != '\0' && strlen(text) <= KEY_TEXT_MAX)
		key = keys_find(r->app->keys, bytes_str(text));
	if (key == NULL) {
		req_fail_code(r, "unauthorized",
			      text == NULL ? "the request carries no key" : "no such key");
		return -EPERM;
	}
	r->who = (struct caller){ .role = key->role };
	memcpy(r->who.key, key->id, sizeof r->who.key);
	memcpy(r->who.ws, key->ws, sizeof r->who.ws);
	memcpy(r->who.agent, key->agent, sizeof r->who.agent);
	return 0;
}

int auth_check(struct req *r, enum access a, const char *ws)
{
	int rc;

	if (a == ACCESS_OPEN)
		return 0;
	if (a == ACCESS_OUTPUT) {
		rc = by_link(r, ws);
		if (rc != -ENOENT)
			return rc;
	}
	rc = by_key(r);
	if (rc < 0)
		return rc;
	rc = auth_decide(&r->who, a, ws, r->rest != NULL ? r->rest : "");
	if (rc == -ENOENT)
		req_fail(r, rc, "no workspace '%.64s'", ws);
	else if (rc < 0)
		req_fail_code(r, "forbidden", "a key of role %s may not do this",
			      role_text(r->who.role));
	return rc;
}

bool auth_same_life(struct req *r, int64_t made_ns)
{
	if (r->who.link_made_ns == 0 || r->who.link_made_ns == made_ns)
		return true;
	(void)no_link(r, "the link is of an earlier workspace of this name");
	return false;
}

int auth_agent(struct req *r, const char *named, const char **ret)
{
	if (named == NULL && r->who.role == ROLE_AGENT)
		named = r->who.agent;
	if (named == NULL) {
		req_fail(r, -EINVAL, "no agent is named");
		return -EINVAL;
	}
	if (r->who.role == ROLE_AGENT && strcmp(named, r->who.agent) != 0) {
		req_fail_code(r, "forbidden", "this key is agent '%s', not '%.64s'", r->who.agent,
			      named);
		return -EPERM;
	}
	*ret = named;
	return 0;
}
