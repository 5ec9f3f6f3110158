/* SPDX-License-Identifier: MIT */
/*
 * api/files.h - asking garth-fs for bytes and folders of the workspace; it opens, we only get descriptors.
 */
#ifndef GARTH_API_FILES_H
#define GARTH_API_FILES_H

#include "api/ws.h"

#define FILES_OPEN_MS 30000 /* a file that was just written is hashed first */
#define FILES_LIST_MS 60000

/* FILE_OPEN. @asker req_asker, or MSG_ASKER_ALL. @version unique id, 0 the newest; @sha "" or the hash asked for. Always ends in fn. */
void files_open(struct ws *ws, struct call *call, uint32_t asker, struct bytes path,
		uint64_t version, const char *sha, call_fn *fn, void *ctx);
void files_list(struct ws *ws, struct call *call, uint32_t asker, struct bytes path, bool recursive,
		call_fn *fn, void *ctx); /* DIR_LIST */
void files_flush(struct ws *ws, struct call *call, call_fn *fn, void *ctx);

#endif
