/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables of the system's programs and libraries against libdw's dwarf_cfi_addrframe(), at
 * random addresses and at both sides of rows' beginnings. What libdw says is made a row here, and
 * the two rows have to be the same: not to express what can be expressed is an error too.
 *
 * EBT_CFI_PATHS names other folders, separated by colons.
 */
#include <dwarf.h>
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <elfutils/libdw.h>

#include "format/base/cleanup.h"
#include "tests/tools/next_random.h"
#include "unwind/image.h"
#include "unwind/table.h"

#define SECONDS	  20
#define ADDRESSES 400 /* of each kind, for each file */
#define PADDING	  16
/* See unwind/table.c: what is made up for a _start that nothing is said about. */
#define START_LENGTH 96

enum { RBP = 6, RSP = 7, RIP = 16 };

static struct {
	uint64_t files, bytes, rows, fdes, bad_fdes, unsupported, parse_ns;
	uint64_t compared, expressed, neither, padding, refused, different;
} sums;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* --- a row of what libdw says --- */

static bool is_register(const Dwarf_Op *op, uint64_t *ret_reg, int64_t *ret_offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*ret_reg = op->atom - DW_OP_breg0;
		*ret_offset = (int64_t)op->number;
		return true;
	}
	if (op->atom != DW_OP_bregx)
		return false;
	*ret_reg = op->number;
	*ret_offset = (int64_t)op->number2;
	return true;
}

static bool fits(int64_t offset, int64_t least, int64_t most)
{
	return offset % 8 == 0 && offset / 8 >= least && offset / 8 <= most;
}

static bool is_plt(const Dwarf_Op *ops, size_t n)
{
	static const uint8_t atoms[] = { DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
					 DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,	 DW_OP_plus };

	for (size_t i = 0; i < n && n == sizeof(atoms); i++) {
		if (i == 4 ? ops[i].atom < DW_OP_lit0 || ops[i].atom > DW_OP_lit15
			   : ops[i].atom != atoms[i])
			return false;
	}
	return n == sizeof(atoms) && ops[0].number == 8 && !ops[1].number;
}

static bool cfa_of(const Dwarf_Op *ops, size_t n, struct cfi_row *row)
{
	int64_t offset, plus = n == 3 ? (int64_t)ops[2].number : 0;
	uint64_t reg;

	if (is_plt(ops, n)) {
		*row = (struct cfi_row){ .op = CFI_PLT,
					 .cfa = 1,
					 .fp = (int8_t)(ops[4].atom - DW_OP_lit0) };
		return true;
	}
	if (!n || !is_register(&ops[0], &reg, &offset))
		return false;
	if (n > 1) {
		row->op = reg == RSP ? CFI_SP_DEREF : CFI_FP_DEREF;
		row->cfa = (int16_t)(offset * 2 + plus / 8);
		return (reg == RSP || reg == RBP) && ops[1].atom == DW_OP_deref &&
		       (n == 2 || (n == 3 && ops[2].atom == DW_OP_plus_uconst)) &&
		       fits(offset, -2048, 2047) && fits(plus, 0, 15);
	}
	row->op = reg == RSP ? CFI_SP : reg == RBP ? CFI_FP : CFI_REG;
	row->fp = row->op == CFI_REG ? (int8_t)reg : 0;
	row->cfa = (int16_t)(offset / 8);
	return fits(offset, INT16_MIN, INT16_MAX) && reg < 16;
}

/* At CFA + *ret. */
static bool is_at_cfa(const Dwarf_Op *ops, size_t n, int64_t *ret)
{
	if (!n || n > 2 || ops[0].atom != DW_OP_call_frame_cfa ||
	    (n == 2 && ops[1].atom != DW_OP_plus_uconst))
		return false;
	*ret = n == 2 ? (int64_t)ops[1].number : 0;
	return true;
}

struct rule {
	Dwarf_Op mem[3], *ops;
	size_t n;
};

static bool is_same(const struct rule *rule)
{
	return !rule->n && !rule->ops;
}

static bool is_undefined(const struct rule *rule)
{
	return !rule->n && rule->ops == rule->mem;
}

