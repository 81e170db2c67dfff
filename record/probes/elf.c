/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading ELF files for probes; see elf.h. */
#include "record/probes/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/pread.h"

#define MAX_SEGMENTS 1024
#define MAX_SECTIONS 65536
/* Symbols and their names: the largest programs, with debug information, have 200 MB. */
#define MAX_TABLE (1u << 30)
/* Names of sections, versions of symbols. */
#define MAX_PART (16u << 20)
/* Symbols that are read at a time. */
#define PIECE 4096
/* Of a symbol. Templates of C++ have some thousand bytes; many names that share one end of
 * megabytes would each take as long as reading that. */
#define MAX_NAME 16384

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

struct probe_elf {
	int fd;
	uint64_t size;
	char *path;
	struct buildid build_id;
	Elf64_Phdr *segments;
	size_t n_segments;
	Elf64_Shdr *sections;
	size_t n_sections;
	char *names; /* of sections; ends with a zero byte */
	size_t names_len;
};

static struct ebt_error *corrupt(const struct probe_elf *elf, const char *what)
{
	return ebt_error_create(EBT_ERR_CORRUPT, "%s: its %s cannot be right", elf->path, what);
}

/* Bytes of the file in new memory, with a zero byte behind them. */
static struct ebt_error *read_part(const struct probe_elf *elf, uint64_t offset, uint64_t len,
				   uint64_t max, const char *what, void *ret)
{
	_cleanup_free_ char *data = NULL;

	if (len > max || offset > elf->size || len > elf->size - offset)
		return corrupt(elf, what);
	data = malloc((size_t)len + 1);
	if (!data)
		return &ebt_enomem;
	if (!ebt_pread(elf->fd, offset, data, (size_t)len))
		return corrupt(elf, what);
	data[len] = '\0';
	*(void **)ret = take_ptr(data);
	return NULL;
}

static struct ebt_error *read_header(const struct probe_elf *elf, Elf64_Ehdr *ret)
{
	if (!ebt_pread(elf->fd, 0, ret, sizeof(*ret)) || memcmp(ret->e_ident, ELFMAG, SELFMAG))
		return ebt_error_create(EBT_ERR_INVALID, "%s is no ELF file", elf->path);
	if (ret->e_ident[EI_CLASS] != ELFCLASS64 || ret->e_ident[EI_DATA] != ELFDATA2LSB ||
	    ret->e_machine != MACHINE)
		return ebt_error_create(EBT_ERR_UNSUPPORTED,
					"%s is for another machine than this one", elf->path);
	if (ret->e_phentsize != sizeof(Elf64_Phdr) || ret->e_phnum > MAX_SEGMENTS)
		return corrupt(elf, "list of segments");
	if (ret->e_shnum && ret->e_shentsize != sizeof(Elf64_Shdr))
		return corrupt(elf, "list of sections");
	return NULL;
}

static struct ebt_error *read_headers(struct probe_elf *elf)
{
	struct ebt_error *err;
	Elf64_Ehdr h;

	err = read_header(elf, &h);
	if (!err)
		err = read_part(elf, h.e_phoff, h.e_phnum * sizeof(Elf64_Phdr),
				MAX_SEGMENTS * sizeof(Elf64_Phdr), "list of segments",
				&elf->segments);
	if (err)
		return err;
	elf->n_segments = h.e_phnum;
	if (!h.e_shnum || h.e_shstrndx >= h.e_shnum)
		return NULL; /* stripped of everything */
	err = read_part(elf, h.e_shoff, h.e_shnum * sizeof(Elf64_Shdr),
			MAX_SECTIONS * sizeof(Elf64_Shdr), "list of sections", &elf->sections);
	if (err)
		return err;
	elf->n_sections = h.e_shnum;
	elf->names_len = elf->sections[h.e_shstrndx].sh_size;
	return read_part(elf, elf->sections[h.e_shstrndx].sh_offset, elf->names_len, MAX_PART,
			 "names of sections", &elf->names);
}

struct ebt_error *probe_elf_open(const char *path, struct probe_elf **ret)
{
	_cleanup_(probe_elf_closep) struct probe_elf *elf = calloc(1, sizeof(*elf));
	struct ebt_error *err;
	struct stat st;

	if (!elf)
		return &ebt_enomem;
	elf->path = strdup(path);
	elf->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (!elf->path)
		return &ebt_enomem;
	if (elf->fd < 0 || fstat(elf->fd, &st))
		return ebt_error_errno(errno, "cannot open %s", path);
	if (!S_ISREG(st.st_mode))
		return ebt_error_create(EBT_ERR_INVALID, "%s is no ELF file", path);
	elf->size = (uint64_t)st.st_size;
	err = read_headers(elf);
	if (err)
		return err;
	buildid_of_fd(elf->fd, &elf->build_id);
	*ret = take_ptr(elf);
	return NULL;
}

void probe_elf_close(struct probe_elf *elf)
{
	if (!elf)
		return;
	ebt_closep(&elf->fd);
	free(elf->path);
	free(elf->segments);
	free(elf->sections);
	free(elf->names);
	free(elf);
}

const struct buildid *probe_elf_build_id(const struct probe_elf *elf)
{
	return &elf->build_id;
}

bool probe_elf_offset(const struct probe_elf *elf, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *p = &elf->segments[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_filesz) {
			*ret = p->p_offset + (address - p->p_vaddr);
			return true;
		}
	}
	return false;
}

bool probe_elf_is_code(const struct probe_elf *elf, uint64_t offset)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *p = &elf->segments[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && offset >= p->p_offset &&
		    offset - p->p_offset < p->p_filesz)
			return true;
	}
	return false;
}

