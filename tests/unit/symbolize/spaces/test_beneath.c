/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening in folders of strangers: nothing leads out, and layers show what an overlay shows. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "symbolize/spaces/beneath.h"
#include "symbolize/spaces/mountinfo.h"
#include "tests/tools/symtools.h"

static bool opens(const char *root, const char *path)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_close_ int fd = beneath_open(root, path, &found);

	return fd >= 0;
}

static void test_links(void **state)
{
	_cleanup_free_ char *found = NULL, *real = NULL;
	const char *root;

	(void)state;
	symtools_run("mkdir -p root/usr/lib root/etc && echo secret > outside && "
		     "echo good > root/usr/lib/file && "
		     "ln -s usr/lib root/lib && ln -s /usr/lib/file root/absolute && "
		     "ln -s ../../../../usr/lib/file root/up && "
		     "ln -s ../outside root/escape && ln -s $PWD/outside root/away && "
		     "ln -s loop root/loop && ln -s /proc/self/exe root/magic && "
		     "ln -s /dev/zero root/zero && mkfifo root/fifo && mkdir root/folder");
	root = symtools_path("root");
	assert_true(opens(root, "/usr/lib/file"));
	assert_true(opens(root, "usr/lib/file"));
	assert_true(opens(root, "/lib/file"));
	/* Links are as the owner of the folder sees them. */
	assert_true(opens(root, "/absolute"));
	assert_true(opens(root, "/up"));
	assert_true(opens(root, "/../../usr/lib/file"));
	assert_false(opens(root, "/escape"));
	assert_false(opens(root, "/away"));
	assert_false(opens(root, "/../outside"));
	assert_false(opens(root, "/usr/../../outside"));
	assert_false(opens(root, "/loop"));
	assert_false(opens(root, "/magic"));
	assert_false(opens(root, "/zero"));
	assert_false(opens(root, "/fifo")); /* nor does it wait for a writer */
	assert_false(opens(root, "/folder"));
	assert_false(opens(root, "/"));
	assert_false(opens(root, ""));
	assert_false(opens(symtools_path("nowhere"), "/usr/lib/file"));
	/* The kernel's own files are none, although they look regular. */
	assert_false(opens("/", "/proc/self/maps"));
	assert_false(opens("/proc", "self/maps"));
	assert_false(opens("/sys", "kernel/notes"));

	close(beneath_open(root, "/lib/file", &found));
	real = realpath(symtools_path("root/usr/lib/file"), NULL);
	assert_string_equal(found, real);
}

static void add_layer(struct layers *layers, const char *name)
{
	const char *path = symtools_path(name);

	assert_null(layers_add(layers, NULL, path, strlen(path)));
}

/* What a file that is shown has in it: one line. Empty: there is none. */
static void content_of(int fd, char line[64])
{
	ssize_t n = fd < 0 ? 0 : read(fd, line, 63);

	line[n > 0 ? n : 0] = '\0';
}

static void expect_layered(const struct layers *layers, const char *path, const char *want)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_close_ int fd = beneath_open_layers(layers, NULL, path, &found);
	char line[64];

	content_of(fd, line);
	if (strcmp(line, want))
		fail_msg("%s: '%s' instead of '%s'", path, line, want);
}

static void make_layers(void)
{
	symtools_run("mkdir -p low/a/b low/gone low/opaque/deep low/file_now low/link mid/a/b "
		     "mid/gone up work merged && "
		     "for f in a/b/low a/b/both gone/low opaque/low opaque/deep/low file_now/low "
		     "link/low dir_now; do echo low > low/$f; done && "
		     "for f in a/b/mid a/b/both gone/mid; do echo mid > mid/$f; done");
}

static void test_order(void **state)
{
	struct layers layers = { 0 };

	(void)state;
	make_layers();
	/* What fuse-overlayfs leaves where it may make no devices. */
	symtools_run("mkdir -p up/a/b up/opaque && touch up/a/.wh.b_gone up/.wh.gone && "
		     "touch up/opaque/.wh..wh..opq && echo up > up/opaque/up && "
		     "echo up > up/file_now && mkdir up/dir_now && ln -s a/b up/link");
	add_layer(&layers, "up");
	add_layer(&layers, "nowhere");
	add_layer(&layers, "mid");
	add_layer(&layers, "low");
	expect_layered(&layers, "/a/b/low", "low\n");
	expect_layered(&layers, "/a/b/both", "mid\n");
	expect_layered(&layers, "//a///b//both", "mid\n");
	expect_layered(&layers, "/gone/low", "");
	expect_layered(&layers, "/opaque/up", "up\n");
	expect_layered(&layers, "/opaque/low", "");
	expect_layered(&layers, "/opaque/deep/low", "");
	expect_layered(&layers, "/file_now/low", "");
	expect_layered(&layers, "/file_now", "up\n");
	expect_layered(&layers, "/dir_now", "");
	expect_layered(&layers, "/link/low", "");
	expect_layered(&layers, "/../low/a/b/low", "");
	expect_layered(&layers, "/", "");
	layers_deinit(&layers);
	symtools_clean();
}