static void fp_of(const struct rule *fp, struct cfi_row *row)
{
	int64_t offset;
	uint64_t reg;

	if (is_same(fp))
		return;
	row->fp = CFI_FP_LOST;
	if (is_at_cfa(fp->ops, fp->n, &offset)) {
		if (offset && fits(offset, CFI_FP_LOST + 1, INT8_MAX))
			row->fp = (int8_t)(offset / 8);
	} else if (fp->n == 2 && fp->ops[0].atom == DW_OP_call_frame_cfa &&
		   is_register(&fp->ops[1], &reg, &offset) && reg == RBP &&
		   fits(offset, CFI_FP_LOST + 1, INT8_MAX)) {
		/* An expression; the CFA is on its stack first. */
		row->op |= CFI_FP_BY_FP;
		row->fp = (int8_t)(offset / 8);
	}
}

static void get_rule(Dwarf_Frame *frame, int reg, struct rule *ret)
{
	assert_int_equal(dwarf_frame_register(frame, reg, ret->mem, &ret->ops, &ret->n), 0);
}

static bool ra_in_register(const struct rule *ra, struct cfi_row *row)
{
	if (ra->n != 1 || ra->ops[0].atom != DW_OP_regx || row->op != CFI_SP ||
	    ra->ops[0].number > 15)
		return false;
	row->op = CFI_RA_REG;
	row->fp = (int8_t)ra->ops[0].number;
	return true;
}

/* False where libdw refuses to say: it takes a CFA's register without its offset, which some
 * assembly code gives, for invalid. */
static bool expected_row(Dwarf_Frame *frame, struct cfi_row *ret)
{
	struct cfi_row row = { 0 };
	struct rule ra, fp, sp;
	Dwarf_Addr start, end;
	Dwarf_Op *cfa;
	int64_t offset;
	bool signal;
	size_t n;

	if (dwarf_frame_info(frame, &start, &end, &signal) < 0 || dwarf_frame_cfa(frame, &cfa, &n))
		return false;
	get_rule(frame, RIP, &ra);
	get_rule(frame, RBP, &fp);
	get_rule(frame, RSP, &sp);
	*ret = (struct cfi_row){ .op = signal		   ? CFI_SIGNAL
				       : is_undefined(&ra) ? CFI_END
							   : CFI_UNSUPPORTED };
	/* The caller's stack pointer has to be the CFA. */
	if (ret->op != CFI_UNSUPPORTED || sp.n != 2 || sp.ops[0].atom != DW_OP_call_frame_cfa ||
	    sp.ops[1].atom != DW_OP_stack_value || !cfa_of(cfa, n, &row))
		return true;
	if (!ra_in_register(&ra, &row)) {
		if (!is_at_cfa(ra.ops, ra.n, &offset) || offset != -8)
			return true;
		if (row.op != CFI_PLT && row.op != CFI_REG)
			fp_of(&fp, &row);
		else if (!is_same(&fp))
			return true;
	}
	*ret = row;
	return true;
}

/* --- files --- */

struct file {
	const char *path;
	Dwarf_CFI *cfi;
	struct unwind_image image;
	struct unwind_table *table;
};

/* No function has the address: it is between two, where the row before goes on. */
static bool is_padding(const struct file *file, uint64_t address)
{
	for (uint64_t i = 1; i < PADDING; i++) {
		Dwarf_Frame *frame;

		if (!dwarf_cfi_addrframe(file->cfi, address + i, &frame)) {
			free(frame);
			return true;
		}
	}
	return false;
}

static void complain(const struct file *file, uint64_t address, const struct cfi_row *got,
		     const struct cfi_row *expected)
{
	if (sums.different++ < 20)
		print_error("%s: %" PRIx64 ": op %#x cfa %d fp %d, libdw: op %#x cfa %d fp %d\n",
			    file->path, address, got->op, got->cfa, got->fp, expected->op,
			    expected->cfa, expected->fp);
}

