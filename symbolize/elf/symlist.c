/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading symbols from sections and flattening them into ranges; see symlist.h. */
#include "symbolize/elf/symlist.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/search.h"

/* Preference between symbols at one address: functions, then what is exported, then names
 * without leading underscores. */
enum {
	RANK_NOTYPE = 64,
	RANK_LOCAL = 32,
	RANK_UNDERSCORE = 4, /* for each, up to 7 */
	RANK_WEAK = 1,
};

/* Executable sections, in order of address. */
struct areas {
	struct area {
		uint64_t start, end;
	} * items;
	size_t n;
};

struct ebt_error *symlist_add(struct symlist *list, const struct symbol *symbol)
{
	struct ebt_error *err = ebt_array_reserve(&list->symbols, list->n, &list->capacity);

	if (!err)
		list->symbols[list->n++] = *symbol;
	return err;
}

void symlist_deinit(struct symlist *list)
{
	free(list->symbols);
	*list = (struct symlist){ 0 };
}

static int compare_areas(const void *a, const void *b)
{
	const struct area *x = a, *y = b;

	return ebt_compare(x->start, y->start);
}

static struct ebt_error *find_areas(const struct elf_file *file, struct areas *ret)
{
	Elf_Scn *scn = NULL;
	size_t n;

	if (elf_getshdrnum(file->elf, &n))
		n = 0;
	ret->n = 0;
	ret->items = calloc(n + 1, sizeof(*ret->items));
	if (!ret->items)
		return &ebt_enomem;
	while ((scn = elf_nextscn(file->elf, scn)) && ret->n < n) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && (shdr.sh_flags & SHF_EXECINSTR) &&
		    (shdr.sh_flags & SHF_ALLOC) && shdr.sh_size <= UINT64_MAX - shdr.sh_addr)
			ret->items[ret->n++] =
				(struct area){ shdr.sh_addr, shdr.sh_addr + shdr.sh_size };
	}
	qsort(ret->items, ret->n, sizeof(*ret->items), compare_areas);
	return NULL;
}

static const struct area *area_of(const struct areas *areas, uint64_t address)
{
	size_t low = ebt_count_first(areas->n, i, areas->items[i].start <= address);

	return low && address < areas->items[low - 1].end ? &areas->items[low - 1] : NULL;
}

uint32_t symbol_name_len(const char *name)
{
	uint32_t len = 1;

	while (len < SYM_MAX_NAME && name[len] && name[len] != '@')
		len++;
	return len;
}

static uint8_t rank_of(const GElf_Sym *sym, const char *name)
{
	unsigned int underscores = 0, rank = 0;

	while (underscores < 7 && name[underscores] == '_')
		underscores++;

	/* _Z and _R begin mangled names: theirs are no sign of an internal alias. __GI_ does begin
	 * one, in glibc. */
	if (underscores == 1 && (name[1] == 'Z' || name[1] == 'R'))
		underscores = 0;
	if (!strncmp(name, "__GI_", 5))
		underscores = 7;
	if (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE)
		rank += RANK_NOTYPE;
	if (GELF_ST_BIND(sym->st_info) == STB_LOCAL)
		rank += RANK_LOCAL;
	if (GELF_ST_BIND(sym->st_info) == STB_WEAK)
		rank += RANK_WEAK;
	return rank + RANK_UNDERSCORE * underscores;
}

/* Names that compilers and assemblers make for themselves. */
static bool is_internal(const char *name)
{
	return !*name || *name == '$' || (name[0] == '.' && name[1] == 'L');
}

static struct ebt_error *add_symbol(struct symlist *list, const struct areas *areas,
				    const GElf_Sym *sym, const char *name, bool complete)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);
	const struct area *area;
	struct symbol symbol;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return NULL;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || is_internal(name) ||
	    (!sym->st_size && !complete))
		return NULL;
	area = area_of(areas, sym->st_value);
	if (!area)
		return NULL;
	symbol = (struct symbol){
		.start = sym->st_value,
		.size = sym->st_size,
		.limit = area->end,
		.name = name,
		.name_len = symbol_name_len(name),
		.rank = rank_of(sym, name),
		.extend = !sym->st_size,
	};
	return symlist_add(list, &symbol);
}

static Elf_Scn *section_of_type(const struct elf_file *file, uint32_t type, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(file->elf, scn))) {
		if (gelf_getshdr(scn, ret) && ret->sh_type == type)
			return scn;
	}
	return NULL;
}

