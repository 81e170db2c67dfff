/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython in ELF files, as they should be and as they should not. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/bpf/python.h"
#include "record/unwind/python.h"

#define MUTATIONS 20000

/* A file with what is looked at. */
struct file {
	Elf64_Ehdr head;
	Elf64_Shdr sections[6];
	char names[64];
	char strings[32];
	Elf64_Sym symbols[3];
	uint64_t constants[2];
	uint64_t runtime[64]; /* cookie, version, offsets … */
};

enum { NAMES = 1, STRINGS, SYMBOLS, CONSTANTS, RUNTIME };

static void put_section(struct file *f, int i, uint32_t type, size_t offset, size_t size)
{
	f->sections[i].sh_type = type;
	f->sections[i].sh_offset = offset;
	f->sections[i].sh_addr = 0x400000 + offset;
	f->sections[i].sh_size = size;
	f->sections[i].sh_flags = SHF_ALLOC;
}

static void make(uint64_t version, struct file *f)
{
	*f = (struct file){ .names = "\0.PyRuntime", .strings = "\0Py_Ellipsis\0Py_Version" };
	memcpy(f->head.e_ident, ELFMAG, SELFMAG);
	f->head.e_ident[EI_CLASS] = ELFCLASS64;
	f->head.e_ident[EI_DATA] = ELFDATA2LSB;
	f->head.e_shoff = offsetof(struct file, sections);
	f->head.e_shentsize = sizeof(Elf64_Shdr);
	f->head.e_shnum = 6;
	f->head.e_shstrndx = NAMES;
	put_section(f, NAMES, SHT_STRTAB, offsetof(struct file, names), sizeof(f->names));
	put_section(f, STRINGS, SHT_STRTAB, offsetof(struct file, strings), sizeof(f->strings));
	put_section(f, SYMBOLS, SHT_DYNSYM, offsetof(struct file, symbols), sizeof(f->symbols));
	put_section(f, CONSTANTS, SHT_PROGBITS, offsetof(struct file, constants),
		    sizeof(f->constants));
	put_section(f, RUNTIME, SHT_PROGBITS, offsetof(struct file, runtime), sizeof(f->runtime));
	f->sections[SYMBOLS].sh_link = STRINGS;
	f->sections[RUNTIME].sh_name = 1;
	for (int i = 1; i < 3; i++)
		f->symbols[i] = (Elf64_Sym){
			.st_name = i == 1 ? 1 : 13,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_size = 8,
			.st_value = f->sections[CONSTANTS].sh_addr + 8 * (uint64_t)(i - 1),
		};
	f->constants[1] = version;
}

static bool read_file(const void *data, size_t len, struct ebrec_python_build *ret)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	bool found;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	found = python_build_read(fd, ret);
	close(fd);
	return found;
}

static void test_versions(void **state)
{
	struct ebrec_python_build build;
	struct file f;

	(void)state;
	make(0x030b02f0, &f);
	assert_true(read_file(&f, sizeof(f), &build));
	assert_int_equal(build.version, 0x030b02f0);
	assert_int_equal(build.runtime, f.sections[RUNTIME].sh_addr);
	assert_int_equal(build.frame_is_entry, 68);
	make(0x030c0100, &f);
	assert_true(read_file(&f, sizeof(f), &build));
	assert_int_equal(build.frame_is_entry, PYTHON_NONE);
	assert_int_equal(build.cframe_frame, 0);
	/* Others' structures are not known. */
	make(0x030a0000, &f);
	assert_false(read_file(&f, sizeof(f), &build));
	make(0x030e0000, &f);
	assert_false(read_file(&f, sizeof(f), &build));
	/* 3.13 says where everything is, so its version alone is not enough. */
	make(0x030d0000, &f);
	assert_false(read_file(&f, sizeof(f), &build));
	make(0x030b02f0, &f);
	f.names[1] = 'x';
	assert_false(read_file(&f, sizeof(f), &build));
}

/* The offsets that 3.13 gives are believed where they lie in what is read. */
static void test_debug_offsets(void **state)
{
	static const uint64_t offsets[] = {
		/* runtime: size, finalizing, interpreters */ 100000,
		0,
		632,
		/* interpreter */ 200000,
		0,
		7264,
		7344,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		/* thread */ 300,
		0,
		8,
		16,
		72,
		152,
		160,
		0,
		0,
		/* frame */ 88,
		8,
		0,
		56,
		72,
		70,
		/* code */ 208,
		112,
		120,
		128,
		136,
		68,
		52,
		96,
		104,
		200,
	};
	struct ebrec_python_build build;
	struct file f;

	(void)state;
	make(0, &f);
	memcpy(f.runtime, "xdebugpy", 8);
	f.runtime[1] = 0x030d00f0;
	memcpy(f.runtime + 3, offsets, sizeof(offsets));
	assert_true(read_file(&f, sizeof(f), &build));
	assert_int_equal(build.interpreters_head, 632);
	assert_int_equal(build.thread_frame, 72);
	assert_int_equal(build.cframe_frame, PYTHON_NONE);
	assert_int_equal(build.code_first_traceable, 184);
	for (size_t i = 3; i < 3 + sizeof(offsets) / sizeof(*offsets); i++) {
		uint64_t was = f.runtime[i];

		f.runtime[i] = UINT64_MAX - 7;
		if (read_file(&f, sizeof(f), &build))
			assert_true(build.thread_id < PYTHON_OBJECT_BYTES &&
				    build.frame_owner < PYTHON_FRAME_BYTES &&
				    build.code_first_traceable < PYTHON_OBJECT_BYTES);
		f.runtime[i] = was;
	}
}

static void test_damaged(void **state)
{
	struct ebrec_python_build build;
	struct file f;

	(void)state;
	srandom(1);
	for (int i = 0; i < MUTATIONS; i++) {
		size_t len = random() % 8 ? sizeof(f) : (size_t)random() % (sizeof(f) + 1);

		make(random() % 2 ? 0x030b02f0 : 0x030c00f0, &f);
		if (random() % 3 == 0) {
			memcpy(f.runtime, "xdebugpy", 8);
			f.runtime[1] = 0x030d00f0;
		}
		for (long n = random() % 6; n > 0; n--) {
			static const unsigned char bytes[] = { 0, 1, 0x7f, 0x80, 0xff };

			((unsigned char *)&f)[(size_t)random() % sizeof(f)] =
				random() % 2 ? bytes[random() % 5] : (unsigned char)random();
		}
		read_file(&f, len, &build);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_debug_offsets),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
