/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames by address; see info.h. Inlined calls are in inline.c, lines in line.c,
 * and what a unit covers in units.c.
 */
#include "symbolize/dwarf/info.h"

#include <dwarf.h>
#include <stdlib.h>

#include "format/base/array.h"
#include "format/base/bytes.h"
#include "format/base/cleanup.h"
#include "symbolize/dwarf/inline.h"
#include "symbolize/dwarf/line.h"
#include "symbolize/dwarf/params.h"
#include "symbolize/dwarf/units.h"

/* Namespaces within namespaces. */
#define MAX_NEST 64

/* DIEs that a name is taken from, one after the other. */
#define MAX_HOPS 16

/* Units that are kept, with what was read of them. */
#define MAX_STATES 16

/* libdw keeps what it learns of a unit: after so many, its handle is made anew. */
#define MAX_OPENED 1024

/* Steps for one unit: a DIE takes 10 bytes in general, and few have more than one range. */
#define STEPS_A_BYTE 4
#define MIN_STEPS    65536
#define MAX_STEPS    UINT64_C(50000000)

struct function {
	Dwarf_Die die;
	struct dwarf_inlines *inlines; /* NULL: not read yet */
};

/* A unit in use. */
struct info_state {
	struct dwarf_info *info;
	uint32_t unit; /* DWARF_NO_UNIT: free */
	enum { FUNCTIONS_NEW, FUNCTIONS_OUTER, FUNCTIONS_ALL } functions_read;
	enum dwarf_answer answer;
	Dwarf_Die die;	/* has the table of lines */
	Dwarf_Die code; /* has the functions: the same, or of a file of its own */
	struct dwarf_budget budget;
	bool lines_read;
	struct dwarf_lines *lines; /* NULL: there are none */
	struct sym_spans spans;	   /* of functions */
	struct function *functions;
	size_t n_functions, capacity;
	/* Other units that are looked at for names. */
	struct used {
		struct dwarf_units *of;
		uint32_t unit;
	} * used;
	size_t n_used, used_capacity;
};

struct dwarf_info {
	struct dwarf_units *units;
	struct dwarf_handle handle, alt;
	bool failed; /* libdw does not take the files */
	struct info_state states[MAX_STATES];
	unsigned int next, opened;
};

DEFINE_CLEANUP(struct dwarf_info *, dwarf_info_destroy);

/* --- units in use --- */

static void close_state(struct info_state *state)
{
	if (state->unit == DWARF_NO_UNIT)
		return;
	for (size_t i = 0; i < state->n_functions; i++)
		dwarf_inlines_destroy(state->functions[i].inlines);
	free(state->functions);
	sym_spans_deinit(&state->spans);
	dwarf_lines_destroy(state->lines);
	for (size_t i = 0; i < state->n_used; i++)
		dwarf_units_unuse(state->used[i].of, state->used[i].unit);
	free(state->used);
	dwarf_units_unuse(state->info->units, state->unit);
	*state = (struct info_state){ .info = state->info, .unit = DWARF_NO_UNIT };
}

static void close_handles(struct dwarf_info *info)
{
	for (unsigned int i = 0; i < MAX_STATES; i++)
		close_state(&info->states[i]);
	dwarf_handle_close(&info->handle);
	dwarf_handle_close(&info->alt);
	info->opened = 0;
}

void dwarf_info_destroy(struct dwarf_info *info)
{
	if (!info)
		return;
	close_handles(info);
	free(info);
}

static bool open_handles(struct dwarf_info *info)
{
	if (!dwarf_handle_open(info->units, &info->handle))
		return false;
	/* libdw refuses a file of strings alone, which shared_string() reads. */
	if (info->units->alt && dwarf_handle_open(info->units->alt, &info->alt))
		dwarf_setalt(info->handle.dwarf, info->alt.dwarf);
	return true;
}

struct ebt_error *dwarf_info_create(struct dwarf_units *units, struct dwarf_info **ret)
{
	struct dwarf_info *info = calloc(1, sizeof(*info));

	if (!info)
		return &ebt_enomem;
	info->units = units;
	for (unsigned int i = 0; i < MAX_STATES; i++)
		info->states[i] = (struct info_state){ .info = info, .unit = DWARF_NO_UNIT };
	*ret = info;
	return NULL;
}

