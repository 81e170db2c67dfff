/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening ELF files; see elffile.h. */
#include "symbolize/elf/elffile.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#include "format/base/bytes.h"
#include "format/base/cleanup.h"

/* Larger than any debug file of a distribution (chromium's is 5 GiB). A sparse file can claim
 * more than there is memory, and sections are read whole. */
#define MAX_FILE_SIZE (UINT64_C(16) << 30)

/* Linkers make 2 to 12. */
#define MAX_SEGMENTS 4096

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

bool sym_build_id_equal(const struct sym_build_id *a, const struct sym_build_id *b)
{
	return a->len && a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

bool sym_is_stored(int fd)
{
	static const uint32_t made_up[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC,	      DEBUGFS_MAGIC,	   TRACEFS_MAGIC,
		SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,
		SELINUX_MAGIC,	  PSTOREFS_MAGIC,     EFIVARFS_MAGIC,	   DEVPTS_SUPER_MAGIC,
	};
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || fstatfs(fd, &fs))
		return false;
	for (size_t i = 0; i < sizeof(made_up) / sizeof(made_up[0]); i++) {
		if ((uint32_t)fs.f_type == made_up[i])
			return false;
	}
	return true;
}

int sym_open_regular(const char *path, uint64_t *ret_size)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	/* Opening alone can rewind a tape or wait for a writer: look first, and once more after. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !sym_is_stored(fd))
		return -1;
	*ret_size = st.st_size;
	return take_fd(&fd);
}

Elf_Scn *elf_file_section(const struct elf_file *file, const char *name)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(file->elf, scn))) {
		GElf_Shdr shdr;
		const char *s;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS || !shdr.sh_size)
			continue;
		s = elf_strptr(file->elf, names, shdr.sh_name);
		if (s && !strcmp(s, name))
			return scn;
	}
	return NULL;
}

static struct ebt_error *read_loads(struct elf_file *file)
{
	size_t n;

	if (elf_getphdrnum(file->elf, &n) || n > MAX_SEGMENTS)
		return ebt_error_create(EBT_ERR_CORRUPT, "unusable program headers");
	file->loads = calloc(n + 1, sizeof(*file->loads));
	if (!file->loads)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr phdr;
		struct elf_load *load = &file->loads[file->n_loads];

		if (!gelf_getphdr(file->elf, i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		/* Sums of these are taken without checks everywhere else. */
		if (phdr.p_offset > INT64_MAX || phdr.p_filesz > INT64_MAX ||
		    phdr.p_memsz > UINT64_MAX - phdr.p_vaddr)
			continue;
		*load = (struct elf_load){
			.offset = phdr.p_offset,
			.filesz = phdr.p_filesz,
			.vaddr = phdr.p_vaddr,
			.memsz = phdr.p_memsz,
			.exec = phdr.p_flags & PF_X,
		};
		file->n_loads++;
	}
	return NULL;
}

