/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of call frame information put together by hand, for x86-64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/error.h"
#include "tests/tools/cfi_asm.h"
#include "unwind/cfi.h"

/* Where the functions are. */
#define F 0x1000

#define ROWS(...)                                \
	(const struct cfi_row[]){ __VA_ARGS__ }, \
		sizeof((const struct cfi_row[]){ __VA_ARGS__ }) / sizeof(struct cfi_row)

static void check_rows(const struct cfi_rows *rows, const struct cfi_row *expected, size_t n)
{
	for (size_t i = 0; i < n && i < rows->n; i++) {
		const struct cfi_row *r = &rows->rows[i], *e = &expected[i];

		if (memcmp(r, e, sizeof(*r)))
			fail_msg("row %zu: %#x op %#x cfa %d fp %d, not %#x op %#x cfa %d fp %d", i,
				 r->pc, r->op, r->cfa, r->fp, e->pc, e->op, e->cfa, e->fp);
	}
	assert_int_equal(rows->n, n);
}

static struct cfi_stats expect_of(const struct cfi_asm *a, enum cfi_arch arch,
				  const struct cfi_row *expected, size_t n)
{
	const struct cfi_section section = cfi_asm_section(a);
	struct cfi_stats stats;
	struct cfi_rows rows;

	assert_null(cfi_parse(&section, 1, arch, 0, &rows, &stats));
	check_rows(&rows, expected, n);
	cfi_rows_deinit(&rows);
	return stats;
}

static struct cfi_stats expect(const struct cfi_asm *a, const struct cfi_row *expected, size_t n)
{
	return expect_of(a, CFI_X86_64, expected, n);
}

/* One function of 0x100 bytes with the program has the rows. */
static void expect_program(const uint8_t *program, size_t len, const struct cfi_row *expected,
			   size_t n)
{
	struct cfi_asm a = { 0 };

	cfi_asm_fde(&a, cfi_asm_x86(&a), NULL, F, 0x100, program, len);
	assert_int_equal(expect(&a, expected, n).bad_fdes, 0);
}

/* The same for programs that give one row and nothing else. */
static void expect_row(const uint8_t *program, size_t len, struct cfi_row row)
{
	row.pc = F;
	expect_program(program, len, ROWS(row, { F + 0x100, 0, 0, CFI_NONE }));
}

static void test_frame_pointer(void **state)
{
	(void)state;
	/* push %rbp; mov %rsp, %rbp; …; leave; ret */
	expect_program(PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x80, 0x0c, 7, 8,
			       0xc6),
		       ROWS({ F, 1, 0, CFI_SP }, { F + 1, 2, -2, CFI_SP }, { F + 4, 2, -2, CFI_FP },
			    { F + 0x84, 1, 0, CFI_SP }, { F + 0x100, 0, 0, CFI_NONE }));
}

static void test_advance(void **state)
{
	struct cfi_asm a = { 0 };
	size_t cie = cfi_asm_x86(&a);
	uint32_t to;

	(void)state;
	cfi_asm_fde(&a, cie, NULL, F, 0x100000,
		    PROGRAM(0x41, 0x0e, 16,			       /* 1 */
			    0x02, 0xff, 0x0e, 24,		       /* 0x100 */
			    0x03, 0x00, 0x0f, 0x0e, 32,		       /* 0x1000 */
			    0x04, 0x00, 0xf0, 0x00, 0x00, 0x0e, 40,    /* 0x10000 */
			    0x1d, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x0e, 48, /* 0x10010 */
			    0x40, 0x0e, 56,			       /* nowhere */
			    0x02, 0, 0x0e, 48, 0x01, 1, 2, 3, 4, 0x0e, 64 /* set_loc */));
	/* Relative to its own place, like all pointers of this CIE. */
	to = F + 0x20000 - CFI_ASM_ADDRESS - (uint32_t)(a.len - 6);
	memcpy(a.data + a.len - 6, &to, sizeof(to));
	expect(&a, ROWS({ F, 1, 0, CFI_SP }, { F + 1, 2, 0, CFI_SP }, { F + 0x100, 3, 0, CFI_SP },
			{ F + 0x1000, 4, 0, CFI_SP }, { F + 0x10000, 5, 0, CFI_SP },
			{ F + 0x10010, 6, 0, CFI_SP }, { F + 0x20000, 8, 0, CFI_SP },
			{ F + 0x100000, 0, 0, CFI_NONE }));
}

