/* SPDX-License-Identifier: MIT */
/*
 * api/folder.h - a folder as JSON: what garth-fs lists, with what the record knows of each file.
 */
#ifndef GARTH_API_FOLDER_H
#define GARTH_API_FOLDER_H

#include "api/reqws.h"

/* Answer r with {"items": [...], "next"}; ?limit= and ?cursor= (the number of entries passed over), ?recursive=1. */
void folder_answer(struct req *r, struct ws *ws, struct bytes path);

/* Whose logs/<step>/ is this path in? NULL: unknown, or none. out is filled. */
const char *folder_log_agent(struct ws *ws, struct bytes path, char out[IDENT_SIZE]);

#endif
