/* SPDX-License-Identifier: MIT */
/*
 * exec/cgroup_limit.c - limits and counts of a group.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include "core/fd.h"
#include "exec/cgroup.h"
#include "exec/cgroup_file.h"

#define CPU_PERIOD_US 100000u
#define V1_LIMIT "memory.limit_in_bytes"
#define V1_SWAP "memory.memsw.limit_in_bytes"

/* memsw may never be below the limit, so which goes first depends on the way. Hosts without swap accounting have no memsw. */
static int memory_v1(int fd, const char *name, uint64_t bytes)
{
	int r = cgroup_file_write_u64(fd, name, V1_LIMIT, bytes);
	int swap = cgroup_file_write_u64(fd, name, V1_SWAP, bytes);

	if (r == -EINVAL && swap == 0)
		r = cgroup_file_write_u64(fd, name, V1_LIMIT, bytes);
	return r == 0 && swap < 0 && swap != -ENOENT ? swap : r;
}

/* What nobody can take back from a group that has no swap. */
static uint64_t held_v2(int fd, const char *name)
{
	static const char *const keys[] = {
		"anon",         /* /tmp: */ "shmem", "slab_unreclaimable",
		"kernel_stack", "pagetables",        "percpu",
		"sock"
	};
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		sum += cgroup_file_key(fd, name, "memory.stat", keys[i]);
	return sum;
}

/* v1 refuses a limit below what is held; v2 would take it and kill. */
static int memory_v2(int fd, const char *name, uint64_t bytes)
{
	int swap = cgroup_file_write(fd, name, "memory.swap.max", "0"), r;

	if (cgroup_file_u64(fd, name, "memory.current") > bytes && held_v2(fd, name) > bytes)
		return -EBUSY;
	r = cgroup_file_write_u64(fd, name, "memory.max", bytes);
	return r == 0 && swap < 0 && swap != -ENOENT ? swap : r;
}

static int cpu(const struct cgroup_hierarchy *h, const char *name, uint32_t cpus_milli)
{
	uint64_t quota = (uint64_t)cpus_milli * CPU_PERIOD_US / 1000;
	char text[48];

	if (!h->v2)
		return cgroup_file_write_u64(h->base_fd, name, "cpu.cfs_quota_us", quota);
	(void)snprintf(text, sizeof text, "%" PRIu64 " %u", quota, CPU_PERIOD_US);
	return cgroup_file_write(h->base_fd, name, "cpu.max", text);
}

static int limit_one(const struct cgroup_hierarchy *h, const char *name,
		     const struct cgroup_limits *l, struct err *err)
{
	int r = 0;

	if (h->use & CGROUP_MEMORY)
		r = h->v2 ? memory_v2(h->base_fd, name, l->memory)
			  : memory_v1(h->base_fd, name, l->memory);
	if (r < 0)
		return err_errno(err, r, "limit a sandbox's memory to %" PRIu64 " bytes",
				 l->memory);
	if (h->use & CGROUP_PIDS)
		r = cgroup_file_write_u64(h->base_fd, name, "pids.max", l->pids);
	if (r < 0)
		return err_errno(err, r, "limit a sandbox's processes");
	if (h->use & CGROUP_CPU)
		r = cpu(h, name, l->cpus_milli);
	if (r < 0)
		return err_errno(err, r, "limit a sandbox's cpu time");
	return 0;
}

