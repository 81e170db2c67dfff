/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps by rows and frame pointers over a stack made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <linux/types.h>

#include "format/schema/wire.h"
#include "unwind/step.h"
#include "unwind/table.h"

#define STACK 0x7000000
#define BIAS  0x5000000
#define PC    (BIAS + 0x100)
#define RA    (BIAS + 0x204)

enum { RBP = 6, RSP = 7, RDI = 5, R10 = 10, X29 = 29, X30 = 30, SP = 31 };

/* Words of a stack from STACK on, code from BIAS on with one row for all of it. */
struct world {
	uint64_t words[128];
	enum unwind_code code;
	struct cfi_row row;
	struct unwind_table_page page;
	struct unwind_table table;
};

static enum unwind_code find(void *arg, uint64_t pc, const struct unwind_table **ret_table,
			     uint64_t *ret_bias)
{
	const struct world *w = arg;

	if (pc < BIAS)
		return UNWIND_CODE_NONE;
	*ret_table = &w->table;
	*ret_bias = BIAS;
	return w->code;
}

static bool read_stack(void *arg, uint64_t address, void *ret, size_t len)
{
	const struct world *w = arg;

	if (address < STACK || address - STACK > sizeof(w->words) - len)
		return false;
	memcpy(ret, (const char *)w->words + (address - STACK), len);
	return true;
}

static void world_init(struct world *w, enum cfi_arch arch, struct cfi_row row)
{
	*w = (struct world){ .code = UNWIND_CODE_TABLE, .row = row, .page = { 0, 1 } };
	w->table = (struct unwind_table){
		.arch = arch, .rows = &w->row, .n_rows = 1, .pages = &w->page, .n_pages = 1
	};
}

/* sp is at the eighth word, fp at the 16th, which holds another frame pointer and RA. */
static struct unwind_frame frame_of(const struct world *w)
{
	struct unwind_frame frame = { .arch = w->table.arch, .pc = PC, .inner = true };
	bool x86 = frame.arch == CFI_X86_64;

	frame.registers[x86 ? RSP : SP] = STACK + 64;
	frame.registers[x86 ? RBP : X29] = STACK + 128;
	return frame;
}

static uint32_t step(struct world *w, struct unwind_frame *frame)
{
	const struct unwind_space space = { find, read_stack, w };

	return unwind_step(frame, &space);
}

/* After the row, the caller is at RA with this sp and fp. */
static void expect(struct world *w, struct unwind_frame frame, uint64_t sp, uint64_t fp)
{
	bool x86 = frame.arch == CFI_X86_64;

	assert_int_equal(step(w, &frame), EBT_STOP_UNKNOWN);
	assert_int_equal(frame.pc, RA);
	assert_int_equal(frame.registers[x86 ? RSP : SP], sp);
	assert_int_equal(frame.registers[x86 ? RBP : X29], fp);
	assert_true(frame.caller);
	assert_false(frame.inner);
	assert_int_equal(frame.methods,
			 w->code == UNWIND_CODE_TABLE ? EBT_METHOD_TABLE : EBT_METHOD_FP);
}

static void expect_stop(struct world *w, uint32_t stop)
{
	struct unwind_frame frame = frame_of(w), before = frame;

	assert_int_equal(step(w, &frame), stop);
	before.methods = frame.methods;
	assert_memory_equal(&frame, &before, sizeof(frame));
}

