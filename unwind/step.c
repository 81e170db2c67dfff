/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stepping through stack frames; see step.h, and cfi_row.h for what rows mean. */
#include "unwind/step.h"

#include <string.h>
#include <linux/types.h>

#include "format/schema/wire.h"
#include "unwind/table.h"

/* DWARF numbers. */
enum { X86_RBP = 6, X86_RSP = 7, ARM_X29 = 29, ARM_X30 = 30, ARM_SP = 31 };

/* A stack is not larger than this: a frame pointer that is farther away is none. */
#define MAX_FP_DISTANCE (64u << 20)

/* Linux gives 48 bits to who does not ask for more; signatures of pointers are above. */
#define ARM_ADDRESS ((UINT64_C(1) << 48) - 1)

static unsigned int sp_of(const struct unwind_frame *frame)
{
	return frame->arch == CFI_X86_64 ? X86_RSP : ARM_SP;
}

static unsigned int fp_of(const struct unwind_frame *frame)
{
	return frame->arch == CFI_X86_64 ? X86_RBP : ARM_X29;
}

static bool read_word(const struct unwind_space *space, uint64_t address, uint64_t *ret)
{
	return space->read(space->arg, address, ret, sizeof(*ret));
}

/* Goes on at a return address. */
static uint32_t step_to(struct unwind_frame *frame, uint64_t pc, uint64_t sp, uint64_t fp)
{
	if (frame->arch == CFI_AARCH64)
		pc &= ARM_ADDRESS;
	if (!pc)
		return EBT_STOP_ROOT;
	frame->pc = pc;
	frame->registers[sp_of(frame)] = sp;
	frame->registers[fp_of(frame)] = fp;
	frame->inner = false;
	frame->caller = true;
	return EBT_STOP_UNKNOWN;
}

/* On both architectures fp points to the caller's fp, and the return address is behind it. */
static uint32_t step_fp(struct unwind_frame *frame, const struct unwind_space *space)
{
	uint64_t fp = frame->registers[fp_of(frame)], sp = frame->registers[sp_of(frame)];
	uint64_t record[2];

	if (!fp)
		return EBT_STOP_ROOT;
	if (fp & 7 || fp < sp || fp - sp > MAX_FP_DISTANCE)
		return EBT_STOP_FRAME_POINTER;
	if (!space->read(space->arg, fp, record, sizeof(record)))
		return EBT_STOP_FAULT;
	frame->methods |= EBT_METHOD_FP;
	return step_to(frame, record[1], fp + sizeof(record), record[0]);
}

/*
 * struct rt_sigframe of arch/x86 without its return address is at sp: a ucontext, whose registers
 * begin at byte 40, in this order of DWARF numbers; rip is the last.
 */
static bool step_x86_signal(struct unwind_frame *frame, const struct unwind_space *space)
{
	static const uint8_t order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7 };
	uint64_t regs[17];

	if (!space->read(space->arg, frame->registers[X86_RSP] + 40, regs, sizeof(regs)))
		return false;
	for (size_t i = 0; i < sizeof(order); i++)
		frame->registers[order[i]] = regs[i];
	frame->pc = regs[16];
	return true;
}

/* struct rt_sigframe of arch/arm64 is at sp: 128 bytes of siginfo, a ucontext, in which struct
 * sigcontext is aligned to 16 bytes and begins with the fault's address; then x0 to x30, sp, pc. */
static bool step_arm_signal(struct unwind_frame *frame, const struct unwind_space *space)
{
	uint64_t regs[UNWIND_REGISTERS + 1];

	if (!space->read(space->arg, frame->registers[ARM_SP] + 312, regs, sizeof(regs)))
		return false;
	memcpy(frame->registers, regs, sizeof(frame->registers));
	frame->pc = regs[UNWIND_REGISTERS];
	return true;
}

static uint32_t step_signal(struct unwind_frame *frame, const struct unwind_space *space)
{
	if (frame->arch == CFI_X86_64 ? !step_x86_signal(frame, space)
				      : !step_arm_signal(frame, space))
		return EBT_STOP_FAULT;
	frame->inner = true;
	frame->caller = false;
	return EBT_STOP_UNKNOWN;
}

/* Canonical frame address, or why there is none. */
static uint32_t find_cfa(const struct unwind_frame *frame, const struct unwind_space *space,
			 const struct cfi_row *row, uint64_t *ret)
{
	uint64_t sp = frame->registers[sp_of(frame)], fp = frame->registers[fp_of(frame)];
	uint64_t offset = (uint64_t)(row->cfa * 8), base;

	switch (row->op & CFI_OP_MASK) {
	case CFI_SP:
	case CFI_RA_REG:
		*ret = sp + offset;
		return EBT_STOP_UNKNOWN;
	case CFI_FP:
		*ret = fp + offset;
		return EBT_STOP_UNKNOWN;
	case CFI_PLT:
		*ret = sp + offset + ((frame->pc & 15) >= (uint8_t)row->fp ? 8 : 0);
		return EBT_STOP_UNKNOWN;
	case CFI_SP_DEREF:
	case CFI_FP_DEREF:
		base = (row->op & CFI_OP_MASK) == CFI_SP_DEREF ? sp : fp;
		if (!read_word(space, base + (uint64_t)((row->cfa >> 4) * 8), ret))
			return EBT_STOP_FAULT;
		*ret += (row->cfa & 15) * 8;
		return EBT_STOP_UNKNOWN;
	case CFI_REG:
		if (!frame->inner)
			return EBT_STOP_RULE;
		*ret = frame->registers[row->fp & 15] + offset;
		return EBT_STOP_UNKNOWN;
	default:
		return EBT_STOP_RULE;
	}
}

