/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library with FUNCTIONS functions, each with two rows of unwind information, of which run(f)
 * calls f.
 */
	.text
	.globl	run
	.type	run, @function
run:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	call	*%rdi
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc
	.size	run, . - run

	.rept	FUNCTIONS
	.cfi_startproc
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	popq	%rax
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.endr
	.section .note.GNU-stack, "", @progbits
