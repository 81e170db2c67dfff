/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units, functions, lines; see dwarfinfo.h. Inlined calls are in dwarfinline.c. */
#include "dwarfinfo.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "dwarfguard.h"
#include "dwarfinline.h"
#include "span.h"

/* DIEs and ranges that one file may make us look at: some seconds. The largest programs need a
 * tenth of it. */
#define BUDGET UINT64_C(50000000)

/* Namespaces within namespaces. */
#define MAX_NEST 64

struct function {
	Dwarf_Die die;
	struct dwarf_inlines *inlines; /* NULL: not read yet */
};

struct unit {
	Dwarf_Die die;
	enum { UNIT_NEW, UNIT_FUNCTIONS, UNIT_NESTED } state;
	enum { LINES_NEW, LINES_GOOD, LINES_BAD } lines;
	bool c;			/* names are what linkers see */
	struct sym_spans spans; /* of functions */
	struct function *functions;
	size_t n_functions, capacity;
};

struct dwarf_info {
	const struct elf_file *file;
	Dwarf *dwarf, *alt;
	struct dwarf_guard guard;
	struct unit *units;
	size_t n_units, capacity;
	struct sym_spans spans; /* of units */
	uint64_t budget;
};

DEFINE_CLEANUP(struct dwarf_info *, dwarf_info_destroy);

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
	ret->len = data->d_size - len - 1;
	memcpy(ret->bytes, *ret_name + len + 1, ret->len);
	return true;
}

static bool spend(struct dwarf_info *info)
{
	return info->budget && info->budget--;
}

/*
 * Linkers leave the ranges of what they threw away, moved to address 0 or to the top. Nothing
 * that is real begins outside the executable segments, or where the ELF header is.
 */
static bool is_code(const struct dwarf_info *info, uint64_t low)
{
	for (size_t i = 0; i < info->file->n_loads; i++) {
		const struct elf_load *load = &info->file->loads[i];

		if (load->exec && low && low >= load->vaddr && low - load->vaddr < load->memsz)
			return true;
	}
	return false;
}

/* Adds the ranges of a DIE; *ret_any: it has some. */
static struct ebt_error *add_ranges(struct dwarf_info *info, Dwarf_Die *die,
				    struct sym_spans *spans, uint32_t id, bool *ret_any)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	*ret_any = false;
	while (spend(info) && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		struct ebt_error *err;

		if (!is_code(info, low))
			continue;
		*ret_any = true;
		err = sym_spans_add(spans, low, high, id);
		if (err)
			return err;
	}
	return NULL;
}

static struct ebt_error *add_unit(struct dwarf_info *info, const Dwarf_Die *die)
{
	if (info->n_units == info->capacity) {
		size_t capacity = info->capacity ? info->capacity * 2 : 16;
		struct unit *units = reallocarray(info->units, capacity, sizeof(*info->units));

		if (!units)
			return &ebt_enomem;
		info->units = units;
		info->capacity = capacity;
	}
	info->units[info->n_units++] = (struct unit){ .die = *die };
	return NULL;
}

/* The unit whose DIE is at the offset of .debug_info; n_units: there is none. */
static size_t unit_at(const struct dwarf_info *info, Dwarf_Off offset)
{
	size_t low = 0, high = info->n_units;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (dwarf_dieoffset(&info->units[mid].die) < offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < info->n_units && dwarf_dieoffset(&info->units[low].die) != offset)
		return info->n_units;
	return low;
}

/* Units that do not say themselves what they cover, by .debug_aranges. Those that do are right
 * even where the section lacks units, as it does when some were compiled by clang. */
static struct ebt_error *add_aranges(struct dwarf_info *info, const bool *has_ranges)
{
	Dwarf_Aranges *aranges;
	size_t n;

	if (dwarf_getaranges(info->dwarf, &aranges, &n))
		return NULL;
	for (size_t i = 0; i < n && spend(info); i++) {
		Dwarf_Arange *arange = dwarf_onearange(aranges, i);
		struct ebt_error *err;
		Dwarf_Addr low;
		Dwarf_Word length;
		Dwarf_Off offset;
		size_t unit;

		if (dwarf_getarangeinfo(arange, &low, &length, &offset) || !is_code(info, low) ||
		    length > UINT64_MAX - low)
			continue;
		unit = unit_at(info, offset);
		if (unit == info->n_units || has_ranges[unit])
			continue;
		err = sym_spans_add(&info->spans, low, low + length, unit);
		if (err)
			return err;
	}
	return NULL;
}

