/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring a tree: what counts, and how a walk is started, asked and ended. */
#include "base/mem.h"
#include "sys/diskwalk.h"
#include "sys/diskwalk_internal.h"
#include "tree-fixture.h"
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

void test_walk__as_du(void)
{
	cleanup_free char *a = NULL, *b = NULL, *sparse = NULL, *fifo = NULL, *node = NULL;
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct diskwalk_result r;
	int fd;

	setup();
	a = under("a/big");
	b = under("b/also big");
	sparse = under("sparse");
	fifo = under("fifo");
	node = under("node");
	folder("a");
	folder("b");
	folder("b/empty");
	folder("b/\n\xff \\040");
	file("b/\n\xff \\040/file", 5000);
	file("a/big", 3 << 20);
	file("a/small", 1);
	file("a/none", 0);
	CHECK_INT(link(a, b), 0);
	CHECK_INT(symlink("/", "link") + symlinkat("/usr", AT_FDCWD, "link2"), 0);
	CHECK_INT(unlink("link") + unlink("link2"), 0);
	{
		cleanup_free char *l1 = under("to-root"), *l2 = under("to-big"),
				  *l3 = under("loop");

		CHECK_INT(symlink("/", l1), 0);
		CHECK_INT(symlink("a/big", l2), 0);
		CHECK_INT(symlink("loop", l3), 0);
	}
	fd = open(sparse, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK_INT(ftruncate(fd, 1LL << 40), 0);
	CHECK_INT(pwrite(fd, "x", 1, 1 << 30), 1);
	(void)close(fd);
	CHECK_INT(mkfifo(fifo, 0644), 0);
	if (!geteuid())
		CHECK_INT(mknod(node, S_IFCHR | 0600, makedev(1, 5)), 0);
	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/sock", top);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	(void)close(fd);
	r = walk(want());
	CHECK_INT(r.bytes, du("."));
	CHECK(r.bytes > 3 << 20 && r.bytes < 4 << 20);
	CHECK(!r.partial && !r.missed && !r.changed);
	CHECK_INT(r.nunreadable, 0);
	teardown();
}

void test_state__accounting(void)
{
	struct diskwalk_want w = want();
	struct diskwalk_result start, r;
	cleanup_free char *in_tree = NULL, *in_state = NULL, *old = NULL, *state = NULL;

	setup();
	in_tree = under("tree-file");
	in_state = under(".cloop/linked");
	old = under(".cloop/old");
	state = under(".cloop");
	folder(".cloop");
	folder("sub");
	folder("sub/.cloop"); /* only the one at the top is the hub's */
	file("sub/.cloop/f", 100 << 10);
	file(".cloop/old", 300 << 10);
	file("tree-file", 700 << 10);
	w.start = true;
	start = walk(w);
	CHECK_INT(start.state, du(".cloop"));
	CHECK_INT(start.bytes, du(".") - du(".cloop"));
	w = want();
	w.baseline = start.state;
	r = walk(w);
	CHECK_INT(r.bytes, start.bytes);
	/* What is added there counts ... */
	file(".cloop/new", 400 << 10);
	r = walk(w);
	CHECK_INT(r.bytes, start.bytes + (400 << 10));
	/* ... one file with names on both sides counts once ... */
	CHECK_INT(link(in_tree, in_state), 0);
	r = walk(w);
	CHECK_INT(r.bytes, start.bytes + (400 << 10));
	/* ... and what was there and goes gives nothing back. */
	CHECK_INT(unlink(in_state), 0);
	CHECK_INT(unlink(old), 0);
	file(".cloop/more", 100 << 10);
	r = walk(w);
	CHECK_INT(r.bytes, start.bytes + (200 << 10));
	CHECK_INT(run((const char *const[]){"rm", "-rf", state, NULL}, NULL), 0);
	r = walk(w);
	CHECK_INT(r.bytes, start.bytes);
	/* Without a baseline the whole of it is left out. */
	folder(".cloop");
	file(".cloop/new", 900 << 10);
	w.baseline = -1;
	r = walk(w);
	CHECK_INT(r.bytes, start.bytes);
	CHECK_INT(r.state, -1);
	teardown();
}

/* .cloop as a file, and as a link: the link is never followed. */
void test_state__not_a_directory(void)
{
	struct diskwalk_want w = want();
	struct diskwalk_result r;
	cleanup_free char *state = NULL;

	setup();
	state = under(".cloop");
	file(".cloop", 64 << 10);
	w.baseline = 0;
	r = walk(w);
	CHECK_INT(r.bytes, du("."));
	CHECK_INT(r.state, 64 << 10);
	CHECK_INT(unlink(state), 0);
	CHECK_INT(symlink("/usr", state), 0);
	r = walk(w);
	CHECK_INT(r.bytes, du("."));
	CHECK(!r.partial);
	teardown();
}

void test_output__counts_too(void)
{
	struct diskwalk_want w = want();
	struct diskwalk_result r;
	cleanup_free char *tree = NULL, *output = NULL, *from = NULL, *to = NULL;

	setup();
	folder("tree");
	folder("output");
	file("tree/a", 300 << 10);
	file("output/b", 500 << 10);
	tree = under("tree");
	output = under("output");
	from = under("tree/a");
	to = under("output/same");
	CHECK_INT(link(from, to), 0);
	w.tree = tree;
	w.output = output;
	r = walk(w);
	CHECK_INT(r.bytes, du(".") - (du(".") - du("tree") - du("output") + (300 << 10)));
	teardown();
}

static void eat(const char *name, size_t bytes, const char *fstype)
{
	cleanup_free char *dir = under(name), *in = cl_asprintf("%s/eaten", name);

	folder(name);
	if (fstype)
		CHECK_INT(mount("none", dir, fstype, 0, NULL), 0);
	file(in, bytes);
}

void test_mounts__nothing_below(void)
{
	static const enum diskwalk_bounds exact[] = {DISKWALK_BOUNDS_BEST, DISKWALK_BOUNDS_TABLE};
	struct diskwalk_want w = want();
	cleanup_free char *from = NULL, *to = NULL;
	struct diskwalk_result r;
	int64_t plain;

	if (geteuid()) {
		printf("# skipped: needs root\n");
		return;
	}
	setup();
	file("plain", 100 << 10);
	folder("sub");
	eat("sub/source", 200 << 10, NULL);
	plain = du(".");
	eat("sub/with blank\n\\040 and more", 400 << 10, "tmpfs");
	eat("sub/over", 800 << 10, "tmpfs");
	eat("sub/over/below", 800 << 10, "tmpfs");
	folder("bound");
	from = under("sub/source");
	to = under("bound");
	/* Two names for one directory of the same device: only the mounted one is left out. */
	CHECK_INT(mount(from, to, NULL, MS_BIND, NULL), 0);
	for (size_t i = 0; i < CL_ARRAY_LEN(exact); i++) {
		w.bounds = exact[i];
		r = walk(w);
		CHECK_INT(r.bytes, plain);
		CHECK(!r.partial);
	}
	/* By device a bind mount cannot be told; counting an inode once keeps it harmless. */
	w.bounds = DISKWALK_BOUNDS_DEVICE;
	r = walk(w);
	CHECK_INT(r.bytes, plain);
	/* A .cloop that is a mount is none of ours either. */
	eat(".cloop", 300 << 10, "tmpfs");
	w.bounds = DISKWALK_BOUNDS_BEST;
	w.start = true;
	r = walk(w);
	CHECK_INT(r.state, 0);
	CHECK_INT(r.bytes, plain);
	teardown();
}

/* A btrfs subvolume has a device number of its own and is no mount point. */
void test_mounts__subvolumes_count(void)
{
	cleanup_free char *image = NULL, *dir = NULL, *volume = NULL, *data = NULL;
	struct diskwalk_want w = want();

	setup();
	image = under("image");
	dir = under("btrfs");
	volume = under("btrfs/volume");
	data = under("btrfs/volume/data");
	folder("btrfs");
	file("image", 0);
	CHECK_INT(truncate(image, 256 << 20), 0);
	if (geteuid() || run((const char *const[]){"mkfs.btrfs", "-q", image, NULL}, NULL) ||
		run((const char *const[]){"mount", "-o", "loop", image, dir, NULL}, NULL)) {
		printf("# skipped: needs root, mkfs.btrfs and a loop device\n");
		teardown();
		return;
	}
	CHECK_INT(
		run((const char *const[]){"btrfs", "subvolume", "create", volume, NULL}, NULL), 0);
	file("btrfs/volume/data", 8 << 20);
	w.tree = dir;
	CHECK_INT(walk(w).bytes, du("btrfs"));
	w.bounds = DISKWALK_BOUNDS_TABLE;
	CHECK_INT(walk(w).bytes, du("btrfs"));
	CHECK(walk(w).bytes > 8 << 20);
	/* That is what tells it from the last resort. */
	w.bounds = DISKWALK_BOUNDS_DEVICE;
	CHECK(walk(w).bytes < 1 << 20);
	CHECK_INT(umount(dir), 0);
	teardown();
}

void test_api__poll_and_cancel(void)
{
	struct diskwalk_want w = want();
	struct diskwalk *d = NULL;
	struct diskwalk_result r;
	struct cl_err e;
	bool done = false;

	setup();
	file("f", 10 << 10);
	CHECK_INT(diskwalk_start(&w, &d, &e), 0);
	CHECK_INT(poll(&(struct pollfd){.fd = diskwalk_fd(d), .events = POLLIN}, 1, -1), 1);
	CHECK_INT(diskwalk_poll(d, &done, &r, &e), 0);
	CHECK(done);
	CHECK_INT(r.bytes, du("."));
	diskwalk_cancel(d);
	diskwalk_cancel(NULL);
	deep(2000);
	for (int i = 0; i < 200; i++) {
		CHECK_INT(diskwalk_start(&w, &d, &e), 0);
		if (i % 2)
			CHECK_INT(diskwalk_poll(d, &done, &r, &e), 0);
		if (i % 3 == 0)
			(void)sched_yield();
		diskwalk_cancel(d);
	}
	teardown();
}

void test_api__no_tree(void)
{
	struct diskwalk_want w = {.tree = "/proc/nonexistent/tree", .baseline = -1};
	struct diskwalk_result r;
	struct cl_err e;

	CHECK_INT(diskwalk_run(&w, &r, &e), -1);
	CHECK_INT(e.code, CL_ENOTFOUND);
	CHECK_HAS(e.msg, "'/proc/nonexistent/tree'");
	w.tree = "/etc/passwd";
	CHECK_INT(diskwalk_run(&w, &r, &e), -1);
	CHECK_INT(e.code, CL_ENOTFOUND);
	w.tree = "/etc";
	w.output = "/proc/nonexistent/out";
	CHECK_INT(diskwalk_run(&w, &r, &e), -1);
	CHECK_HAS(e.msg, "'/proc/nonexistent/out'");
}

void test_free__space(void)
{
	struct cl_err e;
	int64_t mb = -1;

	CHECK_INT(disk_free_mb("/tmp", &mb, &e), 0);
	CHECK(mb >= 0);
	CHECK_INT(disk_free_mb("/proc", &mb, &e), 0);
	CHECK_INT(mb, 0);
	CHECK_INT(disk_free_mb("/proc/nonexistent", &mb, &e), -1);
	CHECK_INT(e.code, CL_ENOTFOUND);
}

void test_inodes__many(void)
{
	struct inodes s = {0};

	for (uint64_t i = 0; i < 100000; i++)
		CHECK(inodes_add(&s, i % 7, i + 1));
	for (uint64_t i = 0; i < 100000; i++)
		CHECK(!inodes_add(&s, i % 7, i + 1));
	CHECK(inodes_add(&s, 8, 1));
	CHECK(inodes_add(&s, 0, 0) && inodes_add(&s, 0, 0));
	CHECK_INT(s.n, 100001);
	inodes_release(&s);
}
