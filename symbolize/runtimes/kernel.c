/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel symbols; see kernel.h. Modules come and go, and nothing tells when: of two copies of
 * kallsyms that name an address, the first that was read after the time in question is right, if
 * any.
 */
#include "symbolize/runtimes/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "format/base/search.h"
#include "format/read/damage.h"
#include "symbolize/base/span.h"
#include "symbolize/spaces/timeline.h"

/* How far the last function of a module reaches: nothing says where it ends. */
#define LAST_SIZE UINT64_C(65536)

/* Of all copies together. Large kernels have 300,000 lines, of which 200,000 are of code. */
#define MAX_SYMBOLS (16u << 20)
#define MAX_TEXT    (UINT64_C(1) << 30)

/* Copies: the recorder makes one more where modules have changed, at most every ten seconds. */
#define MAX_COPIES 64

/* Value of a timeline's entry: the code that was there has gone. */
#define NAME_GONE UINT32_MAX

/* KSYM_NAME_LEN: the kernel has no longer names. */
#define MAX_NAME 512

/* Positions in the text of kallsyms. */
struct ksym {
	uint64_t start, end;
	uint32_t name, name_len;
	uint32_t module, module_len; /* length 0: the kernel proper */
	uint8_t rank;		     /* between aliases, the lower wins */
	bool code;
	bool last; /* of its module: the end is a guess */
};

struct kallsyms_copy {
	uint64_t time;
	char *text;
	struct ksym *syms; /* ascending, one for each address, code only */
	size_t n, capacity;
};

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
	struct kallsyms_copy copies[MAX_COPIES]; /* in order of time */
	size_t n_copies;
	size_t n_syms; /* in all of them */
	uint64_t n_text;
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

/* --- copies of kallsyms --- */

/* "ffffffff81000000 T _text\t[module]": false where a line is none of these, or is no address. */
static bool parse_line(const char *text, const char *line, const char *end, struct ksym *ret)
{
	struct ksym sym = { 0 };
	const char *p = line, *name;
	char type;

	for (; p < end && p - line < 16; p++) {
		int digit = *p >= '0' && *p <= '9'   ? *p - '0'
			    : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
						     : -1;

		if (digit < 0)
			break;
		sym.start = sym.start << 4 | (unsigned int)digit;
	}
	if (p == line || end - p < 4 || p[0] != ' ' || p[2] != ' ' || !sym.start)
		return false;
	type = p[1];
	name = p += 3;
	while (p < end && *p != '\t' && *p != ' ')
		p++;
	if (p == name)
		return false;
	sym.name = name - text;
	sym.name_len = p - name;
	while (p < end && (*p == '\t' || *p == ' '))
		p++;
	if (end - p > 2 && p[0] == '[' && end[-1] == ']') {
		sym.module = p + 1 - text;
		sym.module_len = end - p - 2;
	}
	sym.code = type && strchr("tTwW", type);
	sym.rank = type == 'T' ? 0 : type == 't' ? 16 : 8;
	for (p = name; *p == '_' && p - name < 7; p++)
		sym.rank++;
	*ret = sym;
	return true;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;
	int order = ebt_compare(x->start, y->start) ?: ebt_compare(y->code, x->code);

	order = order ?: ebt_compare(x->rank, y->rank) ?: ebt_compare(x->name_len, y->name_len);
	return order ?: ebt_compare(x->name, y->name);
}

/* kallsyms has no sizes: a function ends where anything else begins. */
static void find_end(const struct kallsyms_copy *copy, struct ksym *sym, const struct ksym *next)
{
	uint64_t most = sym->start <= UINT64_MAX - LAST_SIZE ? sym->start + LAST_SIZE : UINT64_MAX;

	sym->last = !next || next->module_len != sym->module_len ||
		    memcmp(copy->text + next->module, copy->text + sym->module, sym->module_len);
	if (next && next->code && !sym->last)
		sym->end = next->start;
	else
		sym->end = next && next->start < most ? next->start : most;
}

/* Sorts, decides between aliases, finds ends, and drops what is no code. */
static void finish_symbols(struct kallsyms_copy *copy)
{
	size_t out = 0;

	if (copy->n)
		qsort(copy->syms, copy->n, sizeof(*copy->syms), compare_symbols);
	for (size_t i = 0, next; i < copy->n; i = next) {
		struct ksym sym = copy->syms[i];

		for (next = i + 1; next < copy->n; next++) {
			if (copy->syms[next].start != sym.start)
				break;
		}
		if (!sym.code)
			continue;
		find_end(copy, &sym, next < copy->n ? &copy->syms[next] : NULL);
		copy->syms[out++] = sym;
	}
	copy->n = out;
}

static struct ebt_error *parse_kallsyms(struct kallsyms_copy *copy, size_t len, size_t max)
{
	const char *line = copy->text, *limit = copy->text + len, *end;

	for (; line < limit && copy->n < max; line = end + 1) {
		struct ebt_error *err;
		struct ksym sym;

		end = memchr(line, '\n', limit - line);
		if (!end)
			end = limit;
		if (!parse_line(copy->text, line, end, &sym))
			continue;
		err = ebt_array_reserve(&copy->syms, copy->n, &copy->capacity);
		if (err)
			return err;
		copy->syms[copy->n++] = sym;
	}
	finish_symbols(copy);
	return NULL;
}

