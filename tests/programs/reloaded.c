/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that calls back, from a frame of FRAME bytes: two builds differ in their unwind tables.
 */
#include <string.h>

volatile char reloaded_sink;

__attribute__((noinline)) static void NAME(void (*work)(void))
{
	char buf[FRAME];

	memset(buf, 1, sizeof(buf));
	work();
	reloaded_sink = buf[FRAME / 2];
}

void run(void (*work)(void));

void run(void (*work)(void))
{
	NAME(work);
	reloaded_sink = 0;
}
