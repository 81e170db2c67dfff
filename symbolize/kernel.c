/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel symbols; see kernel.h. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "timeline.h"

/* How far the last function of a module reaches: nothing says where it ends. */
#define LAST_SIZE UINT64_C(65536)

/* Value of a timeline's entry: the code that was there has gone. */
#define NAME_GONE UINT32_MAX

/* Value of ksymbol.type. */
#define TYPE_BPF 1

/* Lines of kallsyms. Large kernels have 300,000. */
#define MAX_SYMBOLS (16u << 20)

/* Positions in the text of kallsyms. */
struct ksym {
	uint64_t start, end;
	uint32_t name, name_len;
	uint32_t module, module_len; /* length 0: the kernel proper */
	uint8_t rank;		     /* between aliases, the lower wins */
	bool code;
};

/* One name that a ksymbol row had. */
struct generated {
	char *name;
	size_t len;
	const char *module;
};

struct kernel {
	char *text;
	struct ksym *syms; /* ascending, one for each address, code only */
	size_t n_syms, capacity;
	struct generated *names; /* values of the timeline */
	size_t n_names, names_capacity;
	struct timeline_store store;
	struct timeline generated;
};

DEFINE_CLEANUP(struct kernel *, kernel_destroy);
DEFINE_CLEANUP(struct ebt_cursor *, ebt_cursor_destroy);

static struct ebt_error *add_symbol(struct kernel *kernel, const struct ksym *sym)
{
	if (kernel->n_syms == kernel->capacity) {
		size_t capacity = kernel->capacity ? kernel->capacity * 2 : 65536;
		struct ksym *syms = reallocarray(kernel->syms, capacity, sizeof(*syms));

		if (!syms)
			return &ebt_enomem;
		kernel->syms = syms;
		kernel->capacity = capacity;
	}
	kernel->syms[kernel->n_syms++] = *sym;
	return NULL;
}

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

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->code != y->code)
		return x->code ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->name_len != y->name_len)
		return x->name_len < y->name_len ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* kallsyms has no sizes: a function ends where anything else begins. */
static uint64_t end_of(const struct kernel *kernel, const struct ksym *sym, const struct ksym *next)
{
	uint64_t most = sym->start <= UINT64_MAX - LAST_SIZE ? sym->start + LAST_SIZE : UINT64_MAX;

	if (!next)
		return most;
	if (next->code && next->module_len == sym->module_len &&
	    !memcmp(kernel->text + next->module, kernel->text + sym->module, sym->module_len))
		return next->start;
	return next->start < most ? next->start : most;
}

/* Sorts, decides between aliases, finds ends, and drops what is no code. */
static void finish_symbols(struct kernel *kernel)
{
	size_t out = 0;

	if (kernel->n_syms)
		qsort(kernel->syms, kernel->n_syms, sizeof(*kernel->syms), compare_symbols);
	for (size_t i = 0, next; i < kernel->n_syms; i = next) {
		struct ksym sym = kernel->syms[i];

		for (next = i + 1; next < kernel->n_syms; next++) {
			if (kernel->syms[next].start != sym.start)
				break;
		}
		if (!sym.code)
			continue;
		sym.end = end_of(kernel, &sym, next < kernel->n_syms ? &kernel->syms[next] : NULL);
		kernel->syms[out++] = sym;
	}
	kernel->n_syms = out;
}

static struct ebt_error *parse_kallsyms(struct kernel *kernel, size_t len)
{
	const char *line = kernel->text, *limit = kernel->text + len, *end;

	for (; line < limit && kernel->n_syms < MAX_SYMBOLS; line = end + 1) {
		struct ebt_error *err;
		struct ksym sym;

		end = memchr(line, '\n', limit - line);
		if (!end)
			end = limit;
		if (!parse_line(kernel->text, line, end, &sym))
			continue;
		err = add_symbol(kernel, &sym);
		if (err)
			return err;
	}
	finish_symbols(kernel);
	return NULL;
}

static struct ebt_error *read_kallsyms(struct kernel *kernel, struct ebt_reader *reader)
{
	const struct ebt_file *files;
	struct ebt_error *err;
	size_t n, len;

	err = ebt_reader_files(reader, &files, &n);
	for (size_t i = 0; !err && i < n; i++) {
		if (strcmp(files[i].role, "kallsyms") || !files[i].size)
			continue;
		err = ebt_reader_file_content(reader, files[i].id, &kernel->text, &len);
		/* A trace that lost a piece of it has no kernel symbols, and the rest of it. */
		if (err && (err->code == EBT_ERR_CORRUPT || err->code == EBT_ERR_LIMIT)) {
			ebt_error_destroy(err);
			return NULL;
		}
		return err ? err : parse_kallsyms(kernel, len);
	}
	return err;
}

