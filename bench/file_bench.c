/* SPDX-License-Identifier: MIT */
/*
 * bench/file_bench.c - files in one folder: small ones made, written and closed, and a large one written from end to end. The same
 * program runs in a step and on the bare disk.
 *   file_bench FOLDER SMALL_FILES MIB
 * Prints "create MICROSECONDS-A-FILE" and "write MIB-A-SECOND". It makes the folder and leaves all there: ext4 without a journal does
 * not use an inode again within 5 s of its removal, and looks at each one that it may not use, so a bench that tidies up measures that.
 * Not here: running it in both places, and the medians (bench/run.py).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SMALL_SIZE 4096
#define PIECE (1 << 20)

static char piece[PIECE];

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void create(unsigned long files)
{
	double start = now();
	char name[32];

	for (unsigned long i = 0; i < files; i++) {
		int fd;

		(void)snprintf(name, sizeof name, "small-%lu", i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 || write(fd, piece, SMALL_SIZE) != SMALL_SIZE || close(fd) < 0)
			die(name);
	}
	(void)printf("create %.2f\n", (now() - start) / (double)files * 1e6);
}

static void write_large(unsigned long mib)
{
	int fd = open("large", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	double start = now();

	for (unsigned long i = 0; i < mib; i++)
		if (fd < 0 || write(fd, piece, PIECE) != PIECE)
			die("large");
	if (close(fd) < 0)
		die("large");
	(void)printf("write %.1f\n", (double)mib / (now() - start));
}

int main(int argc, char **argv)
{
	if (argc != 4 || mkdir(argv[1], 0777) < 0 || chdir(argv[1]) < 0) {
		(void)fprintf(stderr, "file_bench FOLDER SMALL_FILES MIB\n");
		return 2;
	}
	(void)memset(piece, 'x', sizeof piece);
	create(strtoul(argv[2], NULL, 10));
	write_large(strtoul(argv[3], NULL, 10));
	return 0;
}
