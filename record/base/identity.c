/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files are opened through /proc/PID/map_files, which has deleted files, memfds and those of any
 * mount namespace; else by name, as the process sees it or as we do, if that leads to the very
 * file.
 */
#include "record/base/identity.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "format/base/cleanup.h"
#include "record/base/procfs.h"
#include "record/base/procmaps.h"
#include "unwind/elf_headers.h"

#define MAX_SECTIONS 512u

/* A name, then zeros up to a multiple of 4, then the CRC. */
static void read_debuglink(const struct elf_headers *elf, const Elf64_Shdr *s, struct elfparts *ret)
{
	char content[sizeof(ret->debuglink) + 8] = "";
	size_t len = s->sh_size < sizeof(content) ? (size_t)s->sh_size : sizeof(content), name;
	size_t crc;

	if (!elf_headers_read(elf, s->sh_offset, content, len))
		return;
	name = strnlen(content, len);
	crc = (name + 4) / 4 * 4;
	if (!name || name >= sizeof(ret->debuglink) || crc + sizeof(ret->debuglink_crc) > len)
		return;
	memcpy(ret->debuglink, content, name + 1);
	ret->debuglink_crc =
		(uint32_t)elf_headers_load(elf, content + crc, sizeof(ret->debuglink_crc));
}

/* Of what is loaded, unwind tables and the stubs of the procedure linkage table have a use. */
static bool is_dull(const Elf64_Shdr *s, const char *name)
{
	return s->sh_type == SHT_PROGBITS && (s->sh_flags & SHF_ALLOC) &&
	       strncmp(name, ".eh_frame", strlen(".eh_frame")) &&
	       strncmp(name, ".plt", strlen(".plt"));
}

static void take_section(const struct elf_headers *elf, const Elf64_Shdr *s, struct elfparts *ret)
{
	const struct elfparts_range range = { s->sh_offset, s->sh_size };

	if (s->sh_name >= elf->names_len)
		return;
	if (elf_headers_is(elf, s, ".stapsdt.base"))
		ret->stapsdt_base = s->sh_addr;
	if (elf_headers_is(elf, s, ".gnu_debuglink"))
		read_debuglink(elf, s, ret);
	else if (elf_headers_is(elf, s, ".note.stapsdt") && elf_headers_is_native(elf))
		ret->stapsdt = range;
	else if (is_dull(s, elf->names + s->sh_name) && ret->n_dull < ELFPARTS_MAX_DULL)
		ret->dull[ret->n_dull++] = range;
}

bool elfparts_read(int fd, struct elfparts *ret)
{
	_cleanup_(elf_headers_deinit) struct elf_headers elf;

	*ret = (struct elfparts){ 0 };
	if (!elf_headers_of_fd(fd, &elf) || !elf_headers_sections(&elf, MAX_SECTIONS))
		return false;
	for (size_t i = 0; i < elf.n_segments && ret->n_loads < ELFPARTS_MAX_LOADS; i++) {
		const Elf64_Phdr *p = &elf.segments[i];

		if (p->p_type == PT_LOAD)
			ret->loads[ret->n_loads++] =
				(struct elfparts_load){ p->p_offset, p->p_vaddr, p->p_filesz,
							p->p_memsz, p->p_flags };
	}
	for (size_t i = 0; i < elf.n_sections; i++)
		take_section(&elf, &elf.sections[i], ret);
	return elf.file.e_ident[EI_CLASS] != ELFCLASSNONE;
}

void elfparts_blank(const struct elfparts *parts, char *content, size_t len)
{
	for (size_t i = 0; i < parts->n_dull; i++) {
		const struct elfparts_range *range = &parts->dull[i];

		if (range->offset >= len)
			continue;
		memset(content + range->offset, 0,
		       range->len < len - range->offset ? (size_t)range->len
							: len - (size_t)range->offset);
	}
}

/* --- the file of a mapping --- */

/* A mapping of a process, found again in /proc/PID/maps. */
struct identity_search {
	const struct mapping *mapping;
	struct mapping found; /* without its path; length 0: it is not there */
};

/* The same file; where events tell only its build-id, what is mapped at the same place. */
static bool is_it(void *arg, const struct mapping *entry)
{
	struct identity_search *search = arg;
	const struct mapping *mapping = search->mapping;

	if (mapping->inode
		    ? entry->inode == mapping->inode && entry->dev_major == mapping->dev_major &&
			      entry->dev_minor == mapping->dev_minor
		    : mapping->start - entry->start < entry->length)
		search->found = *entry;
	return !search->found.length;
}

/*
 * Opens it for reading if it is a regular file, and nothing before that is known. dev and inode
 * are to agree where the build-id cannot: a name may lead to another file by now.
 */
static int open_file(const char *path, const struct mapping *mapping, bool named,
		     struct identity *ret)
{
	_cleanup_close_ int handle = open(path, O_PATH | O_CLOEXEC);
	_cleanup_close_ int fd = -1;

	if (handle < 0 || fstat(handle, &ret->st) || !S_ISREG(ret->st.st_mode))
		return -1;
	if (named && !mapping->build_id.len &&
	    (ret->st.st_ino != mapping->inode ||
	     ret->st.st_dev != makedev(mapping->dev_major, mapping->dev_minor)))
		return -1;
	fd = procfs_reopen(handle);
	if (fd < 0)
		return -1;
	buildid_of_fd(fd, &ret->id);
	if (mapping->build_id.len && (ret->id.len != mapping->build_id.len ||
				      memcmp(ret->id.bytes, mapping->build_id.bytes, ret->id.len)))
		return -1;
	ret->elf = elfparts_read(fd, &ret->parts);
	return take_fd(&fd);
}

int identity_of_mapping(const struct mapping *mapping, struct identity *ret)
{
	struct identity_search search = { .mapping = mapping };
	const struct mapping *found = &search.found;
	char path[PATH_MAX + 64];
	int fd = -1;

	snprintf(path, sizeof(path), "/proc/%u/maps", mapping->pid);
	procmaps_each(open(path, O_RDONLY | O_CLOEXEC), PROT_EXEC, is_it, &search);
	if (found->length)
		fd = open_file(procfs_map_file(mapping->pid, found->start,
					       found->start + found->length, path),
			       mapping, false, ret);
	else
		found = mapping;
	ret->inode = found->inode;
	ret->dev_major = found->dev_major;
	ret->dev_minor = found->dev_minor;
	if (fd >= 0 || mapping->path_len >= PATH_MAX || !mapping->path_len ||
	    mapping->path[0] != '/')
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%.*s", mapping->pid, (int)mapping->path_len,
		 mapping->path);
	fd = open_file(path, mapping, true, ret);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%.*s", (int)mapping->path_len, mapping->path);
	return open_file(path, mapping, true, ret);
}