static void test_advance_backwards(void **state)
{
	struct cfi_asm a = { 0 };
	struct cfi_asm_cie absolute = { .no_encoding = true };
	size_t cie = cfi_asm_cie(&a, &absolute, X86_INITIAL);

	(void)state;
	cfi_asm_fde(&a, cie, &absolute, F, 0x100,
		    PROGRAM(0x48, 0x01, 0x07, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 16));
	assert_int_equal(expect(&a, ROWS({ F, 1, 0, CFI_SP }, { F + 8, 0, 0, CFI_UNSUPPORTED },
					 { F + 0x100, 0, 0, CFI_NONE }))
				 .bad_fdes,
			 1);
}

/* Instructions behind the function's end count for nobody. */
static void test_advance_beyond(void **state)
{
	(void)state;
	expect_program(PROGRAM(0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16),
		       ROWS({ F, 1, 0, CFI_SP }, { F + 0x100, 0, 0, CFI_NONE }));
	expect_program(PROGRAM(0x42, 0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xef, 0xff, 0x3f),
		       ROWS({ F, 1, 0, CFI_SP }, { F + 0x100, 0, 0, CFI_NONE }));
}

static void test_remember(void **state)
{
	(void)state;
	expect_program(PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x4f, 0x0a, 0x0a, 0x0e, 8, 0xc6, 0x41, 0x0b,
			       0x41, 0x0d, 6, 0x41, 0x0b),
		       ROWS({ F, 1, 0, CFI_SP }, { F + 1, 2, -2, CFI_SP }, { F + 16, 1, 0, CFI_SP },
			    { F + 17, 2, -2, CFI_SP }, { F + 18, 2, -2, CFI_FP },
			    { F + 19, 2, -2, CFI_SP }, { F + 0x100, 0, 0, CFI_NONE }));
}

static void test_remember_limits(void **state)
{
	static const struct cfi_row bad[] = { { F, 1, 0, CFI_SP },
					      { F + 1, 0, 0, CFI_UNSUPPORTED },
					      { F + 0x100, 0, 0, CFI_NONE } };
	struct cfi_asm a = { 0 };

	(void)state;
	cfi_asm_fde(&a, cfi_asm_x86(&a), NULL, F, 0x100, PROGRAM(0x41, 0x0b));
	assert_int_equal(expect(&a, bad, 3).bad_fdes, 1);
	a.len = 0;
	cfi_asm_fde(&a, cfi_asm_x86(&a), NULL, F, 0x100,
		    PROGRAM(0x41, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x42, 0x0e,
			    32));
	assert_int_equal(expect(&a, bad, 3).bad_fdes, 1);
}

/* Where the CFA is. */
static void test_cfa(void **state)
{
	(void)state;
	expect_row(PROGRAM(0x0c, 7, 0x80, 2), (struct cfi_row){ .op = CFI_SP, .cfa = 32 });
	expect_row(PROGRAM(0x0c, 6, 16), (struct cfi_row){ .op = CFI_FP, .cfa = 2 });
	expect_row(PROGRAM(0x12, 6, 0x7e), (struct cfi_row){ .op = CFI_FP, .cfa = 2 });
	expect_row(PROGRAM(0x13, 0x7d), (struct cfi_row){ .op = CFI_SP, .cfa = 3 });
	expect_row(PROGRAM(0x0c, 10, 0), (struct cfi_row){ .op = CFI_REG, .fp = 10 });
	expect_row(PROGRAM(0x0c, 0, 24), (struct cfi_row){ .op = CFI_REG, .cfa = 3 });
	/* As a row cannot say it. */
	expect_row(PROGRAM(0x0e, 20), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x0e, 0x80, 0x80, 0x10), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x0e, 0xf8, 0xff, 0x0f), (struct cfi_row){ .op = CFI_SP, .cfa = 32767 });
	expect_row(PROGRAM(0x0c, 16, 0), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x0c, 10, 0, 0x86, 2), (struct cfi_row){ .op = CFI_UNSUPPORTED });
}