static struct ebt_error *add_name(struct kernel *kernel, struct ebt_str name, const char *module,
				  uint32_t *ret)
{
	if (kernel->n_names == kernel->names_capacity) {
		size_t capacity = kernel->names_capacity ? kernel->names_capacity * 2 : 64;
		struct generated *names = reallocarray(kernel->names, capacity, sizeof(*names));

		if (!names)
			return &ebt_enomem;
		kernel->names = names;
		kernel->names_capacity = capacity;
	}
	kernel->names[kernel->n_names] = (struct generated){
		.name = strndup(name.data, name.len),
		.module = module,
	};
	if (!kernel->names[kernel->n_names].name)
		return &ebt_enomem;
	kernel->names[kernel->n_names].len = strlen(kernel->names[kernel->n_names].name);
	*ret = kernel->n_names++;
	return NULL;
}

static struct ebt_error *add_generated(struct kernel *kernel, const struct ebt_row *row)
{
	uint64_t start = ebt_u64(row, EBT_F_ksymbol_address);
	uint64_t length = ebt_u64(row, EBT_F_ksymbol_length);
	struct ebt_error *err = NULL;
	uint32_t value = NAME_GONE;

	if (length > UINT64_MAX - start)
		return NULL;
	if (!ebt_u64(row, EBT_F_ksymbol_unregister))
		err = add_name(kernel, ebt_str(row, EBT_F_ksymbol_name),
			       ebt_u64(row, EBT_F_ksymbol_type) == TYPE_BPF ? "bpf" : NULL, &value);
	if (err)
		return err;
	return timeline_add(&kernel->store, &kernel->generated, start, start + length, row->time,
			    value);
}

static struct ebt_error *read_generated(struct kernel *kernel, struct ebt_reader *reader)
{
	static const struct ebt_want want = { EBT_T_ksymbol, ~UINT64_C(0) };
	static const struct ebt_query query = { &want, 1, 0, 0, 0 };
	_cleanup_(ebt_cursor_destroyp) struct ebt_cursor *cursor = NULL;
	struct ebt_error *err = ebt_cursor_create(reader, &query, &cursor);

	while (!err) {
		struct ebt_row row;

		err = ebt_cursor_next(cursor, &row);
		if (!err && !row.batch)
			break;
		if (!err)
			err = add_generated(kernel, &row);
	}
	return err;
}

struct ebt_error *kernel_create(struct ebt_reader *reader, struct kernel **ret)
{
	_cleanup_(kernel_destroyp) struct kernel *kernel = calloc(1, sizeof(*kernel));
	struct ebt_error *err;

	if (!kernel)
		return &ebt_enomem;
	kernel->generated = (struct timeline)TIMELINE_INIT;
	err = read_kallsyms(kernel, reader);
	if (!err)
		err = read_generated(kernel, reader);
	if (err)
		return err;
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
	free(kernel->syms);
	free(kernel->text);
	timeline_deinit(&kernel->generated);
	timeline_store_deinit(&kernel->store);
	free(kernel);
}

bool kernel_has_symbols(const struct kernel *kernel)
{
	return kernel->n_syms || kernel->n_names;
}

static void find_symbol(const struct kernel *kernel, uint64_t address, struct kernel_hit *hit)
{
	size_t low = 0, high = kernel->n_syms;
	const struct ksym *sym;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (kernel->syms[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || address >= kernel->syms[low - 1].end)
		return;
	sym = &kernel->syms[low - 1];
	hit->name = kernel->text + sym->name;
	hit->name_len = sym->name_len;
	if (sym->module_len) {
		hit->module = kernel->text + sym->module;
		hit->module_len = sym->module_len;
	}
}

struct ebt_error *kernel_find(struct kernel *kernel, uint64_t address, uint64_t time_ns,
			      struct kernel_hit *ret)
{
	struct kernel_hit hit = { 0 };
	struct timeline_hit generated;
	struct ebt_error *err =
		timeline_find(&kernel->store, &kernel->generated, address, time_ns, &generated);

	if (err)
		return err;
	hit.from = generated.from;
	hit.to = generated.to;
	if (!generated.found) {
		find_symbol(kernel, address, &hit);
	} else if (generated.value != NAME_GONE) {
		const struct generated *name = &kernel->names[generated.value];

		hit.name = name->name;
		hit.name_len = name->len;
		hit.module = name->module;
		hit.module_len = name->module ? strlen(name->module) : 0;
	}
	*ret = hit;
	return NULL;
}
