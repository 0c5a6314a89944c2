/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which descriptor counts as a key that was handed down. */
#include "unit.h"
#include "work/key_pass.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define OURS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* What a child answers that has a file in memory with these seals there. */
static int kept(int seals)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		int m = memfd_create("key", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		if (m < 0 || write(m, "k", 1) != 1 || fcntl(m, F_ADD_SEALS, seals) ||
			(m != KEY_PASS_FD && dup2(m, KEY_PASS_FD) < 0))
			_exit(99);
		_exit(key_pass_keep() == KEY_PASS_FD && fcntl(KEY_PASS_FD, F_GETFD) == FD_CLOEXEC
				? 1
				: 0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* With vm.memfd_noexec the kernel adds F_SEAL_EXEC to what we asked for; other kernels may more. */
void test_key_pass__seals_of_the_kernel_do_no_harm(void)
{
	CHECK_INT(kept(OURS), 1);
	CHECK_INT(kept(OURS | F_SEAL_FUTURE_WRITE), 1);
}

void test_key_pass__what_others_could_change_is_no_key(void)
{
	CHECK_INT(kept(OURS & ~F_SEAL_WRITE), 0);
	CHECK_INT(kept(OURS & ~F_SEAL_SEAL), 0);
	CHECK_INT(kept(OURS & ~F_SEAL_GROW), 0);
}
