/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks with weights to a tree of calls: a node is a function called along one path from the
 * root. Weights are integer nanoseconds; weights of different meaning (on CPU, off CPU) are never
 * put into the same tree.
 *
 * A stack is symbolized once for each (chunk, stack, process) and found again by a cache: the
 * rows of a chunk cost a lookup each.
 */
#ifndef REPORT_STACKS_MODEL_CALLTREE_H
#define REPORT_STACKS_MODEL_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/cleanup.h"
#include "format/read/rows.h"
#include "report/trace/trace.h"
#include "symbolize/symbolize.h"

struct calltree;

/* Stands where a stack has no frame, and no root has its time. */
#define CALLTREE_NO_FRAMES "[no frames]"

/* What kind of code a frame is: chooses its colour. */
enum calltree_kind {
	CALLTREE_ROOT, /* not code: a process, or the tree itself */
	CALLTREE_USER, /* of the program itself */
	CALLTREE_LIBRARY,
	CALLTREE_KERNEL,
	CALLTREE_INLINED,
	CALLTREE_JIT,
	CALLTREE_PYTHON,
	CALLTREE_UNRESOLVED,
	CALLTREE_ON_CPU, /* leaves that are not code: what a stack's time went to */
	CALLTREE_QUEUED,
	CALLTREE_OFF_CPU,
	CALLTREE_N_KINDS,
};

/* "user", "library", … */
const char *calltree_kind_name(enum calltree_kind kind);

/* A function, or what stands in its place. */
struct calltree_func {
	const char *name;	 /* any bytes */
	const char *object;	 /* path, "[kernel]" …, or "" */
	enum calltree_kind kind; /* of a call that is not inlined */
	enum sym_reason reason;
	const struct sym_func *sym; /* NULL: it is no function */
	/* With calltree_options.places; else 0. */
	const char *file; /* NULL: not known */
	uint32_t line;
	uint64_t address; /* see sym_frames */
};

/* 64 bytes, so that the part that placing a stack touches is in one cache line. */
struct calltree_node {
	uint32_t parent : 24; /* less than its own index; of the root: 0 */
	bool recursive : 1;   /* calls of itself are folded into it */
	bool inlined : 1;     /* into its parent */
	bool many_files : 1;
	bool recorder : 1; /* below RECORDER_FRAME, or that itself */
	uint32_t func;
	uint32_t line_first, line_last; /* lines of `file` seen in this frame; 0: not known */
	const char *file;		/* NULL: not known, or several */
	uint64_t self, total;		/* total is there after calltree_finish() */
	uint64_t count;			/* stacks that end here */
	uint64_t stacks;		/* or below; after calltree_finish() */
	uint32_t child;			/* the first; 0: none. In order of making */
	uint32_t sibling;		/* the next; 0: none */
};

/* What the first frame of a stack says. */
enum calltree_roots {
	CALLTREE_BY_COMM,    /* name of the process; processes of one name are one */
	CALLTREE_BY_PROCESS, /* name (pid) */
	CALLTREE_BY_THREAD,  /* name (pid/tid), of the thread */
	CALLTREE_NO_ROOTS,   /* nothing: functions only */
};

struct calltree_options {
	enum calltree_roots roots;
	/* The name for the root of a task's stacks; NULL: what it was called at the time. */
	struct ebt_str (*name)(const void *arg, const struct ebt_task *task);
	const void *arg;
	/* Below the first frame one for the thread, "name (tid)"; where processes of one name are
	 * one, so are their threads of one name: "name". */
	bool threads;
	struct ebt_str (*thread_name)(const void *arg, const struct ebt_task *task); /* or NULL */
	const void *thread_arg;
	/* A function is as often among the functions as there are places where it was, so that each
	 * has an address and a line. */
	bool places;
	/* calltree_func.address is the offset in the file, which is known without it, of the byte
	 * that decides on the functions: where a call was made from, that before the one to which
	 * it returns. An offset has the same functions then, wherever it stands in a stack. */
	bool deciding;
};

/* The sym must outlive the tree. */
struct ebt_error *calltree_create(struct sym *sym, const struct calltree_options *options,
				  struct calltree **ret);