/* Renamed and copied without their data: what upper layers have of them points below. */
static int count_redirected(void)
{
	struct layers layers = { 0 };
	static const struct {
		const char *path, *content;
	} cases[] = {
		{ "/moved/low", "low\n" },
		{ "/moved/both", "mid\n" },
		{ "/a/b/both", "" },
		{ "/opaque/b2/low", "low\n" },
		{ "/opaque/deeper/low", "low\n" },
		{ "/opaque/deep/low", "" },
	};
	int wrong = 0;

	symtools_run(
		"mount -t tmpfs none merged && cd merged && mkdir up work m && cp -a ../low . && "
		"cp -a ../mid . && mkdir -p low/c/b2 && echo low > low/c/b2/low && "
		"mount -t overlay -o lowerdir=mid:low,upperdir=up,workdir=work,redirect_dir=on,"
		"metacopy=on none m && cd m && mv a/b moved && mv c/b2 opaque/b2 && "
		"mv opaque/deep opaque/deeper && chmod 600 moved/low moved/both opaque/b2/low");
	add_layer(&layers, "merged/up");
	add_layer(&layers, "merged/mid");
	add_layer(&layers, "merged/low");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *path = NULL;
		_cleanup_close_ int fd = beneath_open_layers(&layers, NULL, cases[i].path, &path);
		char ours[64];

		content_of(fd, ours);
		if (!strcmp(ours, cases[i].content))
			continue;
		print_error("%s: '%s', not '%s'\n", cases[i].path, ours, cases[i].content);
		wrong++;
	}
	layers_deinit(&layers);
	return wrong;
}

/* In a mount namespace of its own: how many paths the overlay shows otherwise than we do. */
static int count_differences(void)
{
	static const char *const paths[] = {
		"/a/b/low",  "/a/b/mid",    "/a/b/both",	"/gone/low",	 "/gone/mid",
		"/gone/up",  "/opaque/low", "/opaque/deep/low", "/opaque/up",	 "/file_now/low",
		"/file_now", "/dir_now",    "/dir_now/up",	"/a/b/replaced", "/absent",
	};
	struct layers layers = { 0 };
	int differences = 0, there = 0;

	/* What is below may be an overlay itself, which can be no upper layer. */
	symtools_run(
		"mount -t tmpfs none merged && cd merged && mkdir up work m && cp -a ../low . && "
		"cp -a ../mid . && "
		"mount -t overlay -o lowerdir=mid:low,upperdir=up,workdir=work none m && cd m && "
		"rm a/b/both && echo up > a/b/replaced && rm -r gone && mkdir gone && "
		"echo up > gone/up && rm -r opaque && mkdir opaque && echo up > opaque/up && "
		"rm -r file_now && echo up > file_now && rm dir_now && mkdir dir_now && "
		"echo up > dir_now/up");
	add_layer(&layers, "merged/up");
	add_layer(&layers, "merged/mid");
	add_layer(&layers, "merged/low");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		_cleanup_free_ char *found = NULL, *path = NULL;
		_cleanup_close_ int fd = beneath_open_layers(&layers, NULL, paths[i], &found);
		_cleanup_close_ int shown = -1;
		char ours[64], real[64];

		assert_true(asprintf(&path, "%s%s", symtools_path("merged/m"), paths[i]) > 0);
		shown = open(path, O_RDONLY | O_CLOEXEC);
		content_of(fd, ours);
		content_of(shown, real);
		there += *real != '\0';
		if (!strcmp(ours, real))
			continue;
		print_error("%s: '%s', the overlay has '%s'\n", paths[i], ours, real);
		differences++;
	}
	layers_deinit(&layers);
	return differences + (there != 7);
}

static void in_namespace(int (*count)(void))
{
	int status;
	pid_t pid;

	if (geteuid() != 0) {
		print_message("needs root: the other cases are made by hand\n");
		skip();
	}
	make_layers();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
			_exit(100);
		_exit(count());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_real_overlay(void **state)
{
	(void)state;
	in_namespace(count_differences);
}

static void test_redirected(void **state)
{
	(void)state;
	in_namespace(count_redirected);
}

static int clean(void **state)
{
	(void)state;
	symtools_clean();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_links, clean),
		cmocka_unit_test_teardown(test_order, clean),
		cmocka_unit_test_teardown(test_real_overlay, clean),
		cmocka_unit_test_teardown(test_redirected, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
