/* SPDX-License-Identifier: MIT */
/*
 * core/media.c - the media type of a file, by the end of its name.
 */
#include "core/media.h"

#include <string.h>
#include <strings.h>

#define SUFFIX_MAX 12u

static const struct {
	const char *suffix, *type;
} types[] = {
	{ "csv", "text/csv" },
	{ "tsv", "text/tab-separated-values" },
	{ "txt", "text/plain" },
	{ "log", "text/plain" },
	{ "md", "text/markdown" },
	{ "html", "text/html" },
	{ "htm", "text/html" },
	{ "css", "text/css" },
	{ "js", "text/javascript" },
	{ "py", "text/x-python" },
	{ "sh", "application/x-sh" },
	{ "sql", "application/sql" },
	{ "c", "text/x-c" },
	{ "h", "text/x-c" },
	{ "json", "application/json" },
	{ "jsonl", "application/jsonl" },
	{ "ndjson", "application/x-ndjson" },
	{ "ipynb", "application/x-ipynb+json" },
	{ "xml", "application/xml" },
	{ "yaml", "application/yaml" },
	{ "yml", "application/yaml" },
	{ "toml", "application/toml" },
	{ "pdf", "application/pdf" },
	{ "zip", "application/zip" },
	{ "gz", "application/gzip" },
	{ "tgz", "application/gzip" },
	{ "xz", "application/x-xz" },
	{ "zst", "application/zstd" },
	{ "tar", "application/x-tar" },
	{ "parquet", "application/vnd.apache.parquet" },
	{ "arrow", "application/vnd.apache.arrow.file" },
	{ "sqlite", "application/vnd.sqlite3" },
	{ "db", "application/vnd.sqlite3" },
	{ "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
	{ "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
	{ "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
	{ "png", "image/png" },
	{ "jpg", "image/jpeg" },
	{ "jpeg", "image/jpeg" },
	{ "gif", "image/gif" },
	{ "svg", "image/svg+xml" },
	{ "webp", "image/webp" },
	{ "mp3", "audio/mpeg" },
	{ "wav", "audio/wav" },
	{ "mp4", "video/mp4" },
	{ "wasm", "application/wasm" },
};

const char *media_type(struct bytes path)
{
	const char *p = path.p;
	char suffix[SUFFIX_MAX + 1];
	size_t len = 0;

	while (len < path.len && len <= SUFFIX_MAX && p[path.len - 1 - len] != '.' &&
	       p[path.len - 1 - len] != '/')
		len++;
	if (len == 0 || len > SUFFIX_MAX || len >= path.len || p[path.len - 1 - len] != '.')
		return "application/octet-stream";
	memcpy(suffix, p + path.len - len, len);
	suffix[len] = '\0';
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strcasecmp(types[i].suffix, suffix) == 0)
			return types[i].type;
	return "application/octet-stream";
}
