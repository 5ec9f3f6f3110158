/* SPDX-License-Identifier: MIT */
/*
 * api/openapi_yaml.h - docs/openapi.yaml, embedded at build (scripts/embed.sh).
 */
#ifndef GARTH_API_OPENAPI_YAML_H
#define GARTH_API_OPENAPI_YAML_H

#include <stddef.h>

extern const char api_openapi_yaml[];
extern const size_t api_openapi_yaml_len;

#endif
