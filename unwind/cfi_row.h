/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One row of an unwind table, as user space makes it and BPF reads it. Types only.
 *
 * How to step out of a frame, x86-64 (pc, sp, fp = rbp; `cfa` and `fp` count units of 8 bytes):
 *
 * - CFA: SP, RA_REG: sp + 8·cfa. FP: fp + 8·cfa. REG: register number `fp` + 8·cfa. PLT: sp +
 *   8·cfa, and 8 more where (pc & 15) ≥ `fp`. SP_DEREF, FP_DEREF: the word at register +
 *   8·(cfa >> 4), plus 8·(cfa & 15).
 * - pc: RA_REG: register number `fp`. All others: the word at CFA - 8.
 * - sp: CFA.
 * - fp: PLT, REG, RA_REG: as it is, their `fp` field is something else. CFI_FP_BY_FP, to be asked
 *   first because any value of the field is an offset then, 0 too: the word at fp + 8·`fp`.
 *   Otherwise `fp` 0: as it is; CFI_FP_LOST: not known; else the word at CFA + 8·`fp`.
 *
 * arm64 (fp = x29, lr = x30) has no PLT, REG and RA_REG. CFA and sp are as above.
 *
 * - CFI_RA_LR: pc is lr, which only the innermost frame still has; fp as above.
 * - CFI_RA_ONLY: pc is the word at CFA + 8·`fp`; fp as it is.
 * - neither: fp is the word at CFA + 8·`fp`, pc the one behind it.
 */
#ifndef UNWIND_CFI_ROW_H
#define UNWIND_CFI_ROW_H

#include <linux/types.h>

enum cfi_op {
	CFI_NONE, /* no information from here on */
	CFI_SP,
	CFI_FP,
	CFI_SP_DEREF,
	CFI_FP_DEREF,
	CFI_PLT,
	CFI_SIGNAL,	 /* a signal frame: the kernel's rt_sigframe is at sp */
	CFI_END,	 /* the outermost frame: the return address is undefined */
	CFI_REG,	 /* CFA is another register (`fp` field) + 8·cfa; innermost frame only */
	CFI_RA_REG,	 /* CFA sp + 8·cfa; return address in a register; innermost frame only */
	CFI_UNSUPPORTED, /* there are rules, and a row cannot express them */
	CFI_OP_MASK = 15,

	CFI_RA_ONLY = 1 << 5,
	CFI_RA_LR = 1 << 6,
	CFI_FP_BY_FP = 1 << 7,
};

#define CFI_FP_LOST (-128)

struct cfi_row {
	__u32 pc; /* relative to the lowest load address of the file */
	__s16 cfa;
	__s8 fp;
	__u8 op; /* enum cfi_op and flags */
};

#endif
