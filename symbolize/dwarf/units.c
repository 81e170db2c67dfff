/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units and the addresses that they cover; see units.h. */
#include "symbolize/dwarf/units.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/bytes.h"
#include "format/base/cleanup.h"
#include "format/base/search.h"
#include "symbolize/dwarf/info.h"

/* Units and ranges of one file. The largest programs have a hundredth of it. */
#define MAX_STEPS UINT64_C(50000000)

/* Of processors, for one file. The largest programs take a tenth of it. */
#define MAX_TIME_NS UINT64_C(120000000000)

/* Of a file of split debug information. The largest are those of single files of source. */
#define MAX_SPLIT (UINT64_C(1) << 30)

/* The DIE of a unit itself, in general. */
#define HEAD 4096

DEFINE_CLEANUP(struct dwarf_units *, dwarf_units_destroy);

bool dwarf_altlink(const struct elf_file *file, const char **ret_name, struct sym_build_id *ret)
{
	Elf_Scn *scn = elf_file_section(file, ".gnu_debugaltlink");
	const Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	size_t len;

	*ret_name = "";
	*ret = (struct sym_build_id){ 0 };
	if (!data || !data->d_buf)
		return scn;
	len = strnlen(data->d_buf, data->d_size);
	if (len == data->d_size || data->d_size - len - 1 > SYM_BUILD_ID_MAX)
		return true;
	*ret_name = data->d_buf;
	ret->len = (uint8_t)(data->d_size - len - 1);
	memcpy(ret->bytes, *ret_name + len + 1, ret->len);
	return true;
}

void dwarf_units_destroy(struct dwarf_units *units)
{
	if (!units)
		return;
	dwarf_units_destroy(units->alt);
	pages_destroy(units->pages);
	sym_spans_deinit(&units->spans);
	pthread_mutex_destroy(&units->lock);
	free(units->items);
	free(units);
}

bool dwarf_handle_open(const struct dwarf_units *units, struct dwarf_handle *ret)
{
	struct dwarf_handle handle = { .elf = elf_memory(units->pages->base, units->pages->size) };

	if (handle.elf)
		handle.dwarf = dwarf_begin_elf(handle.elf, DWARF_C_READ, NULL);
	if (!handle.dwarf)
		dwarf_handle_close(&handle);
	*ret = handle;
	return handle.dwarf;
}

void dwarf_handle_close(struct dwarf_handle *handle)
{
	if (handle->dwarf)
		dwarf_end(handle->dwarf);
	if (handle->elf)
		elf_end(handle->elf);
	*handle = (struct dwarf_handle){ 0 };
}

uint64_t dwarf_units_time_left(const struct dwarf_units *units)
{
	uint64_t used = atomic_load(&units->used_ns);

	return used < MAX_TIME_NS ? MAX_TIME_NS - used : 0;
}

bool dwarf_units_is_code(const struct dwarf_units *units, uint64_t address)
{
	/* Linkers leave the ranges of what they threw away, moved to address 0 or to the top. What
	 * is real begins in an executable segment, and not where the ELF header is. */
	for (size_t i = 0; i < units->file->n_loads; i++) {
		const struct elf_load *load = &units->file->loads[i];

		if (load->exec && address && address >= load->vaddr &&
		    address - load->vaddr < load->memsz)
			return true;
	}
	return false;
}

/* --- what is in memory --- */

uint32_t dwarf_units_at(const struct dwarf_units *units, uint64_t offset)
{
	size_t low = ebt_count_first(units->n, i, units->items[i].start <= offset);

	return low && offset < units->items[low - 1].end ? (uint32_t)low - 1 : DWARF_NO_UNIT;
}

uint32_t dwarf_units_find(const struct dwarf_units *units, uint64_t address)
{
	const struct sym_span *span = sym_spans_find(&units->spans, address);

	return span ? span->id : DWARF_NO_UNIT;
}