int cgroup_limit(const struct cgroups *x, const char *name, const struct cgroup_limits *limits,
		 struct err *err)
{
	for (unsigned i = 0; i < x->n; i++) {
		int r = x->h[i].base_fd < 0 ? 0 : limit_one(&x->h[i], name, limits, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Where there is no memory.peak, what can be known: what is held now, or that the limit was reached. */
static uint64_t peak_v2(int fd, const char *name, int peak_fd, uint64_t oom_kills)
{
	char text[32] = "";
	uint64_t peak;

	if (peak_fd >= 0 && pread(peak_fd, text, sizeof text - 1, 0) > 0)
		return strtoull(text, NULL, 10);
	peak = cgroup_file_u64(fd, name, "memory.peak");
	if (peak == 0)
		peak = cgroup_file_u64(fd, name, oom_kills ? "memory.max" : "memory.current");
	return peak;
}

static void stat_one(const struct cgroup_hierarchy *h, const char *name, int peak_fd,
		     struct cgroup_stat *s)
{
	int fd = h->base_fd;

	if (h->use & CGROUP_MEMORY) {
		s->oom_kills =
			cgroup_file_key(fd, name, h->v2 ? "memory.events" : "memory.oom_control",
					"oom_kill");
		s->memory_peak = h->v2 ? peak_v2(fd, name, peak_fd, s->oom_kills)
				       : cgroup_file_u64(fd, name, "memory.max_usage_in_bytes");
	}
	if (h->use & CGROUP_PIDS) {
		s->pids_refused = cgroup_file_key(fd, name, "pids.events", "max");
		s->pids_now = (uint32_t)cgroup_file_u64(fd, name, "pids.current");
	}
	if ((h->use & CGROUP_CPU) && h->v2)
		s->cpu_ns = (int64_t)cgroup_file_key(fd, name, "cpu.stat", "usage_usec") * 1000;
	if (h->use & CGROUP_CPUACCT)
		s->cpu_ns = (int64_t)cgroup_file_u64(fd, name, "cpuacct.usage");
}

void cgroup_stat(const struct cgroups *x, const char *name, int peak_fd, struct cgroup_stat *ret)
{
	*ret = (struct cgroup_stat){ 0 };
	for (unsigned i = 0; i < x->n; i++)
		if (x->h[i].base_fd >= 0)
			stat_one(&x->h[i], name, peak_fd, ret);
}

/* Before Linux 6.12 root may open it so, but not write. */
static void peak_reset_v2(int base_fd, const char *name, int *peak_fd)
{
	if (*peak_fd < 0)
		(void)!cgroup_file_open(base_fd, name, "memory.peak", O_RDWR, peak_fd);
	if (*peak_fd >= 0 && write(*peak_fd, "0", 1) < 0)
		fd_closep(peak_fd);
}

void cgroup_peak_reset(const struct cgroups *x, const char *name, int *peak_fd)
{
	for (unsigned i = 0; i < x->n; i++) {
		if (x->h[i].base_fd < 0 || !(x->h[i].use & CGROUP_MEMORY))
			continue;
		if (x->h[i].v2)
			peak_reset_v2(x->h[i].base_fd, name, peak_fd);
		else
			(void)!cgroup_file_write(x->h[i].base_fd, name, "memory.max_usage_in_bytes",
						 "0");
	}
}

enum cgroup_peak cgroups_peak(const struct cgroups *x)
{
	for (unsigned i = 0; i < x->n; i++) {
		autofd fd = -1;

		if (!x->h[i].v2 || x->h[i].base_fd < 0 || !(x->h[i].use & CGROUP_MEMORY))
			continue;
		if (cgroup_file_open(x->h[i].base_fd, ".", "memory.peak", O_RDWR, &fd) < 0)
			return CGROUP_PEAK_NONE;
		return write(fd, "0", 1) < 0 ? CGROUP_PEAK_LIFE : CGROUP_PEAK_STEP;
	}
	return CGROUP_PEAK_STEP;
}

static int oom_v1(int base_fd, const char *name, int *ret_fd)
{
	autofd control = -1;
	autofd event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	char text[32];
	int r = event < 0
			? -errno
			: cgroup_file_open(base_fd, name, "memory.oom_control", O_RDONLY, &control);

	if (r < 0)
		return r;
	(void)snprintf(text, sizeof text, "%d %d", event, control);
	r = cgroup_file_write(base_fd, name, "cgroup.event_control", text);
	if (r == 0)
		*ret_fd = fd_steal(&event);
	return r;
}

static int oom_v2(int base_fd, const char *name, int *ret_fd)
{
	autofd note = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[64 + CGROUP_PATH_SIZE];

	if (note < 0)
		return -errno;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d/%s/memory.events", base_fd, name);
	if (inotify_add_watch(note, path, IN_MODIFY) < 0)
		return -errno;
	*ret_fd = fd_steal(&note);
	return 0;
}

int cgroup_oom_fd(const struct cgroups *x, const char *name, int *ret_fd, struct err *err)
{
	for (unsigned i = 0; i < x->n; i++) {
		int r;

		if (x->h[i].base_fd < 0 || !(x->h[i].use & CGROUP_MEMORY))
			continue;
		r = x->h[i].v2 ? oom_v2(x->h[i].base_fd, name, ret_fd)
			       : oom_v1(x->h[i].base_fd, name, ret_fd);
		return r < 0 ? err_errno(err, r, "watch a sandbox's memory") : 0;
	}
	return err_set(err, -ENOTSUP, "no memory controller");
}