static struct ebt_error *read_units(struct dwarf_info *info)
{
	_cleanup_free_ bool *has_ranges = NULL;
	Dwarf_CU *cu = NULL;
	uint8_t type;
	Dwarf_Die die;
	bool all = true;

	while (spend(info) && !dwarf_get_units(info->dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		struct ebt_error *err;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		err = add_unit(info, &die);
		if (err)
			return err;
	}
	has_ranges = calloc(info->n_units + 1, sizeof(*has_ranges));
	if (!has_ranges)
		return &ebt_enomem;
	for (size_t i = 0; i < info->n_units; i++) {
		struct ebt_error *err =
			add_ranges(info, &info->units[i].die, &info->spans, i, &has_ranges[i]);

		if (err)
			return err;
		all &= has_ranges[i];
	}
	if (!all) {
		struct ebt_error *err = add_aranges(info, has_ranges);

		if (err)
			return err;
	}
	sym_spans_sort(&info->spans);
	return NULL;
}

struct ebt_error *dwarf_info_create(const struct elf_file *file, const struct elf_file *alt,
				    struct dwarf_info **ret)
{
	_cleanup_(dwarf_info_destroyp) struct dwarf_info *info = calloc(1, sizeof(*info));
	struct sym_build_id id;
	struct ebt_error *err;
	const char *name;

	if (!info)
		return &ebt_enomem;
	*ret = NULL;
	if (dwarf_altlink(file, &name, &id) && !alt)
		return NULL;
	info->file = file;
	info->budget = BUDGET;
	if (!dwarf_guard_sections(file) || (alt && !dwarf_guard_sections(alt)))
		return NULL;
	info->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (!info->dwarf)
		return NULL;
	dwarf_guard_init(&info->guard, file);
	if (alt) {
		info->alt = dwarf_begin_elf(alt->elf, DWARF_C_READ, NULL);
		if (!info->alt)
			return NULL;
		dwarf_setalt(info->dwarf, info->alt);
	}
	err = read_units(info);
	if (err)
		return err;
	*ret = take_ptr(info);
	return NULL;
}

void dwarf_info_destroy(struct dwarf_info *info)
{
	if (!info)
		return;
	for (size_t u = 0; u < info->n_units; u++) {
		struct unit *unit = &info->units[u];

		for (size_t i = 0; i < unit->n_functions; i++)
			dwarf_inlines_destroy(unit->functions[i].inlines);
		free(unit->functions);
		sym_spans_deinit(&unit->spans);
	}
	free(info->units);
	sym_spans_deinit(&info->spans);
	if (info->dwarf)
		dwarf_end(info->dwarf);
	if (info->alt)
		dwarf_end(info->alt);
	free(info);
}

static struct ebt_error *add_function(struct dwarf_info *info, struct unit *unit, Dwarf_Die *die)
{
	struct ebt_error *err;
	bool any;

	if (unit->n_functions == unit->capacity) {
		size_t capacity = unit->capacity ? unit->capacity * 2 : 16;
		struct function *functions =
			reallocarray(unit->functions, capacity, sizeof(*functions));

		if (!functions)
			return &ebt_enomem;
		unit->functions = functions;
		unit->capacity = capacity;
	}
	err = add_ranges(info, die, &unit->spans, unit->n_functions, &any);
	if (err || !any)
		return err;
	unit->functions[unit->n_functions++] = (struct function){ .die = *die };
	return NULL;
}

/* Whether functions can be defined in a DIE of this tag. */
static bool holds_functions(int tag, bool nested)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return nested;
	default:
		return false;
	}
}

/* nested: the functions within functions, for which the whole unit is read; else the others. */
static struct ebt_error *read_functions(struct dwarf_info *info, struct unit *unit, bool nested)
{
	Dwarf_Die stack[MAX_NEST];
	int depth = 0, around = MAX_NEST; /* depth of the outermost function around this DIE */