static void test_cfa_expression(void **state)
{
	(void)state;
	/* A frame that was aligned anew: CFA = *(rbp - 8), rbp = *rbp. */
	expect_row(PROGRAM(0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 6),
		   (struct cfi_row){ .op = CFI_FP_DEREF | CFI_FP_BY_FP, .cfa = -16 });
	expect_row(PROGRAM(0x0f, 6, 0x77, 0x98, 1, 6, 0x23, 8),
		   (struct cfi_row){ .op = CFI_SP_DEREF, .cfa = 19 * 16 + 1 });
	expect_row(PROGRAM(0x0f, 5, 0x77, 0, 6, 0x23, 0x78),
		   (struct cfi_row){ .op = CFI_SP_DEREF, .cfa = 15 });
	expect_row(PROGRAM(0x0f, 5, 0x77, 0x80, 0x80, 0x7f, 6),
		   (struct cfi_row){ .op = CFI_SP_DEREF, .cfa = INT16_MIN });
	/* The offset of the word, and what is added: too large, odd, of another register. */
	expect_row(PROGRAM(0x0f, 5, 0x77, 0xf8, 0xff, 0x7e, 6),
		   (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x0f, 6, 0x77, 0, 6, 0x23, 0x80, 1),
		   (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x0f, 5, 0x77, 0, 6, 0x23, 4),
		   (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x0f, 3, 0x73, 0, 6), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x0f, 4, 0x77, 0, 6, 6), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x0f, 2, 0x77, 0), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	/* A register again. */
	expect_row(PROGRAM(0x0f, 3, 0x76, 0x78, 6, 0x0c, 7, 16),
		   (struct cfi_row){ .op = CFI_SP, .cfa = 2 });
	expect_row(PROGRAM(0x0f, 3, 0x76, 0x78, 6, 0x0d, 7),
		   (struct cfi_row){ .op = CFI_SP, .cfa = 1 });
}

#define PLT_EXPRESSION 0x77, 8, 0x80, 0, 0x3f, 0x1a

static void test_plt(void **state)
{
	(void)state;
	expect_row(PROGRAM(0x0f, 11, PLT_EXPRESSION, 0x3b, 0x2a, 0x33, 0x24, 0x22),
		   (struct cfi_row){ .op = CFI_PLT, .cfa = 1, .fp = 11 });
	expect_row(PROGRAM(0x0f, 11, PLT_EXPRESSION, 0x3a, 0x2a, 0x33, 0x24, 0x22),
		   (struct cfi_row){ .op = CFI_PLT, .cfa = 1, .fp = 10 });
	expect_row(PROGRAM(0x0f, 11, PLT_EXPRESSION, 0x3b, 0x2a, 0x32, 0x24, 0x22),
		   (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x0f, 10, PLT_EXPRESSION, 0x3b, 0x2a, 0x33, 0x24),
		   (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x0f, 11, PLT_EXPRESSION, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x86, 2),
		   (struct cfi_row){ .op = CFI_UNSUPPORTED });
}

/* Where the caller's rbp is. */
static void test_fp(void **state)
{
	static const struct cfi_row lost = { .op = CFI_SP, .cfa = 1, .fp = CFI_FP_LOST };

	(void)state;
	expect_row(PROGRAM(0x05, 6, 3), (struct cfi_row){ .op = CFI_SP, .cfa = 1, .fp = -3 });
	expect_row(PROGRAM(0x11, 6, 0x7d), (struct cfi_row){ .op = CFI_SP, .cfa = 1, .fp = 3 });
	expect_row(PROGRAM(0x2f, 6, 3), (struct cfi_row){ .op = CFI_SP, .cfa = 1, .fp = 3 });
	expect_row(PROGRAM(0x86, 127), (struct cfi_row){ .op = CFI_SP, .cfa = 1, .fp = -127 });
	expect_row(PROGRAM(0x08, 6), (struct cfi_row){ .op = CFI_SP, .cfa = 1 });
	expect_row(PROGRAM(0x86, 2, 0x06, 6), (struct cfi_row){ .op = CFI_SP, .cfa = 1 });
	expect_row(PROGRAM(0x10, 6, 3, 0x76, 0xf8, 0x7e),
		   (struct cfi_row){ .op = CFI_SP | CFI_FP_BY_FP, .cfa = 1, .fp = -17 });
	/* Too far; at the CFA itself; undefined; in a register; a value; other expressions. */
	expect_row(PROGRAM(0x86, 0x80, 1), lost);
	expect_row(PROGRAM(0x86, 0), lost);
	expect_row(PROGRAM(0x07, 6), lost);
	expect_row(PROGRAM(0x09, 6, 3), lost);
	expect_row(PROGRAM(0x14, 6, 2), lost);
	expect_row(PROGRAM(0x15, 6, 2), lost);
	expect_row(PROGRAM(0x16, 6, 2, 0x76, 0), lost);
	expect_row(PROGRAM(0x10, 6, 2, 0x77, 0), lost);
	expect_row(PROGRAM(0x10, 6, 2, 0x76, 4), lost);
	expect_row(PROGRAM(0x10, 6, 3, 0x76, 0, 6), lost);
	expect_row(PROGRAM(0x10, 6, 0), lost);
}

