/* SPDX-License-Identifier: MIT */
/*
 * exec/cgroup.c - finding the hierarchies, and the life of a group. Limits and counts: exec/cgroup_limit.c.
 */
#include "exec/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/clock.h"
#include "core/fd.h"
#include "exec/cgroup_file.h"

#define MOUNTINFO_MAX (1024u * 1024)
#define GARTH "garth"
#define SWEEP_NS (5 * NS_PER_S) /* how long killed processes may take to go */
#define SWEEP_PAUSE_MS 10
#define MAKE_ROOM_PASSES 5 /* processes may fork meanwhile */

/* Does a comma-separated list hold this word? */
static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, word, len) == 0 && (p[len] == '\0' || p[len] == ','))
			return true;
	}
	return false;
}

static unsigned v1_use(const char *options)
{
	static const struct {
		const char *word;
		unsigned use;
	} rows[] = { { "memory", CGROUP_MEMORY },
		     { "pids", CGROUP_PIDS },
		     { "cpu", CGROUP_CPU },
		     { "cpuacct", CGROUP_CPUACCT } };
	unsigned use = 0;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (list_has(options, rows[i].word))
			use |= rows[i].use;
	return use;
}

/* mountinfo writes blanks and the like in octal */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

/* One line: "36 35 98:0 /root /mount/point rw,nosuid shared:1 - type source options". False: not of this shape. */
static bool split_line(char *line, char **ret_at, char **ret_type, char **ret_options)
{
	char *save = NULL, *field;

	*ret_at = NULL;
	for (unsigned i = 0; (field = strtok_r(i ? NULL : line, " ", &save)) != NULL; i++) {
		if (i == 4)
			*ret_at = field;
		if (i > 5 && strcmp(field, "-") == 0)
			break;
	}
	*ret_type = strtok_r(NULL, " ", &save);
	(void)strtok_r(NULL, " ", &save);
	*ret_options = strtok_r(NULL, " ", &save);
	return *ret_at && *ret_type && *ret_options;
}

/* What of `use` no hierarchy before serves already; 0 also for a second mount of the one v2 hierarchy. */
static unsigned not_taken(const struct cgroups *x, bool v2, unsigned use)
{
	for (unsigned i = 0; i < x->n; i++)
		use &= v2 && x->h[i].v2 ? 0 : ~x->h[i].use;
	return use;
}

static void parse_line(struct cgroups *x, char *line)
{
	char *at, *type, *options;
	unsigned use;
	bool v2;

	if (!split_line(line, &at, &type, &options) || x->n == CGROUP_HIERARCHIES_MAX)
		return;
	v2 = strcmp(type, "cgroup2") == 0;
	if (!v2 && strcmp(type, "cgroup") != 0)
		return;
	use = not_taken(x, v2, v2 ? CGROUP_KILL : v1_use(options));
	unescape(at);
	if (use == 0 || strlen(at) >= CGROUP_PATH_SIZE)
		return;
	x->h[x->n] = (struct cgroup_hierarchy){ .v2 = v2, .use = use, .base_fd = -1 };
	memcpy(x->h[x->n].root, at, strlen(at) + 1);
	x->n++;
}

void cgroups_parse(struct cgroups *x, const char *mountinfo)
{
	char *copy = strdup(mountinfo), *save = NULL;

	*x = (struct cgroups){ 0 };
	if (!copy)
		return;
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		parse_line(x, line);
	free(copy);
}

