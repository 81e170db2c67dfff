/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where storages of containers are, and that root reads nothing in them but what their owner could
 * show to anyone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/read/reader.h"
#include "record/sideband/containers.h"
#include "record/sideband/storage_conf.h"

/* --- storage.conf --- */

struct found {
	char text[1024];
};

static void note(void *arg, enum storage_conf_key key, const char *value)
{
	struct found *found = arg;
	size_t len = strlen(found->text);

	snprintf(found->text + len, sizeof(found->text) - len, "%d=%s;", key, value);
}

static void assert_conf(const char *text, const char *expected)
{
	struct found found = { "" };

	storage_conf_parse(text, note, &found);
	assert_string_equal(found.text, expected);
}

static void test_conf(void **state)
{
	(void)state;
	assert_conf("", "");
	assert_conf("[storage]\ndriver = \"overlay\"\ngraphroot = \"/a b\"\n", "0=/a b;");
	assert_conf("  graphroot='/x'# why\nrootless_storage_path=\"$HOME/y\"", "0=/x;1=$HOME/y;");
	assert_conf("# graphroot = \"/no\"\ngraphroots = \"/no\"\n", "");
	assert_conf(
		"additionalimagestores = [\n \"/one\", # first\n '/two',\n]\ngraphroot = \"/g\"",
		"2=/one;2=/two;0=/g;");
	assert_conf("additionalimagestores = [ \"/one\", \"/unfinished\n]\n", "2=/one;");
	assert_conf("graphroot = \"", "");
	assert_conf("graphroot =", "");
	assert_conf("graphroot = [", "");
	assert_conf("graphroot", "");
}

static void test_expand(void **state)
{
	const struct storage_conf_user user = { .name = "me", .home = "/h/me", .uid = 1000 };
	char path[32];

	(void)state;
	assert_true(storage_conf_expand("$HOME/x", &user, path, sizeof(path)));
	assert_string_equal(path, "/h/me/x");
	assert_true(storage_conf_expand("/s/${USER}-$UID", &user, path, sizeof(path)));
	assert_string_equal(path, "/s/me-1000");
	assert_false(storage_conf_expand("/s/$HOMER", &user, path, sizeof(path)));
	assert_false(storage_conf_expand("$OTHER/x", &user, path, sizeof(path)));
	assert_false(storage_conf_expand("relative", &user, path, sizeof(path)));
	assert_false(storage_conf_expand("/$", &user, path, sizeof(path)));
	assert_false(
		storage_conf_expand("$HOME/aaaaaaaaaaaaaaaaaaaaaaaaaa", &user, path, sizeof(path)));
}

/* --- what is stored --- */

static void expect(struct ebt_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

struct fixture {
	char dir[64], trace[80];
	struct ebt_reader *reader;
};

static void write_file(const struct fixture *f, const char *name, const char *content)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	close(fd);
}

