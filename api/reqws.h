/* SPDX-License-Identifier: MIT */
/*
 * api/reqws.h - what most handlers begin with: the request's workspace, open; its agent; may it read a path; a page of a list.
 * Not here: the workspaces (api/ws.h).
 */
#ifndef GARTH_API_REQWS_H
#define GARTH_API_REQWS_H

#include "api/req.h"
#include "api/ws.h"

#define PAGE_DEFAULT 100u
#define PAGE_MAX 1000u

/* Open param[0] and call fn; where that fails it is answered. */
void with_ws(struct req *r, void (*fn)(struct req *r, struct ws *ws));

/* An agent that takes part, by name: its block, or -1 and it has been answered (404; 403 for "operator"). */
int req_agent_block(struct req *r, const struct ws *ws, const char *agent);

/* For whom garth-fs is asked: the block of an agent's key, else MSG_ASKER_ALL. */
uint32_t req_asker(const struct req *r, const struct ws *ws);

/* Does the policy let the caller read this path? Admins, auditors and readers may read all that their routes show. */
bool req_may_read(const struct req *r, const struct ws *ws, struct bytes path,
		  const char *log_agent);

/* ?path= or ?path_base64=, checked, into ret (an autobuf of PATH_LEN_MAX). False: none was given. -EINVAL has been answered. */
must_check int req_path(struct req *r, struct buf *ret, bool *ret_given);

/* An unsigned decimal of the query; absent leaves *ret. -EINVAL has been answered. */
must_check int req_number(struct req *r, const char *name, uint64_t min, uint64_t max,
			  uint64_t *ret);
/* The id of a step or sandbox in a text; -EINVAL: it is answered with 404. */
must_check int req_id(struct req *r, const char *prefix, const char *text, uint64_t *ret);

/* A page that fills: {"items": [...], "next": cursor or null}. */
struct page {
	json_t *items;
	uint64_t limit, after, last;
	bool more;
};
must_check int page_begin(struct req *r, struct page *p); /* -EINVAL has been answered */
/* Takes j. 0 go on, 1 the page is full, -ENOMEM. */
int page_add(struct page *p, uint64_t cursor, json_t *j);
void page_answer(struct req *r, struct page *p, int rc); /* rc of the query */

#endif