/* Keeps a unit in memory that another one refers to. False: there is no memory. */
static bool use_unit(struct info_state *state, struct dwarf_units *of, uint32_t unit)
{
	for (size_t i = state->n_used; i-- > 0;) {
		if (state->used[i].of == of && state->used[i].unit == unit)
			return true;
	}
	if (ebt_array_reserve(&state->used, state->n_used, &state->used_capacity))
		return false;
	dwarf_units_use(of, unit);
	state->used[state->n_used++] = (struct used){ of, unit };
	return true;
}

/* --- strings and references: what they point to must be read before libdw looks there --- */

/* A string in a file that dwz made and that libdw has not got: it would look for one by itself. */
static const char *shared_string(const struct dwarf_info *info, Dwarf_Die *die,
				 const Dwarf_Attribute *attr)
{
	const struct pages *pages = info->units->pages;
	struct pages *alt = info->units->alt ? info->units->alt->pages : NULL;
	const uint64_t at = (uint64_t)((const char *)attr->valp - pages->base);
	uint8_t offset_size = 0;
	uint64_t offset;
	Dwarf_Die cu;

	if (!alt || !dwarf_diecu(die, &cu, NULL, &offset_size) || at > pages->size ||
	    pages->size - at < offset_size)
		return NULL;
	offset = offset_size == 8 ? ebt_load_u64(attr->valp) : ebt_load_u32(attr->valp);
	if (offset >= alt->sections[PAGES_STR].size)
		return NULL;
	return pages_string(alt, alt->base + alt->sections[PAGES_STR].offset + offset);
}

static bool is_shared(Dwarf_Attribute *attr)
{
	switch (dwarf_whatform(attr)) {
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return true;
	default:
		return false;
	}
}

const char *dwarf_string_at(const struct info_state *state, Dwarf_Die *die, unsigned int name)
{
	const struct dwarf_info *info = state->info;
	Dwarf_Attribute attr;
	const char *string;

	if (!dwarf_attr(die, name, &attr))
		return NULL;
	if (is_shared(&attr) && !info->alt.dwarf)
		return shared_string(info, die, &attr);
	string = pages_string(info->units->pages, dwarf_formstring(&attr));
	return info->units->alt ? pages_string(info->units->alt->pages, string) : string;
}

/* Whether the attribute refers to a DIE by its place. Other references are to types. */
static bool is_reference(const struct dwarf_info *info, Dwarf_Attribute *attr)
{
	if (is_shared(attr))
		return info->alt.dwarf;
	switch (dwarf_whatform(attr)) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
	case DW_FORM_ref_addr:
		return true;
	default:
		return false;
	}
}

bool dwarf_follow(struct info_state *state, Dwarf_Die *die, unsigned int name)
{
	const struct dwarf_info *info = state->info;
	struct dwarf_units *of = info->units;
	Dwarf_Attribute attr;
	Dwarf_Die target;
	Dwarf *dwarf;
	uint32_t unit;

	if (!dwarf_attr(die, name, &attr) || !is_reference(info, &attr) ||
	    !dwarf_formref_die(&attr, &target))
		return false;
	dwarf = dwarf_cu_getdwarf(target.cu);
	if (dwarf != info->handle.dwarf && dwarf != info->alt.dwarf) {
		/* A file of its own, which libdw read whole. */
		*die = target;
		return true;
	}
	if (dwarf != info->handle.dwarf)
		of = info->units->alt;
	unit = dwarf_units_at(of, dwarf_dieoffset(&target));
	if (unit == DWARF_NO_UNIT ||
	    ((of != info->units || unit != state->unit) && !use_unit(state, of, unit)))
		return false;
	*die = target;
	return true;
}

/* The name of a function: that of linkers if there is one. */
static const char *find_name(struct info_state *state, const Dwarf_Die *from)
{
	const char *plain = NULL, *name;
	Dwarf_Die die = *from;

	for (int hop = 0; hop < MAX_HOPS; hop++) {
		name = dwarf_string_at(state, &die, DW_AT_linkage_name);
		if (!name)
			name = dwarf_string_at(state, &die, DW_AT_MIPS_linkage_name);
		if (name)
			return name;
		if (!plain)
			plain = dwarf_string_at(state, &die, DW_AT_name);
		if (!dwarf_follow(state, &die, DW_AT_abstract_origin) &&
		    !dwarf_follow(state, &die, DW_AT_specification))
			break;
	}
	return plain;
}

