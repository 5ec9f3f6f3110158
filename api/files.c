/* SPDX-License-Identifier: MIT */
/*
 * api/files.c - three questions to garth-fs.
 */
#include "api/files.h"

#include <stdio.h>

void files_open(struct ws *ws, struct call *call, uint32_t asker, struct bytes path,
		uint64_t version, const char *sha, call_fn *fn, void *ctx)
{
	struct msg_file_open ask = { .version = version,
				     .path_len = (uint32_t)path.len,
				     .asker = asker };

	(void)snprintf(ask.sha, sizeof ask.sha, "%s", sha);
	if (ws->fs == NULL)
		call_fail(ws->app->loop, call, -EPIPE, fn, ctx);
	else
		peer_call(ws->fs, call, MSG_FILE_OPEN, bytes_of(&ask, sizeof ask), path, NULL, 0,
			  FILES_OPEN_MS, fn, ctx);
}

void files_list(struct ws *ws, struct call *call, uint32_t asker, struct bytes path, bool recursive,
		call_fn *fn, void *ctx)
{
	struct msg_dir_list ask = { .path_len = (uint32_t)path.len,
				    .recursive = recursive,
				    .asker = asker };

	if (ws->fs == NULL)
		call_fail(ws->app->loop, call, -EPIPE, fn, ctx);
	else
		peer_call(ws->fs, call, MSG_DIR_LIST, bytes_of(&ask, sizeof ask), path, NULL, 0,
			  FILES_LIST_MS, fn, ctx);
}

void files_flush(struct ws *ws, struct call *call, call_fn *fn, void *ctx)
{
	struct msg_flush ask = { { 0 } };

	if (ws->fs == NULL)
		call_fail(ws->app->loop, call, -EPIPE, fn, ctx);
	else
		peer_call(ws->fs, call, MSG_FLUSH, bytes_of(&ask, sizeof ask), bytes_of(NULL, 0),
			  NULL, 0, FILES_LIST_MS, fn, ctx);
}
