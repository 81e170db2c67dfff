/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading of the first bytes of an instruction; see insn.h. */
#include "record/probes/insn.h"

#include <stdbool.h>

#if defined(__x86_64__)
/*
 * Kernels (arch/x86/kernel/uprobes.c) look a vector instruction's opcode up among those of one
 * byte: some they refuse, most they execute, and what would be a jump, a call or a nop there is not
 * executed but imitated. Of vpbroadcastb, which AVX-512 code of libc begins with, nothing is left
 * then but its length. They refuse prefixes for segments and locks.
 */
static bool is_imitated(uint8_t opcode)
{
	return (opcode >= 0x70 && opcode <= 0x7f) || opcode == 0x90 || opcode == 0xe8 ||
	       opcode == 0xe9 || opcode == 0xeb;
}

/* Bytes before the opcode of a vector instruction in 64-bit mode; 0: it is none. */
static size_t vector_prefix(const uint8_t *code, size_t n)
{
	switch (n ? code[0] : 0) {
	case 0xc5: /* VEX */
		return 2;
	case 0xc4:
		return 3;
	case 0x62: /* EVEX */
		return 4;
	case 0x8f: /* XOP, unless it is a pop */
		return n > 1 && (code[1] & 0x1f) >= 8 ? 3 : 0;
	default:
		return 0;
	}
}

enum probe_insn probe_insn_classify(const uint8_t *code, size_t n)
{
	size_t before = vector_prefix(code, n);

	if (before)
		return before < n && is_imitated(code[before]) ? PROBE_INSN_MISREAD
							       : PROBE_INSN_UNSURE;
	for (size_t i = 0; i < n; i++) {
		switch (code[i]) {
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0:
			return PROBE_INSN_UNSURE;
		case 0x64:
		case 0x65:
		case 0x66:
		case 0x67:
		case 0xf2:
		case 0xf3:
			continue;
		default:
			return PROBE_INSN_FINE;
		}
	}
	return PROBE_INSN_FINE;
}
#else
enum probe_insn probe_insn_classify(const uint8_t *code, size_t n)
{
	(void)code;
	(void)n;
	return PROBE_INSN_FINE;
}
#endif
