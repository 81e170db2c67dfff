/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading ELF files for probes; see elf.h. */
#include "record/probes/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/elf_headers.h"

#define MAX_SECTIONS 65536
/* Symbols and their names: the largest programs, with debug information, have 200 MB. */
#define MAX_TABLE (1u << 30)
/* Versions of symbols. */
#define MAX_PART (16u << 20)
/* Symbols that are read at a time. */
#define PIECE 4096
/* Of a symbol. Templates of C++ have some thousand bytes; many names that share one end of
 * megabytes would each take as long as reading that. */
#define MAX_NAME 16384

struct probe_elf {
	int fd;
	char *path;
	struct buildid build_id;
	struct elf_headers headers;
};

static struct ebt_error *corrupt(const struct probe_elf *elf, const char *what)
{
	return ebt_error_create(EBT_ERR_CORRUPT, "%s: its %s cannot be right", elf->path, what);
}

/* A section in new memory, to be freed. */
static struct ebt_error *read_section(const struct probe_elf *elf, const Elf64_Shdr *section,
				      uint64_t max, const char *what, void *ret)
{
	const uint64_t len = section->sh_size, size = elf->headers.size;
	_cleanup_free_ char *data = NULL;

	if (len > max || section->sh_offset > size || len > size - section->sh_offset)
		return corrupt(elf, what);
	data = malloc((size_t)len + 1);
	if (!data)
		return &ebt_enomem;
	if (!elf_headers_read(&elf->headers, section->sh_offset, data, (size_t)len))
		return corrupt(elf, what);
	data[len] = '\0';
	*(void **)ret = take_ptr(data);
	return NULL;
}

static struct ebt_error *read_headers(struct probe_elf *elf)
{
	struct elf_headers *h = &elf->headers;

	if (!elf_headers_of_fd(elf->fd, h) || !elf_headers_sections(h, MAX_SECTIONS))
		return &ebt_enomem;
	if (h->file.e_ident[EI_CLASS] == ELFCLASSNONE)
		return ebt_error_create(EBT_ERR_INVALID, "%s is not an ELF file", elf->path);
	if (!elf_headers_is_native(h))
		return ebt_error_create(EBT_ERR_UNSUPPORTED,
					"%s is for another machine than this one", elf->path);
	if (h->n_segments != h->file.e_phnum)
		return corrupt(elf, "list of segments");
	if (h->n_sections != h->file.e_shnum)
		return corrupt(elf, "list of sections");
	return NULL;
}

struct ebt_error *probe_elf_open(const char *path, struct probe_elf **ret)
{
	_cleanup_(probe_elf_closep) struct probe_elf *elf = calloc(1, sizeof(*elf));
	struct ebt_error *err;

	if (!elf)
		return &ebt_enomem;
	elf->path = strdup(path);
	elf->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (!elf->path)
		return &ebt_enomem;
	if (elf->fd < 0)
		return ebt_error_errno(errno, "cannot open %s", path);
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
	elf_headers_deinit(&elf->headers);
	free(elf);
}

const struct buildid *probe_elf_build_id(const struct probe_elf *elf)
{
	return &elf->build_id;
}

bool probe_elf_offset(const struct probe_elf *elf, uint64_t address, uint64_t *ret)
{
	const Elf64_Phdr *p = elf_headers_segment_at(&elf->headers, address, 0);

	if (p)
		*ret = p->p_offset + (address - p->p_vaddr);
	return p;
}

bool probe_elf_is_code(const struct probe_elf *elf, uint64_t offset)
{
	for (size_t i = 0; i < elf->headers.n_segments; i++) {
		const Elf64_Phdr *p = &elf->headers.segments[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && offset >= p->p_offset &&
		    offset - p->p_offset < p->p_filesz)
			return true;
	}
	return false;
}

enum probe_insn probe_elf_insn(const struct probe_elf *elf, uint64_t offset)
{
	uint8_t code[PROBE_INSN_BYTES];
	uint64_t n = offset < elf->headers.size ? elf->headers.size - offset : 0;

	if (n > sizeof(code))
		n = sizeof(code);
	return elf_headers_read(&elf->headers, offset, code, n) ? probe_insn_classify(code, n)
								: PROBE_INSN_UNSURE;
}

/* --- symbols --- */

struct table {
	const struct probe_elf *elf;
	const Elf64_Shdr *symbols;
	const char *strings;
	size_t strings_len;
	const uint16_t *versions; /* of .dynsym, one for each symbol; or NULL */
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

		if (!elf_headers_read(&table->elf->headers, at, piece, now * sizeof(*piece)))
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
	const Elf64_Shdr *versions = elf_headers_section(&elf->headers, ".gnu.version");
	_cleanup_free_ uint16_t *numbers = NULL;
	_cleanup_free_ char *strings = NULL;
	struct table table = { .elf = elf, .symbols = section };
	struct ebt_error *err;

	if (section->sh_link >= elf->headers.n_sections || section->sh_size > MAX_TABLE)
		return corrupt(elf, "table of symbols");
	err = read_section(elf, &elf->headers.sections[section->sh_link], MAX_TABLE,
			   "names of symbols", &strings);
	if (err)
		return err;
	table.strings = strings;
	table.strings_len = elf->headers.sections[section->sh_link].sh_size;
	if (versions && versions->sh_type == SHT_GNU_versym && section->sh_type == SHT_DYNSYM) {
		err = read_section(elf, versions, MAX_PART, "versions of symbols", &numbers);
		if (err)
			return err;
		table.versions = numbers;
		table.n_versions = versions->sh_size / sizeof(*numbers);
	}
	return each_symbol(&table, fn, arg);
}

struct ebt_error *probe_elf_symbols(const struct probe_elf *elf, probe_symbol_fn *fn, void *arg)
{
	bool symtab = false, dynsym = false;
	struct ebt_error *err;

	/* Of each there may be one: thousands that are the same bytes would never end. */
	for (size_t i = 0; i < elf->headers.n_sections; i++) {
		const Elf64_Shdr *s = &elf->headers.sections[i];
		bool *seen = s->sh_type == SHT_SYMTAB ? &symtab : &dynsym;

		if ((s->sh_type != SHT_SYMTAB && s->sh_type != SHT_DYNSYM) || *seen)
			continue;
		*seen = true;
		err = symbols_of(elf, s, fn, arg);
		if (err)
			return err;
	}
	return NULL;
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
