/* SPDX-License-Identifier: MIT */
/*
 * exec/root.c - putting the root of a sandbox together.
 */
#include "exec/root.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "core/fd.h"
#include "core/ids.h"

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define OPTIONS_SIZE 128u

static int attach(int tree_fd, const char *to, struct err *err)
{
	if (move_mount(tree_fd, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, "mount %s", to);
	return 0;
}

/* Show `from` at `to`, with all that is mounted below it where `all`. */
static int bind(const char *from, const char *to, uint64_t attributes, bool all, struct err *err)
{
	unsigned deep = all ? AT_RECURSIVE : 0;
	struct mount_attr a = { .attr_set = attributes };
	autofd tree = open_tree(AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | deep);

	if (tree < 0)
		return err_sys(err, "show %s", from);
	if (attributes && mount_setattr(tree, "", AT_EMPTY_PATH | deep, &a, sizeof a) < 0)
		return err_sys(err, "make %s read-only", to);
	return attach(tree, to, err);
}

static int dirs(struct err *err)
{
	static const char *const names[] = { "usr",  "etc",       "dev",  "dev/shm",   "dev/pts",
					     "proc", "tmp",       "home", "home/user", "root",
					     "run",  "run/garth", "var",  "workspace" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (mkdir(names[i], 0755) < 0)
			return err_sys(err, "make /%s", names[i]);
	if (symlink("/tmp", "var/tmp") < 0)
		return err_sys(err, "make /var/tmp");
	return 0;
}

/* /bin, /lib and so on: links where the host's are, else the folders themselves. */
static int system_dirs(struct err *err)
{
	static const char *const names[] = { "bin", "lib", "lib64", "sbin", "lib32", "libx32" };
	int r = bind("/usr", "usr", READ_ONLY, true, err);

	for (size_t i = 0; r == 0 && i < sizeof names / sizeof names[0]; i++) {
		char from[16], target[PATH_MAX];
		struct stat st;
		ssize_t n;

		(void)snprintf(from, sizeof from, "/%s", names[i]);
		if (lstat(from, &st) < 0)
			continue;
		n = S_ISLNK(st.st_mode) ? readlink(from, target, sizeof target - 1) : -1;
		if (n >= 0) {
			target[n] = '\0';
			if (symlink(target, names[i]) < 0)
				r = err_sys(err, "make /%s", names[i]);
		} else if (S_ISDIR(st.st_mode)) {
			r = mkdir(names[i], 0755) < 0 ? err_sys(err, "make /%s", names[i])
						      : bind(from, names[i], READ_ONLY, true, err);
		}
	}
	return r;
}

static int devices(struct err *err)
{
	static const struct {
		const char *name, *host;
		unsigned major, minor;
	} nodes[] = {
		{ "dev/null", "/dev/null", 1, 3 },       { "dev/zero", "/dev/zero", 1, 5 },
		{ "dev/full", "/dev/full", 1, 7 },       { "dev/random", "/dev/random", 1, 8 },
		{ "dev/urandom", "/dev/urandom", 1, 9 }, { "dev/tty", "/dev/tty", 5, 0 }
	};
	static const struct {
		const char *name, *to;
	} links[] = { { "dev/fd", "/proc/self/fd" },
		      { "dev/stdin", "/proc/self/fd/0" },
		      { "dev/stdout", "/proc/self/fd/1" },
		      { "dev/stderr", "/proc/self/fd/2" },
		      { "dev/ptmx", "pts/ptmx" } };

	for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
		int r = 0;

		if (mknod(nodes[i].name, S_IFCHR | 0666, makedev(nodes[i].major, nodes[i].minor)) <
		    0) {
			/* garth in a container that may not make nodes: show the host's */
			autofd fd =
				open(nodes[i].name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

			r = fd < 0 ? err_sys(err, "make /%s", nodes[i].name)
				   : bind(nodes[i].host, nodes[i].name,
					  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, false, err);
		}
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
		if (symlink(links[i].to, links[i].name) < 0)
			return err_sys(err, "make /%s", links[i].name);
	if (mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0620") < 0)
		return err_sys(err, "mount /dev/pts");
	return 0;
}

/* What the kernel tells about the host through /proc. Most of it is closed to the sandbox's uids anyway. */
static int proc(struct err *err)
{
	static const char *const hidden[] = { "proc/kcore",         "proc/keys",
					      "proc/key-users",     "proc/kmsg",
					      "proc/kallsyms",      "proc/sysrq-trigger",
					      "proc/timer_list",    "proc/sched_debug",
					      "proc/latency_stats", "proc/cmdline" };
	static const char *const fixed[] = { "proc/sys", "proc/irq", "proc/bus", "proc/fs" };
	static const char *const hidden_dirs[] = { "proc/acpi", "proc/scsi", "proc/asound" };
	struct stat st;
	int r = 0;

	if (mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return err_sys(err, "mount /proc");
	for (size_t i = 0; r == 0 && i < sizeof hidden / sizeof hidden[0]; i++)
		if (lstat(hidden[i], &st) == 0)
			r = bind("dev/null", hidden[i],
				 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, false,
				 err);
	for (size_t i = 0; r == 0 && i < sizeof fixed / sizeof fixed[0]; i++)
		if (lstat(fixed[i], &st) == 0)
			r = bind(fixed[i], fixed[i], READ_ONLY | MOUNT_ATTR_NOEXEC, false, err);
	for (size_t i = 0; r == 0 && i < sizeof hidden_dirs / sizeof hidden_dirs[0]; i++)
		if (lstat(hidden_dirs[i], &st) == 0)
			r = bind("root", hidden_dirs[i], READ_ONLY | MOUNT_ATTR_NOEXEC, false, err);
	return r;
}

static int one_tmpfs(const char *at, uint64_t size, unsigned mode, uint32_t uid, uint32_t gid,
		     struct err *err)
{
	char options[OPTIONS_SIZE];

	(void)snprintf(options, sizeof options,
		       "size=%" PRIu64 ",mode=%04o,uid=%" PRIu32 ",gid=%" PRIu32, size, mode, uid,
		       gid);
	if (mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return err_sys(err, "mount /%s", at);
	return 0;
}

static int scratch(const struct sb_plan *p, struct err *err)
{
	uint32_t root = ids_agent_uid(p->uid_base, p->agent_block, IDS_UID_ROOT);
	uint32_t user = ids_agent_uid(p->uid_base, p->agent_block, IDS_UID_USER);
	int r = one_tmpfs("tmp", p->tmp, 01777, root, p->gid_base, err);

	if (r == 0)
		r = one_tmpfs("dev/shm", p->tmp, 01777, root, p->gid_base, err);
	if (r == 0)
		r = one_tmpfs("home/user", p->tmp, 0755, user, p->gid_base + IDS_UID_USER, err);
	if (r == 0)
		r = one_tmpfs("run/garth", ROOT_RUN_BYTES, 0755, root, p->gid_base, err);
	return r;
}

/* Only here, in a child that garthd can kill, is a path below the workspace's mount resolved. */
static int workspace(const struct sb_plan *p, int tree_fd, struct err *err)
{
	struct mount_attr alone = { .propagation = MS_PRIVATE };
	char task[64];
	int r;

	if (mount_setattr(tree_fd, "", AT_EMPTY_PATH, &alone, sizeof alone) < 0)
		return err_sys(err, "separate the workspace's mount");
	r = attach(tree_fd, "workspace", err);
	if (r < 0)
		return r;
	(void)snprintf(task, sizeof task, "workspace/%s", p->task);
	return bind(task, "workspace/task", 0, false, err);
}

/* A tree of the host, at its own path. Links in the path are followed; where they lead must not be the server's own data. */
static int host_path(const char *path, const char *data_dir, struct err *err)
{
	autofd fd = open(path, O_PATH | O_CLOEXEC);
	char link[32], real[PATH_MAX];
	autofd here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	size_t len = strlen(data_dir);
	ssize_t n;
	int r;

	if (fd < 0 || here < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "host_paths: open %s", path);
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof real - 1);
	if (n < 0)
		return err_sys(err, "host_paths: %s", path);
	real[n] = '\0';
	if ((strncmp(real, data_dir, len) == 0 && (real[len] == '/' || real[len] == '\0')) ||
	    (strncmp(real, data_dir, (size_t)n) == 0 && data_dir[n] == '/'))
		return err_set(err, -EACCES, "host_paths: %s leads into garth's own data", path);
	r = sb_host_path_check(real, err);
	if (r < 0)
		return r;
	if (!S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "host_paths: %s is no folder", path);
	r = path_mkdirs(here, path + 1, 0755, NULL);
	if (r < 0)
		return err_errno(err, r, "host_paths: there is no place for %s in a sandbox", path);
	return bind(real, path + 1, READ_ONLY, false, err);
}

static int enter(struct err *err)
{
	struct mount_attr fixed = { .attr_set = MOUNT_ATTR_RDONLY };

	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return err_sys(err, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return err_sys(err, "let go of the host's root");
	if (chdir("/") < 0 || mount_setattr(AT_FDCWD, "/", 0, &fixed, sizeof fixed) < 0)
		return err_sys(err, "make the root read-only");
	return 0;
}

int root_build(const struct sb_plan *p, const struct root_place *place, struct err *err)
{
	int r;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, "separate the mounts from the host's");
	if (mount("tmpfs", place->at, "tmpfs", MS_NOSUID, "mode=0755,size=1m,nr_inodes=1k") < 0 ||
	    chdir(place->at) < 0)
		return err_sys(err, "mount a new root on %s", place->at);
	r = dirs(err);
	if (r == 0)
		r = system_dirs(err);
	if (r == 0)
		r = bind(place->etc, "etc", READ_ONLY | MOUNT_ATTR_NOEXEC, false, err);
	if (r == 0)
		r = devices(err);
	if (r == 0)
		r = proc(err);
	if (r == 0)
		r = scratch(p, err);
	for (unsigned i = 0; r == 0 && i < p->host_path_count; i++)
		r = host_path(p->host_paths[i], place->data_dir, err);
	if (r == 0)
		r = workspace(p, place->tree_fd, err);
	return r == 0 ? enter(err) : r;
}