/* --- functions --- */

static struct ebt_error *add_function(struct info_state *state, Dwarf_Die *die)
{
	struct ebt_error *err;
	bool any;

	err = ebt_array_reserve(&state->functions, state->n_functions, &state->capacity);
	if (err)
		return err;
	err = dwarf_units_add_ranges(state->info->units, &state->budget, die, &state->spans,
				     (uint32_t)state->n_functions, &any);
	if (err || !any)
		return err;
	state->functions[state->n_functions++] = (struct function){ .die = *die };
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
static struct ebt_error *read_functions(struct info_state *state, bool nested)
{
	Dwarf_Die stack[MAX_NEST];
	int depth = 0, around = MAX_NEST; /* depth of the outermost function around this DIE */

	if (dwarf_child(&state->code, &stack[0]))
		return NULL;
	while (depth >= 0 && dwarf_budget_spend(&state->budget)) {
		int tag = dwarf_tag(&stack[depth]);

		if (depth <= around)
			around = MAX_NEST;
		if (tag == DW_TAG_subprogram && nested == (depth > around)) {
			struct ebt_error *err = add_function(state, &stack[depth]);

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
	sym_spans_sort(&state->spans);
	return NULL;
}

/* The function of the unit that has the address, or NULL. */
static struct ebt_error *find_function(struct info_state *state, uint64_t address,
				       struct function **ret)
{
	const struct sym_span *span = NULL;

	*ret = NULL;
	while (!(span = sym_spans_find(&state->spans, address)) &&
	       state->functions_read != FUNCTIONS_ALL) {
		struct ebt_error *err =
			read_functions(state, state->functions_read == FUNCTIONS_OUTER);

		if (err)
			return err;
		state->functions_read =
			state->functions_read == FUNCTIONS_NEW ? FUNCTIONS_OUTER : FUNCTIONS_ALL;
	}
	if (span)
		*ret = &state->functions[span->id];
	return NULL;
}

/* --- an address --- */

static struct ebt_error *read_lines(struct info_state *state)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset;

	state->lines_read = true;
	if (dwarf_formudata(dwarf_attr(&state->die, DW_AT_stmt_list, &attr), &offset))
		return NULL;
	return dwarf_lines_read(state->info->units, offset,
				dwarf_string_at(state, &state->die, DW_AT_comp_dir), &state->budget,
				&state->lines);
}

static bool open_split(struct info_state *state)
{
	/* These strings must be read before libdw looks for the file. */
	const char *dir = dwarf_string_at(state, &state->die, DW_AT_comp_dir);
	const char *name = dwarf_string_at(state, &state->die, DW_AT_dwo_name);

	if (!name)
		name = dwarf_string_at(state, &state->die, DW_AT_GNU_dwo_name);
	return dwarf_split_open(&state->die, dir, name, &state->code);
}

/* Makes use of a unit. *ret is NULL where it cannot be read. */
static struct info_state *open_state(struct dwarf_info *info, uint32_t unit)
{
	const struct dwarf_unit *from = &info->units->items[unit];
	uint64_t steps = (from->end - from->start) * STEPS_A_BYTE + MIN_STEPS;
	struct info_state *state;

	for (unsigned int i = 0; i < MAX_STATES; i++) {
		if (info->states[i].unit == unit)
			return &info->states[i];
	}
	if (info->opened == MAX_OPENED)
		close_handles(info);
	if (!info->handle.dwarf && (info->failed || !open_handles(info))) {
		info->failed = true;
		return NULL;
	}
	state = &info->states[info->next++ % MAX_STATES];
	close_state(state);
	dwarf_units_use(info->units, unit);
	info->opened++;
	state->unit = unit;
	state->budget.left = steps < MAX_STEPS ? steps : MAX_STEPS;
	if (!dwarf_offdie(info->handle.dwarf, from->die, &state->die)) {
		close_state(state);
		return NULL;
	}
	state->code = state->die;
	if (dwarf_is_skeleton(&state->die) && !open_split(state))
		state->answer = DWARF_NO_SPLIT;
	return state;
}

static struct ebt_error *find_file(struct info_state *state, uint64_t number,
				   struct dwarf_frame *frame)
{
	return state->lines ? dwarf_lines_path(state->lines, number, &frame->file) : NULL;
}

static struct ebt_error *find_line(struct info_state *state, uint64_t address,
				   struct dwarf_frame *frame)
{
	struct ebt_error *err;
	uint64_t file;
	uint32_t line;