/* Where the return address is, and the stack pointer. */
static void test_ra(void **state)
{
	(void)state;
	expect_row(PROGRAM(0x07, 16), (struct cfi_row){ .op = CFI_END });
	expect_row(PROGRAM(0x0e, 0, 0x09, 16, 5), (struct cfi_row){ .op = CFI_RA_REG, .fp = 5 });
	expect_row(PROGRAM(0x09, 16, 16), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x0c, 6, 0, 0x09, 16, 5), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x90, 2), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x08, 16), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x10, 16, 2, 0x77, 0), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x87, 2), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x16, 7, 2, 0x77, 0), (struct cfi_row){ .op = CFI_UNSUPPORTED });
	expect_row(PROGRAM(0x87, 2, 0xc7), (struct cfi_row){ .op = CFI_SP, .cfa = 1 });
	expect_row(PROGRAM(0x07, 16, 0xd0), (struct cfi_row){ .op = CFI_SP, .cfa = 1 });
}

/* Registers that rows do not keep, and what changes none. */
static void test_others(void **state)
{
	(void)state;
	expect_row(PROGRAM(0x83, 3, 0x8c, 4, 0x05, 14, 5, 0x2e, 0x80, 1, 0xc3, 0x06, 14, 0x07, 12,
			   0x10, 13, 2, 0x77, 0, 0, 0),
		   (struct cfi_row){ .op = CFI_SP, .cfa = 1 });
}

static void test_unknown_instruction(void **state)
{
	static const uint8_t unknown[] = { 0x17, 0x1c, 0x1e, 0x2c, 0x2d, 0x30, 0x3f };

	(void)state;
	for (size_t i = 0; i < sizeof(unknown); i++) {
		struct cfi_asm a = { 0 };

		cfi_asm_fde(&a, cfi_asm_x86(&a), NULL, F, 0x100,
			    PROGRAM(0x41, 0x0e, 16, 0x41, unknown[i], 0x41, 0x0e, 8));
		assert_int_equal(expect(&a, ROWS({ F, 1, 0, CFI_SP }, { F + 1, 2, 0, CFI_SP },
						 { F + 2, 0, 0, CFI_UNSUPPORTED },
						 { F + 0x100, 0, 0, CFI_NONE }))
					 .bad_fdes,
				 1);
	}
}

static void test_signal(void **state)
{
	struct cfi_asm a = { 0 };
	struct cfi_asm_cie signal = { .augmentation = "zRS" };
	size_t cie = cfi_asm_cie(&a, &signal, X86_INITIAL);

	(void)state;
	cfi_asm_fde(&a, cie, &signal, F, 0x10, PROGRAM(0x07, 16, 0x41, 0x0f, 4, 0x77, 0xa0, 1, 6));
	expect(&a, ROWS({ F, 0, 0, CFI_SIGNAL }, { F + 0x10, 0, 0, CFI_NONE }));
}

/* --- how functions lie beside each other --- */

