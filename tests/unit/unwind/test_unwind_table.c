/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF files to unwind tables: where the information is found, and how rows are cut into pages. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "tests/tools/cfi_asm.h"
#include "unwind/image.h"
#include "unwind/table.h"

#define BASE  0x400000
#define ENTRY (BASE + 0x1800)

/*
 * A file by hand: ELF header, three program headers, code from 0x1000 on as far as it pleases, and
 * behind the headers, in the file at 0x800, the sections.
 */
struct file {
	unsigned char data[1 << 17];
	size_t len;
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Shdr sections[4];
};

static void file_init(struct file *f)
{
	static const char names[] = "\0.names\0.eh_frame\0.debug_frame";

	*f = (struct file){
		.len = 0x800,
		.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_EXEC,
			    .e_machine = EM_X86_64,
			    .e_entry = ENTRY,
			    .e_phoff = sizeof(Elf64_Ehdr),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 3,
			    .e_shoff = 0x200,
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = 4,
			    .e_shstrndx = 1 },
		.segments = { { .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = 0x1000,
				.p_vaddr = BASE + 0x1000,
				.p_filesz = 0x40000,
				.p_memsz = 0x40000 },
			      { .p_type = PT_LOAD,
				.p_flags = PF_R,
				.p_vaddr = BASE,
				.p_filesz = 0x1000,
				.p_memsz = 0x1000 },
			      { .p_type = PT_NULL } },
		.sections = { { 0 },
			      { .sh_type = SHT_STRTAB,
				.sh_name = 1,
				.sh_offset = 0x400,
				.sh_size = sizeof(names) },
			      { .sh_type = SHT_NULL, .sh_name = 8 },
			      { .sh_type = SHT_NULL, .sh_name = 18 } },
	};
	memcpy(f->data + 0x400, names, sizeof(names));
}

static void add_section(struct file *f, unsigned int i, const struct cfi_asm *a)
{
	f->sections[i].sh_type = SHT_PROGBITS;
	f->sections[i].sh_offset = f->len;
	f->sections[i].sh_size = a->len;
	f->sections[i].sh_addr = CFI_ASM_ADDRESS;
	memcpy(f->data + f->len, a->data, a->len);
	f->len += a->len;
}

static struct ebt_error *read_file(struct file *f, struct unwind_image *ret)
{
	memcpy(f->data, &f->header, sizeof(f->header));
	memcpy(f->data + sizeof(f->header), f->segments, sizeof(f->segments));
	memcpy(f->data + 0x200, f->sections, sizeof(f->sections));
	return unwind_image_read_memory(f->data, f->len, ret);
}

static struct unwind_table *table_of(struct file *f)
{
	struct unwind_image image = { 0 };
	struct unwind_table *table;

	assert_null(read_file(f, &image));
	assert_null(unwind_table_build(&image, &table));
	unwind_image_deinit(&image);
	return table;
}

static enum cfi_op op_at(const struct unwind_table *table, uint64_t pc)
{
	const struct cfi_row *row = unwind_table_find(table, pc);

	return row ? (enum cfi_op)row->op : CFI_NONE;
}

static void add_function(struct cfi_asm *a, uint64_t start, uint64_t length, uint8_t cfa)
{
	cfi_asm_fde(a, cfi_asm_x86(a), NULL, BASE + start, length, PROGRAM(0x0e, cfa));
}

/* --- pages --- */

static void test_pages(void **state)
{
	struct cfi_asm a = { 0 };
	struct unwind_table *table;
	struct file f;

	(void)state;
	file_init(&f);
	f.header.e_entry = 0;
	add_function(&a, 0x1000, 0x10, 16);
	add_function(&a, 0xff00, 0x10200, 24); /* to the next page but one */
	add_function(&a, 0x40000, 0x100, 32);  /* a page on its own, from its first byte on */
	add_section(&f, 2, &a);
	table = table_of(&f);
	assert_int_equal(table->n_pages, 5);
	assert_int_equal(table->pages[3].n, 0);
	for (size_t i = 0; i < table->n_pages; i++) {
		if (table->pages[i].n)
			assert_int_equal(table->rows[table->pages[i].first].pc, i << 16);
	}
	assert_int_equal(op_at(table, 0), CFI_NONE);
	assert_int_equal(op_at(table, 0xfff), CFI_NONE);
	assert_int_equal(unwind_table_find(table, 0x1000)->cfa, 2);
	assert_int_equal(unwind_table_find(table, 0x100f)->cfa, 2);
	assert_int_equal(op_at(table, 0x1010), CFI_NONE);
	assert_int_equal(unwind_table_find(table, 0xff00)->cfa, 3);
	assert_int_equal(unwind_table_find(table, 0x10000)->cfa, 3);
	assert_int_equal(unwind_table_find(table, 0x1ffff)->cfa, 3);
	assert_int_equal(unwind_table_find(table, 0x200ff)->cfa, 3);
	assert_int_equal(op_at(table, 0x20100), CFI_NONE);
	assert_null(unwind_table_find(table, 0x30000));
	assert_int_equal(unwind_table_find(table, 0x40000)->cfa, 4);
	assert_int_equal(op_at(table, 0x40100), CFI_NONE);
	assert_null(unwind_table_find(table, 0x50000));
	assert_null(unwind_table_find(table, UINT64_MAX));
	unwind_table_destroy(table);
	unwind_table_destroy(NULL);
}

