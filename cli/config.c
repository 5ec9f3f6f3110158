/* SPDX-License-Identifier: MIT */
/*
 * cli/config.c - reading garth.yaml.
 */
#include "cli/config.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fd.h"
#include "core/ids.h"
#include "policy/yaml.h"

#define SANDBOXES_PER_CPU 2u

void config_default(struct config *c)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*c = (struct config){ .data = "/var/lib/garth",
			      .addr = "127.0.0.1",
			      .port = 7420,
			      .ids_first = IDS_FIRST_DEFAULT,
			      .ids_count = IDS_COUNT_DEFAULT,
			      .queue = CONFIG_QUEUE };
	c->sandboxes = (cpus > 0 && cpus < 1024 ? (uint32_t)cpus : 1) * SANDBOXES_PER_CPU;
}

static int port_of(const char *text, uint16_t *ret)
{
	unsigned n;
	int end = 0;

	if (text[0] < '0' || text[0] > '9' || sscanf(text, "%u%n", &n, &end) != 1 ||
	    text[end] != '\0' || n > UINT16_MAX)
		return -EINVAL;
	*ret = (uint16_t)n;
	return 0;
}

int config_listen(const char *text, struct config *c, struct err *err)
{
	const char *colon = strrchr(text, ':');
	struct in6_addr room;
	size_t len = colon ? (size_t)(colon - text) : 0;
	char addr[CONFIG_ADDR_SIZE];
	uint16_t port;
	bool v6 = len > 2 && text[0] == '[' && text[len - 1] == ']';

	if (!colon || len == 0 || len >= sizeof addr || port_of(colon + 1, &port) < 0)
		return err_set(err, -EINVAL, "'%s' is not ADDR:PORT", text);
	(void)snprintf(addr, sizeof addr, "%.*s", (int)(v6 ? len - 2 : len), v6 ? text + 1 : text);
	if (strcmp(addr, "localhost") == 0)
		(void)snprintf(addr, sizeof addr, "127.0.0.1");
	if (inet_pton(v6 ? AF_INET6 : AF_INET, addr, &room) != 1)
		return err_set(err, -EINVAL, "'%s' is no IP address (IPv6 in brackets)", addr);
	memcpy(c->addr, addr, sizeof c->addr);
	c->port = port;
	return 0;
}

int config_data(const char *text, struct config *c, struct err *err)
{
	size_t len = strlen(text);

	if (len == 0 || len >= sizeof c->data || strchr(text, '\n'))
		return err_set(err, -EINVAL,
			       "the data folder's name is empty, too long or has a line break");
	memcpy(c->data, text, len + 1);
	return 0;
}

/* A scalar through one of the checks above; the place in front of its sentence. */
static int through(const struct yaml_node *n,
		   int (*check)(const char *, struct config *, struct err *), struct config *c,
		   const char *what, struct err *err)
{
	struct err why = { 0 };
	int r;

	if (!n)
		return 0;
	r = yaml_expect(n, YAML_SCALAR, what, err);
	if (r < 0)
		return r;
	return check(n->text, c, &why) < 0 ? yaml_err(err, n, "%s: %s", what, why.msg) : 0;
}

static int number(const struct yaml_node *n, const char *what, uint32_t least, uint32_t most,
		  uint32_t *ret, struct err *err)
{
	unsigned long long v = 0;
	char show[YAML_SHOW_SIZE];
	int end = 0, r;

	if (!n)
		return 0;
	r = yaml_expect(n, YAML_SCALAR, what, err);
	if (r < 0)
		return r;
	if (n->text[0] < '0' || n->text[0] > '9' || sscanf(n->text, "%llu%n", &v, &end) != 1 ||
	    n->text[end] != '\0' || v < least || v > most)
		return yaml_err(err, n, "%s: '%s' is no number from %" PRIu32 " to %" PRIu32, what,
				yaml_show(n->text, show), least, most);
	*ret = (uint32_t)v;
	return 0;
}

static int ids(const struct yaml_node *n, struct config *c, struct err *err)
{
	int r;

	if (!n)
		return 0;
	r = yaml_expect(n, YAML_LIST, "ids", err);
	if (r < 0)
		return r;
	if (n->count != 2)
		return yaml_err(err, n, "ids: want [FIRST, COUNT]");
	r = number(n->first, "ids, first", CONFIG_IDS_MIN, UINT32_MAX - 2, &c->ids_first, err);
	if (r == 0)
		r = number(n->last, "ids, count", IDS_BLOCK, UINT32_MAX - 1, &c->ids_count, err);
	if (r == 0 && c->ids_count > UINT32_MAX - 1 - c->ids_first)
		r = yaml_err(err, n, "ids: they go past 4294967294");
	c->ids_given = true;
	return r;
}

static int limits(const struct yaml_node *n, struct config *c, struct err *err)
{
	static const char *const keys[] = { "sandboxes", "queue", NULL };
	int r = n ? yaml_keys(n, keys, "limits", err) : 0;

	if (r == 0)
		r = number(yaml_get(n, "sandboxes"), "limits.sandboxes", 1, CONFIG_SANDBOXES_MAX,
			   &c->sandboxes, err);
	return r == 0 ? number(yaml_get(n, "queue"), "limits.queue", 0, CONFIG_QUEUE_MAX, &c->queue,
			       err)
		      : r;
}

