/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading PT_INTERP and PT_DYNAMIC; see needed.h. */
#include "unwind/needed.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/pread.h"

#define MAX_SEGMENTS 64
#define MAX_DYNAMIC  4096

struct file {
	int fd;
	Elf64_Phdr segments[MAX_SEGMENTS];
	size_t n;
	uint64_t strings; /* offset in the file; 0: none */
};

/* A string of the file, cut to size; "" where there is none. */
static void read_string(int fd, uint64_t offset, char *ret, size_t size)
{
	ssize_t n = offset <= INT64_MAX ? pread(fd, ret, size - 1, (off_t)offset) : 0;

	ret[n > 0 ? n : 0] = '\0';
}

static bool read_segments(struct file *file)
{
	Elf64_Ehdr h;

	if (!ebt_pread(file->fd, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
	    h.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	file->n = h.e_phnum < MAX_SEGMENTS ? h.e_phnum : MAX_SEGMENTS;
	return ebt_pread(file->fd, h.e_phoff, file->segments, file->n * sizeof(Elf64_Phdr));
}

static uint64_t offset_of(const struct file *file, uint64_t address)
{
	for (size_t i = 0; i < file->n; i++) {
		const Elf64_Phdr *p = &file->segments[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_filesz)
			return p->p_offset + (address - p->p_vaddr);
	}
	return 0;
}

static void add_name(const struct file *file, uint64_t offset, struct needed *ret)
{
	char name[NAME_MAX + 1];

	read_string(file->fd, file->strings + offset, name, sizeof(name));
	if (!*name || ret->n == NEEDED_MAX)
		return;
	ret->names[ret->n] = strdup(name);
	if (ret->names[ret->n])
		ret->n++;
}

static void read_dynamic(struct file *file, const Elf64_Phdr *dynamic, struct needed *ret)
{
	size_t n = dynamic->p_filesz / sizeof(Elf64_Dyn);
	Elf64_Dyn *list, *end;

	if (n > MAX_DYNAMIC)
		n = MAX_DYNAMIC;
	list = calloc(n + 1, sizeof(*list));
	if (!list || !ebt_pread(file->fd, dynamic->p_offset, list, n * sizeof(*list))) {
		free(list);
		return;
	}
	for (end = list; end < list + n && end->d_tag != DT_NULL; end++) {
		if (end->d_tag == DT_STRTAB)
			file->strings = offset_of(file, end->d_un.d_ptr);
	}
	for (const Elf64_Dyn *d = list; d < end && file->strings; d++) {
		if (d->d_tag == DT_NEEDED)
			add_name(file, d->d_un.d_val, ret);
		else if (d->d_tag == DT_RUNPATH || (d->d_tag == DT_RPATH && !*ret->runpath))
			read_string(file->fd, file->strings + d->d_un.d_val, ret->runpath,
				    sizeof(ret->runpath));
	}
	free(list);
}

void needed_read(int fd, struct needed *ret)
{
	struct file file = { .fd = fd };

	*ret = (struct needed){ 0 };
	if (!read_segments(&file))
		return;
	for (size_t i = 0; i < file.n; i++) {
		const Elf64_Phdr *p = &file.segments[i];

		if (p->p_type == PT_INTERP)
			read_string(fd, p->p_offset, ret->interpreter, sizeof(ret->interpreter));
		else if (p->p_type == PT_DYNAMIC && !ret->n)
			read_dynamic(&file, p, ret);
	}
}

void needed_deinit(struct needed *needed)
{
	for (size_t i = 0; i < needed->n; i++)
		free(needed->names[i]);
	needed->n = 0;
}
