/* SPDX-License-Identifier: MIT */
/*
 * exec/cgroup.h - control groups of sandboxes: memory, pids and cpu, on cgroup v2, v1, or a host that has some of both.
 * A sandbox has a group garth/<server>/<name> in each hierarchy that garth uses. Groups are addressed below the server's own folder
 * descriptor of each hierarchy, so that a sandbox costs no descriptors.
 * Not here: when limits change (exec/sandbox_life.h), what a limit is worth (policy).
 * Thread: one.
 */
#ifndef GARTH_EXEC_CGROUP_H
#define GARTH_EXEC_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"

#define CGROUP_HIERARCHIES_MAX 5u
#define CGROUP_PATH_SIZE 512u

enum cgroup_use { /* a set: what a hierarchy is used for */
		  CGROUP_MEMORY = 1,
		  CGROUP_PIDS = 2,
		  CGROUP_CPU = 4,
		  CGROUP_CPUACCT = 8, /* v1; v2 counts in CGROUP_CPU */
		  CGROUP_KILL = 16,   /* v2: cgroup.kill */
};
#define CGROUP_NEEDED (CGROUP_MEMORY | CGROUP_PIDS | CGROUP_CPU)

struct cgroup_hierarchy {
	bool v2;
	unsigned use;
	char root[CGROUP_PATH_SIZE]; /* where it is mounted */
	int base_fd;                 /* garth/<server> in it; -1 before cgroups_open */
};

struct cgroups {
	unsigned n;
	struct cgroup_hierarchy h[CGROUP_HIERARCHIES_MAX];
};

struct cgroup_limits {
	uint64_t memory; /* bytes, swap included */
	uint32_t pids;
	uint32_t cpus_milli;
};

struct cgroup_stat {
	uint64_t memory_peak, oom_kills, pids_refused;
	int64_t cpu_ns;
	uint32_t pids_now;
};

/* The pure part of finding them: choose from the text of /proc/self/mountinfo; v2 hierarchies come without controllers. */
void cgroups_parse(struct cgroups *x, const char *mountinfo);

/* What the host has. 0, or -ENOTSUP with a sentence that names the missing controller. Nothing is made. */
must_check int cgroups_probe(struct cgroups *x, struct err *err);

/* Probe, and make garth/<server> in each. -EROFS, -EACCES with a sentence that says what to do. */
must_check int cgroups_open(struct cgroups *x, const char *server, struct err *err);
void cgroups_close(struct cgroups *x);

enum cgroup_peak { /* what the kernel keeps of the most memory that a group held */
		   CGROUP_PEAK_NONE = 0, /* v2 before Linux 5.19 */
		   CGROUP_PEAK_LIFE = 1, /* the group's whole life's: v2 before Linux 6.12 */
		   CGROUP_PEAK_STEP = 2, /* since it was reset */
};

/* x is open. */
enum cgroup_peak cgroups_peak(const struct cgroups *x);

/* Kill whatever is in them, and remove all groups of the server, its folder and garth/ too where it is empty. */
must_check int cgroups_sweep(struct cgroups *x, const char *server, struct err *err);

/* Make a group with limits. Nothing is left on failure. */
must_check int cgroup_make(const struct cgroups *x, const char *name,
			   const struct cgroup_limits *limits, struct err *err);

/* Put a process in. v1: 5 to 15 ms where the host has been quiet (the kernel waits for a grace period). */
must_check int cgroup_attach(const struct cgroups *x, const char *name, pid_t pid, struct err *err);

/* The group in the v2 hierarchy, for CLONE_INTO_CGROUP: cgroup_attach then leaves that one out. -1 where there is none. */
int cgroup_clone_fd(const struct cgroups *x, const char *name);

/* -EBUSY where the group holds more memory than that: nothing is killed for a limit. */
must_check int cgroup_limit(const struct cgroups *x, const char *name,
			    const struct cgroup_limits *limits, struct err *err);

/*
 * Counts since the group was made; the peak since cgroup_peak_reset where the kernel can (enum cgroup_peak).
 *
 * @peak_fd  -1 at first. v2 has a peak of its own for each descriptor; the caller keeps it and closes it.
 */
void cgroup_stat(const struct cgroups *x, const char *name, int peak_fd, struct cgroup_stat *ret);
void cgroup_peak_reset(const struct cgroups *x, const char *name, int *peak_fd);

/* A descriptor that becomes readable (v1: an eventfd, v2: inotify) when a process was killed for memory. Read it and ask cgroup_stat. */
must_check int cgroup_oom_fd(const struct cgroups *x, const char *name, int *ret_fd,
			     struct err *err);

/* Kill all at once, where the kernel can; the caller kills the pid namespace as well. */
void cgroup_kill(const struct cgroups *x, const char *name);

/* -EBUSY while something lives in it. */
must_check int cgroup_remove(const struct cgroups *x, const char *name);

#endif
