/* SPDX-License-Identifier: MIT */
/*
 * cli/config.h - the server's own config: garth.yaml, strict, an error names line and column.
 *     data: DIR
 *     listen: ADDR:PORT
 *     ids: [FIRST, COUNT]
 *     limits: { sandboxes: N, queue: N }
 *     keys: [ { role, workspace, agent, label, sha256 } ]   keys that exist from the start, as hashes
 * Flags of `garth up` win over it; it wins over the defaults.
 * Not here: policies (policy/policy.h).
 */
#ifndef GARTH_CLI_CONFIG_H
#define GARTH_CLI_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"
#include "core/hash.h"
#include "core/path.h"

#define CONFIG_FILE "/etc/garth/garth.yaml"
#define CONFIG_TEXT_MAX (64u * 1024) /* bytes of YAML */
#define CONFIG_LISTEN "127.0.0.1:7420"
#define CONFIG_KEYS_MAX 64u
#define CONFIG_SANDBOXES_MAX 4096u
#define CONFIG_QUEUE 256u
#define CONFIG_QUEUE_MAX 65536u
#define CONFIG_IDS_MIN 65536u /* below are the host's own users */
#define CONFIG_ADDR_SIZE 64
#define CONFIG_LABEL_SIZE 65

struct config_key {
	char role[16], ws[IDENT_SIZE], agent[IDENT_SIZE], label[CONFIG_LABEL_SIZE];
	char sha[SHA256_HEX_SIZE];
};

struct config {
	char data[PATH_LEN_MAX + 1];
	char addr[CONFIG_ADDR_SIZE]; /* numeric, without brackets */
	uint16_t port;
	uint32_t ids_first, ids_count;
	bool ids_given;
	uint32_t sandboxes, queue;
	unsigned key_count;
	struct config_key keys[CONFIG_KEYS_MAX];
};

void config_default(struct config *c);

/* Pure. What the text says goes over what is in c. -EINVAL "line L, column C: ..." */
must_check int config_parse(struct bytes yaml, struct config *c, struct err *err);

/* The file; NULL: CONFIG_FILE where it exists. */
must_check int config_read(const char *file, struct config *c, struct err *err);

/* "127.0.0.1:7420", "[::1]:0", "localhost:80": -EINVAL with a sentence. */
must_check int config_listen(const char *text, struct config *c, struct err *err);
must_check int config_data(const char *text, struct config *c, struct err *err);

#endif
