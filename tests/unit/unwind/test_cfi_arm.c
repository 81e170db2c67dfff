/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of arm64: by hand, and of a real library as llvm-dwarfdump sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "tests/tools/cfi_asm.h"
#include "unwind/cfi.h"

#define F 0x1000

enum { X29 = 29, X30 = 30, SP = 31 };

static const struct cfi_asm_cie arm = { .code_align = 4, .ra_register = X30 };

/* A function of 0x100 bytes with the program has the rows, and then none. */
static void expect(const struct cfi_asm_cie *how, const uint8_t *program, size_t len,
		   const struct cfi_row *expected, size_t n)
{
	struct cfi_asm a = { 0 };
	struct cfi_section section;
	struct cfi_rows rows;

	cfi_asm_fde(&a, cfi_asm_cie(&a, how, PROGRAM(0x0c, SP, 0)), how, F, 0x100, program, len);
	section = cfi_asm_section(&a);
	assert_null(cfi_parse(&section, 1, CFI_AARCH64, 0, &rows, NULL));
	assert_int_equal(rows.n, n + 1);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(rows.rows[i].pc, F + expected[i].pc);
		assert_int_equal(rows.rows[i].op, expected[i].op);
		assert_int_equal(rows.rows[i].cfa, expected[i].cfa);
		assert_int_equal(rows.rows[i].fp, expected[i].fp);
	}
	assert_int_equal(rows.rows[n].op, CFI_NONE);
	cfi_rows_deinit(&rows);
}

static void expect_row(const uint8_t *program, size_t len, struct cfi_row row)
{
	expect(&arm, program, len, &row, 1);
}

static void test_frame_record(void **state)
{
	static const struct cfi_row rows[] = {
		{ 0, 0, 0, CFI_SP | CFI_RA_LR },    { 4, 4, -4, CFI_SP },    { 8, 4, -4, CFI_FP },
		{ 0x20, 0, 0, CFI_SP | CFI_RA_LR }, { 0x24, 4, -4, CFI_FP },
	};

	(void)state;
	/* stp x29, x30, [sp, -32]!; mov x29, sp; …; ldp x29, x30, [sp], 32; ret; … */
	expect(&arm,
	       PROGRAM(0x41, 0x0e, 32, 0x80 | X29, 4, 0x80 | X30, 3, 0x41, 0x0d, X29, 0x46, 0x0a,
		       0xc0 | X30, 0xc0 | X29, 0x0c, SP, 0, 0x41, 0x0b),
	       rows, 5);
}

/* Signed return addresses: the sign changes no row. */
static void test_pac(void **state)
{
	static const struct cfi_asm_cie b_key = { .augmentation = "zRB",
						  .code_align = 4,
						  .ra_register = X30 };
	static const struct cfi_row rows[] = {
		{ 0, 0, 0, CFI_SP | CFI_RA_LR },
		{ 8, 2, -2, CFI_SP },
		{ 0x10, 0, 0, CFI_SP | CFI_RA_LR },
	};

	(void)state;
	/* paciasp; stp x29, x30, [sp, -16]!; …; ldp; autiasp; ret */
	expect(&arm,
	       PROGRAM(0x41, 0x2d, 0x41, 0x0e, 16, 0x80 | X29, 2, 0x80 | X30, 1, 0x42, 0xc0 | X30,
		       0xc0 | X29, 0x0e, 0, 0x41, 0x2d),
	       rows, 3);
	expect(&b_key,
	       PROGRAM(0x41, 0x2c, 0x41, 0x0e, 16, 0x80 | X29, 2, 0x80 | X30, 1, 0x42, 0xc0 | X30,
		       0xc0 | X29, 0x0e, 0, 0x41, 0x2c),
	       rows, 3);
}

/* __kernel_rt_sigreturn of the vdso. */
static void test_signal(void **state)
{
	static const struct cfi_asm_cie signal = { .augmentation = "zRS",
						   .code_align = 4,
						   .ra_register = X30 };
	static const struct cfi_row row = { .op = CFI_SIGNAL };

	(void)state;
	expect(&signal, PROGRAM(0x0c, X29, 0, 0x80 | X29, 0, 0x05, X30, 0x7f), &row, 1);
}

static void test_rules(void **state)
{
	static const struct cfi_row unsupported = { .op = CFI_UNSUPPORTED };

	(void)state;
	expect_row(PROGRAM(0x0e, 16, 0x80 | X30, 2),
		   (struct cfi_row){ .op = CFI_SP | CFI_RA_ONLY, .cfa = 2, .fp = -2 });
	expect_row(PROGRAM(0x0e, 16, 0x80 | X29, 2),
		   (struct cfi_row){ .op = CFI_SP | CFI_RA_LR, .cfa = 2, .fp = -2 });
	expect_row(PROGRAM(0x0e, 16, 0x07, X29),
		   (struct cfi_row){ .op = CFI_SP | CFI_RA_LR, .cfa = 2, .fp = CFI_FP_LOST });
	expect_row(PROGRAM(0x08, X30, 0x08, X29), (struct cfi_row){ .op = CFI_SP | CFI_RA_LR });
	expect_row(PROGRAM(0x07, X30), (struct cfi_row){ .op = CFI_END });
	expect_row(PROGRAM(0x0f, 4, 0x8f, 0x80, 1, 6, 0x80 | X29, 2, 0x80 | X30, 1),
		   (struct cfi_row){ .op = CFI_SP_DEREF, .cfa = 16 * 16, .fp = -2 });
	expect_row(PROGRAM(0x0f, 3, 0x8d, 0x78, 6),
		   (struct cfi_row){ .op = CFI_FP_DEREF | CFI_RA_LR, .cfa = -16 });
	/* Not side by side; only the return address far away, or in another register; CFA of
	 * another register; what the PLT has on x86-64. */
	expect_row(PROGRAM(0x80 | X29, 4, 0x80 | X30, 1), unsupported);
	expect_row(PROGRAM(0x80 | X29, 1, 0x80 | X30, 2), unsupported);
	expect_row(PROGRAM(0x07, X29, 0x80 | X30, 2), unsupported);
	expect_row(PROGRAM(0x80 | X30, 0x80, 1), unsupported);
	expect_row(PROGRAM(0x09, X30, 5), unsupported);
	expect_row(PROGRAM(0x0c, 0, 16), unsupported);
	expect_row(PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
		   unsupported);
}