/* --- where every stack ends --- */

static void check_start(const struct cfi_asm *a, uint64_t end, enum cfi_op behind)
{
	struct unwind_table *table;
	struct file f;

	file_init(&f);
	add_section(&f, 2, a);
	table = table_of(&f);
	assert_int_equal(op_at(table, 0x17ff), CFI_NONE);
	assert_int_equal(op_at(table, 0x1800), CFI_END);
	assert_int_equal(op_at(table, end - 1), CFI_END);
	assert_int_equal(op_at(table, end), behind);
	unwind_table_destroy(table);
}

static void test_start(void **state)
{
	struct cfi_asm a = { 0 };

	(void)state;
	add_function(&a, 0x1000, 0x10, 16);
	check_start(&a, 0x1800 + 96, CFI_NONE);
	add_function(&a, 0x1820, 0x10, 16);
	check_start(&a, 0x1820, CFI_SP);
	a.len = 0;
	add_function(&a, 0x1900, 0x10, 16);
	check_start(&a, 0x1800 + 96, CFI_NONE);
}

/* What the file says about _start is not replaced. */
static void test_start_known(void **state)
{
	struct cfi_asm a = { 0 };
	struct unwind_table *table;
	struct file f;

	(void)state;
	add_function(&a, 0x1800, 0x10, 16);
	file_init(&f);
	add_section(&f, 2, &a);
	table = table_of(&f);
	assert_int_equal(op_at(table, 0x1800), CFI_SP);
	assert_int_equal(op_at(table, 0x1810), CFI_NONE);
	unwind_table_destroy(table);
}

/* --- where a file has it --- */

static void test_both_sections(void **state)
{
	struct cfi_asm eh = { 0 }, debug = { .debug_frame = true };
	struct unwind_table *table;
	struct file f;

	(void)state;
	add_function(&eh, 0x1000, 0x10, 16);
	cfi_asm_fde(&debug, cfi_asm_x86(&debug), NULL, BASE + 0x1100, 0x10, PROGRAM(0x0e, 24));
	file_init(&f);
	add_section(&f, 3, &debug);
	table = table_of(&f);
	assert_int_equal(op_at(table, 0x1000), CFI_NONE);
	assert_int_equal(unwind_table_find(table, 0x1100)->cfa, 3);
	unwind_table_destroy(table);
	add_section(&f, 2, &eh);
	table = table_of(&f);
	assert_int_equal(unwind_table_find(table, 0x1000)->cfa, 2);
	assert_int_equal(unwind_table_find(table, 0x1100)->cfa, 3);
	unwind_table_destroy(table);
	/* A compressed one and one without bytes are as good as none. */
	f.sections[3].sh_flags = SHF_COMPRESSED;
	f.sections[2].sh_type = SHT_NOBITS;
	table = table_of(&f);
	assert_int_equal(table->n_pages, 0);
	assert_null(unwind_table_find(table, 0x1000));
	unwind_table_destroy(table);
}

static char *read_self(size_t *ret_len)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t len = (size_t)lseek(fd, 0, SEEK_END);
	char *data = malloc(len);

	assert_int_equal(pread(fd, data, len, 0), len);
	*ret_len = len;
	return data;
}

static void check_same(const struct unwind_table *a, const struct unwind_table *b)
{
	assert_int_equal(a->n_rows, b->n_rows);
	assert_int_equal(a->n_pages, b->n_pages);
	assert_true(a->n_rows > 100);
	assert_memory_equal(a->rows, b->rows, a->n_rows * sizeof(*a->rows));
	assert_memory_equal(a->pages, b->pages, a->n_pages * sizeof(*a->pages));
}

/* This program itself: by file, in memory, and without section headers. */
static void test_self(void **state)
{
	_cleanup_(unwind_table_destroyp) struct unwind_table *by_file = NULL, *bare = NULL;
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct unwind_image image = { 0 };
	_cleanup_free_ char *data = NULL;
	Elf64_Ehdr header;
	size_t len;

	(void)state;
	assert_null(unwind_image_read(fd, &image));
	assert_false(image.sections[0].ends_at_zero);
	assert_null(unwind_table_build(&image, &by_file));
	unwind_image_deinit(&image);
	data = read_self(&len);
	memcpy(&header, data, sizeof(header));
	header.e_shoff = 0;
	header.e_shnum = 0;
	memcpy(data, &header, sizeof(header));
	assert_null(unwind_image_read_memory(data, len, &image));
	assert_true(image.sections[0].ends_at_zero);
	assert_null(unwind_table_build(&image, &bare));
	unwind_image_deinit(&image);
	check_same(by_file, bare);
}