/* A v2 hierarchy serves what it has and no v1 one does. */
static void v2_controllers(struct cgroups *x)
{
	static const struct {
		const char *word;
		unsigned use;
	} rows[] = { { "memory", CGROUP_MEMORY }, { "pids", CGROUP_PIDS }, { "cpu", CGROUP_CPU } };
	unsigned taken = 0;

	for (unsigned i = 0; i < x->n; i++)
		if (!x->h[i].v2)
			taken |= x->h[i].use;
	for (unsigned i = 0; i < x->n; i++) {
		char text[CGROUP_FILE_MAX] = "", *save = NULL;
		autofd fd = x->h[i].v2 ? open(x->h[i].root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

		if (fd < 0 ||
		    cgroup_file_read(fd, ".", "cgroup.controllers", text, sizeof text) < 0)
			continue;
		for (char *w = strtok_r(text, " \n", &save); w; w = strtok_r(NULL, " \n", &save))
			for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
				if (strcmp(w, rows[k].word) == 0 && !(taken & rows[k].use))
					x->h[i].use |= rows[k].use;
	}
}

int cgroups_probe(struct cgroups *x, struct err *err)
{
	autofd fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	autobuf text = { 0 };
	unsigned have = 0;
	int r;

	buf_init(&text, MOUNTINFO_MAX);
	if (fd < 0)
		return err_sys(err, "open /proc/self/mountinfo");
	r = fd_read_all(fd, &text);
	if (r < 0)
		return err_errno(err, r, "read /proc/self/mountinfo");
	cgroups_parse(x, buf_str(&text));
	v2_controllers(x);
	for (unsigned i = 0; i < x->n; i++)
		have |= x->h[i].use;
	if ((have & CGROUP_NEEDED) == CGROUP_NEEDED)
		return 0;
	return err_set(err, -ENOTSUP,
		       "the cgroup controller '%s' is not there: mount cgroup2 on /sys/fs/cgroup, "
		       "or the v1 controllers memory, pids and cpu",
		       !(have & CGROUP_MEMORY) ? "memory"
		       : !(have & CGROUP_PIDS) ? "pids"
					       : "cpu");
}

static int make_dir(int dir_fd, const char *name, int *ret_fd)
{
	int fd;

	if (mkdirat(dir_fd, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* v2: hand the controllers down. */
static int v2_enable(int fd, unsigned use)
{
	static const struct {
		const char *word;
		unsigned use;
	} rows[] = { { "+memory", CGROUP_MEMORY },
		     { "+pids", CGROUP_PIDS },
		     { "+cpu", CGROUP_CPU } };

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int r = use & rows[i].use
				? cgroup_file_write(fd, ".", "cgroup.subtree_control", rows[i].word)
				: 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * A v2 group with processes of its own can't hand controllers down, unless it is the host's root. In a container the top group is such
 * a one: its processes, ours among them, move to a group beside.
 */
static int v2_make_room(int root_fd)
{
	char text[CGROUP_FILE_MAX];
	char *save = NULL;
	autofd aside = -1;
	int r = make_dir(root_fd, GARTH ".host", &aside);

	for (int pass = 0; r == 0 && pass < MAKE_ROOM_PASSES; pass++) {
		r = cgroup_file_read(root_fd, ".", "cgroup.procs", text, sizeof text);
		if (r < 0 || text[0] == '\0')
			return r;
		for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
			(void)!cgroup_file_write(aside, ".", "cgroup.procs",
						 p); /* some have gone */
	}
	return r;
}

static int v2_enable_top(int root_fd, unsigned use)
{
	int r = v2_enable(root_fd, use);

	if (r == -EBUSY && v2_make_room(root_fd) == 0)
		r = v2_enable(root_fd, use);
	return r;
}

static int base_open(struct cgroup_hierarchy *h, const char *server)
{
	autofd root = open(h->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autofd garth = -1;
	autofd base = -1;
	int r;

	if (root < 0)
		return -errno;
	r = h->v2 ? v2_enable_top(root, h->use) : 0;
	if (r == 0)
		r = make_dir(root, GARTH, &garth);
	if (r == 0 && h->v2)
		r = v2_enable(garth, h->use);
	if (r == 0)
		r = make_dir(garth, server, &base);
	if (r == 0 && h->v2)
		r = v2_enable(base, h->use);
	if (r < 0)
		return r;
	h->base_fd = fd_steal(&base);
	return 0;
}

int cgroups_open(struct cgroups *x, const char *server, struct err *err)
{
	int r = cgroups_probe(x, err);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < x->n; i++) {
		r = base_open(&x->h[i], server);
		if (r < 0 && x->h[i].use == CGROUP_KILL) {
			x->h[i].use = 0; /* an empty v2 tree beside v1: a convenience, no need */
			continue;
		}
		if (r < 0) {
			(void)err_errno(err, r,
					"can't write the cgroup tree %s (run garth as root of the "
					"host, or give its container a writable cgroup tree)",
					x->h[i].root);
			cgroups_close(x);
			return r;
		}
	}
	return 0;
}

void cgroups_close(struct cgroups *x)
{
	for (unsigned i = 0; i < x->n; i++)
		fd_closep(&x->h[i].base_fd);
	x->n = 0;
}

int cgroup_make(const struct cgroups *x, const char *name, const struct cgroup_limits *limits,
		struct err *err)
{
	int r = 0;

	for (unsigned i = 0; i < x->n && r == 0; i++)
		if (x->h[i].base_fd >= 0 && mkdirat(x->h[i].base_fd, name, 0755) < 0)
			r = err_sys(err, "make a cgroup in %s", x->h[i].root);
	if (r == 0)
		r = cgroup_limit(x, name, limits, err);
	if (r < 0)
		(void)!cgroup_remove(x, name);
	return r;
}

int cgroup_attach(const struct cgroups *x, const char *name, pid_t pid, struct err *err)
{
	for (unsigned i = 0; i < x->n; i++) {
		int r;

		if (x->h[i].base_fd < 0 || x->h[i].v2)
			continue;
		r = cgroup_file_write_u64(x->h[i].base_fd, name, "cgroup.procs", (uint64_t)pid);
		if (r < 0)
			return err_errno(err, r, "put a sandbox into its cgroup in %s",
					 x->h[i].root);
	}
	return 0;
}

int cgroup_clone_fd(const struct cgroups *x, const char *name)
{
	for (unsigned i = 0; i < x->n; i++)
		if (x->h[i].v2 && x->h[i].base_fd >= 0)
			return openat(x->h[i].base_fd, name,
				      O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return -1;
}

void cgroup_kill(const struct cgroups *x, const char *name)
{
	for (unsigned i = 0; i < x->n; i++)
		if (x->h[i].v2 && x->h[i].base_fd >= 0)
			(void)!cgroup_file_write(x->h[i].base_fd, name, "cgroup.kill", "1");
}

int cgroup_remove(const struct cgroups *x, const char *name)
{
	int r = 0;

	for (unsigned i = 0; i < x->n; i++)
		if (x->h[i].base_fd >= 0 && unlinkat(x->h[i].base_fd, name, AT_REMOVEDIR) < 0 &&
		    errno != ENOENT)
			r = -errno;
	return r;
}

/* SIGKILL every process that is in this group now. */
static void kill_all(int base_fd, const char *name)
{
	char text[CGROUP_FILE_MAX];
	char *save = NULL;

	if (cgroup_file_write(base_fd, name, "cgroup.kill", "1") == 0)
		return;
	if (cgroup_file_read(base_fd, name, "cgroup.procs", text, sizeof text) < 0)
		return;
	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
		long pid = strtol(p, NULL, 10);

		if (pid > 1)
			(void)kill((pid_t)pid, SIGKILL);
	}
}

/* One pass over the groups of a server: 1 where some are left. */
static int sweep_pass(int base_fd)
{
	autofd fd = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int left = 0;

	if (!d)
		return 0;
	(void)fd_steal(&fd);
	while ((e = readdir(d)) != NULL) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (unlinkat(base_fd, e->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			continue;
		kill_all(base_fd, e->d_name);
		left = 1;
	}
	(void)closedir(d);
	return left;
}

static int sweep_hierarchy(const struct cgroup_hierarchy *h, const char *server, int64_t until_ns)
{
	autofd root = open(h->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autofd garth =
		root < 0 ? -1
			 : openat(root, GARTH, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autofd base =
		garth < 0 ? -1
			  : openat(garth, server, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (garth < 0)
		return 0;
	while (base >= 0 && sweep_pass(base)) {
		if (clock_mono_ns() > until_ns)
			return -EBUSY;
		(void)poll(NULL, 0, SWEEP_PAUSE_MS);
	}
	(void)unlinkat(garth, server, AT_REMOVEDIR);
	(void)unlinkat(root, GARTH, AT_REMOVEDIR); /* another server's: not empty */
	return 0;
}

int cgroups_sweep(struct cgroups *x, const char *server, struct err *err)
{
	int64_t until = clock_mono_ns() + SWEEP_NS;
	int r = 0;

	for (unsigned i = 0; i < x->n; i++)
		if (sweep_hierarchy(&x->h[i], server, until) < 0)
			r = err_set(err, -EBUSY,
				    "processes in the cgroup %s/" GARTH "/%s do not die",
				    x->h[i].root, server);
	return r;
}