/* --- a real library --- */

static FILE *open_fixture(const char *name)
{
	const char *dir = getenv("EBT_FIXTURES");
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "tests/fixtures", name);
	f = fopen(path, "re");
	if (!f)
		fail_msg("%s is missing", path);
	return f;
}

/* "*-16": -2 and true. */
static bool at_cfa(const char *text, int *ret)
{
	if (*text != '*')
		return false;
	*ret = atoi(text + 1) / 8;
	return true;
}

/* What cfi_row.h says of such a line of arm64-ld.rows. */
static struct cfi_row expected_row(const char *cfa, const char *x29, const char *x30)
{
	struct cfi_row row = { 0 };
	int fp, ra;

	if (*x30 == 'u')
		return (struct cfi_row){ .op = CFI_END };
	row.op = CFI_UNSUPPORTED;
	if (strncmp(cfa, "sp", 2) && strncmp(cfa, "x29", 3))
		return row;
	row.op = *cfa == 's' ? CFI_SP : CFI_FP;
	row.cfa = (int16_t)(atoi(strpbrk(cfa, "+-")) / 8);
	if (*x30 == '-') {
		row.op |= CFI_RA_LR;
		row.fp = *x29 == '-'				      ? 0
			 : at_cfa(x29, &fp) && fp && fp > CFI_FP_LOST ? (int8_t)fp
								      : CFI_FP_LOST;
	} else if (*x29 == '-' && at_cfa(x30, &ra)) {
		row.op |= CFI_RA_ONLY;
		row.fp = (int8_t)ra;
	} else if (at_cfa(x29, &fp) && at_cfa(x30, &ra) && ra == fp + 1 && fp > CFI_FP_LOST) {
		row.fp = (int8_t)fp;
	} else {
		return (struct cfi_row){ .op = CFI_UNSUPPORTED };
	}
	return row;
}

static void check(const struct cfi_rows *rows, unsigned int from, unsigned int to,
		  const struct cfi_row *expected)
{
	for (unsigned int pc = from; pc < to; pc += 4) {
		const struct cfi_row *row = cfi_rows_find(rows, pc);

		if (!row)
			row = &(const struct cfi_row){ .op = CFI_NONE };
		if (row->op != expected->op || row->cfa != expected->cfa || row->fp != expected->fp)
			fail_msg("%#x: op %#x cfa %d fp %d, not op %#x cfa %d fp %d", pc, row->op,
				 row->cfa, row->fp, expected->op, expected->cfa, expected->fp);
	}
}

static void read_rows(struct cfi_rows *ret)
{
	_cleanup_fclose_ FILE *f = open_fixture("arm64-ld.eh_frame");
	unsigned char data[1 << 14];
	struct cfi_section section = { .data = data, .address = 0x22ea0 };
	struct cfi_stats stats;

	section.len = fread(data, 1, sizeof(data), f);
	assert_int_equal(section.len, 0x3440);
	assert_null(cfi_parse(&section, 1, CFI_AARCH64, 0, ret, &stats));
	assert_int_equal(stats.bad_fdes, 0);
}

static void test_library(void **state)
{
	_cleanup_fclose_ FILE *f = open_fixture("arm64-ld.rows");
	struct cfi_row expected = { .op = CFI_NONE };
	char line[128], cfa[32], x29[32], x30[32];
	unsigned int pc, last = 0, n = 0;
	struct cfi_rows rows;
	bool end = true;

	(void)state;
	read_rows(&rows);
	while (fgets(line, sizeof(line), f)) {
		int fields = sscanf(line, "%x %31s %31s %31s", &pc, cfa, x29, x30);

		if (fields < 2)
			continue;
		/* Where the gap between two functions is padding, the row before goes on. */
		if (!end || pc - last >= 16)
			check(&rows, last, pc, &expected);
		end = fields == 2;
		expected = end ? (struct cfi_row){ .op = CFI_NONE } : expected_row(cfa, x29, x30);
		last = pc;
		n++;
	}
	assert_int_equal(n, 1089);
	cfi_rows_deinit(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_record), cmocka_unit_test(test_pac),
		cmocka_unit_test(test_signal),	     cmocka_unit_test(test_rules),
		cmocka_unit_test(test_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
