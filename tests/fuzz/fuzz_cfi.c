/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzing unwind information: sections and whole ELF files, to rows, tables and steps. */
#include <string.h>
#include <linux/types.h>

#include "format/base/error.h"
#include "format/schema/wire.h"
#include "tests/fuzz/fuzz.h"
#include "unwind/elf_headers.h"
#include "unwind/image.h"
#include "unwind/step.h"
#include "unwind/table.h"

#define FRAMES	32
#define ADDRESS 0x100000
/* Some more than there are in files that linkers make. */
#define MAX_SECTIONS 64

static void check_row(const struct cfi_row *row, enum cfi_arch arch)
{
	unsigned int op = row->op & CFI_OP_MASK, flags = row->op & ~CFI_OP_MASK;
	bool has_flags = op == CFI_SP || op == CFI_FP || op == CFI_SP_DEREF || op == CFI_FP_DEREF;

	fuzz_expect(op <= CFI_UNSUPPORTED, "a row's op is known");
	fuzz_expect(has_flags || !flags, "only rows with a CFA have flags");
	fuzz_expect(arch == CFI_AARCH64 || !(flags & ~CFI_FP_BY_FP), "flags are the machine's");
	fuzz_expect((op != CFI_REG && op != CFI_RA_REG) || (row->fp >= 0 && row->fp < 16),
		    "a register is one that there is");
}

static void check_rows(const struct cfi_row *rows, size_t n, enum cfi_arch arch)
{
	for (size_t i = 0; i < n; i++) {
		fuzz_expect(!i || rows[i].pc > rows[i - 1].pc, "rows ascend");
		check_row(&rows[i], arch);
	}
}

static void check_table(const struct unwind_table *table)
{
	for (size_t i = 0; i < table->n_pages; i++) {
		const struct unwind_table_page *page = &table->pages[i];
		uint64_t start = (uint64_t)i << UNWIND_TABLE_PAGE_BITS;

		if (!page->n)
			continue;
		fuzz_expect(page->first < table->n_rows && page->n <= table->n_rows - page->first,
			    "a page has rows of the table");
		fuzz_expect(table->rows[page->first].pc == start,
			    "a page's first row is at its start");
		fuzz_expect(table->rows[page->first + page->n - 1].pc - start <
				    1u << UNWIND_TABLE_PAGE_BITS,
			    "a page's rows are in it");
		fuzz_expect(unwind_table_find(table, start) == &table->rows[page->first],
			    "a row is found");
	}
	check_rows(table->rows, table->n_rows, table->arch);
}

/* --- a walk over a stack of addresses in the table --- */

struct world {
	const struct unwind_table *table;
	uint64_t words[64];
};

static enum unwind_code find(void *arg, uint64_t pc, const struct unwind_table **ret_table,
			     uint64_t *ret_bias)
{
	const struct world *w = arg;

	(void)pc;
	*ret_table = w->table;
	*ret_bias = 0;
	return UNWIND_CODE_TABLE;
}

static bool read_stack(void *arg, uint64_t address, void *ret, size_t len)
{
	const struct world *w = arg;

	address %= sizeof(w->words) - len;
	memcpy(ret, (const char *)w->words + address, len);
	return true;
}

static void walk(const struct unwind_table *table)
{
	struct world w = { .table = table };
	const struct unwind_space space = { find, read_stack, &w };
	struct unwind_frame frame = { .arch = table->arch, .inner = true };
	uint64_t addresses[FRAMES];
	uint32_t stop;
	size_t n;

	for (size_t i = 0; i < 64; i++)
		w.words[i] = table->rows[i * 7919 % table->n_rows].pc + 1;
	for (size_t i = 0; i < UNWIND_REGISTERS; i++)
		frame.registers[i] = 0x7000 + 8 * i;
	frame.pc = table->rows[table->n_rows / 2].pc;
	stop = unwind_walk(&frame, &space, addresses, FRAMES, &n);
	fuzz_expect(n && n <= FRAMES && stop && stop < EBT_STOP_BUSY, "a walk ends for a reason");
}

static struct ebt_error *try_image(struct unwind_image *image)
{
	struct unwind_table *table;
	struct ebt_error *err = unwind_table_build(image, &table);
	uint64_t bias;

	if (err)
		return err;
	check_table(table);
	if (table->n_rows)
		walk(table);
	unwind_table_bias(table, 0x7f0000000000, 0x1000, &bias);
	unwind_table_destroy(table);
	return NULL;
}

/* Headers of all classes, and not only of those whose tables are read. */
static void try_headers(const uint8_t *data, size_t len)
{
	struct elf_headers elf;

	if (!elf_headers_of_memory(data, len, &elf))
		return;
	elf_headers_sections(&elf, MAX_SECTIONS);
	fuzz_expect(elf.n_segments <= elf.file.e_phnum && elf.n_sections <= elf.file.e_shnum,
		    "no more headers than the file says");
	elf_headers_section(&elf, ".text");
	elf_headers_segment_at(&elf, ADDRESS, 0);
	elf_headers_deinit(&elf);
}

/* As if a file had the section. */
static struct ebt_error *try_section(const uint8_t *data, size_t len, unsigned int kind,
				     enum cfi_arch arch)
{
	struct unwind_image image = {
		.arch = arch,
		.entry = ADDRESS / 2,
		.segments = { .list = { { 0x1000, 0x1000, 0x10000 } }, .n = 1 },
		.sections = { { .data = data,
				.len = len,
				.address = ADDRESS,
				.debug_frame = kind == FUZZ_CFI_DEBUG_FRAME,
				.ends_at_zero = kind == FUZZ_CFI_UNTIL_ZERO } },
		.n_sections = 1,
	};

	return try_image(&image);
}

bool fuzz_cfi(const uint8_t *data, size_t len)
{
	unsigned int kind = len ? data[0] & 7 : FUZZ_CFI_KINDS;
	struct unwind_image image;
	struct ebt_error *err;

	if (kind >= FUZZ_CFI_KINDS)
		return false;
	if (kind != FUZZ_CFI_ELF)
		return fuzz_succeeded(
			try_section(data + 1, len - 1, kind,
				    data[0] & FUZZ_CFI_ARM64 ? CFI_AARCH64 : CFI_X86_64));
	try_headers(data + 1, len - 1);
	err = unwind_image_read_memory(data + 1, len - 1, &image);
	if (!err) {
		err = try_image(&image);
		unwind_image_deinit(&image);
	}
	return fuzz_succeeded(err);
}
