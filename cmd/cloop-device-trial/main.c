/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Says how devices can be opened where it runs: the trial of an engine's device rules
 * (cloop-exec-container(1), device-trial). Static and without the library, for it is bound into a
 * sandbox and run there alone. Nothing is read or written.
 *
 *   cloop-device-trial WORD [PATH...]
 *
 * Prints WORD, which tells the answer from another one's, and for each path a line with two error
 * numbers, 0 for success: of opening it to read, and to write.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define SECONDS 20

static int attempt(const char *path, int how)
{
	int fd = open(path, how | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	(void)alarm(SECONDS);
	if (argc < 2)
		return 64;
	(void)printf("%s\n", argv[1]);
	for (int i = 2; i < argc; i++) {
		int r = attempt(argv[i], O_RDONLY);

		(void)printf("%d %d\n", r, attempt(argv[i], O_WRONLY));
	}
	return fflush(stdout) ? 71 : 0;
}