enum probe_insn probe_elf_insn(const struct probe_elf *elf, uint64_t offset)
{
	uint8_t code[PROBE_INSN_BYTES];
	uint64_t n = offset < elf->size ? elf->size - offset : 0;

	if (n > sizeof(code))
		n = sizeof(code);
	return ebt_pread(elf->fd, offset, code, n) ? probe_insn_classify(code, n)
						   : PROBE_INSN_UNSURE;
}

static const Elf64_Shdr *section_named(const struct probe_elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		const Elf64_Shdr *s = &elf->sections[i];

		if (s->sh_name < elf->names_len && !strcmp(elf->names + s->sh_name, name))
			return s;
	}
	return NULL;
}

/* --- symbols --- */

struct table {
	const struct probe_elf *elf;
	const Elf64_Shdr *symbols;
	char *strings;
	size_t strings_len;
	uint16_t *versions; /* of .dynsym, one for each symbol; or NULL */
	size_t n_versions;
};

static bool take_symbol(const struct table *table, size_t number, const Elf64_Sym *symbol,
			struct probe_symbol *ret)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_name >= table->strings_len)
		return false;
	*ret = (struct probe_symbol){
		.name = table->strings + symbol->st_name,
		.address = symbol->st_value,
		.size = symbol->st_size,
		.chosen_later = type == STT_GNU_IFUNC,
		/* The bit says "hidden". */
		.other_version = number < table->n_versions && table->versions[number] & 0x8000,
	};
	return *ret->name && strnlen(ret->name, MAX_NAME) < MAX_NAME;
}

static struct ebt_error *each_symbol(const struct table *table, probe_symbol_fn *fn, void *arg)
{
	_cleanup_free_ Elf64_Sym *piece = malloc(PIECE * sizeof(*piece));
	size_t n = table->symbols->sh_size / sizeof(*piece);

	if (!piece)
		return &ebt_enomem;
	for (size_t done = 0; done < n;) {
		size_t now = n - done < PIECE ? n - done : PIECE;
		uint64_t at = table->symbols->sh_offset + done * sizeof(*piece);

		if (!ebt_pread(table->elf->fd, at, piece, now * sizeof(*piece)))
			return corrupt(table->elf, "table of symbols");
		for (size_t i = 0; i < now; i++) {
			struct probe_symbol symbol;

			if (take_symbol(table, done + i, &piece[i], &symbol) && !fn(arg, &symbol))
				return NULL;
		}
		done += now;
	}
	return NULL;
}

static struct ebt_error *symbols_of(const struct probe_elf *elf, const Elf64_Shdr *section,
				    probe_symbol_fn *fn, void *arg)
{
	const Elf64_Shdr *strings, *versions = section_named(elf, ".gnu.version");
	struct table table = { .elf = elf, .symbols = section };
	struct ebt_error *err;

	if (section->sh_link >= elf->n_sections || section->sh_size > MAX_TABLE ||
	    section->sh_offset > elf->size || section->sh_size > elf->size - section->sh_offset)
		return corrupt(elf, "table of symbols");
	strings = &elf->sections[section->sh_link];
	err = read_part(elf, strings->sh_offset, strings->sh_size, MAX_TABLE, "names of symbols",
			&table.strings);
	if (err)
		return err;
	table.strings_len = strings->sh_size;
	if (versions && versions->sh_type == SHT_GNU_versym && section->sh_type == SHT_DYNSYM) {
		err = read_part(elf, versions->sh_offset, versions->sh_size, MAX_PART,
				"versions of symbols", &table.versions);
		table.n_versions = err ? 0 : versions->sh_size / sizeof(*table.versions);
	}
	if (!err)
		err = each_symbol(&table, fn, arg);
	free(table.strings);
	free(table.versions);
	return err;
}

struct ebt_error *probe_elf_symbols(const struct probe_elf *elf, probe_symbol_fn *fn, void *arg)
{
	bool symtab = false, dynsym = false;
	struct ebt_error *err = NULL;

	/* Of each there may be one: thousands that are the same bytes would never end. */
	for (size_t i = 0; i < elf->n_sections && !err; i++) {
		const Elf64_Shdr *s = &elf->sections[i];
		bool *seen = s->sh_type == SHT_SYMTAB ? &symtab : &dynsym;

		if ((s->sh_type != SHT_SYMTAB && s->sh_type != SHT_DYNSYM) || *seen)
			continue;
		*seen = true;
		err = symbols_of(elf, s, fn, arg);
	}
	return err;
}

struct ebt_error *probe_elf_debug(const struct probe_elf *elf, struct probe_elf **ret)
{
	char path[sizeof("/usr/lib/debug/.build-id/xx/.debug") + 2 * BUILDID_MAX];
	const struct buildid *id = &elf->build_id;
	_cleanup_(probe_elf_closep) struct probe_elf *debug = NULL;
	struct ebt_error *err;
	size_t n;

	if (id->len < 2)
		return NULL;
	n = (size_t)sprintf(path, "/usr/lib/debug/.build-id/%02x/", id->bytes[0]);
	for (size_t i = 1; i < id->len; i++)
		n += (size_t)sprintf(path + n, "%02x", id->bytes[i]);
	strcpy(path + n, ".debug");
	if (access(path, R_OK))
		return NULL;
	err = probe_elf_open(path, &debug);
	if (err)
		return err;
	if (debug->build_id.len == id->len && !memcmp(debug->build_id.bytes, id->bytes, id->len))
		*ret = take_ptr(debug);
	return NULL;
}