	if (dwarf_child(&unit->die, &stack[0]))
		return NULL;
	while (depth >= 0 && spend(info)) {
		int tag = dwarf_tag(&stack[depth]);

		if (depth <= around)
			around = MAX_NEST;
		if (tag == DW_TAG_subprogram && nested == (depth > around)) {
			struct ebt_error *err = add_function(info, unit, &stack[depth]);

			if (err)
				return err;
		}
		if (tag == DW_TAG_subprogram && depth < around)
			around = depth;
		if (holds_functions(tag, nested) && depth + 1 < MAX_NEST &&
		    !dwarf_child(&stack[depth], &stack[depth + 1])) {
			depth++;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&stack[depth], &stack[depth]))
			depth--;
	}
	sym_spans_sort(&unit->spans);
	return NULL;
}

/* The function of the unit that has the address, or NULL. */
static struct ebt_error *find_function(struct dwarf_info *info, struct unit *unit, uint64_t address,
				       struct function **ret)
{
	const struct sym_span *span = NULL;

	*ret = NULL;
	while (!(span = sym_spans_find(&unit->spans, address)) && unit->state != UNIT_NESTED) {
		struct ebt_error *err = read_functions(info, unit, unit->state == UNIT_FUNCTIONS);

		if (err)
			return err;
		unit->state = unit->state == UNIT_NEW ? UNIT_FUNCTIONS : UNIT_NESTED;
	}
	if (span)
		*ret = &unit->functions[span->id];
	return NULL;
}

static const char *string_attr(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

/* Whether libdw may read the unit's table of lines, which it does once. */
static bool has_lines(struct dwarf_info *info, struct unit *unit)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset;
	const char *dir;

	if (unit->lines == LINES_NEW) {
		unit->lines = LINES_BAD;
		dir = string_attr(&unit->die, DW_AT_comp_dir);
		if (!dwarf_formudata(dwarf_attr(&unit->die, DW_AT_stmt_list, &attr), &offset) &&
		    dwarf_guard_lines(&info->guard, offset, dir ? strlen(dir) : 0))
			unit->lines = LINES_GOOD;
	}
	return unit->lines == LINES_GOOD;
}

static void find_line(struct unit *unit, uint64_t address, struct dwarf_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
	int number;

	if (!line || dwarf_lineno(line, &number) || number < 0)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	frame->line = frame->file ? number : 0;
}

static const char *find_name(Dwarf_Die *die)
{
	const char *name = string_attr(die, DW_AT_linkage_name);

	if (!name)
		name = string_attr(die, DW_AT_MIPS_linkage_name);
	return name ? name : string_attr(die, DW_AT_name);
}

struct ebt_error *dwarf_info_find(struct dwarf_info *info, uint64_t address,
				  struct dwarf_frame *frames, size_t *ret_n)
{
	const struct sym_span *span = sym_spans_find(&info->spans, address);
	const struct dwarf_inline *call = NULL;
	struct function *function;
	struct ebt_error *err;
	struct unit *unit;
	size_t n = 0;
	bool lines;

	*ret_n = 0;
	if (!span)
		return NULL;
	unit = &info->units[span->id];
	err = find_function(info, unit, address, &function);
	if (!err && function && !function->inlines)
		err = dwarf_inlines_read(&function->die, &info->budget, &function->inlines);
	if (err)
		return err;
	frames[0] = (struct dwarf_frame){ 0 };
	lines = has_lines(info, unit);
	if (lines)
		find_line(unit, address, &frames[0]);
	if (function)
		call = dwarf_inlines_find(function->inlines, address);
	for (; call && n + 1 < DWARF_MAX_FRAMES;
	     call = dwarf_inline_outer(function->inlines, call)) {
		Dwarf_Die die = call->die;

		frames[n].name = find_name(&die);
		frames[++n] = (struct dwarf_frame){ 0 };
		frames[n].file = lines ? dwarf_inline_file(&unit->die, call) : NULL;
		frames[n].line = frames[n].file ? call->line : 0;
	}
	if (function)
		frames[n].name = find_name(&function->die);
	*ret_n = function || frames[0].file ? n + 1 : 0;
	return NULL;
}
