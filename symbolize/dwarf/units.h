/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The units of a file with debug information, and which addresses they cover. Made once;
 * then threads read it, each with a handle of libdw of its own (info.h). Of a unit's contents
 * only what is in use is in memory.
 */
#ifndef SYMBOLIZE_DWARF_UNITS_H
#define SYMBOLIZE_DWARF_UNITS_H

#include <elfutils/libdw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "format/base/error.h"
#include "symbolize/base/span.h"
#include "symbolize/elf/elffile.h"
#include "symbolize/elf/pages.h"

#define DWARF_NO_UNIT UINT32_MAX

/* How much work a file of debug information may cause: steps, and time of a processor. */
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

struct dwarf_unit {
	uint64_t start, end; /* in .debug_info */
	uint64_t die;	     /* offset of its own DIE; 0: it has no code */
	uint32_t users;
};

struct dwarf_units {
	const struct elf_file *file;
	struct pages *pages;
	struct dwarf_units *alt; /* of the file that dwz made, or NULL */
	struct dwarf_unit *items;
	size_t n, capacity;
	struct sym_spans spans;
	pthread_mutex_t lock;	       /* for users */
	atomic_uint_least64_t used_ns; /* time of processors */
};

/* libdw's handles of a file. */
struct dwarf_handle {
	Elf *elf;
	Dwarf *dwarf;
};

/*
 * alt: the file that .gnu_debugaltlink names, or NULL. *ret is NULL where there is no usable
 * DWARF, which includes a missing alt. Both files must outlive the units.
 */
struct ebt_error *dwarf_units_create(const struct elf_file *file, const struct elf_file *alt,
				     struct dwarf_units **ret);
/* Accepts NULL. */
void dwarf_units_destroy(struct dwarf_units *units);

/* False: libdw does not take the file. */
bool dwarf_handle_open(const struct dwarf_units *units, struct dwarf_handle *ret);
void dwarf_handle_close(struct dwarf_handle *handle);

/* The unit with the code at the address, or DWARF_NO_UNIT. */
uint32_t dwarf_units_find(const struct dwarf_units *units, uint64_t address);

/* The unit that the offset of .debug_info lies in, or DWARF_NO_UNIT. */
uint32_t dwarf_units_at(const struct dwarf_units *units, uint64_t offset);

/* From the first to the last user, the unit's contents are in memory. */
void dwarf_units_use(struct dwarf_units *units, uint32_t unit);
void dwarf_units_unuse(struct dwarf_units *units, uint32_t unit);

/* Whether code may begin at the address: what linkers threw away has ranges and lines too. */
bool dwarf_units_is_code(const struct dwarf_units *units, uint64_t address);

/* Adds the ranges of a DIE where code may begin, or, where units is NULL, all; *ret_any: it has
 * some. Each is a step of the budget. */
struct ebt_error *dwarf_units_add_ranges(const struct dwarf_units *units,
					 struct dwarf_budget *budget, Dwarf_Die *die,
					 struct sym_spans *spans, uint32_t id, bool *ret_any);

/*
 * Split debug information: a unit whose functions are in a file of its own (.dwo), which is known
 * by an id in both. Finds the DIE of the unit in the file that its skeleton names. False: the file
 * is not here, or it is another build's.
 */
bool dwarf_is_skeleton(Dwarf_Die *die);
bool dwarf_split_open(Dwarf_Die *skeleton, const char *comp_dir, const char *name, Dwarf_Die *ret);

/* What is left of the time that the file may take. */
uint64_t dwarf_units_time_left(const struct dwarf_units *units);

#endif