void dwarf_units_use(struct dwarf_units *units, uint32_t number)
{
	struct dwarf_unit *unit = &units->items[number];

	pthread_mutex_lock(&units->lock);
	if (!unit->users++)
		pages_need(units->pages, units->pages->sections[PAGES_INFO].offset + unit->start,
			   unit->end - unit->start);
	pthread_mutex_unlock(&units->lock);
}

void dwarf_units_unuse(struct dwarf_units *units, uint32_t number)
{
	struct dwarf_unit *unit = &units->items[number];

	pthread_mutex_lock(&units->lock);
	/* Its head stays: libdw reads those of all units. */
	if (!--unit->users && unit->end - unit->start > 2 * HEAD)
		pages_drop(units->pages,
			   units->pages->sections[PAGES_INFO].offset + unit->start + HEAD,
			   unit->end - unit->start - HEAD);
	pthread_mutex_unlock(&units->lock);
}

/* --- ranges and split files of a DIE --- */

struct ebt_error *dwarf_units_add_ranges(const struct dwarf_units *units,
					 struct dwarf_budget *budget, Dwarf_Die *die,
					 struct sym_spans *spans, uint32_t id, bool *ret_any)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	*ret_any = false;
	while (dwarf_budget_spend(budget) && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		struct ebt_error *err;

		if (units && !dwarf_units_is_code(units, low))
			continue;
		*ret_any = true;
		err = sym_spans_add(spans, low, high, id);
		if (err)
			return err;
	}
	return NULL;
}

bool dwarf_is_skeleton(Dwarf_Die *die)
{
	uint8_t type;

	return !dwarf_cu_info(die->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) &&
	       type == DW_UT_skeleton;
}

/* libdw opens what is at the path, whatever it is: only a regular file may be there. */
static bool may_be_opened(const char *path)
{
	uint64_t size;
	_cleanup_close_ int fd = sym_open_regular(path, &size);

	return fd >= 0 && size <= MAX_SPLIT;
}

bool dwarf_split_open(Dwarf_Die *skeleton, const char *comp_dir, const char *name, Dwarf_Die *ret)
{
	_cleanup_free_ char *path = NULL;
	Dwarf_Die split = { 0 };

	if (!name || (*name != '/' && (!comp_dir || *comp_dir != '/')))
		return false;
	if (asprintf(&path, "%s%s%s", *name == '/' ? "" : comp_dir, *name == '/' ? "" : "/", name) <
	    0) {
		path = NULL;
		return false;
	}
	/* It compares the ids. */
	if (!may_be_opened(path) ||
	    dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) || !split.cu)
		return false;
	*ret = split;
	return true;
}

/* --- opening --- */

/* Reads the heads of all units, from one to the next. */
static struct ebt_error *read_heads(struct dwarf_units *units)
{
	uint64_t size = units->pages->sections[PAGES_INFO].size, at = 0;
	uint64_t section = units->pages->sections[PAGES_INFO].offset;

	while (size - at > 12 && units->n < UINT32_MAX - 1) {
		uint64_t left = size - at, length, head = 4;
		const char *bytes = units->pages->base + section + at;
		struct ebt_error *err;

		if (!pages_need(units->pages, section + at, left < HEAD ? left : HEAD))
			return NULL;
		length = ebt_load_u32(bytes);
		if (length == UINT32_MAX) {
			length = ebt_load_u64(bytes + 4);
			head = 12;
		}
		if (length > left - head)
			return NULL;
		err = ebt_array_reserve(&units->items, units->n, &units->capacity);
		if (err)
			return err;
		units->items[units->n++] =
			(struct dwarf_unit){ .start = at, .end = at + head + length };
		at += head + length;
	}
	return NULL;
}

/* Units that do not say themselves what they cover, by .debug_aranges. Those that do are right
 * even where the section lacks units, as it does when some were compiled by clang. */
