/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The headers of ELF files of all classes and byte orders: right ones, cut ones and lying ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "unwind/elf_headers.h"

#define LENGTH	     1024
#define MUTATIONS    20000
#define MAX_SECTIONS 3u

static const char names[] = "\0.names\0.text";

/* A file by hand: two segments at 0x100, three sections at 0x200, their names at 0x300. */
struct made {
	unsigned char data[LENGTH];
	bool is64, big;
	size_t at;
};

static void put(struct made *m, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		m->data[m->at++] = (unsigned char)(value >> 8 * (m->big ? size - 1 - i : i));
}

/* A number of the class's size. */
static void put_word(struct made *m, uint64_t value)
{
	put(m, value, m->is64 ? 8 : 4);
}

static void put_segment(struct made *m, uint32_t type, uint32_t flags, uint64_t offset,
			uint64_t address, uint64_t len)
{
	put(m, type, 4);
	if (m->is64)
		put(m, flags, 4);
	put_word(m, offset);
	put_word(m, address);
	put_word(m, address);
	put_word(m, len);
	put_word(m, len + 1);
	if (!m->is64)
		put(m, flags, 4);
	put_word(m, 16);
}

static void put_section(struct made *m, uint32_t name, uint32_t type, uint64_t offset, uint64_t len)
{
	put(m, name, 4);
	put(m, type, 4);
	put_word(m, SHF_ALLOC);
	put_word(m, 0x1000 + offset);
	put_word(m, offset);
	put_word(m, len);
	put(m, 2, 4);
	put(m, 0, 4);
	put_word(m, 8);
	put_word(m, 0);
}

static struct made make(bool is64, bool big)
{
	struct made m = { .is64 = is64, .big = big, .at = EI_NIDENT };

	memcpy(m.data, ELFMAG, SELFMAG);
	m.data[EI_CLASS] = is64 ? ELFCLASS64 : ELFCLASS32;
	m.data[EI_DATA] = big ? ELFDATA2MSB : ELFDATA2LSB;
	put(&m, ET_DYN, 2);
	put(&m, EM_PPC, 2);
	put(&m, EV_CURRENT, 4);
	put_word(&m, 0x1234);
	put_word(&m, 0x100);
	put_word(&m, 0x200);
	put(&m, 0, 4);
	put(&m, is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr), 2);
	put(&m, is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), 2);
	put(&m, 2, 2);
	put(&m, is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), 2);
	put(&m, 3, 2);
	put(&m, 1, 2);
	m.at = 0x100;
	put_segment(&m, PT_NOTE, PF_R, 0x20, 0x7000, 0x10);
	put_segment(&m, PT_LOAD, PF_R | PF_X, 0x40, 0x8000, 0x80);
	m.at = 0x200;
	put_section(&m, 0, SHT_NULL, 0, 0);
	put_section(&m, 1, SHT_STRTAB, 0x300, sizeof(names));
	put_section(&m, 8, SHT_PROGBITS, 0x40, 0x80);
	memcpy(m.data + 0x300, names, sizeof(names));
	return m;
}

static void expect_made(const struct elf_headers *elf)
{
	const Elf64_Shdr *s = elf_headers_section(elf, ".text");
	const Elf64_Phdr *p = elf_headers_segment_at(elf, 0x807f, PF_X);

	assert_int_equal(elf->file.e_machine, EM_PPC);
	assert_int_equal(elf->file.e_entry, 0x1234);
	assert_int_equal(elf->n_segments, 2);
	assert_int_equal(elf->segments[0].p_type, PT_NOTE);
	assert_true(p == &elf->segments[1]);
	assert_int_equal(p->p_flags, PF_R | PF_X);
	assert_int_equal(p->p_offset, 0x40);
	assert_int_equal(p->p_memsz, 0x81);
	assert_int_equal(p->p_align, 16);
	assert_null(elf_headers_segment_at(elf, 0x8080, 0));
	assert_null(elf_headers_segment_at(elf, 0x7000, 0));
	assert_null(elf_headers_segment_at(elf, 0x8000, PF_W));
	assert_int_equal(elf->n_sections, 3);
	assert_true(s == &elf->sections[2]);
	assert_int_equal(s->sh_type, SHT_PROGBITS);
	assert_int_equal(s->sh_flags, SHF_ALLOC);
	assert_int_equal(s->sh_addr, 0x1040);
	assert_int_equal(s->sh_size, 0x80);
	assert_int_equal(s->sh_link, 2);
	assert_int_equal(s->sh_addralign, 8);
	assert_null(elf_headers_section(elf, ".data"));
	assert_false(elf_headers_is_native(elf));
}