/* A text of a key; "" where it is not there. */
static int key_text(const struct yaml_node *n, const char *key, char *room, size_t size,
		    struct err *err)
{
	const struct yaml_node *v = yaml_get(n, key);
	int r = v ? yaml_expect(v, YAML_SCALAR, key, err) : 0;

	room[0] = '\0';
	if (!v || r < 0)
		return r;
	if (strlen(v->text) >= size || strpbrk(v->text, " \t\n"))
		return yaml_err(err, v, "%s: too long, or with a blank in it", key);
	(void)snprintf(room, size, "%s", v->text);
	return 0;
}

static int key_check(const struct yaml_node *n, const struct config_key *k, struct err *err)
{
	static const char *const roles[] = { "admin", "agent", "auditor", "reader" };
	struct sha256 sha;
	bool known = false;

	for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
		known = known || strcmp(k->role, roles[i]) == 0;
	if (!known)
		return yaml_err(err, n, "keys: role is admin, agent, auditor or reader");
	if (sha256_parse(k->sha, &sha) < 0)
		return yaml_err(err, n, "keys: sha256 is not 64 hexadecimal digits");
	if (strcmp(k->role, "admin") != 0 && ident_check(k->ws, "workspace", NULL) < 0)
		return yaml_err(err, n, "keys: the role %s needs a workspace", k->role);
	if (strcmp(k->role, "agent") == 0 && ident_check(k->agent, "agent", NULL) < 0)
		return yaml_err(err, n, "keys: the role agent needs an agent");
	return 0;
}

static int one_key(const struct yaml_node *n, struct config_key *k, struct err *err)
{
	static const char *const names[] = {
		"role", "workspace", "agent", "label", "sha256", NULL
	};
	int r = yaml_expect(n, YAML_MAP, "keys", err);

	if (r == 0)
		r = yaml_keys(n, names, "keys", err);
	if (r == 0)
		r = key_text(n, "role", k->role, sizeof k->role, err);
	if (r == 0)
		r = key_text(n, "workspace", k->ws, sizeof k->ws, err);
	if (r == 0)
		r = key_text(n, "agent", k->agent, sizeof k->agent, err);
	if (r == 0)
		r = key_text(n, "label", k->label, sizeof k->label, err);
	if (r == 0)
		r = key_text(n, "sha256", k->sha, sizeof k->sha, err);
	return r == 0 ? key_check(n, k, err) : r;
}

static int keys(const struct yaml_node *n, struct config *c, struct err *err)
{
	int r = n ? yaml_expect(n, YAML_LIST, "keys", err) : 0;

	for (const struct yaml_node *k = n && r == 0 ? n->first : NULL; k && r == 0; k = k->next) {
		if (c->key_count == CONFIG_KEYS_MAX)
			return yaml_err(err, k, "keys: more than %u", CONFIG_KEYS_MAX);
		r = one_key(k, &c->keys[c->key_count], err);
		c->key_count += r == 0;
	}
	return r;
}

static int take(const struct yaml_node *n, struct config *c, struct err *err)
{
	static const char *const names[] = { "data", "listen", "ids", "limits", "keys", NULL };
	int r = yaml_expect(n, YAML_MAP, "the config", err);

	if (r == 0)
		r = yaml_keys(n, names, "the config", err);
	if (r == 0)
		r = through(yaml_get(n, "data"), config_data, c, "data", err);
	if (r == 0)
		r = through(yaml_get(n, "listen"), config_listen, c, "listen", err);
	if (r == 0)
		r = ids(yaml_get(n, "ids"), c, err);
	if (r == 0)
		r = limits(yaml_get(n, "limits"), c, err);
	return r == 0 ? keys(yaml_get(n, "keys"), c, err) : r;
}

int config_parse(struct bytes yaml, struct config *c, struct err *err)
{
	struct config next = *c;
	struct yaml_node *root = NULL;
	struct pool pool = { 0 };
	int r;

	r = yaml_read(yaml, &pool, &root, err);
	if (r == 0)
		r = take(root, &next, err);
	pool_fini(&pool);
	if (r == 0)
		*c = next;
	return r;
}

int config_read(const char *file, struct config *c, struct err *err)
{
	const char *name = file ? file : CONFIG_FILE;
	autofd fd = open(name, O_RDONLY | O_CLOEXEC);
	autobuf text = { 0 };
	int r;

	buf_init(&text, CONFIG_TEXT_MAX);
	if (fd < 0 && errno == ENOENT && !file)
		return 0;
	if (fd < 0)
		return err_sys(err, "read the config %s", name);
	r = fd_read_all(fd, &text);
	if (r < 0)
		return err_errno(err, r, "read the config %s", name);
	r = config_parse(buf_view(&text), c, err);
	return r < 0 ? err_wrap(err, r, "%s", name) : 0;
}