struct ebt_error *symlist_add_section(struct symlist *list, const struct elf_file *file,
				      uint32_t type, bool complete)
{
	_cleanup_free_ struct area *guard = NULL;
	Elf_Data *data, *strings;
	struct ebt_error *err;
	struct areas areas;
	GElf_Shdr shdr;
	GElf_Sym sym;
	Elf_Scn *scn;
	size_t len;

	scn = section_of_type(file, type, &shdr);
	data = scn ? elf_getdata(scn, NULL) : NULL;
	scn = scn ? elf_getscn(file->elf, shdr.sh_link) : NULL;
	strings = scn ? elf_getdata(scn, NULL) : NULL;
	if (!data || !strings || !strings->d_buf || data->d_type != ELF_T_SYM)
		return NULL;
	/* A name is good if it begins before the last NUL. */
	for (len = strings->d_size; len && ((const char *)strings->d_buf)[len - 1]; len--)
		;
	err = find_areas(file, &areas);
	if (err)
		return err;
	guard = areas.items;
	for (int i = 0; gelf_getsym(data, i, &sym); i++) {
		if (sym.st_name >= len)
			continue;
		err = add_symbol(list, &areas, &sym, (const char *)strings->d_buf + sym.st_name,
				 complete);
		if (err)
			return err;
	}
	return NULL;
}

static uint64_t end_of(const struct symbol *s)
{
	return s->size < s->limit - s->start ? s->start + s->size : s->limit;
}

/* By address; at one address those that reach further first, and of aliases the best last. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return ebt_compare(x->start, y->start) ?: ebt_compare(end_of(y), end_of(x)) ?:
	       ebt_compare(y->rank, x->rank) ?: ebt_compare(y->name_len, x->name_len) ?:
	       memcmp(y->name, x->name, x->name_len);
}

struct ranges {
	struct symtab_range *items;
	size_t n;
};

static void emit(struct ranges *out, uint64_t from, uint64_t to, const struct symbol *s)
{
	if (from < to)
		out->items[out->n++] =
			(struct symtab_range){ from, to, s->name, s->name_len, s->plt };
}

/*
 * Where symbols overlap, the one that begins last wins, and the one under it goes on behind it.
 * `out` has room for 2 n ranges: each symbol begins one and ends one.
 */
static void flatten_sized(const struct symlist *list, const struct symbol **stack,
			  struct ranges *out)
{
	uint64_t at = 0;
	size_t depth = 0;

	for (size_t i = 0; i <= list->n; i++) {
		const struct symbol *s = i < list->n ? &list->symbols[i] : NULL;

		if (s && s->extend)
			continue;
		/* Those that end before the next begins; in the end all. */
		while (depth && (!s || end_of(stack[depth - 1]) <= s->start)) {
			const struct symbol *top = stack[--depth];

			emit(out, at, end_of(top), top);
			at = end_of(top) > at ? end_of(top) : at;
		}
		if (!s)
			break;
		if (depth)
			emit(out, at, s->start, stack[depth - 1]);
		at = s->start;
		stack[depth++] = s;
	}
}

static int compare_ranges(const void *a, const void *b)
{
	const struct symtab_range *x = a, *y = b;

	return ebt_compare(x->start, y->start);
}

/* Labels without a size get what no function claims, up to whatever begins next. */
static void fill_gaps(const struct symlist *list, struct ranges *out)
{
	size_t n_sized = out->n, r = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct symbol *s = &list->symbols[i];
		uint64_t end = s->limit;
		size_t next = i + 1;

		if (!s->extend)
			continue;
		while (next < list->n && list->symbols[next].start == s->start)
			next++;
		/* The best of several at one address is the last. */
		if (i + 1 < next && list->symbols[i + 1].extend)
			continue;
		while (r < n_sized && out->items[r].end <= s->start)
			r++;
		if (r < n_sized && out->items[r].start < end)
			end = out->items[r].start;
		if (next < list->n && list->symbols[next].start < end)
			end = list->symbols[next].start;
		emit(out, s->start, end, s);
	}
	if (out->n > n_sized)
		qsort(out->items, out->n, sizeof(*out->items), compare_ranges);
}

struct ebt_error *symlist_flatten(struct symlist *list, struct symtab_range **ret, size_t *ret_n)
{
	_cleanup_free_ const struct symbol **stack = NULL;
	struct ranges out = { 0 };
	void *fitted;

	if (list->n)
		qsort(list->symbols, list->n, sizeof(*list->symbols), compare_symbols);
	stack = calloc(list->n + 1, sizeof(*stack));
	out.items = calloc(2 * list->n + 1, sizeof(*out.items));
	if (!stack || !out.items) {
		free(out.items);
		return &ebt_enomem;
	}
	flatten_sized(list, stack, &out);
	fill_gaps(list, &out);
	fitted = realloc(out.items, (out.n + 1) * sizeof(*out.items));
	*ret = fitted ? fitted : out.items;
	*ret_n = out.n;
	return NULL;
}
