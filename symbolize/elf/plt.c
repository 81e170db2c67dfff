/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of PLT stubs. A stub jumps through a slot of the global offset table, and a relocation
 * says which function that slot is for: so each stub is decoded, and no layout of the PLT is
 * assumed. x86-64 only.
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "symbolize/elf/symlist.h"

struct got_slot {
	uint64_t address;
	const char *name;
};

struct got {
	struct got_slot *slots;
	size_t n, capacity;
};

/* Adds the slots that one section of relocations fills with addresses of functions. */
static struct ebt_error *read_relocations(struct got *got, const struct elf_file *file,
					  Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *relocations = elf_getdata(scn, NULL), *symbols;
	Elf_Scn *table = elf_getscn(file->elf, shdr->sh_link);
	GElf_Shdr table_shdr;
	GElf_Rela rela;

	if (!relocations || !table || !gelf_getshdr(table, &table_shdr) ||
	    table_shdr.sh_type != SHT_DYNSYM)
		return NULL;
	symbols = elf_getdata(table, NULL);
	for (int i = 0; symbols && gelf_getrela(relocations, i, &rela); i++) {
		uint32_t type = GELF_R_TYPE(rela.r_info);
		const char *name;
		struct ebt_error *err;
		GElf_Sym sym;

		if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
		    !gelf_getsym(symbols, GELF_R_SYM(rela.r_info), &sym))
			continue;
		name = elf_strptr(file->elf, table_shdr.sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		err = ebt_array_reserve(&got->slots, got->n, &got->capacity);
		if (err)
			return err;
		got->slots[got->n++] = (struct got_slot){ rela.r_offset, name };
	}
	return NULL;
}

static int compare_slots(const void *a, const void *b)
{
	const struct got_slot *x = a, *y = b;

	return ebt_compare(x->address, y->address);
}

/* [endbr64] [bnd] jmp *displacement(%rip): the slot's address, or 0. */
static uint64_t decode_stub(const uint8_t *code, size_t len, uint64_t address)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;
	int32_t displacement;

	if (len >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (at < len && code[at] == 0xf2)
		at++;
	if (len - at < 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&displacement, code + at + 2, sizeof(displacement));
	return address + at + 6 + (int64_t)displacement;
}

static struct ebt_error *name_stubs(struct symlist *list, const struct got *got, Elf_Scn *scn,
				    const GElf_Shdr *shdr)
{
	const Elf_Data *data = elf_getdata(scn, NULL);
	size_t size = shdr->sh_entsize == 8 ? 8 : 16;

	if (!data || !data->d_buf || data->d_size > UINT64_MAX - shdr->sh_addr)
		return NULL;
	for (size_t at = 0; data->d_size - at >= size; at += size) {
		struct got_slot key = {
			.address = decode_stub((const uint8_t *)data->d_buf + at, size,
					       shdr->sh_addr + at),
		};
		const struct got_slot *slot;
		struct ebt_error *err;
		struct symbol symbol;

		slot = key.address ? bsearch(&key, got->slots, got->n, sizeof(key), compare_slots)
				   : NULL;
		if (!slot)
			continue;
		symbol = (struct symbol){
			.start = shdr->sh_addr + at,
			.size = size,
			.limit = shdr->sh_addr + data->d_size,
			.name = slot->name,
			.name_len = symbol_name_len(slot->name),
			.plt = true,
		};
		err = symlist_add(list, &symbol);
		if (err)
			return err;
	}
	return NULL;
}

static struct ebt_error *read_got(struct got *got, const struct elf_file *file)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(file->elf, scn))) {
		GElf_Shdr shdr;
		struct ebt_error *err;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA)
			continue;
		err = read_relocations(got, file, scn, &shdr);
		if (err)
			return err;
	}
	if (got->n)
		qsort(got->slots, got->n, sizeof(*got->slots), compare_slots);
	return NULL;
}

struct ebt_error *symlist_add_plt(struct symlist *list, const struct elf_file *file)
{
	static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got" };
	_cleanup_free_ struct got_slot *guard = NULL;
	struct got got = { 0 };
	struct ebt_error *err;
	GElf_Ehdr ehdr;

	if (!gelf_getehdr(file->elf, &ehdr) || ehdr.e_machine != EM_X86_64 ||
	    ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return NULL;
	err = read_got(&got, file);
	guard = got.slots;
	for (size_t i = 0; !err && got.n && i < sizeof(sections) / sizeof(sections[0]); i++) {
		Elf_Scn *scn = elf_file_section(file, sections[i]);
		GElf_Shdr shdr;

		if (scn && gelf_getshdr(scn, &shdr))
			err = name_stubs(list, &got, scn, &shdr);
	}
	return err;
}
