/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Build-ids against readelf -n, and files that are made to mislead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "record/base/buildid.h"
#include "tests/tools/readelf.h"

#define MUTATIONS 20000u

static void hex_of(const struct buildid *id, char *ret)
{
	*ret = '\0';
	for (unsigned int i = 0; i < id->len; i++)
		sprintf(ret + (size_t)2 * i, "%02x", id->bytes[i]);
}

static void *slurp(const char *path, size_t *ret_len)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	char *content;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	content = malloc((size_t)st.st_size);
	assert_non_null(content);
	assert_int_equal(read(fd, content, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_len = (size_t)st.st_size;
	return content;
}

static void test_system_files(void **state)
{
	glob_t files = { 0 };
	struct buildid_map cache = { .max = BUILDID_MAX_FILES };
	unsigned int with_id = 0;

	(void)state;
	if (system("readelf --version >/dev/null 2>&1"))
		skip(); /* no binutils */
	glob("/usr/bin/[a-g]*", 0, NULL, &files);
	glob("/usr/lib/*-linux-gnu*/lib[a-c]*.so.?", GLOB_APPEND, NULL, &files);
	glob("/usr/lib/*-linux-gnu*/*.o", GLOB_APPEND, NULL, &files);
	for (size_t i = 0; i < files.gl_pathc && i < 200; i++) {
		char expected[256], found[2 * BUILDID_MAX + 1];
		struct buildid id;

		if (buildid_of_path(&cache, files.gl_pathv[i], &id))
			continue;
		readelf(files.gl_pathv[i], expected);
		hex_of(&id, found);
		if (strcmp(found, expected))
			fail_msg("%s: %s, readelf: %s", files.gl_pathv[i], found, expected);
		with_id += id.len > 0;
		/* From the cache it is the same. */
		id.len = 0;
		assert_int_equal(buildid_of_path(&cache, files.gl_pathv[i], &id), 0);
		hex_of(&id, found);
		assert_string_equal(found, expected);
	}
	assert_true(with_id > 10);
	buildid_map_deinit(&cache);
	globfree(&files);
}

static void test_own_mapping(void **state)
{
	struct buildid_map cache = { .max = BUILDID_MAX_FILES };
	struct buildid by_path, by_mapping;
	uint64_t start = 0, end = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	int r;

	(void)state;
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) && !start) {
		unsigned long long s, e;

		if (strstr(line, "test_buildid") && strstr(line, " r-xp ") &&
		    sscanf(line, "%llx-%llx", &s, &e) == 2) {
			start = s;
			end = e;
		}
	}
	fclose(maps);
	assert_true(start);
	assert_int_equal(buildid_of_path(&cache, "/proc/self/exe", &by_path), 0);
	r = buildid_of_mapping(&cache, (uint32_t)getpid(), start, end, &by_mapping);
	if (r == -EPERM) { /* needs CAP_CHECKPOINT_RESTORE */
		buildid_map_deinit(&cache);
		skip();
	}
	assert_int_equal(r, 0);
	assert_int_equal(by_mapping.len, by_path.len);
	assert_memory_equal(by_mapping.bytes, by_path.bytes, by_path.len);
	assert_int_equal(buildid_of_mapping(&cache, (uint32_t)getpid(), start + 4096, end,
					    &by_mapping),
			 -ENOENT);
	buildid_map_deinit(&cache);
}

/* A path is believed only if it leads to the inode that was mapped. */
static void test_inode(void **state)
{
	struct buildid_map cache = { .max = BUILDID_MAX_FILES };
	struct buildid by_path, id;
	struct stat st;
	uint32_t dev_major, dev_minor;

	(void)state;
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	dev_major = major(st.st_dev);
	dev_minor = minor(st.st_dev);
	assert_int_equal(buildid_of_path(&cache, "/proc/self/exe", &by_path), 0);
	assert_true(by_path.len > 0);
	assert_int_equal(buildid_of_inode(&cache, "/proc/self/exe", dev_major, dev_minor, st.st_ino,
					  &id),
			 0);
	assert_int_equal(id.len, by_path.len);
	assert_memory_equal(id.bytes, by_path.bytes, id.len);
	assert_int_equal(buildid_of_inode(&cache, "/proc/self/exe", dev_major, dev_minor,
					  st.st_ino + 1, &id),
			 -ENOENT);
	assert_int_equal(id.len, 0);
	assert_int_equal(buildid_of_inode(&cache, "/proc/self/exe", dev_major, dev_minor + 1,
					  st.st_ino, &id),
			 -ENOENT);
	assert_int_equal(id.len, 0);
	buildid_map_deinit(&cache);
}

/* A file that is written again in place is another file. */
static void test_changed_file(void **state)
{
	char path[] = "/tmp/test_buildid.XXXXXX";
	struct buildid_map cache = { .max = BUILDID_MAX_FILES };
	struct buildid id;
	size_t len;
	char *image = slurp("/proc/self/exe", &len);
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, image, len), len);
	assert_int_equal(buildid_of_path(&cache, path, &id), 0);
	assert_true(id.len > 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, "#!/bin/sh\n", 10, 0), 10);
	assert_int_equal(buildid_of_path(&cache, path, &id), 0);
	assert_int_equal(id.len, 0);
	unlink(path);
	assert_int_equal(buildid_of_path(&cache, path, &id), -ENOENT);
	close(fd);
	free(image);
	buildid_map_deinit(&cache);
}