static void test_x86_cfa(void **state)
{
	struct unwind_frame frame;
	struct world w;

	(void)state;
	world_init(&w, CFI_X86_64, (struct cfi_row){ .op = CFI_SP, .cfa = 3, .fp = -3 });
	w.words[10] = RA;
	w.words[8] = 77;
	expect(&w, frame_of(&w), STACK + 88, 77);
	w.row = (struct cfi_row){ .op = CFI_FP, .cfa = 2, .fp = -2 };
	w.words[16] = 78;
	w.words[17] = RA;
	expect(&w, frame_of(&w), STACK + 144, 78);
	w.row = (struct cfi_row){ .op = CFI_FP, .cfa = 2 };
	expect(&w, frame_of(&w), STACK + 144, STACK + 128);
	w.row = (struct cfi_row){ .op = CFI_FP, .cfa = 2, .fp = CFI_FP_LOST };
	expect(&w, frame_of(&w), STACK + 144, 0);
	/* CFA = *(fp - 8) + 16, fp = *fp: offset 0 is one here. */
	w.row = (struct cfi_row){ .op = CFI_FP_DEREF | CFI_FP_BY_FP, .cfa = -16 + 2 };
	w.words[15] = STACK + 160;
	w.words[21] = RA;
	expect(&w, frame_of(&w), STACK + 176, 78);
	w.row = (struct cfi_row){ .op = CFI_SP_DEREF, .cfa = 7 * 16 };
	w.words[15] = STACK + 176;
	expect(&w, frame_of(&w), STACK + 176, STACK + 128);
	w.row = (struct cfi_row){ .op = CFI_REG, .cfa = 1, .fp = R10 };
	frame = frame_of(&w);
	frame.registers[R10] = STACK + 168;
	expect(&w, frame, STACK + 176, STACK + 128);
}

static void test_x86_plt(void **state)
{
	struct unwind_frame frame;
	struct world w;

	(void)state;
	world_init(&w, CFI_X86_64, (struct cfi_row){ .op = CFI_PLT, .cfa = 1, .fp = 11 });
	frame = frame_of(&w);
	frame.pc = PC + 10;
	w.words[8] = RA;
	expect(&w, frame, STACK + 72, STACK + 128);
	frame.pc = PC + 11;
	w.words[8] = 0;
	w.words[9] = RA;
	expect(&w, frame, STACK + 80, STACK + 128);
}

/* In vfork(): the return address is in rdi, and the stack does not grow. */
static void test_x86_ra_register(void **state)
{
	struct unwind_frame frame;
	struct world w;

	(void)state;
	world_init(&w, CFI_X86_64, (struct cfi_row){ .op = CFI_RA_REG, .fp = RDI });
	frame = frame_of(&w);
	frame.registers[RDI] = RA;
	expect(&w, frame, STACK + 64, STACK + 128);
	frame.inner = false;
	assert_int_equal(step(&w, &frame), EBT_STOP_RULE);
}

static void test_x86_signal(void **state)
{
	/* struct sigcontext: r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip. */
	static const uint8_t numbers[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7 };
	struct unwind_frame frame;
	struct world w;

	(void)state;
	world_init(&w, CFI_X86_64, (struct cfi_row){ .op = CFI_SIGNAL });
	for (unsigned int i = 0; i < 17; i++)
		w.words[8 + 5 + i] = 1000 + i;
	frame = frame_of(&w);
	frame.inner = false;
	frame.caller = true;
	assert_int_equal(step(&w, &frame), EBT_STOP_UNKNOWN);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(frame.registers[numbers[i]], 1000 + i);
	assert_int_equal(frame.pc, 1016);
	assert_true(frame.inner);
	assert_false(frame.caller);
	frame.pc = PC;
	frame.registers[RSP] = STACK + sizeof(w.words) - 40 - 16 * 8;
	assert_int_equal(step(&w, &frame), EBT_STOP_FAULT);
}

