/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses to names, offline. A symbolizer belongs to one trace: it reads the mappings, forks,
 * execs and kernel symbols that the trace carries, and finds files by build-id. It never prints,
 * never uses a file whose build-id differs from the recorded one, and never drops a frame: what
 * cannot be named is `file+0xoffset` with a reason.
 */
#ifndef SYMBOLIZE_SYMBOLIZE_H
#define SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/read/reader.h"
#include "symbolize/base/types.h"

struct sym;

/* "no such file", … for people and JSON. */
const char *sym_reason_name(enum sym_reason reason);

/* The options are copied. The reader must outlive the sym. */
struct ebt_error *sym_create(struct ebt_reader *reader, const struct sym_options *options,
			     struct sym **ret);
void sym_destroy(struct sym *sym);

/*
 * Names of an entry of a stack, which is an address that `task` had at `time_ns`, or a function of
 * an interpreter. attrs: those of the stack that the address
 * is from (EBT_STACK_USER or kernel). caller: it is a return address, so that the byte before it
 * decides. task may be NULL for kernel addresses. Fast where it was asked before.
 */
struct ebt_error *sym_resolve(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
			      uint32_t attrs, uint64_t address, bool caller,
			      struct sym_frames *ret);

/* For what the names of an address are what they are. */
struct sym_validity {
	uint32_t process;  /* whose address it is: another number if its id is used again */
	uint64_t from, to; /* ns: from <= time < to */
};

/* sym_resolve(), and how long the answer holds. */
struct ebt_error *sym_resolve_valid(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
				    uint32_t attrs, uint64_t address, bool caller,
				    struct sym_frames *ret, struct sym_validity *ret_valid);

/*
 * Says that an address will be asked for. Many are looked up together, by several threads, when
 * sym_find_collected() is called: sym_resolve() is fast then, and gives the same answers.
 */
struct ebt_error *sym_collect(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
			      uint32_t attrs, uint64_t address, bool caller);
struct ebt_error *sym_find_collected(struct sym *sym);

/*
 * Goes on with a user stack that is not whole by what the row has in `udump`. addresses has room
 * for EBT_MAX_FRAMES; *ret is in there, or is the partial stack as it was, if the files that it
 * takes are not here.
 */
struct ebt_error *sym_unwind_deferred(struct sym *sym, const struct ebt_task *task,
				      uint64_t time_ns, const struct ebt_stack *partial,
				      struct ebt_str dump, uint64_t *addresses,
				      struct ebt_stack *ret);

/* A place in a file that an address was resolved to, and what files that are here say about it. */
struct sym_place {
	uint32_t object; /* number of the mapped file, from 0 */
	const char *path;
	const unsigned char *build_id;
	size_t build_id_len;
	uint64_t offset;  /* in the file */
	uint64_t address; /* that it is linked to */
	bool caller;
	enum sym_reason reason;
	struct sym_frames frames; /* none where the reason is not SYM_OK */
};
typedef struct ebt_error *sym_place_fn(void *arg, const struct sym_place *place);

/* All of them so far that the trace itself did not name. */
struct ebt_error *sym_each_place(struct sym *sym, sym_place_fn *take, void *arg);

void sym_tally(struct sym *sym, struct sym_tally *ret);

/* Numbers are from 0. sym_object() opens files, and asks servers if they may be asked. */
size_t sym_n_objects(const struct sym *sym);
struct ebt_error *sym_object(struct sym *sym, uint32_t number, struct sym_object *ret);

/* Says that addresses of the object will be asked for: what servers have of it can come meanwhile.
 */
struct ebt_error *sym_expect(struct sym *sym, uint32_t number);

/* The mapped file that an address of a process was in. */
struct ebt_error *sym_locate(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
			     uint64_t address, bool caller, bool *ret_found, uint32_t *ret);

/* The variable of a file at an address of a process. found is false for memory of other kinds. */
struct ebt_error *sym_variable(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
			       uint64_t address, struct sym_variable *ret);

/* What debug information says of the function that begins at this offset of a mapped file. */
struct ebt_error *sym_parameters(struct sym *sym, const char *path, struct ebt_str build_id,
				 uint64_t offset, struct sym_parameters *ret);

#endif