/* None of these is ever opened, so none can block or act. */
static void test_not_a_file(void **state)
{
	char dir[] = "/tmp/test_buildid.XXXXXX", fifo[64];
	static const char *const paths[] = { "/dev/zero", "/dev/tty", "/", "/proc/self" };
	struct buildid_map cache = { .max = BUILDID_MAX_FILES };
	struct buildid id;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	alarm(100); /* ends the test where the FIFO blocks it */
	assert_int_equal(buildid_of_path(&cache, fifo, &id), 0);
	assert_int_equal(id.len, 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(buildid_of_path(&cache, paths[i], &id), 0);
		assert_int_equal(id.len, 0);
	}
	alarm(0);
	buildid_map_deinit(&cache);
	unlink(fifo);
	rmdir(dir);
}

static void test_truncated(void **state)
{
	size_t len;
	char *image = slurp("/proc/self/exe", &len);
	struct buildid whole, id;

	(void)state;
	assert_true(buildid_of_memory(image, len, &whole));
	for (size_t n = 0; n < 2048; n++) {
		/* An allocation of its own, so that the sanitizer sees a read beyond. */
		char *part = malloc(n ? n : 1);

		assert_non_null(part);
		memcpy(part, image, n);
		if (buildid_of_memory(part, n, &id)) {
			assert_int_equal(id.len, whole.len);
			assert_memory_equal(id.bytes, whole.bytes, id.len);
		} else {
			assert_int_equal(id.len, 0);
		}
		free(part);
	}
	free(image);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* What can mislead is in the headers and the notes, which come first. */
static void test_mutated(void **state)
{
	static const uint64_t interesting[] = {
		0,	    1,	 0x7f,	     0xff,	     0xffff,
		0x7fffffff, ~0u, UINT64_MAX, UINT64_MAX - 3, (uint64_t)1 << 63
	};
	const size_t n = 4096;
	uint64_t seed = 0x5eed;
	unsigned int found = 0;
	size_t len;
	unsigned char *image = slurp("/proc/self/exe", &len);
	unsigned char *copy = malloc(n);

	(void)state;
	assert_non_null(copy);
	assert_true(len >= n);
	for (unsigned int i = 0; i < MUTATIONS; i++) {
		unsigned int changes = 1 + next_random(&seed) % 4;
		struct buildid id;

		memcpy(copy, image, n);
		while (changes--) {
			size_t at = next_random(&seed) % (n - 8);
			size_t width = (size_t)1 << next_random(&seed) % 4;
			uint64_t value = next_random(&seed) % 2
						 ? next_random(&seed)
						 : interesting[next_random(&seed) % 10];

			if (next_random(&seed) % 2)
				at %= 1024;
			memcpy(copy + at, &value, width);
		}
		if (buildid_of_memory(copy, n, &id)) {
			assert_in_range(id.len, 1, BUILDID_MAX);
			found++;
		}
	}
	assert_in_range(found, 1, MUTATIONS - 1);
	free(copy);
	free(image);
}

/* A big-endian 32-bit file without segments: its note is found by its section. */
static void test_other_byte_order(void **state)
{
	unsigned char file[256] = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2MSB, 1 };
	const unsigned char section[40] = {
		[7] = SHT_NOTE,
		[19] = 100,
		[23] = 24,
		[35] = 4,
	};
	const unsigned char note[24] = { 0, 0,	 0,   4,   0, 0,    0,	  5,	0,    0,   0,
					 3, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0x01, 0x23 };
	struct buildid id;
	char hex[2 * BUILDID_MAX + 1];

	(void)state;
	file[35] = 160; /* e_shoff */
	file[47] = 40;	/* e_shentsize */
	file[49] = 1;	/* e_shnum */
	memcpy(file + 100, note, sizeof(note));
	memcpy(file + 160, section, sizeof(section));
	assert_true(buildid_of_memory(file, sizeof(file), &id));
	hex_of(&id, hex);
	assert_string_equal(hex, "abcdef0123");
	/* The section's entry does not fit any more. */
	assert_false(buildid_of_memory(file, 199, &id));
	file[5] = ELFDATA2LSB;
	assert_false(buildid_of_memory(file, sizeof(file), &id));
}

static void test_notes(void **state)
{
	/* Another note first, whose name has to be padded. */
	struct {
		Elf64_Nhdr first;
		char first_name[8], first_desc[4];
		Elf64_Nhdr second;
		char second_name[4];
		unsigned char second_desc[20];
	} notes = {
		.first = { 6, 3, 1 },
		.first_name = "Linux",
		.second = { 4, 20, NT_GNU_BUILD_ID },
		.second_name = "GNU",
		.second_desc = { 1, 2, 3 },
	};
	struct buildid id;

	(void)state;
	assert_true(buildid_of_notes(&notes, sizeof(notes), &id));
	assert_int_equal(id.len, 20);
	assert_int_equal(id.bytes[2], 3);
	assert_false(buildid_of_notes(&notes, sizeof(notes) - 1, &id));
	notes.second.n_descsz = BUILDID_MAX + 1;
	assert_false(buildid_of_notes(&notes, sizeof(notes), &id));
	notes.first.n_namesz = 0xfffffff0;
	assert_false(buildid_of_notes(&notes, sizeof(notes), &id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_files), cmocka_unit_test(test_own_mapping),
		cmocka_unit_test(test_inode),	     cmocka_unit_test(test_changed_file),
		cmocka_unit_test(test_not_a_file),   cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_mutated),	     cmocka_unit_test(test_other_byte_order),
		cmocka_unit_test(test_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
