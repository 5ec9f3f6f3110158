/* SPDX-License-Identifier: MIT */
/*
 * cli/progress.c - how far a transfer is.
 */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/print.h"
#include "core/clock.h"
#include "core/size.h"

#define SILENT_NS (500 * NS_PER_MS) /* what is over by then needs no line */
#define REFRESH_NS (200 * NS_PER_MS)

void progress_begin(struct progress *p, const char *name)
{
	*p = (struct progress){ .name = name && isatty(STDERR_FILENO) ? name : NULL };
	if (p->name)
		p->begun_ns = clock_mono_ns();
}

void progress_add(struct progress *p, size_t n, uint64_t all)
{
	char done[SIZE_TEXT_SIZE], whole[SIZE_TEXT_SIZE], speed[SIZE_TEXT_SIZE];
	int64_t now;

	p->done += n;
	if (!p->name)
		return;
	now = clock_mono_ns();
	if (now - p->begun_ns < SILENT_NS || now - p->shown_ns < REFRESH_NS)
		return;
	p->shown_ns = now;
	p->shown = true;
	size_text(p->done, done);
	size_text((uint64_t)((double)p->done * (double)NS_PER_S / (double)(now - p->begun_ns)),
		  speed);
	(void)fputs("\r\033[K", stderr);
	print_safe(stderr, p->name);
	if (all == UINT64_MAX || all == 0) {
		(void)fprintf(stderr, "  %s  %s/s", done, speed);
	} else {
		size_text(all, whole);
		(void)fprintf(stderr, "  %s of %s  %u%%  %s/s", done, whole,
			      (unsigned)((double)p->done * 100 / (double)all), speed);
	}
	(void)fflush(stderr);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		(void)fputs("\r\033[K", stderr);
	p->shown = false;
}
