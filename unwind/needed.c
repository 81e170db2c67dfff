/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading PT_INTERP and PT_DYNAMIC; see needed.h. */
#include "unwind/needed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "unwind/elf_headers.h"

#define MAX_DYNAMIC 4096

/* A string of the file, cut to size; "" where there is none. */
static void read_string(int fd, uint64_t offset, char *ret, size_t size)
{
	ssize_t n = offset <= INT64_MAX ? pread(fd, ret, size - 1, (off_t)offset) : 0;

	ret[n > 0 ? n : 0] = '\0';
}

/* The offset in the file; 0: there is none. */
static uint64_t offset_of(const struct elf_headers *elf, uint64_t address)
{
	const Elf64_Phdr *p = elf_headers_segment_at(elf, address, 0);

	return p ? p->p_offset + (address - p->p_vaddr) : 0;
}

static void add_name(int fd, uint64_t offset, struct needed *ret)
{
	char name[NAME_MAX + 1];

	read_string(fd, offset, name, sizeof(name));
	if (!*name || ret->n == NEEDED_MAX)
		return;
	ret->names[ret->n] = strdup(name);
	if (ret->names[ret->n])
		ret->n++;
}

static void read_dynamic(const struct elf_headers *elf, const Elf64_Phdr *dynamic,
			 struct needed *ret)
{
	size_t n = dynamic->p_filesz / sizeof(Elf64_Dyn);
	_cleanup_free_ Elf64_Dyn *list = NULL;
	const Elf64_Dyn *end;
	uint64_t strings = 0;

	if (n > MAX_DYNAMIC)
		n = MAX_DYNAMIC;
	list = calloc(n + 1, sizeof(*list));
	if (!list || !elf_headers_read(elf, dynamic->p_offset, list, n * sizeof(*list)))
		return;
	for (end = list; end < list + n && end->d_tag != DT_NULL; end++) {
		if (end->d_tag == DT_STRTAB)
			strings = offset_of(elf, end->d_un.d_ptr);
	}
	for (const Elf64_Dyn *d = list; d < end && strings; d++) {
		if (d->d_tag == DT_NEEDED)
			add_name(elf->fd, strings + d->d_un.d_val, ret);
		else if (d->d_tag == DT_RUNPATH || (d->d_tag == DT_RPATH && !*ret->runpath))
			read_string(elf->fd, strings + d->d_un.d_val, ret->runpath,
				    sizeof(ret->runpath));
	}
}

void needed_read(int fd, struct needed *ret)
{
	_cleanup_(elf_headers_deinit) struct elf_headers elf;

	*ret = (struct needed){ 0 };
	if (!elf_headers_of_fd(fd, &elf) || !elf_headers_is_le64(&elf))
		return;
	for (size_t i = 0; i < elf.n_segments; i++) {
		const Elf64_Phdr *p = &elf.segments[i];

		if (p->p_type == PT_INTERP)
			read_string(fd, p->p_offset, ret->interpreter, sizeof(ret->interpreter));
		else if (p->p_type == PT_DYNAMIC && !ret->n)
			read_dynamic(&elf, p, ret);
	}
}

void needed_deinit(struct needed *needed)
{
	for (size_t i = 0; i < needed->n; i++)
		free(needed->names[i]);
	needed->n = 0;
}
