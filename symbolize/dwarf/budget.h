/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much work a file of debug information may cause: steps, and time of a processor. */
#ifndef SYMBOLIZE_DWARF_BUDGET_H
#define SYMBOLIZE_DWARF_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct dwarf_budget {
	uint64_t left;	/* steps */
	uint64_t until; /* of dwarf_budget_clock() */
};

/* Nanoseconds that this thread ran. */
static inline uint64_t dwarf_budget_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A step; false: there is nothing left. What one step of libdw costs is up to the file. */
static inline bool dwarf_budget_spend(struct dwarf_budget *budget)
{
	if (!budget->left)
		return false;
	if (!(--budget->left & 1023) && dwarf_budget_clock() > budget->until)
		budget->left = 0;
	return true;
}

#endif