static struct ebt_error *read_copy(struct kernel *kernel, struct ebt_reader *reader,
				   const struct ebt_file *file)
{
	struct kallsyms_copy *copy = &kernel->copies[kernel->n_copies];
	struct ebt_error *err;
	size_t len;

	err = ebt_reader_file_content(reader, file->id, &copy->text, &len);
	/* A trace that lost a piece of it has no kernel symbols, and the rest of it. */
	if (err)
		return ebt_damage_forgive(err);
	copy->time = file->time;
	kernel->n_copies++;
	kernel->n_text += len;
	err = parse_kallsyms(copy, len, MAX_SYMBOLS - kernel->n_syms);
	kernel->n_syms += copy->n;
	return err;
}

static int compare_copies(const void *a, const void *b)
{
	const struct kallsyms_copy *x = a, *y = b;

	return ebt_compare(x->time, y->time);
}

static struct ebt_error *read_copies(struct kernel *kernel, struct ebt_reader *reader)
{
	const struct ebt_file *files;
	struct ebt_error *err;
	size_t n;

	err = ebt_reader_files(reader, &files, &n);
	for (size_t i = 0; !err && i < n && kernel->n_copies < MAX_COPIES; i++) {
		if (!strcmp(files[i].role, "kallsyms") && files[i].size &&
		    files[i].size <= MAX_TEXT - kernel->n_text)
			err = read_copy(kernel, reader, &files[i]);
	}
	qsort(kernel->copies, kernel->n_copies, sizeof(*kernel->copies), compare_copies);
	return err;
}

/* --- generated code --- */

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

struct ebt_error *kernel_create(struct ebt_reader *reader, struct kernel **ret)
{
	_cleanup_(kernel_destroyp) struct kernel *kernel = calloc(1, sizeof(*kernel));
	struct ebt_error *err;

	if (!kernel)
		return &ebt_enomem;
	kernel->generated = (struct timeline)TIMELINE_INIT;
	err = read_copies(kernel, reader)
		      ?: ebt_read_table(reader, EBT_T_ksymbol, add_generated, kernel);
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
	for (size_t i = 0; i < kernel->n_copies; i++) {
		free(kernel->copies[i].syms);
		free(kernel->copies[i].text);
	}
	for (size_t i = 0; i < kernel->n_names; i++)
		free(kernel->names[i].name);
	free(kernel->names);
	free(kernel->ended);
	ebt_map_deinit(&kernel->by_address);
	sym_spans_deinit(&kernel->before);
	timeline_deinit(&kernel->generated);
	timeline_store_deinit(&kernel->store);
	free(kernel);
}

/* --- an address --- */

bool kernel_has_symbols(const struct kernel *kernel)
{
	return kernel->n_syms || kernel->n_names;
}

static const struct ksym *find_symbol(const struct kallsyms_copy *copy, uint64_t address)
{
	size_t low = ebt_count_first(copy->n, i, copy->syms[i].start <= address);

	return low && address < copy->syms[low - 1].end ? &copy->syms[low - 1] : NULL;
}

/* One whose end is known wins over one that may reach so far; of these, the nearest. */
static bool is_better(const struct ksym *sym, const struct ksym *than)
{
	return !than || (than->last && (!sym->last || sym->start > than->start));
}

static struct kernel_hit find_in_copies(const struct kernel *kernel, uint64_t address,
					uint64_t time_ns)
{
	struct kernel_hit hit = { .to = UINT64_MAX };
	const struct kallsyms_copy *where = NULL;
	const struct ksym *best = NULL;
	size_t next = 0;

	while (next < kernel->n_copies && kernel->copies[next].time < time_ns)
		next++;
	if (next)
		hit.from = kernel->copies[next - 1].time + 1;
	if (next < kernel->n_copies && kernel->copies[next].time < UINT64_MAX)
		hit.to = kernel->copies[next].time + 1;
	for (size_t i = 0; i < kernel->n_copies; i++) {
		/* Those that are younger, the oldest first; then the others, the youngest first. */
		size_t n = i < kernel->n_copies - next ? next + i : kernel->n_copies - 1 - i;
		const struct ksym *sym = find_symbol(&kernel->copies[n], address);

		if (!sym || !is_better(sym, best))
			continue;
		best = sym;
		where = &kernel->copies[n];
	}
	if (!best)
		return hit;
	hit.name = where->text + best->name;
	hit.name_len = best->name_len;
	if (best->module_len) {
		hit.module = where->text + best->module;
		hit.module_len = best->module_len;
	}
	return hit;
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
			      struct kernel_hit *ret)
{
	struct kernel_hit hit = { 0 };
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
		hit = find_in_copies(kernel, address, time_ns);
		found.from = hit.from > found.from ? hit.from : found.from;
		found.to = hit.to < found.to ? hit.to : found.to;
	}
	hit.from = found.from;
	hit.to = found.to;
	*ret = hit;
	return NULL;
}
