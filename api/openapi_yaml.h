/* SPDX-License-Identifier: MIT */
/*
 * api/openapi_yaml.h - the text of docs/openapi.yaml, embedded at build and served as it is.
 * Not here: the routes it describes (api/route.h).
 */
#ifndef GARTH_API_OPENAPI_YAML_H
#define GARTH_API_OPENAPI_YAML_H

#include <stddef.h>

extern const char api_openapi_yaml[]; /* terminated */
extern const size_t api_openapi_yaml_len; /* without the terminator */

#endif