static struct ebt_error *add_aranges(struct dwarf_units *units, struct dwarf_budget *budget,
				     Dwarf *dwarf, const bool *has_ranges)
{
	Dwarf_Aranges *aranges;
	size_t n;

	if (!pages_need_section(units->pages, PAGES_ARANGES) ||
	    dwarf_getaranges(dwarf, &aranges, &n))
		return NULL;
	for (size_t i = 0; i < n && dwarf_budget_spend(budget); i++) {
		Dwarf_Arange *arange = dwarf_onearange(aranges, i);
		struct ebt_error *err;
		Dwarf_Word length;
		Dwarf_Addr low;
		Dwarf_Off offset;
		uint32_t unit;

		if (dwarf_getarangeinfo(arange, &low, &length, &offset) ||
		    !dwarf_units_is_code(units, low) || length > UINT64_MAX - low)
			continue;
		unit = dwarf_units_at(units, offset);
		if (unit == DWARF_NO_UNIT || units->items[unit].die != offset || has_ranges[unit])
			continue;
		err = sym_spans_add(&units->spans, low, low + length, unit);
		if (err)
			return err;
	}
	return NULL;
}

/* Which addresses the units cover. */
static struct ebt_error *read_ranges(struct dwarf_units *units, Dwarf *dwarf)
{
	struct dwarf_budget budget = { MAX_STEPS, dwarf_budget_clock() + MAX_TIME_NS };
	_cleanup_free_ bool *has_ranges = calloc(units->n + 1, sizeof(*has_ranges));
	struct ebt_error *err = NULL;
	Dwarf_CU *cu = NULL;
	bool all = true;

	if (!has_ranges)
		return &ebt_enomem;
	for (size_t i = 0; !err && i < units->n && dwarf_budget_spend(&budget); i++) {
		Dwarf_Die die;
		uint8_t type;

		if (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL) ||
		    dwarf_dieoffset(&die) < units->items[i].start ||
		    dwarf_dieoffset(&die) >= units->items[i].end)
			break;
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		units->items[i].die = dwarf_dieoffset(&die);
		err = dwarf_units_add_ranges(units, &budget, &die, &units->spans, (uint32_t)i,
					     &has_ranges[i]);
		all &= has_ranges[i];
	}
	if (!err && !all)
		err = add_aranges(units, &budget, dwarf, has_ranges);
	sym_spans_sort(&units->spans);
	return err;
}

static struct ebt_error *open_file(const struct elf_file *file, struct dwarf_units **ret)
{
	static const enum pages_section small[] = { PAGES_ABBREV, PAGES_RANGES, PAGES_RNGLISTS,
						    PAGES_ADDR, PAGES_STR_OFFSETS };
	_cleanup_(dwarf_units_destroyp) struct dwarf_units *units = calloc(1, sizeof(*units));
	struct ebt_error *err;

	if (!units)
		return &ebt_enomem;
	*ret = NULL;
	units->file = file;
	pthread_mutex_init(&units->lock, NULL);
	err = pages_create(file, &units->pages);
	if (err || !units->pages)
		return err;
	/* What is read here and there. */
	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		pages_need_section(units->pages, small[i]);
	err = read_heads(units);
	if (!err)
		*ret = take_ptr(units);
	return err;
}

struct ebt_error *dwarf_units_create(const struct elf_file *file, const struct elf_file *alt,
				     struct dwarf_units **ret)
{
	_cleanup_(dwarf_units_destroyp) struct dwarf_units *units = NULL;
	struct dwarf_handle handle;
	struct sym_build_id id;
	struct ebt_error *err;
	const char *name;

	*ret = NULL;
	if (dwarf_altlink(file, &name, &id) && !alt)
		return NULL;
	err = open_file(file, &units);
	if (!err && units && alt)
		err = open_file(alt, &units->alt);
	if (err || !units || (alt && !units->alt) || !dwarf_handle_open(units, &handle))
		return err;
	err = read_ranges(units, handle.dwarf);
	dwarf_handle_close(&handle);
	if (!err)
		*ret = take_ptr(units);
	return err;
}
