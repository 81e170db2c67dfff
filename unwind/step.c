/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stepping through stack frames; see step.h, and cfi_row.h for what rows mean. */
#include "unwind/step.h"

#include "format/schema/wire.h"
#include "unwind/table.h"

/* A stack is not larger than this: a frame pointer that is farther away is none. */
#define MAX_FP_DISTANCE (64u << 20)

/* Linux gives 48 bits to who does not ask for more; signatures of pointers are above. */
#define ARM_ADDRESS ((UINT64_C(1) << 48) - 1)

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
	frame->registers[cfi_sp(frame->arch)] = sp;
	frame->registers[cfi_fp(frame->arch)] = fp;
	frame->inner = false;
	frame->caller = true;
	return EBT_STOP_UNKNOWN;
}

/* On both architectures fp points to the caller's fp, and the return address is behind it. */
static uint32_t step_fp(struct unwind_frame *frame, const struct unwind_space *space)
{
	uint64_t fp = frame->registers[cfi_fp(frame->arch)],
		 sp = frame->registers[cfi_sp(frame->arch)];
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
 * A signal frame, struct rt_sigframe, is at sp. x86, without its return address: a ucontext, whose
 * registers begin at byte 40, in this order of DWARF numbers; rip is the last. arm64: 128 bytes of
 * siginfo, a ucontext, in which struct sigcontext is aligned to 16 bytes and begins with the
 * fault's address; then x0 to x30, sp, pc.
 */
static uint32_t step_signal(struct unwind_frame *frame, const struct unwind_space *space)
{
	static const uint8_t order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7 };
	const bool x86 = frame->arch == CFI_X86_64;
	const size_t n = x86 ? sizeof(order) : UNWIND_REGISTERS;
	const uint64_t at = frame->registers[cfi_sp(frame->arch)] + (x86 ? 40 : 312);
	uint64_t regs[UNWIND_REGISTERS + 1];

	if (!space->read(space->arg, at, regs, (n + 1) * sizeof(*regs)))
		return EBT_STOP_FAULT;
	for (size_t i = 0; i < n; i++)
		frame->registers[x86 ? order[i] : i] = regs[i];
	frame->pc = regs[n];
	frame->inner = true;
	frame->caller = false;
	return EBT_STOP_UNKNOWN;
}

/* Canonical frame address, or why there is none. */
static uint32_t find_cfa(const struct unwind_frame *frame, const struct unwind_space *space,
			 const struct cfi_row *row, uint64_t *ret)
{
	uint64_t sp = frame->registers[cfi_sp(frame->arch)],
		 fp = frame->registers[cfi_fp(frame->arch)];
	uint64_t offset = (uint64_t)(row->cfa * 8), base;

	switch (row->op & CFI_OP_MASK) {
	case CFI_SP:
	case CFI_RA_REG:
		*ret = sp + offset;
		break;
	case CFI_FP:
		*ret = fp + offset;
		break;
	case CFI_PLT:
		*ret = sp + offset + ((frame->pc & 15) >= (uint8_t)row->fp ? 8 : 0);
		break;
	case CFI_SP_DEREF:
	case CFI_FP_DEREF:
		base = (row->op & CFI_OP_MASK) == CFI_SP_DEREF ? sp : fp;
		if (!read_word(space, base + (uint64_t)((row->cfa >> 4) * 8), ret))
			return EBT_STOP_FAULT;
		*ret += (row->cfa & 15) * 8;
		break;
	case CFI_REG:
		if (!frame->inner)
			return EBT_STOP_RULE;
		*ret = frame->registers[row->fp & 15] + offset;
		break;
	default:
		return EBT_STOP_RULE;
	}
	return EBT_STOP_UNKNOWN;
}

/* The caller's frame pointer where the row says so in the usual way. */
static bool find_fp(const struct unwind_frame *frame, const struct unwind_space *space,
		    const struct cfi_row *row, uint64_t cfa, uint64_t *ret)
{
	uint64_t offset = (uint64_t)(row->fp * 8);

	*ret = frame->registers[cfi_fp(frame->arch)];
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
	uint64_t ra, fp = frame->registers[CFI_X86_RBP];

	if (op == CFI_RA_REG) {
		if (!frame->inner)
			return EBT_STOP_RULE;
		return step_to(frame, frame->registers[row->fp & 15], cfa, fp);
	}
	/* A frame that does not grow would be walked for ever. */
	if (cfa <= frame->registers[CFI_X86_RSP])
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
	uint64_t sp = frame->registers[CFI_ARM_SP], fp = frame->registers[CFI_ARM_X29], record[2];

	if (row->op & CFI_RA_LR) {
		/* A leaf's frame may be empty. */
		if (!frame->inner)
			return EBT_STOP_RULE;
		if (cfa < sp)
			return EBT_STOP_LOOP;
		if (!find_fp(frame, space, row, cfa, &fp))
			return EBT_STOP_FAULT;
		return step_to(frame, frame->registers[CFI_ARM_X30], cfa, fp);
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
