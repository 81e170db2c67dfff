/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel symbols; see kernel.h. */
#include "symbolize/runtimes/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/array.h"
#include "format/base/map.h"
#include "symbolize/base/span.h"
#include "symbolize/elf/kallsyms.h"
#include "symbolize/spaces/timeline.h"

/* Value of a timeline's entry: the code that was there has gone. */
#define NAME_GONE UINT32_MAX

/* KSYM_NAME_LEN: the kernel has no longer names. */
#define MAX_NAME 512

/* One name that a ksymbol row had. */
struct generated {
	char *name;
	size_t len;
	const char *module;
};

/* Code that is only known by its end. */
struct ended {
	uint32_t name;
	uint64_t to;
};

struct kernel {
	struct kallsyms *kallsyms;
	struct generated *names; /* values of the timeline */
	size_t n_names, names_capacity;
	struct timeline_store store;
	struct timeline generated;
	struct ebt_map by_address; /* of rows so far */
	struct ended *ended;
	size_t n_ended, ended_capacity;
	struct sym_spans before; /* where those were */
};

DEFINE_CLEANUP(struct kernel *, kernel_destroy);

static struct ebt_error *add_name(struct kernel *kernel, struct ebt_str name, const char *module,
				  uint32_t *ret)
{
	struct ebt_error *err =
		ebt_array_reserve(&kernel->names, kernel->n_names, &kernel->names_capacity);
	char *copy;

	if (err)
		return err;
	copy = strndup(name.data, name.len < MAX_NAME ? name.len : MAX_NAME);
	if (!copy)
		return &ebt_enomem;
	*ret = kernel->n_names;
	kernel->names[kernel->n_names++] = (struct generated){ copy, strlen(copy), module };
	return NULL;
}

/* Whether no row so far was of code at the address. */
static struct ebt_error *is_first(struct kernel *kernel, uint64_t address, bool *ret)
{
	uint32_t n = (uint32_t)kernel->by_address.n, i = n;
	struct ebt_error *err = ebt_map_add(&kernel->by_address, address, n, &i);

	*ret = i == n;
	return err;
}

/* What goes, and was never seen to come, was there from the beginning. */
static struct ebt_error *add_ended(struct kernel *kernel, uint64_t start, uint64_t end,
				   uint32_t name, uint64_t time)
{
	struct ebt_error *err =
		ebt_array_reserve(&kernel->ended, kernel->n_ended, &kernel->ended_capacity);

	if (err)
		return err;
	err = sym_spans_add(&kernel->before, start, end, kernel->n_ended);
	if (err)
		return err;
	kernel->ended[kernel->n_ended++] = (struct ended){ name, time };
	return NULL;
}

static struct ebt_error *add_generated(void *arg, const struct ebt_row *row)
{
	struct kernel *kernel = arg;
	const bool gone = ebt_ksymbol_unregister(row);
	uint64_t start = ebt_ksymbol_address(row);
	uint64_t length = ebt_ksymbol_length(row);
	uint32_t value = NAME_GONE;
	struct ebt_error *err;
	bool first;

	if (length > UINT64_MAX - start)
		return NULL;
	err = is_first(kernel, start, &first);
	if (err)
		return err;
	if (!gone || first)
		err = add_name(kernel, ebt_ksymbol_name(row),
			       ebt_ksymbol_type(row) == EBT_V_ksymbol_type_bpf ? "bpf" : NULL,
			       &value);
	if (err)
		return err;
	if (gone && first)
		err = add_ended(kernel, start, start + length, value, row->time);
	if (err)
		return err;
	return timeline_add(&kernel->store, &kernel->generated, start, start + length, row->time,
			    gone ? NAME_GONE : value);
}

static struct ebt_error *read_generated(struct kernel *kernel, struct ebt_reader *reader)
{
	static const struct ebt_want want = { EBT_T_ksymbol, ~UINT64_C(0) };
	static const struct ebt_query query = { &want, 1, 0, 0, 0 };

	return ebt_read_rows(reader, &query, add_generated, kernel);
}

struct ebt_error *kernel_create(struct ebt_reader *reader, struct kernel **ret)
{
	_cleanup_(kernel_destroyp) struct kernel *kernel = calloc(1, sizeof(*kernel));
	struct ebt_error *err;

	if (!kernel)
		return &ebt_enomem;
	kernel->generated = (struct timeline)TIMELINE_INIT;
	err = kallsyms_create(reader, &kernel->kallsyms);
	if (err)
		return err;
	err = read_generated(kernel, reader);
	if (err)
		return err;
	sym_spans_sort(&kernel->before);
	*ret = take_ptr(kernel);
	return NULL;
}

void kernel_destroy(struct kernel *kernel)
{
	if (!kernel)
		return;
	for (size_t i = 0; i < kernel->n_names; i++)
		free(kernel->names[i].name);
	free(kernel->names);
	free(kernel->ended);
	ebt_map_deinit(&kernel->by_address);
	sym_spans_deinit(&kernel->before);
	kallsyms_destroy(kernel->kallsyms);
	timeline_deinit(&kernel->generated);
	timeline_store_deinit(&kernel->store);
	free(kernel);
}

bool kernel_has_symbols(const struct kernel *kernel)
{
	return !kallsyms_is_empty(kernel->kallsyms) || kernel->n_names;
}

/* The name of code that is only known by its end, if that has not come yet. */
static const struct generated *find_ended(const struct kernel *kernel, uint64_t address,
					  uint64_t time)
{
	const struct sym_span *span = sym_spans_find(&kernel->before, address);
	const struct ended *ended = span ? &kernel->ended[span->id] : NULL;

	return ended && time < ended->to ? &kernel->names[ended->name] : NULL;
}

struct ebt_error *kernel_find(struct kernel *kernel, uint64_t address, uint64_t time_ns,
			      struct kallsyms_hit *ret)
{
	struct kallsyms_hit hit = { 0 };
	const struct generated *name = NULL;
	struct timeline_hit found;
	struct ebt_error *err =
		timeline_find(&kernel->store, &kernel->generated, address, time_ns, &found);

	if (err)
		return err;
	if (!found.found)
		name = find_ended(kernel, address, time_ns);
	else if (found.value != NAME_GONE)
		name = &kernel->names[found.value];
	if (name) {
		hit.name = name->name;
		hit.name_len = name->len;
		hit.module = name->module;
		hit.module_len = name->module ? strlen(name->module) : 0;
	} else if (!found.found) {
		hit = kallsyms_find(kernel->kallsyms, address, time_ns);
		found.from = hit.from > found.from ? hit.from : found.from;
		found.to = hit.to < found.to ? hit.to : found.to;
	}
	hit.from = found.from;
	hit.to = found.to;
	*ret = hit;
	return NULL;
}