/* Whether .text (or whatever is executable) has bytes here; a .debug file has headers only. */
static bool has_code(const struct elf_file *file)
{
	Elf_Scn *scn = NULL;
	bool sections = false;

	while ((scn = elf_nextscn(file->elf, scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		sections = true;
		if ((shdr.sh_flags & SHF_EXECINSTR) && shdr.sh_type != SHT_NOBITS)
			return true;
	}
	if (sections)
		return false;
	for (size_t i = 0; i < file->n_loads; i++) {
		if (file->loads[i].exec && file->loads[i].filesz)
			return true;
	}
	return false;
}

static struct ebt_error *examine(struct elf_file *file, Elf *elf)
{
	struct ebt_error *err;
	const void *id;
	ssize_t len;

	file->elf = elf;
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return ebt_error_create(EBT_ERR_CORRUPT, "not an ELF file");
	err = read_loads(file);
	if (err)
		return err;
	len = dwelf_elf_gnu_build_id(elf, &id);
	if (len > 0 && len <= SYM_BUILD_ID_MAX) {
		file->id.len = len;
		memcpy(file->id.bytes, id, len);
	}
	file->has_code = has_code(file);
	file->has_symtab = elf_file_section(file, ".symtab");
	file->has_dwarf =
		elf_file_section(file, ".debug_info") || elf_file_section(file, ".zdebug_info");
	return NULL;
}

struct ebt_error *elf_file_open_fd(int fd, const char *path, struct elf_file **ret)
{
	_cleanup_(elf_file_closep) struct elf_file *file = calloc(1, sizeof(*file));
	struct ebt_error *err;
	struct stat st;

	if (!file) {
		close(fd);
		return &ebt_enomem;
	}
	file->fd = fd;
	file->path = strdup(path);
	if (!file->path)
		return &ebt_enomem;
	if (fstat(fd, &st) || st.st_size < 0 || (uint64_t)st.st_size > MAX_FILE_SIZE)
		return ebt_error_create(EBT_ERR_CORRUPT, "%s: too large", path);
	file->size = st.st_size;
	elf_version(EV_CURRENT);
	err = examine(file, elf_begin(fd, ELF_C_READ, NULL));
	if (err)
		return ebt_error_prefix(err, "%s", path);
	*ret = take_ptr(file);
	return NULL;
}

struct ebt_error *elf_file_open(const char *path, struct elf_file **ret)
{
	uint64_t size;
	int fd = sym_open_regular(path, &size);

	if (fd < 0)
		return ebt_error_create(EBT_ERR_NOT_FOUND, "%s: no such file", path);
	return elf_file_open_fd(fd, path, ret);
}

struct ebt_error *elf_file_from_memory(char *image, size_t len, struct elf_file **ret)
{
	_cleanup_(elf_file_closep) struct elf_file *file = calloc(1, sizeof(*file));
	struct ebt_error *err;

	if (!file)
		return &ebt_enomem;
	file->fd = -1;
	file->image = image;
	file->size = len;
	elf_version(EV_CURRENT);
	err = examine(file, elf_memory(image, len));
	if (err)
		return err;
	*ret = take_ptr(file);
	return NULL;
}

void elf_file_done_reading(struct elf_file *file)
{
	if (file->fd < 0)
		return;
	elf_cntl(file->elf, ELF_C_FDDONE);
	close(file->fd);
	file->fd = -1;
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->loads);
	free(file->path);
	free(file);
}

/*
 * Whether the segment has the byte, its pages filled up (slack) or not. Segments can share a page
 * of the file, so that exact answers come first; only executable memory is ever asked for.
 */
static bool load_has(const struct elf_load *load, uint64_t offset, uint64_t slack)
{
	uint64_t from = load->offset & ~slack;
	uint64_t to = (load->offset + load->filesz + slack) & ~slack;

	return load->filesz && from <= offset && offset < to;
}

bool elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *ret)
{
	static const struct {
		bool exec;
		uint64_t slack;
	} ways[] = { { true, 0 }, { true, 4095 }, { false, 0 } };

	for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
		for (size_t i = 0; i < file->n_loads; i++) {
			const struct elf_load *load = &file->loads[i];

			if (load->exec != ways[w].exec || !load_has(load, offset, ways[w].slack))
				continue;
			*ret = load->vaddr + (offset - load->offset);
			return true;
		}
	}
	return false;
}

bool elf_file_address_by_mapping(const struct elf_file *file, uint64_t pgoff, uint64_t length,
				 uint64_t offset, uint64_t *ret)
{
	const struct elf_load *only = NULL;
	uint64_t first, end;

	for (size_t i = 0; i < file->n_loads; i++) {
		if (!file->loads[i].exec)
			continue;
		if (only || file->loads[i].memsz > INT64_MAX)
			return false;
		only = &file->loads[i];
	}
	if (!only || offset < pgoff || offset - pgoff >= length)
		return false;
	first = only->vaddr & ~UINT64_C(4095);
	end = (only->vaddr + only->memsz + 4095) & ~UINT64_C(4095);
	if (end - first != length)
		return false;
	*ret = first + (offset - pgoff);
	return true;
}

bool debuglink_read(const struct elf_file *file, struct debuglink *ret)
{
	Elf_Scn *scn = elf_file_section(file, ".gnu_debuglink");
	const Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	size_t len;

	if (!data || !data->d_buf || data->d_size < 8)
		return false;
	len = strnlen(data->d_buf, data->d_size);
	/* The name, padded to a multiple of 4, then the checksum. */
	if (!len || (len / 4 + 1) * 4 + 4 > data->d_size || memchr(data->d_buf, '/', len))
		return false;
	ret->name = data->d_buf;
	ret->crc = ebt_load_u32((const char *)data->d_buf + (len / 4 + 1) * 4);
	return true;
}

static bool crc_is(int fd, uint32_t wanted)
{
	unsigned char buffer[65536];
	uLong crc = 0;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		crc = crc32(crc, buffer, (uInt)n);
		at += n;
	}
	return !n && crc == wanted;
}

bool debuglink_accepts(const struct debuglink *link, const struct sym_build_id *id,
		       const struct elf_file *file)
{
	if (id->len && file->id.len)
		return sym_build_id_equal(&file->id, id);
	return !file->id.len && file->fd >= 0 && crc_is(file->fd, link->crc);
}