static void test_order_and_gaps(void **state)
{
	struct cfi_asm a = { 0 };
	size_t cie = cfi_asm_x86(&a);

	(void)state;
	/* A gap of 15 bytes is padding, one of 16 is not; neighbours that say the same are one. */
	cfi_asm_fde(&a, cie, NULL, F + 0x120, 0x10, PROGRAM(0x0e, 16));
	cfi_asm_fde(&a, cie, NULL, F + 0x10f, 1, NOTHING);
	cfi_asm_fde(&a, cie, NULL, F, 0x100, PROGRAM(0x0e, 16, 0x7f, 0x0e, 8));
	cfi_asm_fde(&a, cie, NULL, F + 0x130, 0x10, PROGRAM(0x0e, 16));
	cfi_asm_fde(&a, cie, NULL, F + 0x110, 0, PROGRAM(0x0e, 32));
	expect(&a,
	       ROWS({ F, 2, 0, CFI_SP }, { F + 63, 1, 0, CFI_SP }, { F + 0x110, 0, 0, CFI_NONE },
		    { F + 0x120, 2, 0, CFI_SP }, { F + 0x140, 0, 0, CFI_NONE }));
}

/* What was discarded, is below the file's base or more than 4 GiB above it has no rows. */
static void test_out_of_range(void **state)
{
	struct cfi_asm a = { 0 };
	struct cfi_asm_cie absolute = { .no_encoding = true };
	size_t cie = cfi_asm_cie(&a, &absolute, X86_INITIAL);
	struct cfi_section section;
	struct cfi_stats stats;
	struct cfi_rows rows;

	(void)state;
	cfi_asm_fde(&a, cie, &absolute, 0, 0x400000, NOTHING);
	cfi_asm_fde(&a, cie, &absolute, 0x3fff00, 0x1000, NOTHING);
	cfi_asm_fde(&a, cie, &absolute, 0x400100, UINT64_MAX, NOTHING);
	cfi_asm_fde(&a, cie, &absolute, 0x1003fffff, 1, NOTHING);
	cfi_asm_fde(&a, cie, &absolute, 0x100400000, 1, NOTHING);
	cfi_asm_fde(&a, cie, &absolute, UINT64_MAX, UINT64_MAX, NOTHING);
	cfi_asm_fde(&a, cie, &absolute, 0x400200, 0x10, NOTHING);
	section = cfi_asm_section(&a);
	assert_null(cfi_parse(&section, 1, CFI_X86_64, 0x400000, &rows, &stats));
	check_rows(&rows, ROWS({ 0x200, 1, 0, CFI_SP }, { 0x210, 0, 0, CFI_NONE }));
	assert_int_equal(stats.fdes, 7);
	assert_int_equal(stats.bad_fdes, 0);
	cfi_rows_deinit(&rows);
	/* Address 0 is nobody's even where the base is 0. */
	assert_null(cfi_parse(&section, 1, CFI_X86_64, 0, &rows, &stats));
	assert_int_equal(rows.rows[0].pc, 0x3fff00);
	cfi_rows_deinit(&rows);
}

static void test_find(void **state)
{
	struct cfi_row list[] = { { 16, 1, 0, CFI_SP }, { 20, 2, 0, CFI_SP } };
	struct cfi_rows rows = { list, 2 }, none = { NULL, 0 };

	(void)state;
	assert_null(cfi_rows_find(&none, 16));
	assert_null(cfi_rows_find(&rows, 15));
	assert_ptr_equal(cfi_rows_find(&rows, 16), &list[0]);
	assert_ptr_equal(cfi_rows_find(&rows, 19), &list[0]);
	assert_ptr_equal(cfi_rows_find(&rows, 20), &list[1]);
	assert_ptr_equal(cfi_rows_find(&rows, UINT32_MAX), &list[1]);
}

/* --- how entries are written --- */

/* A function of a CIE that is written so has rows, or is passed over. */
static void expect_cie(const struct cfi_asm_cie *cie, bool debug_frame, bool good)
{
	static const struct cfi_row rows[] = { { F, 1, 0, CFI_SP },
					       { F + 1, 2, 0, CFI_SP },
					       { F + 0x100, 0, 0, CFI_NONE } };
	struct cfi_asm a = { .debug_frame = debug_frame };

	for (unsigned int wide = 0; wide < 2; wide++) {
		a.len = 0;
		a.wide = wide;
		cfi_asm_fde(&a, cfi_asm_cie(&a, cie, X86_INITIAL), cie, F, 0x100,
			    PROGRAM(0x41, 0x0e, 16));
		assert_int_equal(expect(&a, rows, good ? 3 : 0).bad_fdes, !good);
	}
}