static void test_classes(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct made m = make(kind & 1, kind & 2);
		int fd = memfd_create("elf", MFD_CLOEXEC);
		struct elf_headers elf;

		assert_true(elf_headers_of_memory(m.data, LENGTH, &elf));
		assert_true(elf_headers_sections(&elf, MAX_SECTIONS));
		expect_made(&elf);
		assert_int_equal(elf_headers_is_le64(&elf), m.is64 && !m.big);
		elf_headers_deinit(&elf);
		assert_int_equal(write(fd, m.data, LENGTH), LENGTH);
		assert_true(elf_headers_of_fd(fd, &elf));
		assert_true(elf_headers_sections(&elf, MAX_SECTIONS));
		expect_made(&elf);
		elf_headers_deinit(&elf);
		close(fd);
	}
}

static void test_no_file(void **state)
{
	struct elf_headers elf;
	int pipes[2];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(elf_headers_of_fd(i ? -1 : pipes[0], &elf));
		assert_int_equal(elf.file.e_ident[EI_CLASS], ELFCLASSNONE);
		assert_true(elf_headers_sections(&elf, MAX_SECTIONS));
		assert_int_equal(elf.n_segments + elf.n_sections, 0);
		elf_headers_deinit(&elf);
	}
	close(pipes[0]);
	close(pipes[1]);
}

/* Reads a copy of exactly this length, so that a sanitizer sees each byte too many. Returns how
 * many headers there were. */
static size_t read_copy(const unsigned char *data, size_t len)
{
	unsigned char *copy = malloc(len ? len : 1);
	struct elf_headers elf;
	size_t n;

	assert_non_null(copy);
	memcpy(copy, data, len);
	assert_true(elf_headers_of_memory(copy, len, &elf));
	assert_true(elf_headers_sections(&elf, MAX_SECTIONS));
	assert_true(elf.n_segments <= elf.file.e_phnum && elf.n_segments <= ELF_MAX_SEGMENTS);
	assert_true(elf.n_sections <= elf.file.e_shnum && elf.n_sections <= MAX_SECTIONS);
	assert_true(elf.names_len <= len);
	for (size_t i = 0; i < elf.n_sections; i++)
		elf_headers_is(&elf, &elf.sections[i], ".text");
	elf_headers_segment_at(&elf, 0x8000, 0);
	n = elf.n_segments + elf.n_sections;
	elf_headers_deinit(&elf);
	free(copy);
	return n;
}

static void test_cut(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct made m = make(kind & 1, kind & 2);
		size_t before = 0;

		for (size_t len = 0; len <= LENGTH; len++) {
			size_t n = read_copy(m.data, len);

			assert_true(n >= before);
			before = n;
		}
		assert_int_equal(before, 5);
	}
}

/* Counts, sizes and offsets that no file has. */
static void test_lies(void **state)
{
	static const struct {
		size_t at;
		uint64_t value;
		size_t n; /* headers that are left */
	} lies[] = {
		{ offsetof(Elf64_Ehdr, e_phentsize), 55, 3 },
		{ offsetof(Elf64_Ehdr, e_phentsize), 0, 3 },
		{ offsetof(Elf64_Ehdr, e_shentsize), 0, 2 },
		{ offsetof(Elf64_Ehdr, e_phnum), 0xffff, 16 },
		{ offsetof(Elf64_Ehdr, e_shnum), 0xffff, 5 },
		{ offsetof(Elf64_Ehdr, e_shstrndx), 0xffff, 5 },
		{ offsetof(Elf64_Ehdr, e_ident), 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		struct made m = make(true, false);

		m.at = lies[i].at;
		put(&m, lies[i].value, 2);
		assert_int_equal(read_copy(m.data, LENGTH), lies[i].n);
	}
	for (size_t i = 0; i < 2; i++) {
		struct made m = make(true, false);

		m.at = i ? offsetof(Elf64_Ehdr, e_phoff) : offsetof(Elf64_Ehdr, e_shoff);
		put(&m, UINT64_MAX - 8, 8);
		assert_int_equal(read_copy(m.data, LENGTH), i ? 3 : 2);
	}
	for (size_t i = 0; i < 2; i++) {
		struct made m = make(true, false);

		m.at = 0x200 + sizeof(Elf64_Shdr) +
		       (i ? offsetof(Elf64_Shdr, sh_offset) : offsetof(Elf64_Shdr, sh_size));
		put(&m, UINT64_MAX - 8, 8);
		assert_int_equal(read_copy(m.data, LENGTH), 5);
	}
}

static void test_mutations(void **state)
{
	unsigned int seed = 4711;

	(void)state;
	for (unsigned int i = 0; i < MUTATIONS; i++) {
		struct made m = make(i & 1, i & 2);

		for (unsigned int k = 0; k <= i % 8; k++)
			m.data[4 + (size_t)rand_r(&seed) % 0x300] = (unsigned char)rand_r(&seed);
		read_copy(m.data, i % 5 ? LENGTH : (size_t)rand_r(&seed) % LENGTH);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),	  cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_cut),	  cmocka_unit_test(test_lies),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
