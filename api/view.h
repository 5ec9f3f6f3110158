/* SPDX-License-Identifier: MIT */
/*
 * api/view.h - rows of the record as the JSON of the contract: steps, artifacts, violations.
 * Not here: HTTP, queries with pages (api/record_http.c).
 */
#ifndef GARTH_API_VIEW_H
#define GARTH_API_VIEW_H

#include <jansson.h>

#include "api/spec.h"
#include "api/ws.h"

#define VIEW_LIST_MAX \
	10000u /* artifacts or violations within one step object; all are in their own lists */

json_t *view_version(const struct idx_version *v);
json_t *view_violation(const struct idx_violation *v);
json_t *view_request(const struct spec *s); /* what pre_step hooks see */

json_t *view_artifacts_of(struct ws *ws, uint64_t step);
json_t *view_violations_of(struct ws *ws, uint64_t step);

/*
 * The step object. -ENOENT. @lists: artifacts, violations, hooks too. stdout and stderr are null until view_log sets them.
 * Members beyond the contract: kind, parent, language, command, code_sha256, policy_sha256, request_id, key, env, limits, detail,
 * wiped, ended_at, hint, changes.
 */
must_check int view_step(struct ws *ws, uint64_t step, bool lists, json_t **ret);
json_t *view_step_row(struct ws *ws, const struct idx_step *s, bool lists);

/* stdout or stderr: text, or null and *_base64. */
void view_log(json_t *step, const char *name, struct bytes bytes);
/* The same from a log file; false: it can't be read. */
bool view_log_fd(json_t *step, const char *name, int fd);

/* "read" and "changed" of GET steps/{id}. */
must_check int view_step_files(struct ws *ws, uint64_t step, json_t *obj);

#endif