	if (!state->lines || !dwarf_lines_find(state->lines, address, &file, &line))
		return NULL;
	err = find_file(state, file, frame);
	frame->line = frame->file ? line : 0;
	return err;
}

static struct ebt_error *find_frames(struct info_state *state, uint64_t address,
				     struct dwarf_frame *frames, size_t *ret_n)
{
	const struct dwarf_inline *call = NULL;
	struct function *function;
	struct ebt_error *err;
	size_t n = 0;

	err = find_function(state, address, &function);
	if (!err && function && !function->inlines)
		err = dwarf_inlines_read(&function->die, &state->budget, &function->inlines);
	if (!err && !state->lines_read)
		err = read_lines(state);
	if (err)
		return err;
	frames[0] = (struct dwarf_frame){ 0 };
	err = find_line(state, address, &frames[0]);
	if (function)
		call = dwarf_inlines_find(function->inlines, address);
	for (; !err && call && n + 1 < DWARF_MAX_FRAMES;
	     call = dwarf_inline_outer(function->inlines, call)) {
		frames[n].name = find_name(state, &call->die);
		frames[++n] = (struct dwarf_frame){ 0 };
		err = find_file(state, call->file, &frames[n]);
		frames[n].line = frames[n].file ? call->line : 0;
	}
	if (err)
		return err;
	if (function)
		frames[n].name = find_name(state, &function->die);
	*ret_n = function || frames[0].file ? n + 1 : 0;
	return NULL;
}

static void leave_unit(struct dwarf_info *info, uint64_t begin)
{
	atomic_fetch_add(&info->units->used_ns, dwarf_budget_clock() - begin);
}

/* The unit of an address, with what is left of the time; NULL: there is none, or no time. Else
 * leave_unit() ends what begins here. */
static struct info_state *enter_unit(struct dwarf_info *info, uint64_t address, uint64_t *ret_begin)
{
	uint32_t unit = dwarf_units_find(info->units, address);
	uint64_t left = dwarf_units_time_left(info->units);
	struct info_state *state;

	if (unit == DWARF_NO_UNIT || !left)
		return NULL;
	*ret_begin = dwarf_budget_clock();
	state = open_state(info, unit);
	if (state)
		state->budget.until = *ret_begin + left;
	else
		leave_unit(info, *ret_begin);
	return state;
}

struct ebt_error *dwarf_info_find(struct dwarf_info *info, uint64_t address,
				  struct dwarf_frame *frames, size_t *ret_n, enum dwarf_answer *ret)
{
	struct info_state *state;
	struct ebt_error *err;
	uint64_t begin;

	*ret_n = 0;
	*ret = dwarf_units_time_left(info->units) ? DWARF_WHOLE : DWARF_TOO_LONG;
	state = enter_unit(info, address, &begin);
	if (!state)
		return NULL;
	err = find_frames(state, address, frames, ret_n);
	leave_unit(info, begin);
	if (!err)
		*ret = state->budget.left ? state->answer : DWARF_TOO_LONG;
	return err;
}

/* --- parameters --- */

struct ebt_error *dwarf_info_parameters(struct dwarf_info *info, uint64_t address,
					struct sym_parameters *ret)
{
	struct function *function = NULL;
	struct info_state *state;
	struct ebt_error *err;
	uint64_t begin;

	*ret = (struct sym_parameters){ 0 };
	state = enter_unit(info, address, &begin);
	if (!state)
		return NULL;
	err = find_function(state, address, &function);
	if (!err && function)
		dwarf_params_read(state, &function->die, ret);
	leave_unit(info, begin);
	return err;
}
