/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file as memory in which only what was asked for has been read: the rest is zeros that
 * take no room. libelf and libdw work on it as on a mapped file, but a file that shrinks is a
 * failed read and no signal, and what is not needed any more can be given back. Compressed
 * sections of debug information are unpacked behind the end of the file.
 */
#ifndef SYMBOLIZE_ELF_PAGES_H
#define SYMBOLIZE_ELF_PAGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "symbolize/elf/elffile.h"

/* The sections of debug information that are read. */
enum pages_section {
	PAGES_INFO,
	PAGES_ABBREV,
	PAGES_STR,
	PAGES_LINE,
	PAGES_LINE_STR,
	PAGES_RANGES,
	PAGES_RNGLISTS,
	PAGES_ADDR,
	PAGES_STR_OFFSETS,
	PAGES_ARANGES,
	PAGES_N_SECTIONS,
};

struct pages {
	char *base;	/* private memory */
	uint64_t size;	/* of it: file, then what was unpacked */
	uint64_t total; /* of the file */
	int fd;		/* -1: everything is there */
	int unpacked;	/* what is behind the file, or -1: it is there */
	uint8_t *have;	/* a bit for each page */
	pthread_mutex_t lock;
	struct {
		uint64_t offset, size;
	} sections[PAGES_N_SECTIONS]; /* size 0: there is none */
};

/* *ret is NULL where the file's debug information cannot be read. It needs the file's descriptor
 * no longer. */
struct ebt_error *pages_create(const struct elf_file *file, struct pages **ret);
/* Accepts NULL. */
void pages_destroy(struct pages *pages);

/* Reads the bytes, if they are not there. Threads may do so at the same time. False: they cannot
 * be read; they are zeros. */
bool pages_need(struct pages *pages, uint64_t offset, uint64_t len);

/* The same for a whole section. */
bool pages_need_section(struct pages *pages, enum pages_section section);

/* Gives back what lies wholly in between. Nobody may be using it. */
void pages_drop(struct pages *pages, uint64_t offset, uint64_t len);

/* Reads a string of which libdw told the address. NULL: it has no end. What is not in the pages
 * is returned as it is. */
const char *pages_string(struct pages *pages, const char *string);

#endif