static void test_cie_forms(void **state)
{
	(void)state;
	expect_cie(&(struct cfi_asm_cie){ 0 }, false, true);
	expect_cie(&(struct cfi_asm_cie){ .version = 3 }, false, true);
	expect_cie(&(struct cfi_asm_cie){ .version = 4 }, false, true);
	expect_cie(&(struct cfi_asm_cie){ .version = 4, .segment_size = 4 }, false, false);
	expect_cie(&(struct cfi_asm_cie){ .version = 2 }, false, false);
	expect_cie(&(struct cfi_asm_cie){ .version = 5 }, false, false);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "", .no_encoding = true }, false, true);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "eh", .no_encoding = true }, false, true);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "R" }, false, false);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "armcc+" }, false, false);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "z", .no_encoding = true }, false, true);
	expect_cie(&(struct cfi_asm_cie){ 0 }, true, true);
	expect_cie(&(struct cfi_asm_cie){ .version = 3 }, true, true);
	expect_cie(&(struct cfi_asm_cie){ .version = 4 }, true, true);
}

static void test_augmentation(void **state)
{
	static const uint8_t plr[] = { 0x9b, 1, 2, 3, 4, 0x1b, 0x1b };
	static const uint8_t no_personality[] = { 0xff, 0x1b };
	static const uint8_t absolute[] = { 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b };
	static const uint8_t more[] = { 0x1b, 1, 2, 3 };

	(void)state;
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "zPLR", .data = plr, .data_len = 7 },
		   false, true);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "zPLR", .data = plr, .data_len = 6 },
		   false, false);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "zPR",
					  .data = no_personality,
					  .data_len = 2 },
		   false, true);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "zPR", .data = absolute, .data_len = 10 },
		   false, true);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "zR", .data = more, .data_len = 4 },
		   false, true);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "zRBG" }, false, true);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "zRX" }, false, false);
	expect_cie(&(struct cfi_asm_cie){ .augmentation = "zPLR", .data = plr, .data_len = 0 },
		   false, false);
}

static void test_pointer_encodings(void **state)
{
	static const uint8_t good[] = { 0x01, 0x02, 0x03, 0x04, 0x09, 0x0a,
					0x0b, 0x0c, 0x10, 0x1b, 0x1c, 0x14 };
	/* Relative to text, data, function; aligned; in memory; no such size; left out. */
	static const uint8_t bad[] = { 0x2b, 0x3b, 0x4b, 0x50, 0x9b, 0x05, 0x08, 0x0d, 0xff };

	(void)state;
	for (size_t i = 0; i < sizeof(good); i++)
		expect_cie(&(struct cfi_asm_cie){ .encoding = good[i] }, false, true);
	expect_cie(&(struct cfi_asm_cie){ .no_encoding = true }, false, true);
	for (size_t i = 0; i < sizeof(bad); i++)
		expect_cie(&(struct cfi_asm_cie){ .encoding = bad[i] }, false, false);
}

static void test_return_register(void **state)
{
	struct cfi_asm a = { 0 };
	struct cfi_asm_cie odd = { .ra_register = 40, .code_align = 4, .data_align = -16 };

	(void)state;
	/* The rule that counts is that of the register that the CIE names. */
	cfi_asm_fde(&a, cfi_asm_cie(&a, &odd, PROGRAM(0x0c, 7, 16, 0x2f, 40, 0)), &odd, F, 0x100,
		    PROGRAM(0x15, 40, 1, 0x41, 0x11, 40, 0, 0x90, 1));
	expect(&a, ROWS({ F, 0, 0, CFI_UNSUPPORTED }, { F + 0x100, 0, 0, CFI_NONE }));
	a.len = 0;
	odd.data_align = -4;
	cfi_asm_fde(&a, cfi_asm_cie(&a, &odd, PROGRAM(0x0c, 7, 16, 0x05, 40, 2)), &odd, F, 0x100,
		    PROGRAM(0x41, 0x07, 40));
	expect(&a,
	       ROWS({ F, 2, 0, CFI_SP }, { F + 4, 0, 0, CFI_END }, { F + 0x100, 0, 0, CFI_NONE }));
}