/* --- files that cannot be right --- */

static void expect_error(struct file *f, enum ebt_error_code code)
{
	struct unwind_image image = { 0 };
	struct ebt_error *err = read_file(f, &image);

	assert_non_null(err);
	assert_int_equal(err->code, code);
	assert_int_equal(image.n_sections, 0);
	ebt_error_destroy(err);
}

static void test_not_ours(void **state)
{
	struct file f;

	(void)state;
	file_init(&f);
	f.header.e_ident[EI_CLASS] = ELFCLASS32;
	expect_error(&f, EBT_ERR_UNSUPPORTED);
	file_init(&f);
	f.header.e_ident[EI_DATA] = ELFDATA2MSB;
	expect_error(&f, EBT_ERR_UNSUPPORTED);
	file_init(&f);
	f.header.e_machine = EM_RISCV;
	expect_error(&f, EBT_ERR_UNSUPPORTED);
	file_init(&f);
	f.header.e_ident[0] = 'x';
	expect_error(&f, EBT_ERR_UNSUPPORTED);
	file_init(&f);
	f.len = 63;
	expect_error(&f, EBT_ERR_UNSUPPORTED);
}

static void test_bad_headers(void **state)
{
	struct file f;

	(void)state;
	file_init(&f);
	f.header.e_phnum = 0;
	expect_error(&f, EBT_ERR_CORRUPT);
	file_init(&f);
	f.header.e_phnum = 0xffff;
	expect_error(&f, EBT_ERR_CORRUPT);
	file_init(&f);
	f.header.e_phentsize = 32;
	expect_error(&f, EBT_ERR_CORRUPT);
	file_init(&f);
	f.header.e_phoff = UINT64_MAX - 8;
	expect_error(&f, EBT_ERR_CORRUPT);
	file_init(&f);
	f.segments[0].p_filesz = UINT64_MAX;
	expect_error(&f, EBT_ERR_CORRUPT);
}

static void test_bad_sections(void **state)
{
	struct cfi_asm a = { 0 };
	struct file f;

	(void)state;
	add_function(&a, 0x1000, 0x10, 16);
	file_init(&f);
	add_section(&f, 2, &a);
	f.sections[2].sh_size++;
	expect_error(&f, EBT_ERR_CORRUPT);
	f.sections[2].sh_size = 1ull << 40;
	expect_error(&f, EBT_ERR_LIMIT);
	/* Where nothing can be found, nothing is found. */
	f.header.e_shoff = UINT64_MAX - 64;
	unwind_table_destroy(table_of(&f));
	f.header.e_shoff = 0x200;
	f.header.e_shstrndx = 4;
	unwind_table_destroy(table_of(&f));
	f.header.e_shstrndx = 1;
	f.sections[1].sh_offset = UINT64_MAX;
	unwind_table_destroy(table_of(&f));
}

/* --- addresses --- */

static void test_bias(void **state)
{
	struct cfi_asm a = { 0 };
	struct unwind_table *table;
	struct file f;
	uint64_t bias;

	(void)state;
	add_function(&a, 0x3010, 0x10, 16);
	file_init(&f);
	/* Two pieces of code with different distances between file and memory. */
	f.segments[0].p_offset = 0x1234;
	f.segments[0].p_vaddr = BASE + 0x3234;
	f.segments[0].p_filesz = 0x1000;
	f.segments[2] = (Elf64_Phdr){ .p_type = PT_LOAD,
				      .p_flags = PF_X,
				      .p_offset = 0x8000,
				      .p_vaddr = BASE + 0x18000,
				      .p_filesz = 0x2000 };
	add_section(&f, 2, &a);
	table = table_of(&f);
	/* A mapping is of whole pages, and may be a part. */
	assert_true(unwind_table_bias(table, 0x7f0000003000, 0x1000, &bias));
	assert_int_equal(bias, 0x7f0000000000);
	assert_int_equal(unwind_table_find(table, 0x7f0000003010 - bias)->cfa, 2);
	assert_true(unwind_table_bias(table, 0x7f0000004000, 0x2000, &bias));
	assert_int_equal(bias, 0x7f0000000000);
	assert_true(unwind_table_bias(table, 0x10000, 0x9000, &bias));
	assert_int_equal(bias, 0x10000 - 0x19000);
	assert_false(unwind_table_bias(table, 0x10000, 0, &bias));
	assert_false(unwind_table_bias(table, 0x10000, 0x3000, &bias));
	assert_false(unwind_table_bias(table, 0x10000, 0xa000, &bias));
	assert_false(unwind_table_bias(table, 0x10000, UINT64_MAX, &bias));
	unwind_table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),	    cmocka_unit_test(test_start),
		cmocka_unit_test(test_start_known), cmocka_unit_test(test_both_sections),
		cmocka_unit_test(test_self),	    cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_bad_headers), cmocka_unit_test(test_bad_sections),
		cmocka_unit_test(test_bias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
