/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deferred unwinding; see deferred.h. */
#include "symbolize/deferred.h"

#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "unwind/image.h"
#include "unwind/step.h"
#include "unwind/table.h"

/* Of an object of the trace. */
struct known_table {
	bool tried;
	struct unwind_table *table; /* NULL: there is none */
};

struct deferred {
	struct addrspace *space;
	struct objects *objects;
	struct known_table *tables; /* by number of the object */
	size_t n_tables;
};

struct ebt_error *deferred_create(struct addrspace *space, struct objects *objects,
				  struct deferred **ret)
{
	struct deferred *f = calloc(1, sizeof(*f));

	if (!f)
		return &ebt_enomem;
	f->space = space;
	f->objects = objects;
	addrspace_objects(space, &f->n_tables);
	f->tables = calloc(f->n_tables + 1, sizeof(*f->tables));
	if (!f->tables) {
		free(f);
		return &ebt_enomem;
	}
	*ret = f;
	return NULL;
}

void deferred_destroy(struct deferred *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_tables; i++)
		unwind_table_destroy(f->tables[i].table);
	free(f->tables);
	free(f);
}

/* --- a walk --- */

struct dumped {
	struct deferred *deferred;
	uint32_t incarnation;
	uint64_t time;
	uint64_t start; /* of the copy */
	const char *memory;
	size_t len;
	struct ebt_error *err; /* that ends everything */
};

/* What is wrong with a file is no error: the stack stays partial. */
static struct ebt_error *unless_fatal(struct ebt_error *err)
{
	if (!err || err->code == EBT_ERR_NOMEM)
		return err;
	ebt_error_destroy(err);
	return NULL;
}

static struct ebt_error *make_table(const struct object *object, struct unwind_table **ret)
{
	const struct elf_file *file = object->module->files.main;
	struct unwind_image image = { 0 };
	_cleanup_close_ int fd = -1;
	struct ebt_error *err;
	uint64_t size;

	if (!file)
		return NULL;
	if (file->path) {
		fd = sym_open_regular(file->path, &size);
		if (fd < 0)
			return NULL;
		err = unwind_image_read(fd, &image);
	} else {
		size_t len;
		const char *data = elf_rawfile(file->elf, &len);

		if (!data)
			return NULL;
		err = unwind_image_read_memory(data, len, &image);
	}
	if (!err)
		err = unwind_table_build(&image, ret);
	unwind_image_deinit(&image);
	return unless_fatal(err);
}

/* The table of an object, or NULL. */
static struct ebt_error *get_table(struct deferred *f, uint32_t number, const struct object *object,
				   const struct unwind_table **ret)
{
	struct known_table *known = &f->tables[number];
	struct ebt_error *err;

	*ret = known->table;
	if (known->tried)
		return NULL;
	known->tried = true;
	err = objects_open(f->objects, number);
	if (!err)
		err = module_need_files(object->module);
	if (!err)
		err = make_table(object, &known->table);
	*ret = known->table;
	return err;
}

static enum unwind_code find_table(void *arg, uint64_t pc, const struct unwind_table **ret,
				   uint64_t *ret_bias)
{
	struct dumped *d = arg;
	struct addrspace_place place = { 0 };
	struct object *object;
	uint64_t address;

	if (d->err || d->incarnation == ADDRSPACE_NO_INCARNATION)
		return UNWIND_CODE_NONE;
	d->err = addrspace_find(d->deferred->space, d->incarnation, pc, d->time, &place);
	if (d->err || !place.found)
		return UNWIND_CODE_NONE;
	d->err = objects_get(d->deferred->objects, place.object, &object);
	if (d->err)
		return UNWIND_CODE_NONE;
	if (object->anonymous)
		return UNWIND_CODE_UNTOLD;
	d->err = get_table(d->deferred, place.object, object, ret);
	if (d->err || !*ret)
		return UNWIND_CODE_LATER;
	if (!(*ret)->n_pages)
		return UNWIND_CODE_UNTOLD;
	if (!unwind_segments_address(&(*ret)->segments, place.offset, &address))
		return UNWIND_CODE_UNTOLD;
	*ret_bias = pc - (address - (*ret)->base);
	return UNWIND_CODE_TABLE;
}

static bool read_memory(void *arg, uint64_t address, void *data, size_t len)
{
	const struct dumped *d = arg;

	if (address < d->start || address - d->start > d->len ||
	    len > d->len - (address - d->start))
		return false;
	memcpy(data, d->memory + (address - d->start), len);
	return true;
}

/* The frame of a dump; false: it is none that is known here. */
static bool parse(struct ebt_str dump, struct unwind_frame *frame, struct dumped *ret)
{
	struct ebt_wire_dump head;
	size_t bytes;

	if (dump.len < sizeof(head))
		return false;
	memcpy(&head, dump.data, sizeof(head));
	if (head.n != EBT_DUMP_X86_REGISTERS && head.n != EBT_DUMP_ARM64_REGISTERS)
		return false;
	bytes = head.n * sizeof(uint64_t);
	if (dump.len - sizeof(head) < bytes)
		return false;
	*frame = (struct unwind_frame){
		.arch = head.n == EBT_DUMP_X86_REGISTERS ? CFI_X86_64 : CFI_AARCH64,
		.pc = head.pc,
		.inner = head.attrs & EBT_DUMP_INNER,
		.caller = head.attrs & EBT_DUMP_CALLER,
	};
	memcpy(frame->registers, dump.data + sizeof(head), bytes);
	ret->start = frame->registers[frame->arch == CFI_X86_64 ? 7 : 31] - EBT_DUMP_BELOW;
	ret->memory = dump.data + sizeof(head) + bytes;
	ret->len = dump.len - sizeof(head) - bytes;
	return true;
}

struct ebt_error *deferred_unwind(struct deferred *f, uint32_t incarnation, uint64_t time_ns,
				  const struct ebt_stack *partial, struct ebt_str dump,
				  uint64_t *addresses, struct ebt_stack *ret)
{
	struct dumped dumped = { .deferred = f, .incarnation = incarnation, .time = time_ns };
	const struct unwind_space space = { find_table, read_memory, &dumped };
	struct unwind_frame frame;
	uint32_t first, methods, stop;
	size_t n;

	*ret = *partial;
	if (!partial->n || !parse(dump, &frame, &dumped) ||
	    frame.pc != partial->addresses[partial->n - 1])
		return NULL;
	first = partial->n - 1;
	memcpy(addresses, partial->addresses, first * sizeof(*addresses));
	stop = unwind_walk(&frame, &space, addresses + first, EBT_MAX_FRAMES - first, &n);
	if (dumped.err)
		return dumped.err;
	methods =
		(partial->attrs >> EBT_STACK_METHOD_SHIFT & 0xff) | frame.methods | EBT_METHOD_DUMP;
	ret->attrs = EBT_STACK_USER | methods << EBT_STACK_METHOD_SHIFT |
		     stop << EBT_STACK_STOP_SHIFT |
		     (stop == EBT_STOP_TRUNCATED ? EBT_STACK_TRUNCATED : 0);
	ret->n = first + (uint32_t)n;
	ret->addresses = addresses;
	return NULL;
}
