/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stepping through stack frames by unwind tables, as the BPF walker does it, but with any way to
 * read the stack: a copy of it, or another process's memory. Methods and reasons to stop are those
 * of format/schema/wire.h.
 */
#ifndef UNWIND_STEP_H
#define UNWIND_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"

struct unwind_table;

/* x0 to x30 and sp of arm64; x86-64 has 16. */
#define UNWIND_REGISTERS 32

/* A frame, before the first step the innermost one that is known. */
struct unwind_frame {
	enum cfi_arch arch;
	uint64_t pc;
	uint64_t registers[UNWIND_REGISTERS]; /* by their DWARF numbers */
	bool inner;	  /* all registers are known; else frame and stack pointer only */
	bool caller;	  /* pc is a return address, so that the call is before it */
	uint32_t methods; /* EBT_METHOD_* of the steps that led here; begins as 0 */
};

/* What is mapped where a program counter points. */
enum unwind_code {
	UNWIND_CODE_NONE,   /* nothing that is known */
	UNWIND_CODE_LATER,  /* a file whose table is not there yet */
	UNWIND_CODE_TABLE,  /* a file with a table */
	UNWIND_CODE_UNTOLD, /* what no table can be had of: made at run time, or without CFI */
};

/* An address space, by two functions that get its arg. */
struct unwind_space {
	/* UNWIND_CODE_TABLE: *ret_table, and what to subtract from an address to search in it. */
	enum unwind_code (*find)(void *arg, uint64_t pc, const struct unwind_table **ret_table,
				 uint64_t *ret_bias);
	/* False where not all of it can be read. */
	bool (*read)(void *arg, uint64_t address, void *ret, size_t len);
	void *arg;
};

/* Makes *frame its caller's: EBT_STOP_UNKNOWN. Otherwise says why not, EBT_STOP_*; but for methods
 * *frame stays what it is. */
uint32_t unwind_step(struct unwind_frame *frame, const struct unwind_space *space);

/* Steps to the end. Up to max program counters, *frame's first; *ret_n gets their number. Returns
 * EBT_STOP_*; *frame is the last one then, or, when max was too few, the one behind it. */
uint32_t unwind_walk(struct unwind_frame *frame, const struct unwind_space *space,
		     uint64_t *addresses, size_t max, size_t *ret_n);

#endif