static void test_terminators(void **state)
{
	struct cfi_asm a = { 0 };
	struct cfi_section section;
	struct cfi_rows rows;
	size_t cie;

	(void)state;
	cfi_asm_u32(&a, 0);
	cfi_asm_u32(&a, 0);
	cie = cfi_asm_x86(&a);
	cfi_asm_fde(&a, cie, NULL, F, 0x100, NOTHING);
	cfi_asm_u32(&a, 0);
	cfi_asm_fde(&a, cfi_asm_x86(&a), NULL, F + 0x200, 0x100, PROGRAM(0x0e, 16));
	cfi_asm_u32(&a, 0);
	cfi_asm_u16(&a, 0);
	expect(&a, ROWS({ F, 1, 0, CFI_SP }, { F + 0x100, 0, 0, CFI_NONE },
			{ F + 0x200, 2, 0, CFI_SP }, { F + 0x300, 0, 0, CFI_NONE }));
	/* Of a section whose length is not known they are the end. */
	section = cfi_asm_section(&a);
	section.data = a.data + 8;
	section.len -= 8;
	section.address += 8;
	section.ends_at_zero = true;
	assert_null(cfi_parse(&section, 1, CFI_X86_64, 0, &rows, NULL));
	check_rows(&rows, ROWS({ F, 1, 0, CFI_SP }, { F + 0x100, 0, 0, CFI_NONE }));
	cfi_rows_deinit(&rows);
}

static void test_two_sections(void **state)
{
	struct cfi_asm a = { 0 }, b = { .debug_frame = true };
	struct cfi_section sections[2];
	struct cfi_rows rows;

	(void)state;
	cfi_asm_fde(&a, cfi_asm_x86(&a), NULL, F + 0x100, 0x100, NOTHING);
	cfi_asm_fde(&b, cfi_asm_x86(&b), NULL, F, 0x100, PROGRAM(0x0e, 16));
	sections[0] = cfi_asm_section(&a);
	sections[1] = cfi_asm_section(&b);
	assert_null(cfi_parse(sections, 2, CFI_X86_64, 0, &rows, NULL));
	check_rows(&rows, ROWS({ F, 2, 0, CFI_SP }, { F + 0x100, 1, 0, CFI_SP },
			       { F + 0x200, 0, 0, CFI_NONE }));
	cfi_rows_deinit(&rows);
	assert_null(cfi_parse(NULL, 0, CFI_X86_64, 0, &rows, NULL));
	assert_int_equal(rows.n, 0);
	cfi_rows_deinit(&rows);
}

/* --- damage --- */

/* What comes before the cut is as if nothing were cut. */
static void test_cut(void **state)
{
	struct cfi_asm a = { 0 };
	size_t first;

	(void)state;
	cfi_asm_fde(&a, cfi_asm_x86(&a), NULL, F, 0x100, PROGRAM(0x41, 0x0e, 16));
	first = a.len;
	cfi_asm_fde(&a, 0, NULL, F + 0x200, 0x100, PROGRAM(0x41, 0x0e, 16));
	for (size_t len = 0; len < a.len; len++) {
		/* No more bytes than there are, so that ASan sees who reads behind them. */
		void *copy = malloc(len ? len : 1);
		struct cfi_section section = { .data = memcpy(copy, a.data, len),
					       .len = len,
					       .address = CFI_ASM_ADDRESS };
		struct cfi_rows rows;

		assert_null(cfi_parse(&section, 1, CFI_X86_64, 0, &rows, NULL));
		assert_int_equal(rows.n, len < first ? 0 : 3);
		cfi_rows_deinit(&rows);
		free(copy);
	}
}