static void make_folder(const struct fixture *f, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void link_file(const struct fixture *f, const char *target, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	assert_int_equal(symlink(target, path), 0);
}

/* A storage at dir/storage, empty. */
static void make_storage(struct fixture *f)
{
	strcpy(f->dir, "/tmp/ebt-storages-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->trace, sizeof(f->trace), "%s/t.ebt", f->dir);
	make_folder(f, "storage");
	make_folder(f, "storage/overlay-containers");
	make_folder(f, "storage/overlay-layers");
	make_folder(f, "storage/overlay-images");
}

static void collect(struct fixture *f, int times, void (*between)(struct fixture *f))
{
	char mounts[256];
	struct ebt_writer_options options = { .name = f->trace };
	struct containers *containers;
	struct ebt_writer *writer;
	struct sideband_context context = { 0 };

	options.fd = open(f->trace, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(options.fd >= 0);
	expect(ebt_writer_create(&options, &writer));
	expect(ebt_writer_add_stream(writer, &context.stream));
	expect(containers_create(&context, &containers));
	snprintf(mounts, sizeof(mounts),
		 "36 35 0:30 / / rw - overlay overlay "
		 "rw,lowerdir=%s/storage/overlay/l/X,upperdir=%s/storage/overlay/ID/diff,workdir=/"
		 "w\n",
		 f->dir, f->dir);
	expect(containers_see_mounts(containers, mounts, strlen(mounts)));
	for (int i = 0; i < times; i++) {
		expect(containers_collect(containers));
		if (between)
			between(f);
	}
	containers_destroy(containers);
	expect(ebt_writer_finish(writer));
	ebt_writer_destroy(writer);
	close(options.fd);
	expect(ebt_reader_open(f->trace, &f->reader));
}

/* Files of the storage that are in the trace; the content of the last one in *ret. */
static size_t stored(struct fixture *f, const char *name, char *ret, size_t size)
{
	const struct ebt_file *files;
	char path[256];
	size_t n, found = 0;

	snprintf(path, sizeof(path), "%s/storage/%s", f->dir, name);
	expect(ebt_reader_files(f->reader, &files, &n));
	*ret = '\0';
	for (size_t i = 0; i < n; i++) {
		char *content;
		size_t len;

		if (strcmp(files[i].path, path))
			continue;
		expect(ebt_reader_file_content(f->reader, files[i].id, &content, &len));
		snprintf(ret, size, "%s", content);
		free(content);
		found++;
	}
	return found;
}

static void clean(struct fixture *f)
{
	char command[128];

	ebt_reader_close(f->reader);
	snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
	assert_int_equal(system(command), 0);
}

static void change(struct fixture *f)
{
	write_file(f, "storage/overlay-layers/layers.json", "[2]");
}

static void test_lists(void **state)
{
	struct fixture f;
	char content[64];

	(void)state;
	make_storage(&f);
	write_file(&f, "storage/overlay-containers/containers.json", "[{}]");
	write_file(&f, "storage/overlay-layers/layers.json", "[1]");
	write_file(&f, "storage/overlay-images/images.json", "[]");
	collect(&f, 3, change);
	assert_int_equal(stored(&f, "overlay-containers/containers.json", content, 64), 1);
	assert_string_equal(content, "[{}]");
	assert_int_equal(stored(&f, "overlay-layers/layers.json", content, 64), 2);
	assert_string_equal(content, "[2]");
	assert_int_equal(stored(&f, "overlay-images/images.json", content, 64), 1);
	assert_int_equal(stored(&f, "overlay-layers/volatile-layers.json", content, 64), 0);
	clean(&f);
}

/* Nothing is read through a link, and nothing waits. */
static void test_traps(void **state)
{
	struct fixture f;
	char content[64], path[256];

	(void)state;
	make_storage(&f);
	write_file(&f, "secret", "secret");
	link_file(&f, "../../secret", "storage/overlay-containers/containers.json");
	link_file(&f, "/etc/passwd", "storage/overlay-images/images.json");
	snprintf(path, sizeof(path), "%s/storage/overlay-layers/layers.json", f.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	link_file(&f, "/dev/zero", "storage/overlay-layers/volatile-layers.json");
	snprintf(path, sizeof(path), "%s/storage/overlay-containers/volatile-containers.json",
		 f.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	collect(&f, 1, NULL);
	assert_int_equal(stored(&f, "overlay-containers/containers.json", content, 64), 0);
	assert_int_equal(stored(&f, "overlay-images/images.json", content, 64), 0);
	assert_int_equal(stored(&f, "overlay-layers/layers.json", content, 64), 0);
	assert_int_equal(stored(&f, "overlay-layers/volatile-layers.json", content, 64), 0);
	assert_int_equal(stored(&f, "overlay-containers/volatile-containers.json", content, 64), 0);
	clean(&f);
}

/* A folder of the storage that leads elsewhere. */
static void test_folder_trap(void **state)
{
	struct fixture f;
	char content[64], path[256];

	(void)state;
	make_storage(&f);
	make_folder(&f, "elsewhere");
	write_file(&f, "elsewhere/containers.json", "secret");
	snprintf(path, sizeof(path), "%s/storage/overlay-containers", f.dir);
	assert_int_equal(rmdir(path), 0);
	link_file(&f, "../elsewhere", "storage/overlay-containers");
	collect(&f, 1, NULL);
	assert_int_equal(stored(&f, "overlay-containers/containers.json", content, 64), 0);
	clean(&f);
}

/* A hard link to a file of another user. */
static void test_owner(void **state)
{
	struct fixture f;
	char content[64], path[256];

	(void)state;
	if (geteuid())
		skip(); /* only root can give a folder away */
	make_storage(&f);
	write_file(&f, "storage/overlay-containers/containers.json", "of root");
	write_file(&f, "storage/overlay-layers/layers.json", "of the user");
	snprintf(path, sizeof(path), "%s/storage", f.dir);
	assert_int_equal(chown(path, 1234, 1234), 0);
	snprintf(path, sizeof(path), "%s/storage/overlay-layers/layers.json", f.dir);
	assert_int_equal(chown(path, 1234, 1234), 0);
	collect(&f, 1, NULL);
	assert_int_equal(stored(&f, "overlay-containers/containers.json", content, 64), 0);
	assert_int_equal(stored(&f, "overlay-layers/layers.json", content, 64), 1);
	clean(&f);
}

/* Mount tables that name no storage, or that end early. */
static void test_mounts(void **state)
{
	static const char *const texts[] = {
		"",
		"upperdir=",
		"upperdir=/diff",
		"upperdir=/overlay//diff",
		"upperdir=/overlay/ID/diff",
		"upperdir=relative/overlay/ID/diff",
		"upperdir=/a\\040b/overlay/ID/diff",
		"upperdir=/a/b/c/diff,upperdir=/x",
		"upperdir=/a/overlay/ID/diff",
	};
	struct containers *containers;
	struct sideband_context context = { 0 };

	(void)state;
	expect(containers_create(&context, &containers));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (size_t len = 0; len <= strlen(texts[i]); len++) {
			char *text = strndup(texts[i], len);

			assert_non_null(text);
			expect(containers_see_mounts(containers, text, len));
			free(text);
		}
	}
	containers_destroy(containers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conf),	    cmocka_unit_test(test_expand),
		cmocka_unit_test(test_lists),	    cmocka_unit_test(test_traps),
		cmocka_unit_test(test_folder_trap), cmocka_unit_test(test_owner),
		cmocka_unit_test(test_mounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
