/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says a line, then calls pause() as 32-bit programs do, with six arguments that it has not. */
#include <unistd.h>

#define PAUSE 29 /* of the 32-bit ABI */

int main(void)
{
	if (write(1, "ready\n", 6) != 6)
		return 1;
	__asm__ volatile("push %%rbp\n\t"
			 "mov $0xb9, %%ebp\n\t"
			 "int $0x80\n\t"
			 "pop %%rbp"
			 :
			 : "a"(PAUSE), "b"(0xb), "c"(0xc), "d"(0xd), "S"(0x51), "D"(0xd1)
			 : "memory", "r8", "r9", "r10", "r11");
	return 0;
}
