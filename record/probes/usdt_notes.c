/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking notes of USDT probes apart; see usdt_notes.h. */
#include "record/probes/usdt_notes.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/fdio.h"

#define MAX_NOTES    (8u << 20) /* bytes: a hundred thousand probes */
#define NT_STAPSDT_3 3

struct addresses {
	uint64_t pc, base, semaphore;
};

/* Offset in the file of what is loaded at an address, with these flags; 0: nothing is. */
static uint64_t offset_of(const struct elfparts *parts, uint64_t address, uint64_t flags)
{
	for (size_t i = 0; i < parts->n_loads; i++) {
		const struct elfparts_load *load = &parts->loads[i];

		if ((load->flags & flags) == flags && address >= load->vaddr &&
		    address - load->vaddr < load->filesz)
			return address - load->vaddr + load->offset;
	}
	return 0;
}

/* The next of the strings in [*at, end); NULL: it does not end there. */
static const char *next_string(const char **at, const char *end)
{
	const char *string = *at, *nul = memchr(string, '\0', (size_t)(end - string));

	if (nul)
		*at = nul + 1;
	return nul ? string : NULL;
}

/* What a note says. False: it says nothing that can be right. */
static bool take_apart(const struct elfparts *parts, const char *desc, size_t len,
		       struct usdt_note *ret)
{
	const char *at = desc + sizeof(struct addresses), *end = desc + len;
	struct addresses a;
	uint64_t moved;

	if (len < sizeof(a))
		return false;
	memcpy(&a, desc, sizeof(a));
	ret->provider = next_string(&at, end);
	ret->name = ret->provider ? next_string(&at, end) : NULL;
	ret->args = ret->name ? next_string(&at, end) : NULL;
	if (!ret->args)
		return false;
	/* Prelinking moves sections and leaves notes as they are. */
	moved = a.base && parts->stapsdt_base ? parts->stapsdt_base - a.base : 0;
	ret->offset = offset_of(parts, a.pc + moved, PF_X);
	ret->semaphore = a.semaphore ? offset_of(parts, a.semaphore + moved, PF_W) : 0;
	return ret->offset;
}

static size_t aligned(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

struct ebt_error *usdt_notes_each(int fd, const struct elfparts *parts, usdt_note_fn *fn, void *arg)
{
	const size_t len = parts->stapsdt.len < MAX_NOTES ? (size_t)parts->stapsdt.len : MAX_NOTES;
	_cleanup_free_ char *notes = len ? malloc(len) : NULL;
	Elf64_Nhdr head;

	if (!len)
		return NULL;
	if (!notes)
		return &ebt_enomem;
	if (!ebt_pread(fd, parts->stapsdt.offset, notes, len))
		return NULL;
	for (size_t at = 0; len - at >= sizeof(head);) {
		struct ebt_error *err = NULL;
		struct usdt_note note;
		size_t name, desc;

		memcpy(&head, notes + at, sizeof(head));
		name = at + sizeof(head);
		if (head.n_namesz > len - name || aligned(head.n_namesz) > len - name)
			break;
		desc = name + aligned(head.n_namesz);
		if (head.n_descsz > len - desc)
			break;
		if (head.n_type == NT_STAPSDT_3 && head.n_namesz == sizeof("stapsdt") &&
		    !memcmp(notes + name, "stapsdt", sizeof("stapsdt")) &&
		    take_apart(parts, notes + desc, head.n_descsz, &note))
			err = fn(arg, &note);
		if (err)
			return err;
		if (aligned(head.n_descsz) > len - desc)
			break;
		at = desc + aligned(head.n_descsz);
	}
	return NULL;
}