/* As calltree_options.name and .thread_name; arg is a struct names. */
struct ebt_str calltree_process_name(const void *arg, const struct ebt_task *task);
struct ebt_str calltree_thread_name(const void *arg, const struct ebt_task *task);
/* With the names of a trace: stacks begin with that of their process or, by thread, their thread.
 */
struct ebt_error *calltree_create_for(struct trace *trace, enum calltree_roots roots,
				      struct calltree **ret);
void calltree_destroy(struct calltree *tree);
DEFINE_CLEANUP(struct calltree *, calltree_destroy);

/* A row's stacks, to be found in its batch. */
struct calltree_stack {
	const struct ebt_batch *batch;
	const struct ebt_task *task; /* whose stack it is; NULL: idle */
	uint64_t time;
	uint64_t kernel, user; /* values of the columns; 0: none */
};

/* Of a row of table sample. */
static inline struct calltree_stack calltree_sample_stack(const struct ebt_row *row)
{
	return (struct calltree_stack){ row->batch, ebt_sample_task(row), row->time,
					ebt_sample_kstack_id(row), ebt_sample_ustack_id(row) };
}

/* The node of the stack's innermost frame, made if there is none yet. */
struct ebt_error *calltree_place(struct calltree *tree, const struct calltree_stack *stack,
				 uint32_t *ret);

/* A stack with this weight ended at the node. */
void calltree_add(struct calltree *tree, uint32_t node, uint64_t weight);

/* The child of a node with this name, which is no function of a sym. */
struct ebt_error *calltree_named(struct calltree *tree, uint32_t node, const char *name,
				 enum calltree_kind kind, uint32_t *ret);

/* The weight goes to a child of the node that is no function. */
struct ebt_error *calltree_add_leaf(struct calltree *tree, uint32_t node, const char *name,
				    enum calltree_kind kind, uint64_t weight);

/* Works out the totals, and puts children in order of their names. After the last stack. */
struct ebt_error *calltree_finish(struct calltree *tree);

/* Node 0 is the root of all, a parent's index is less than its children's. */
const struct calltree_node *calltree_nodes(const struct calltree *tree, uint32_t *ret_n);
const struct calltree_func *calltree_funcs(const struct calltree *tree, uint32_t *ret_n);
/* Depth first: the node behind this one of those below `top`; 0: there is none. */
uint32_t calltree_next(const struct calltree_node *nodes, uint32_t at, uint32_t top);
/* Weight of all stacks. */
uint64_t calltree_total(const struct calltree *tree);
enum calltree_kind calltree_node_kind(const struct calltree *tree, uint32_t node);
/* The innermost function of the program, or of the kernel where there is none; UINT32_MAX: neither.
 */
uint32_t calltree_caller(const struct calltree *tree, uint32_t node);
/* Its node; 0: neither. */
uint32_t calltree_caller_node(const struct calltree *tree, uint32_t node);

/* Weight of one function over the whole tree. */
struct calltree_flat {
	uint32_t func;
	uint64_t self, total; /* total: each stack counts once, however often it recurses */
	uint64_t count;	      /* stacks that end in it */
	uint64_t stacks;      /* that it is in */
	bool inlined;	      /* in all places */
	const char *file;     /* where it is seen inlined or called: of the heaviest place */
	uint32_t line_first, line_last;
};

/* One entry for each function that is in a stack, the heaviest total first. Free it with free(). */
struct ebt_error *calltree_flat(const struct calltree *tree, struct calltree_flat **ret,
				size_t *ret_n);

/*
 * The tree as one function sees it: root 0 is the function; below it, its callers (each a caller
 * of its parent node) or what it calls. total counts a stack once for each outermost occurrence;
 * self of a caller node is what reached the function from the root of the stack there.
 */
enum calltree_view { CALLTREE_CALLERS, CALLTREE_CALLEES };

struct ebt_error *calltree_focus(const struct calltree *tree, uint32_t func,
				 enum calltree_view view, struct calltree **ret);

/* A tree of what is below one node, which becomes the root. The first tree owns the names. */
struct ebt_error *calltree_branch(const struct calltree *tree, uint32_t node,
				  struct calltree **ret);

#endif
