/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two command lines, run by turns, and how many times longer the first takes than the second:
 *
 *	ratio RUNS ours ARG... -- peer ARG...
 *
 * Turns (A B A B) let both see the same weather. Each run's standard streams are /dev/null. One
 * JSON object: medians in microseconds of wall time and of processor time (user and system), and
 * their ratios. A run that fails (a status other than 0 or 1, or a signal) ends it all: a ratio of
 * failures is none. RATIO_WARMUP=N runs of each are not counted (2).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

struct sample {
	double *wall, *cpu; /* microseconds */
};

static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "ratio: %s: %s\n", what, why);
	exit(1);
}

static double now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void null_streams(posix_spawn_file_actions_t *fa)
{
	int rc = posix_spawn_file_actions_init(fa);

	for (int fd = 0; !rc && fd < 3; fd++)
		rc = posix_spawn_file_actions_addopen(
			fa, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
	if (rc)
		die("preparing", strerror(rc));
}

static void one(char **argv, const posix_spawn_file_actions_t *fa, double *wall, double *cpu)
{
	double start = now_us();
	struct rusage ru;
	int status, rc;
	pid_t pid;

	rc = posix_spawnp(&pid, argv[0], fa, NULL, argv, environ);
	if (rc)
		die(argv[0], strerror(rc));
	while (wait4(pid, &status, 0, &ru) < 0)
		if (errno != EINTR)
			die(argv[0], strerror(errno));
	*wall = now_us() - start;
	*cpu = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1e6 +
	       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		die(argv[0], "failed");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static unsigned long number(const char *s, unsigned long min)
{
	char *end = NULL;
	unsigned long n = s && *s ? strtoul(s, &end, 10) : 0;

	if (!end || *end || n < min || n > 1000000)
		die(s ? s : "", "not a number of runs");
	return n;
}

int main(int argc, char **argv)
{
	const char *warm = getenv("RATIO_WARMUP");
	size_t runs, skip = warm ? number(warm, 0) : 2;
	posix_spawn_file_actions_t fa;
	struct sample s[2];
	char **side[2];
	double med[4];
	int split = 2;

	while (split < argc && strcmp(argv[split], "--") != 0)
		split++;
	if (argc < 5 || split < 3 || split + 1 >= argc)
		die("usage", "ratio RUNS ours ARG... -- peer ARG...");
	runs = number(argv[1], 1);
	argv[split] = NULL;
	side[0] = argv + 2;
	side[1] = argv + split + 1;
	null_streams(&fa);
	for (int k = 0; k < 2; k++) {
		s[k].wall = calloc(runs, sizeof(double));
		s[k].cpu = calloc(runs, sizeof(double));
		if (!s[k].wall || !s[k].cpu)
			die("memory", "none left");
	}
	for (size_t i = 0; i < runs + skip; i++)
		for (int k = 0; k < 2; k++)
			one(side[k], &fa, &s[k].wall[i < skip ? 0 : i - skip],
				&s[k].cpu[i < skip ? 0 : i - skip]);
	for (int k = 0; k < 2; k++) {
		med[2 * k] = median(s[k].wall, runs);
		med[2 * k + 1] = median(s[k].cpu, runs);
	}
	(void)printf("{\"runs\":%zu,\"ours_us\":%.1f,\"peer_us\":%.1f,\"ratio\":%.3f,"
		     "\"ours_cpu_us\":%.1f,\"peer_cpu_us\":%.1f,\"cpu_ratio\":%.3f}\n",
		runs, med[0], med[2], med[2] > 0 ? med[0] / med[2] : 0, med[1], med[3],
		med[3] > 0 ? med[1] / med[3] : 0);
	for (int k = 0; k < 2; k++) {
		free(s[k].wall);
		free(s[k].cpu);
	}
	(void)posix_spawn_file_actions_destroy(&fa);
	return fflush(stdout) ? 1 : 0;
}