static void test_lies(void **state)
{
	struct cfi_asm a = { 0 };
	size_t cie = cfi_asm_x86(&a);

	(void)state;
	/* A CIE before the section, one that is none, and instructions that are cut. */
	cfi_asm_fde(&a, (size_t)-64, NULL, F + 0x200, 0x100, NOTHING);
	cfi_asm_fde(&a, a.len, NULL, F + 0x300, 0x100, NOTHING);
	cfi_asm_fde(&a, 4, NULL, F + 0x400, 0x100, NOTHING);
	cfi_asm_fde(&a, cie, NULL, F, 0x100, PROGRAM(0x42, 0x0f, 0x7f, 0x77));
	cfi_asm_fde(&a, cie, NULL, F + 0x500, 0x100, PROGRAM(0x0f, 0));
	assert_int_equal(expect(&a, ROWS({ F, 1, 0, CFI_SP }, { F + 2, 0, 0, CFI_UNSUPPORTED },
					 { F + 0x100, 0, 0, CFI_NONE },
					 { F + 0x500, 0, 0, CFI_UNSUPPORTED },
					 { F + 0x600, 0, 0, CFI_NONE }))
				 .bad_fdes,
			 5);
}

/* Two large CIEs that functions use in turns would be read for every function anew. */
static void test_work(void **state)
{
	struct cfi_asm a = { 0 };
	struct cfi_section section;
	struct cfi_rows rows;
	struct ebt_error *err;
	char letters[8192];
	size_t cies[2];

	(void)state;
	memset(letters, 'S', sizeof(letters));
	letters[0] = 'z';
	letters[1] = 'R';
	letters[sizeof(letters) - 1] = '\0';
	for (unsigned int i = 0; i < 2; i++)
		cies[i] = cfi_asm_cie(&a, &(struct cfi_asm_cie){ .augmentation = letters },
				      X86_INITIAL);
	for (unsigned int i = 0; i < 1000; i++)
		cfi_asm_fde(&a, cies[i % 2], NULL, F + i, 1, NOTHING);
	section = cfi_asm_section(&a);
	err = cfi_parse(&section, 1, CFI_X86_64, 0, &rows, NULL);
	assert_non_null(err);
	assert_int_equal(err->code, EBT_ERR_LIMIT);
	ebt_error_destroy(err);
}

/* One function of a row for every byte. */
static void test_too_many_rows(void **state)
{
	struct cfi_asm a = { 0 };
	size_t pairs = CFI_MAX_ROWS, fde, len;
	struct cfi_section section;
	struct cfi_rows rows;
	struct ebt_error *err;
	unsigned char *data;
	uint32_t entry;

	(void)state;
	fde = cfi_asm_x86(&a);
	fde = a.len;
	cfi_asm_fde(&a, 0, NULL, F, 0x10000000, NOTHING);
	len = a.len + 3 * pairs;
	data = malloc(len);
	memcpy(data, a.data, a.len);
	for (size_t i = 0; i < pairs; i++)
		memcpy(data + a.len + 3 * i, i % 2 ? "\x41\x0e\x08" : "\x41\x0e\x10", 3);
	entry = (uint32_t)(len - fde - 4);
	memcpy(data + fde, &entry, sizeof(entry));
	section = (struct cfi_section){ .data = data, .len = len, .address = CFI_ASM_ADDRESS };
	err = cfi_parse(&section, 1, CFI_X86_64, 0, &rows, NULL);
	assert_non_null(err);
	assert_int_equal(err->code, EBT_ERR_LIMIT);
	ebt_error_destroy(err);
	/* Three less, and the end has room. */
	section.len = len - 9;
	entry -= 9;
	memcpy(data + fde, &entry, sizeof(entry));
	assert_null(cfi_parse(&section, 1, CFI_X86_64, 0, &rows, NULL));
	assert_int_equal(rows.n, CFI_MAX_ROWS - 1);
	cfi_rows_deinit(&rows);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_advance),
		cmocka_unit_test(test_advance_backwards),
		cmocka_unit_test(test_advance_beyond),
		cmocka_unit_test(test_remember),
		cmocka_unit_test(test_remember_limits),
		cmocka_unit_test(test_cfa),
		cmocka_unit_test(test_cfa_expression),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_fp),
		cmocka_unit_test(test_ra),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_unknown_instruction),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_order_and_gaps),
		cmocka_unit_test(test_out_of_range),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_cie_forms),
		cmocka_unit_test(test_augmentation),
		cmocka_unit_test(test_pointer_encodings),
		cmocka_unit_test(test_return_register),
		cmocka_unit_test(test_terminators),
		cmocka_unit_test(test_two_sections),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_too_many_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