static void test_stops(void **state)
{
	struct unwind_frame frame;
	struct world w;

	(void)state;
	world_init(&w, CFI_X86_64, (struct cfi_row){ .op = CFI_END });
	expect_stop(&w, EBT_STOP_ROOT);
	w.row.op = CFI_NONE;
	expect_stop(&w, EBT_STOP_NO_ROW);
	w.row.op = CFI_UNSUPPORTED;
	expect_stop(&w, EBT_STOP_RULE);
	w.row = (struct cfi_row){ .op = CFI_SP, .cfa = 1 };
	expect_stop(&w, EBT_STOP_ROOT); /* a return address of 0 */
	w.row.cfa = 0;
	expect_stop(&w, EBT_STOP_LOOP);
	w.row.cfa = -1;
	expect_stop(&w, EBT_STOP_LOOP);
	w.row.cfa = 127 - 8 + 2;
	expect_stop(&w, EBT_STOP_FAULT);
	w.row = (struct cfi_row){ .op = CFI_SP, .cfa = 1, .fp = 127 };
	expect_stop(&w, EBT_STOP_FAULT);
	w.row = (struct cfi_row){ .op = CFI_SP_DEREF, .cfa = -9 * 16 };
	expect_stop(&w, EBT_STOP_FAULT);
	w.row = (struct cfi_row){ .op = CFI_FP, .cfa = INT16_MIN };
	expect_stop(&w, EBT_STOP_LOOP);
	w.code = UNWIND_CODE_LATER;
	expect_stop(&w, EBT_STOP_NO_TABLE);
	w.code = UNWIND_CODE_NONE;
	expect_stop(&w, EBT_STOP_NO_MAPPING);
	/* A table of another architecture is none. */
	world_init(&w, CFI_X86_64, (struct cfi_row){ .op = CFI_END });
	frame = frame_of(&w);
	frame.arch = CFI_AARCH64;
	assert_int_equal(step(&w, &frame), EBT_STOP_NO_ROW);
}

static void test_frame_pointers(void **state)
{
	static const uint64_t bad[] = { STACK + 63, STACK + 56, STACK + 129,
					STACK + 64 + (64 << 20) + 8, UINT64_MAX - 7 };
	struct unwind_frame frame;
	struct world w;

	(void)state;
	for (unsigned int arch = 0; arch < 2; arch++) {
		world_init(&w, arch ? CFI_AARCH64 : CFI_X86_64, (struct cfi_row){ 0 });
		w.code = UNWIND_CODE_UNTOLD;
		w.words[16] = 99;
		w.words[17] = RA;
		expect(&w, frame_of(&w), STACK + 144, 99);
	}
	world_init(&w, CFI_X86_64, (struct cfi_row){ 0 });
	w.code = UNWIND_CODE_UNTOLD;
	expect_stop(&w, EBT_STOP_ROOT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		frame = frame_of(&w);
		frame.registers[RBP] = bad[i];
		assert_int_equal(step(&w, &frame), EBT_STOP_FRAME_POINTER);
	}
	frame.registers[RBP] = 0;
	assert_int_equal(step(&w, &frame), EBT_STOP_ROOT);
	frame.registers[RBP] = STACK + sizeof(w.words) - 8;
	assert_int_equal(step(&w, &frame), EBT_STOP_FAULT);
}

/* The call is before the return address, and may be the last instruction of its function. */
static void test_call_before_return(void **state)
{
	struct unwind_frame frame;
	struct world w;

	(void)state;
	world_init(&w, CFI_X86_64, (struct cfi_row){ .pc = 0x100, .op = CFI_END });
	frame = frame_of(&w);
	assert_int_equal(step(&w, &frame), EBT_STOP_ROOT);
	frame.caller = true;
	assert_int_equal(step(&w, &frame), EBT_STOP_NO_ROW);
}

