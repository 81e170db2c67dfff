/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules come and go, and nothing tells when: of two copies that name an address, the first that
 * was read after the time in question is right, if any.
 */
#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/search.h"
#include "symbolize/elf/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/read/damage.h"

/* How far the last function of a module reaches: nothing says where it ends. */
#define LAST_SIZE UINT64_C(65536)

/* Of all copies together. Large kernels have 300,000 lines, of which 200,000 are of code. */
#define MAX_SYMBOLS (16u << 20)
#define MAX_TEXT    (UINT64_C(1) << 30)

/* Copies: the recorder makes one more where modules have changed, at most every ten seconds. */
#define MAX_COPIES 64

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

struct kallsyms {
	struct kallsyms_copy copies[MAX_COPIES]; /* in order of time */
	size_t n;
	size_t n_syms; /* in all of them */
	uint64_t n_text;
};

DEFINE_CLEANUP(struct kallsyms *, kallsyms_destroy);

static struct ebt_error *add_symbol(struct kallsyms_copy *copy, const struct ksym *sym)
{
	struct ebt_error *err = ebt_array_reserve(&copy->syms, copy->n, &copy->capacity);

	if (!err)
		copy->syms[copy->n++] = *sym;
	return err;
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
		err = add_symbol(copy, &sym);
		if (err)
			return err;
	}
	finish_symbols(copy);
	return NULL;
}

static struct ebt_error *read_copy(struct kallsyms *kallsyms, struct ebt_reader *reader,
				   const struct ebt_file *file)
{
	struct kallsyms_copy *copy = &kallsyms->copies[kallsyms->n];
	struct ebt_error *err;
	size_t len;

	err = ebt_reader_file_content(reader, file->id, &copy->text, &len);
	/* A trace that lost a piece of it has no kernel symbols, and the rest of it. */
	if (err)
		return ebt_damage_forgive(err);
	copy->time = file->time;
	kallsyms->n++;
	kallsyms->n_text += len;
	err = parse_kallsyms(copy, len, MAX_SYMBOLS - kallsyms->n_syms);
	kallsyms->n_syms += copy->n;
	return err;
}

static int compare_copies(const void *a, const void *b)
{
	const struct kallsyms_copy *x = a, *y = b;

	return ebt_compare(x->time, y->time);
}

struct ebt_error *kallsyms_create(struct ebt_reader *reader, struct kallsyms **ret)
{
	_cleanup_(kallsyms_destroyp) struct kallsyms *kallsyms = calloc(1, sizeof(*kallsyms));
	const struct ebt_file *files;
	struct ebt_error *err;
	size_t n;

	if (!kallsyms)
		return &ebt_enomem;
	err = ebt_reader_files(reader, &files, &n);
	for (size_t i = 0; !err && i < n && kallsyms->n < MAX_COPIES; i++) {
		if (!strcmp(files[i].role, "kallsyms") && files[i].size &&
		    files[i].size <= MAX_TEXT - kallsyms->n_text)
			err = read_copy(kallsyms, reader, &files[i]);
	}
	if (err)
		return err;
	qsort(kallsyms->copies, kallsyms->n, sizeof(*kallsyms->copies), compare_copies);
	*ret = take_ptr(kallsyms);
	return NULL;
}

void kallsyms_destroy(struct kallsyms *kallsyms)
{
	if (!kallsyms)
		return;
	for (size_t i = 0; i < kallsyms->n; i++) {
		free(kallsyms->copies[i].syms);
		free(kallsyms->copies[i].text);
	}
	free(kallsyms);
}

bool kallsyms_is_empty(const struct kallsyms *kallsyms)
{
	return !kallsyms->n_syms;
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

struct kallsyms_hit kallsyms_find(const struct kallsyms *kallsyms, uint64_t address,
				  uint64_t time_ns)
{
	struct kallsyms_hit hit = { .to = UINT64_MAX };
	const struct kallsyms_copy *where = NULL;
	const struct ksym *best = NULL;
	size_t next = 0;

	while (next < kallsyms->n && kallsyms->copies[next].time < time_ns)
		next++;
	if (next)
		hit.from = kallsyms->copies[next - 1].time + 1;
	if (next < kallsyms->n && kallsyms->copies[next].time < UINT64_MAX)
		hit.to = kallsyms->copies[next].time + 1;
	for (size_t i = 0; i < kallsyms->n; i++) {
		/* Those that are younger, the oldest first; then the others, the youngest first. */
		size_t n = i < kallsyms->n - next ? next + i : kallsyms->n - 1 - i;
		const struct ksym *sym = find_symbol(&kallsyms->copies[n], address);

		if (!sym || !is_better(sym, best))
			continue;
		best = sym;
		where = &kallsyms->copies[n];
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
