/* SPDX-License-Identifier: GPL-2.0-or-later */
/* First instructions of functions, as the assembler writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/probes/insn.h"

#if defined(__x86_64__)
extern const uint8_t insn_fine[], insn_unsure[], insn_misread[], insn_end[];

/* Never executed; each fills 16 bytes. */
__asm__(".pushsection .text\n"
	".macro insn text:vararg\n"
	"	.balign 16\n"
	"	\\text\n"
	".endm\n"
	".balign 16\n"
	"insn_fine:\n"
	"insn endbr64\n"
	"insn push %rbp\n"
	"insn pushw %bp\n"
	"insn sub $8, %rsp\n"
	"insn mov %fs:40, %rax\n"
	"insn rep stosb\n"
	"insn jmp insn_end\n"
	"insn call insn_end\n"
	"insn je insn_end\n"
	"insn nopw 0(%rax)\n"
	"insn pcmpeqb %xmm0, %xmm0\n"
	"insn xorps %xmm0, %xmm0\n"
	"insn pop (%rax)\n"
	".balign 16\n"
	"insn_unsure:\n"
	"insn lock decl (%rdi)\n"
	"insn nopw %cs:0(%rax)\n"
	"insn vmovd %esi, %xmm0\n"
	"insn vpxor %xmm0, %xmm0, %xmm0\n"
	"insn vmovdqu64 (%rsi), %ymm16\n"
	"insn vphaddbw %xmm0, %xmm1\n"
	".balign 16\n"
	"insn_misread:\n"
	"insn vpbroadcastb %esi, %ymm16\n"  /* 7a */
	"insn vpbroadcastb (%rdi), %ymm0\n" /* 78 */
	"insn vpcmpeqb %ymm0, %ymm1, %ymm2\n"
	"insn vzeroupper\n"
	"insn vpor %ymm9, %ymm1, %ymm2\n"
	"insn vpsubsb %xmm0, %xmm1, %xmm2\n"
	"insn vpsubsw %xmm0, %xmm1, %xmm2\n"
	"insn kmovw %k1, %k2\n"
	".balign 16\n"
	"insn_end:\n"
	".popsection\n");

static void check(const uint8_t *begin, const uint8_t *end, enum probe_insn kind)
{
	assert_true(begin < end);
	for (const uint8_t *at = begin; at < end; at += 16)
		assert_int_equal(probe_insn_classify(at, PROBE_INSN_BYTES), kind);
}

static void test_instructions(void **state)
{
	(void)state;
	check(insn_fine, insn_unsure, PROBE_INSN_FINE);
	check(insn_unsure, insn_misread, PROBE_INSN_UNSURE);
	check(insn_misread, insn_end, PROBE_INSN_MISREAD);
}

/* Code ends with the file. */
static void test_cut(void **state)
{
	(void)state;
	assert_int_equal(probe_insn_classify(NULL, 0), PROBE_INSN_FINE);
	for (size_t n = 1; n <= 4; n++)
		assert_int_equal(probe_insn_classify(insn_misread, n), PROBE_INSN_UNSURE);
	assert_int_equal(probe_insn_classify(insn_misread, 5), PROBE_INSN_MISREAD);
}
#endif

/* Nothing is known of the instructions of other machines. */
static void test_zeros(void **state)
{
	const uint8_t zeros[PROBE_INSN_BYTES] = { 0 };

	(void)state;
	assert_int_equal(probe_insn_classify(zeros, sizeof(zeros)), PROBE_INSN_FINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_cut),
#endif
		cmocka_unit_test(test_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
