/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mark and a function at an instruction that the kernel does not probe, among others that it
 * does. Waits for a line before it makes marks and calls.
 */
#include <ebmark.h>
#include <stdio.h>

#ifdef __x86_64__
#define REFUSED "hlt"
#else
#define REFUSED "brk #1"
#endif

#define NOINLINE __attribute__((noinline))

int refused_before(int n);
void refused_here(void);
int refused_behind(int n);

NOINLINE int refused_before(int n)
{
	ebmark_instant("refused", "before", "1");
	ebmark_instant("refused", "before", "2");
	ebmark_instant("refused", "before", "3");
	return n + 1;
}

/* Never called. Offset by offset, it is between the others. */
NOINLINE void refused_here(void)
{
	__asm__ volatile("990:	" REFUSED "\n"
			 "	.pushsection .note.stapsdt,\"?\",\"note\"\n"
			 "	.balign 4\n"
			 "	.4byte 992f-991f, 994f-993f, 3\n"
			 "991:	.asciz \"stapsdt\"\n"
			 "992:	.balign 4\n"
			 "993:	.8byte 990b\n"
			 "	.8byte _.stapsdt.base\n"
			 "	.8byte ebmark_semaphore_\n"
			 "	.asciz \"ebmark\"\n"
			 "	.asciz \"instant\"\n"
			 "	.asciz \"" EBMARK_ARGS_ "\"\n"
			 "994:	.balign 4\n"
			 "	.popsection\n" ::
				 : "memory");
}

NOINLINE int refused_behind(int n)
{
	ebmark_instant("refused", "behind", "1");
	ebmark_instant("refused", "behind", "2");
	return n + 2;
}

int main(int argc, char **argv)
{
	(void)argv;
	puts("waiting");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	if (argc > 1)
		refused_here();
	return refused_behind(refused_before(-3));
}
