/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plugin of spaces.c. NAME is what its function is called inside. */
#include <time.h>

#define WORK_MS 150

void work(void);

__attribute__((noinline)) static void NAME(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
		 WORK_MS);
}

void work(void)
{
	NAME();
}
