/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file that somebody wants to probe: its symbols, and where addresses are in it. Read with
 * pread(2) only; the file may be anything.
 */
#ifndef RECORD_PROBES_ELF_H
#define RECORD_PROBES_ELF_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "record/base/buildid.h"
#include "record/probes/insn.h"

struct probe_elf;

/* Of this machine's architecture, or an error that names the file. */
struct ebt_error *probe_elf_open(const char *path, struct probe_elf **ret);
/* Accepts NULL. */
void probe_elf_close(struct probe_elf *elf);
DEFINE_CLEANUP(struct probe_elf *, probe_elf_close);

const struct buildid *probe_elf_build_id(const struct probe_elf *elf);

/* Where in the file code at this address is; false: nowhere. */
bool probe_elf_offset(const struct probe_elf *elf, uint64_t address, uint64_t *ret);

/* Is code at this offset? */
bool probe_elf_is_code(const struct probe_elf *elf, uint64_t offset);

/* What is the instruction there? */
enum probe_insn probe_elf_insn(const struct probe_elf *elf, uint64_t offset);

struct probe_symbol {
	const char *name; /* with a version behind '@' in some tables */
	uint64_t address, size;
	bool chosen_later;  /* an IFUNC: the address is that of what chooses */
	bool other_version; /* old programs get it by this name */
};

/* Returns false to stop. */
typedef bool probe_symbol_fn(void *arg, const struct probe_symbol *symbol);

/* Each function of .symtab and .dynsym; some are in both. */
struct ebt_error *probe_elf_symbols(const struct probe_elf *elf, probe_symbol_fn *fn, void *arg);

/* The file of debug information with the same build-id below /usr/lib/debug; *ret stays NULL where
 * there is none. */
struct ebt_error *probe_elf_debug(const struct probe_elf *elf, struct probe_elf **ret);

#endif