static void test_arm(void **state)
{
	struct unwind_frame frame;
	struct world w;

	(void)state;
	/* A leaf without a frame, and one that has its own. */
	world_init(&w, CFI_AARCH64, (struct cfi_row){ .op = CFI_SP | CFI_RA_LR });
	frame = frame_of(&w);
	frame.registers[X30] = RA;
	expect(&w, frame, STACK + 64, STACK + 128);
	w.row = (struct cfi_row){ .op = CFI_SP | CFI_RA_LR, .cfa = 2, .fp = -2 };
	w.words[8] = 55;
	expect(&w, frame, STACK + 80, 55);
	w.row.cfa = -1;
	assert_int_equal(step(&w, &frame), EBT_STOP_LOOP);
	/* The link register of a frame that has called is its callee's. */
	w.row = (struct cfi_row){ .op = CFI_SP | CFI_RA_LR };
	frame.inner = false;
	assert_int_equal(step(&w, &frame), EBT_STOP_RULE);
	/* A frame record; a signed return address. */
	w.row = (struct cfi_row){ .op = CFI_FP, .cfa = 4, .fp = -4 };
	w.words[16] = 66;
	w.words[17] = RA | UINT64_C(0x5b) << 48;
	expect(&w, frame_of(&w), STACK + 160, 66);
	w.row = (struct cfi_row){ .op = CFI_SP | CFI_RA_ONLY, .cfa = 12, .fp = -3 };
	expect(&w, frame_of(&w), STACK + 160, STACK + 128);
	w.row.cfa = 0;
	expect_stop(&w, EBT_STOP_LOOP);
	w.row = (struct cfi_row){ .op = CFI_SP, .cfa = 1, .fp = -100 };
	expect_stop(&w, EBT_STOP_FAULT);
	w.row.op = CFI_SP | CFI_RA_ONLY;
	expect_stop(&w, EBT_STOP_FAULT);
}

static void test_arm_signal(void **state)
{
	struct unwind_frame frame;
	struct world w;

	(void)state;
	world_init(&w, CFI_AARCH64, (struct cfi_row){ .op = CFI_SIGNAL });
	for (unsigned int i = 0; i < 33; i++)
		w.words[8 + 312 / 8 + i] = 1000 + i;
	frame = frame_of(&w);
	assert_int_equal(step(&w, &frame), EBT_STOP_UNKNOWN);
	for (unsigned int i = 0; i < 32; i++)
		assert_int_equal(frame.registers[i], 1000 + i);
	assert_int_equal(frame.pc, 1032);
	assert_true(frame.inner);
	assert_false(frame.caller);
	frame.pc = PC;
	frame.registers[SP] = STACK + sizeof(w.words) - 312 - 32 * 8;
	assert_int_equal(step(&w, &frame), EBT_STOP_FAULT);
}

static void test_walk(void **state)
{
	struct unwind_frame frame;
	uint64_t addresses[8];
	struct world w;
	const struct unwind_space space = { find, read_stack, &w };
	size_t n;

	(void)state;
	world_init(&w, CFI_X86_64, (struct cfi_row){ .op = CFI_SP, .cfa = 1 });
	for (unsigned int i = 0; i < 5; i++)
		w.words[8 + i] = RA + i;
	frame = frame_of(&w);
	assert_int_equal(unwind_walk(&frame, &space, addresses, 8, &n), EBT_STOP_ROOT);
	assert_int_equal(n, 6);
	assert_int_equal(addresses[0], PC);
	assert_int_equal(addresses[5], RA + 4);
	assert_int_equal(frame.pc, RA + 4);
	/* As many as there is room for; it goes on behind them. */
	frame = frame_of(&w);
	assert_int_equal(unwind_walk(&frame, &space, addresses, 3, &n), EBT_STOP_TRUNCATED);
	assert_int_equal(n, 3);
	assert_int_equal(unwind_walk(&frame, &space, addresses, 8, &n), EBT_STOP_ROOT);
	assert_int_equal(n, 3);
	assert_int_equal(addresses[0], RA + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86_cfa),
		cmocka_unit_test(test_x86_plt),
		cmocka_unit_test(test_x86_ra_register),
		cmocka_unit_test(test_x86_signal),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_frame_pointers),
		cmocka_unit_test(test_call_before_return),
		cmocka_unit_test(test_arm),
		cmocka_unit_test(test_arm_signal),
		cmocka_unit_test(test_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
