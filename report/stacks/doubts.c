/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that are missing, and samples that are few; see doubts.h. */
#include "report/stacks/doubts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"

#define FEW_SAMPLES 50	/* ±14 % */
#define MORE_HZ	    999 /* what is cheap yet, and beats with no timer */
#define MOST_FILES  3

/* --- samples --- */

struct ebt_error *few_samples_text(struct trace *trace, uint64_t n, struct text *text)
{
	const char *freq;
	struct ebt_error *err = ebt_reader_meta(trace_reader(trace), "sample.freq", &freq);

	if (err || !n || n >= FEW_SAMPLES)
		return err;
	text_printf(text, "%" PRIu64 " sample%s: ±%.0f %%", n, text_plural(n, "", "s"),
		    100 / sqrt((double)n));
	if (!freq || strtoull(freq, NULL, 10) < MORE_HZ)
		text_printf(text, "; -F %d gives more", MORE_HZ);
	return text_error(text);
}

struct ebt_error *warn_few_samples(struct trace *trace, uint64_t n)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err = few_samples_text(trace, n, &text);

	return err || !text.len ? err : trace_warn(trace, "%s", text_get(&text));
}

/* --- names --- */

static struct ebt_error *add_file(struct nameless *nameless, const char *object, double weight)
{
	const uint64_t hash = ebt_hash_bytes(0, object, strlen(object));
	struct ebt_error *err;
	size_t at = 0;
	uint32_t i;

	while ((i = ebt_map_next(&nameless->by_object, hash, &at)) != EBT_MAP_NONE) {
		if (strcmp(nameless->files[i].object, object) != 0)
			continue;
		nameless->files[i].weight += weight;
		return NULL;
	}
	err = ebt_array_reserve(&nameless->files, nameless->n_files, &nameless->capacity);
	if (err)
		return err;
	nameless->files[nameless->n_files] = (struct nameless_file){ object, weight };
	return ebt_map_insert(&nameless->by_object, hash, (uint32_t)nameless->n_files++);
}

struct ebt_error *nameless_add(struct nameless *nameless, const char *object,
			       enum sym_reason reason, double weight)
{
	nameless->all += weight;
	/* Who asks for no names misses none. */
	if (!weight || reason == SYM_OK || reason == SYM_DISABLED)
		return NULL;
	nameless->without += weight;
	return *object ? add_file(nameless, object, weight) : NULL;
}

static bool is_code(const struct calltree_func *func)
{
	switch (func->kind) {
	case CALLTREE_USER:
	case CALLTREE_LIBRARY:
	case CALLTREE_KERNEL:
	case CALLTREE_INLINED:
	case CALLTREE_JIT:
	case CALLTREE_PYTHON:
		return true;
	case CALLTREE_UNRESOLVED:
		return func->reason != SYM_OK; /* else it says that a stack was cut */
	case CALLTREE_ROOT:
	case CALLTREE_ON_CPU:
	case CALLTREE_QUEUED:
	case CALLTREE_OFF_CPU:
	case CALLTREE_N_KINDS:
		break;
	}
	return false;
}

struct ebt_error *nameless_add_func(struct nameless *nameless, const struct calltree_func *func,
				    double weight)
{
	return is_code(func) ? nameless_add(nameless, func->object, func->reason, weight) : NULL;
}

struct ebt_error *nameless_add_stack(struct nameless *nameless, const struct calltree *tree,
				     uint32_t node, double weight)
{
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n);
	struct ebt_error *err = NULL;

	for (; !err && node; node = nodes[node].parent)
		err = nameless_add_func(nameless, &funcs[nodes[node].func], weight);
	return err;
}

/* Those with most of it first. */
static int compare_files(const void *a, const void *b)
{
	const struct nameless_file *x = a, *y = b;

	return ebt_compare(y->weight, x->weight) ?: strcmp(x->object, y->object);
}

static void add_files(const struct nameless *nameless, struct text *text)
{
	size_t i;

	for (i = 0; i < nameless->n_files && i < MOST_FILES; i++) {
		const char *object = nameless->files[i].object, *slash = strrchr(object, '/');

		text_printf(text, "%s%s", i ? ", " : " (", slash && slash[1] ? slash + 1 : object);
	}
	text_cstr(text, i ? ")" : "");
}

static struct ebt_error *warn_of(struct nameless *nameless, struct trace *trace)
{
	_cleanup_text_ struct text files = TEXT_INIT;

	if (!(nameless->without > 0))
		return NULL;
	if (nameless->n_files)
		qsort(nameless->files, nameless->n_files, sizeof(*nameless->files), compare_files);
	add_files(nameless, &files);
	return text_error(&files)
		       ?: trace_warn_share(trace, nameless->without, nameless->all,
					   "%.*f %% of frames have no name%s: ebreport modules",
					   nameless->without * 100 < nameless->all ? 2 : 0,
					   nameless->without * 100 / nameless->all,
					   text_get(&files));
}

/* What the windows until now have shown. Names of files are its own: others go with a window. */
struct nameless_kept {
	struct trace_state state; /* first: see trace_keep() */
	struct nameless sum;
};

static void kept_destroy(struct trace_state *state)
{
	struct nameless_kept *kept = (struct nameless_kept *)state;

	for (size_t i = 0; i < kept->sum.n_files; i++)
		free((char *)kept->sum.files[i].object);
	nameless_deinit(&kept->sum);
	free(kept);
}

static struct ebt_error *keep_file(struct nameless *sum, const struct nameless_file *file)
{
	const size_t n = sum->n_files;
	struct ebt_error *err = add_file(sum, file->object, file->weight);

	if (sum->n_files == n)
		return err;
	sum->files[n].object = strdup(file->object);
	return err || sum->files[n].object ? err : &ebt_enomem;
}

static struct ebt_error *keep(struct trace *trace, const struct nameless *nameless,
			      struct nameless **ret)
{
	struct nameless_kept *kept = (struct nameless_kept *)trace_kept(trace, kept_destroy);
	struct ebt_error *err = NULL;

	if (!kept) {
		kept = calloc(1, sizeof(*kept));
		if (!kept)
			return &ebt_enomem;
		kept->state.destroy = kept_destroy;
		trace_keep(trace, &kept->state);
	}
	kept->sum.all += nameless->all;
	kept->sum.without += nameless->without;
	for (size_t i = 0; !err && i < nameless->n_files; i++)
		err = keep_file(&kept->sum, &nameless->files[i]);
	*ret = &kept->sum;
	return err;
}

struct ebt_error *nameless_warn(const struct nameless *nameless, struct trace *trace)
{
	struct nameless *sum;
	struct ebt_error *err = keep(trace, nameless, &sum);

	return err || trace_has_more(trace) ? err : warn_of(sum, trace);
}

void nameless_deinit(struct nameless *nameless)
{
	free(nameless->files);
	ebt_map_deinit(&nameless->by_object);
}

struct ebt_error *warn_nameless(struct trace *trace, const struct calltree *tree)
{
	_cleanup_nameless_ struct nameless nameless = { 0 };
	uint32_t n, n_funcs;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const struct calltree_func *funcs = calltree_funcs(tree, &n_funcs);
	_cleanup_free_ double *weights = calloc(n_funcs, sizeof(*weights));
	struct ebt_error *err = NULL;

	if (!weights)
		return &ebt_enomem;
	for (uint32_t i = 1; i < n; i++)
		weights[nodes[i].func] += (double)nodes[i].total;
	for (uint32_t i = 0; !err && i < n_funcs; i++)
		err = nameless_add_func(&nameless, &funcs[i], weights[i]);
	return err ?: nameless_warn(&nameless, trace);
}