static void compare(const struct file *file, uint64_t address)
{
	const struct cfi_row *row = unwind_table_find(file->table, address - file->image.base);
	struct cfi_row none = { .op = CFI_NONE }, expected;
	Dwarf_Frame *frame;
	bool known;

	if (address - file->image.entry < START_LENGTH)
		return;
	if (!row)
		row = &none;
	if (dwarf_cfi_addrframe(file->cfi, address, &frame)) {
		if (row->op == CFI_NONE)
			sums.neither++;
		else if (is_padding(file, address))
			sums.padding++;
		else
			complain(file, address, row, &none);
		return;
	}
	known = expected_row(frame, &expected);
	free(frame);
	if (!known) {
		sums.refused++;
		return;
	}
	sums.compared++;
	sums.expressed += row->op != CFI_UNSUPPORTED;
	if (row->op != expected.op || row->cfa != expected.cfa || row->fp != expected.fp)
		complain(file, address, row, &expected);
}

static void compare_file(const struct file *file)
{
	const struct unwind_segments *segments = &file->image.segments;

	for (unsigned int i = 0; i < ADDRESSES; i++) {
		const struct unwind_segment *s = &segments->list[next_random(segments->n)];
		const struct cfi_row *row = &file->table->rows[next_random(file->table->n_rows)];

		if (s->length)
			compare(file, s->address + next_random(s->length));
		compare(file, file->image.base + row->pc);
		compare(file, file->image.base + row->pc - 1);
	}
}

static void build(struct file *file)
{
	uint64_t start = now();
	struct ebt_error *err = unwind_table_build(&file->image, &file->table);

	sums.parse_ns += now() - start;
	if (err)
		fail_msg("%s: %s", file->path, err->message);
	sums.files++;
	for (size_t i = 0; i < file->image.n_sections; i++)
		sums.bytes += file->image.sections[i].len;
	sums.rows += file->table->n_rows;
	sums.fdes += file->table->stats.fdes;
	sums.bad_fdes += file->table->stats.bad_fdes;
	sums.unsupported += file->table->stats.unsupported;
}

/* Whether libdw and we mean the same bytes: it knows .eh_frame only. */
static bool is_comparable(const struct unwind_image *image)
{
	return image->arch == CFI_X86_64 && image->n_sections == 1 &&
	       !image->sections[0].debug_frame && image->segments.n;
}

static void try_elf(struct file *file, int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);

	file->cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	if (file->cfi && is_comparable(&file->image)) {
		build(file);
		if (file->table->n_rows)
			compare_file(file);
	}
	if (file->cfi)
		dwarf_cfi_end(file->cfi);
	elf_end(elf);
	unwind_table_destroy(file->table);
}

static uint64_t deadline;

static int try_path(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	struct file file = { .path = path };
	int fd;

	(void)ftw;
	if (type != FTW_F || !S_ISREG(st->st_mode) || st->st_size < (off_t)sizeof(Elf64_Ehdr))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	err = unwind_image_read(fd, &file.image);
	if (!err)
		try_elf(&file, fd);
	unwind_image_deinit(&file.image);
	close(fd);
	return now() > deadline;
}

static void test_system(void **state)
{
	const char *paths = getenv("EBT_CFI_PATHS");
	_cleanup_free_ char *copy = strdup(paths ? paths : "/usr/lib:/usr/bin:/usr/libexec");
	char *save, *path;

	(void)state;
	elf_version(EV_CURRENT);
	deadline = now() + SECONDS * UINT64_C(1000000000);
	for (path = strtok_r(copy, ":", &save); path && now() < deadline;
	     path = strtok_r(NULL, ":", &save))
		nftw(path, try_path, 32, FTW_PHYS);
	print_message("%" PRIu64 " files%s, %" PRIu64 " kB of unwind information, %" PRIu64
		      " rows in %" PRIu64 " ms\n",
		      sums.files, now() < deadline ? "" : " before time was up", sums.bytes / 1000,
		      sums.rows, sums.parse_ns / 1000000);
	print_message("%" PRIu64 " functions, %" PRIu64 " not well formed; %" PRIu64
		      " rows not supported\n",
		      sums.fdes, sums.bad_fdes, sums.unsupported);
	print_message("%" PRIu64 " addresses compared, %" PRIu64 " of them with rows, %" PRIu64
		      " different; %" PRIu64 " in padding, %" PRIu64
		      " without information, %" PRIu64 " refused by libdw\n",
		      sums.compared, sums.expressed, sums.different, sums.padding, sums.neither,
		      sums.refused);
	assert_int_equal(sums.different, 0);
	assert_true(sums.files > 0 && sums.compared > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_system) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