/* The caller's frame pointer where the row says so in the usual way. */
static bool find_fp(const struct unwind_frame *frame, const struct unwind_space *space,
		    const struct cfi_row *row, uint64_t cfa, uint64_t *ret)
{
	uint64_t offset = (uint64_t)(row->fp * 8);

	*ret = frame->registers[fp_of(frame)];
	if (row->op & CFI_FP_BY_FP)
		return read_word(space, *ret + offset, ret);
	if (!row->fp)
		return true;
	if (row->fp != CFI_FP_LOST)
		return read_word(space, cfa + offset, ret);
	*ret = 0;
	return true;
}

static uint32_t step_x86(struct unwind_frame *frame, const struct unwind_space *space,
			 const struct cfi_row *row, uint64_t cfa)
{
	unsigned int op = row->op & CFI_OP_MASK;
	uint64_t ra, fp = frame->registers[X86_RBP];

	if (op == CFI_RA_REG) {
		if (!frame->inner)
			return EBT_STOP_RULE;
		return step_to(frame, frame->registers[row->fp & 15], cfa, fp);
	}
	/* A frame that does not grow would be walked for ever. */
	if (cfa <= frame->registers[X86_RSP])
		return EBT_STOP_LOOP;
	if (!read_word(space, cfa - 8, &ra))
		return EBT_STOP_FAULT;
	if (op != CFI_PLT && op != CFI_REG && !find_fp(frame, space, row, cfa, &fp))
		return EBT_STOP_FAULT;
	return step_to(frame, ra, cfa, fp);
}

static uint32_t step_arm(struct unwind_frame *frame, const struct unwind_space *space,
			 const struct cfi_row *row, uint64_t cfa)
{
	uint64_t sp = frame->registers[ARM_SP], fp = frame->registers[ARM_X29], record[2];

	if (row->op & CFI_RA_LR) {
		/* A leaf's frame may be empty. */
		if (!frame->inner)
			return EBT_STOP_RULE;
		if (cfa < sp)
			return EBT_STOP_LOOP;
		if (!find_fp(frame, space, row, cfa, &fp))
			return EBT_STOP_FAULT;
		return step_to(frame, frame->registers[ARM_X30], cfa, fp);
	}
	if (cfa <= sp)
		return EBT_STOP_LOOP;
	if (row->op & CFI_RA_ONLY) {
		if (!read_word(space, cfa + (uint64_t)(row->fp * 8), &record[1]))
			return EBT_STOP_FAULT;
		return step_to(frame, record[1], cfa, fp);
	}
	if (!space->read(space->arg, cfa + (uint64_t)(row->fp * 8), record, sizeof(record)))
		return EBT_STOP_FAULT;
	return step_to(frame, record[1], cfa, record[0]);
}

static uint32_t step_row(struct unwind_frame *frame, const struct unwind_space *space,
			 const struct cfi_row *row)
{
	uint64_t cfa;
	uint32_t stop;

	if (row->op == CFI_NONE)
		return EBT_STOP_NO_ROW;
	frame->methods |= EBT_METHOD_TABLE;
	if (row->op == CFI_END)
		return EBT_STOP_ROOT;
	if (row->op == CFI_SIGNAL)
		return step_signal(frame, space);
	stop = find_cfa(frame, space, row, &cfa);
	if (stop)
		return stop;
	return frame->arch == CFI_X86_64 ? step_x86(frame, space, row, cfa)
					 : step_arm(frame, space, row, cfa);
}

uint32_t unwind_step(struct unwind_frame *frame, const struct unwind_space *space)
{
	uint64_t pc = frame->pc - frame->caller, bias;
	const struct unwind_table *table;
	const struct cfi_row *row;

	switch (space->find(space->arg, pc, &table, &bias)) {
	case UNWIND_CODE_NONE:
		return EBT_STOP_NO_MAPPING;
	case UNWIND_CODE_LATER:
		return EBT_STOP_NO_TABLE;
	case UNWIND_CODE_UNTOLD:
		return step_fp(frame, space);
	case UNWIND_CODE_TABLE:
		break;
	}
	row = table->arch == frame->arch ? unwind_table_find(table, pc - bias) : NULL;
	return row ? step_row(frame, space, row) : EBT_STOP_NO_ROW;
}

uint32_t unwind_walk(struct unwind_frame *frame, const struct unwind_space *space,
		     uint64_t *addresses, size_t max, size_t *ret_n)
{
	uint32_t stop = EBT_STOP_UNKNOWN;
	size_t n = 0;

	while (!stop && n < max) {
		addresses[n++] = frame->pc;
		stop = unwind_step(frame, space);
	}
	*ret_n = n;
	return stop ? stop : EBT_STOP_TRUNCATED;
}
