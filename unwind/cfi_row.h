/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One row of an unwind table, as user space makes it and BPF reads it. Types only; <linux/types.h>
 * or vmlinux.h must come first.
 *
 * How to step out of a frame, x86-64 (pc, sp, fp = rbp; all offsets in units of 8 bytes):
 *
 *	CFA   SP: sp + 8·cfa;  FP: fp + 8·cfa;  SP_DEREF, FP_DEREF: *(reg + 8·(cfa >> 4)) + 8·(cfa &
 *15) PLT: sp + 8·cfa, and 8 more where (pc & 15) ≥ fp field pc    *(CFA - 8);  RA_REG: the register
 *numbered `fp` (innermost frame only) sp    CFA fp    fp field 0: unchanged; CFI_FP_LOST: not
 *known; else *(CFA + 8·fp), or, with CFI_FP_BY_FP, *(fp + 8·fp)
 *
 * arm64 (fp = x29, lr = x30): as above but pc is lr with CFI_RA_LR; else *(where fp was saved + 8),
 * or *(CFA + 8·fp) with CFI_RA_ONLY, fp unchanged then.
 */
#ifndef CFI_ROW_H
#define CFI_ROW_H

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
