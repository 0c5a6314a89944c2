/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A main() for fuzz targets without libFuzzer: runs each file of each folder named. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int one(const char *path)
{
	FILE *f = fopen(path, "rb");
	static uint8_t all[1 << 20];
	uint8_t *data;
	size_t n;

	if (!f)
		return 1;
	n = fread(all, 1, sizeof(all), f);
	(void)fclose(f);
	data = malloc(n ? n : 1); /* exactly as large, so that a read past the end is seen */
	if (!data)
		return 1;
	memcpy(data, all, n);
	(void)LLVMFuzzerTestOneInput(data, n);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int files = 0;

	for (int i = 1; i < argc; i++) {
		struct dirent *de;
		struct stat st;
		DIR *d;

		if (!stat(argv[i], &st) && S_ISREG(st.st_mode)) {
			files++;
			if (one(argv[i]))
				return 1;
			continue;
		}
		d = opendir(argv[i]);
		while (d && (de = readdir(d))) {
			char path[4096];

			(void)snprintf(path, sizeof(path), "%s/%s", argv[i], de->d_name);
			if (stat(path, &st) || !S_ISREG(st.st_mode))
				continue;
			files++;
			if (one(path))
				return 1;
		}
		if (d)
			(void)closedir(d);
	}
	(void)printf("%d inputs\n", files);
	return files ? 0 : 1;
}
