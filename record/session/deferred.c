/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records that wait, and walks over their dumps; see deferred.h. */
#include "record/session/deferred.h"

#include <linux/types.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "format/schema/wire.h"
#include "record/bpf/shared.h"
#include "record/bpf/unwind_maps.h"
#include "record/sideband/tasks.h"
#include "record/unwind/model.h"
#include "record/unwind/unwinder.h"
#include "unwind/step.h"
#include "unwind/table.h"

#define NS_PER_MS UINT64_C(1000000)

/* Mappings, forks and exits are known so long after they happened. */
#define WAIT_NS (150 * NS_PER_MS)

/* A record that is older when it comes might be too late for the stream afterwards. */
#define MAX_AGE_NS (500 * NS_PER_MS)

#define MAX_BYTES  (4u << 20)

/* DWARF numbers. */
enum { FP = 6, SP = 7 };

struct taken {
	struct taken *next;
	uint64_t time;
	size_t len;
	unsigned char record[];
};

struct deferred {
	struct unwinder *unwinder;
	struct tasks *tasks;
	pthread_mutex_t lock; /* of what follows */
	struct taken *first;  /* the newest first */
	size_t bytes;
	struct deferred_stats stats;
};

/* Tables whose rows may have a dump. */
struct layout {
	size_t size, task, kstack, ustack, udump;
};

#define LAYOUT(table, task_field)                                                               \
	{                                                                                       \
		sizeof(struct ebt_wire_##table), offsetof(struct ebt_wire_##table, task_field), \
			offsetof(struct ebt_wire_##table, kstack),                              \
			offsetof(struct ebt_wire_##table, ustack),                              \
			offsetof(struct ebt_wire_##table, udump),                               \
	}

static const struct layout sample_layout = LAYOUT(sample, task);
static const struct layout switch_layout = LAYOUT(sched_switch, prev);

static const struct layout *layout_of(const void *record, size_t len)
{
	const struct layout *layout = NULL;
	struct ebt_wire_head head;

	if (len < sizeof(head))
		return NULL;
	memcpy(&head, record, sizeof(head));
	if (head.table == EBT_T_sample)
		layout = &sample_layout;
	else if (head.table == EBT_T_sched_switch)
		layout = &switch_layout;
	return layout && len >= layout->size ? layout : NULL;
}

/* Bytes that the reference at `offset` points to; NULL: none, or outside. */
static const unsigned char *refered(const void *record, size_t len, size_t offset, size_t *ret_len)
{
	struct ebt_ref ref;

	memcpy(&ref, (const unsigned char *)record + offset, sizeof(ref));
	if (!ref.len || ref.off > len || ref.len > len - ref.off)
		return NULL;
	*ret_len = ref.len;
	return (const unsigned char *)record + ref.off;
}

struct ebt_error *deferred_create(struct unwinder *unwinder, struct tasks *tasks,
				  struct deferred **ret)
{
	struct deferred *d;

	if (!unwinder || !unwinder->finishes)
		return NULL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return &ebt_enomem;
	d->unwinder = unwinder;
	d->tasks = tasks;
	pthread_mutex_init(&d->lock, NULL);
	*ret = d;
	return NULL;
}

void deferred_destroy(struct deferred *d)
{
	if (!d)
		return;
	for (struct taken *taken = d->first, *next; taken; taken = next) {
		next = taken->next;
		free(taken);
	}
	pthread_mutex_destroy(&d->lock);
	free(d);
}

bool deferred_take(struct deferred *d, const void *record, size_t len, uint64_t now_ns)
{
	const struct layout *layout = layout_of(record, len);
	struct taken *taken;
	uint64_t time;
	bool fits;
	size_t n;

	if (!layout || !refered(record, len, layout->udump, &n))
		return false;
	memcpy(&time, (const char *)record + offsetof(struct ebt_wire_head, time), sizeof(time));
	taken = time + MAX_AGE_NS > now_ns ? malloc(sizeof(*taken) + len) : NULL;
	if (taken) {
		taken->time = time;
		taken->len = len;
		memcpy(taken->record, record, len);
	}
	pthread_mutex_lock(&d->lock);
	fits = taken && d->bytes + len <= MAX_BYTES;
	if (fits) {
		taken->next = d->first;
		d->first = taken;
		d->bytes += len;
		d->stats.taken++;
	} else {
		d->stats.refused++;
	}
	pthread_mutex_unlock(&d->lock);
	if (!fits)
		free(taken);
	return fits;
}

/* --- one walk --- */

struct memory {
	const struct deferred *deferred;
	uint32_t pid;
	uint64_t start; /* of the copy */
	const unsigned char *data;
	size_t len;
};

static bool read_memory(void *arg, uint64_t address, void *data, size_t len)
{
	const struct memory *m = arg;

	if (address < m->start || address - m->start > m->len ||
	    len > m->len - (address - m->start))
		return false;
	memcpy(data, m->data + (address - m->start), len);
	return true;
}

static enum unwind_code find_table(void *arg, uint64_t pc, const struct unwind_table **ret,
				   uint64_t *ret_bias)
{
	const struct memory *m = arg;
	const struct unwinder *u = m->deferred->unwinder;

	return unwinder_code(u, unwind_model_find(&u->past, m->pid, pc), UINT64_MAX, ret, ret_bias);
}

/* A dump that has been checked. */
struct dump {
	struct ebt_wire_dump head;
	uint64_t registers[EBT_DUMP_X86_REGISTERS];
	const unsigned char *memory;
	size_t len;
};

static bool parse_dump(const unsigned char *data, size_t len, struct dump *ret)
{
	const size_t head = sizeof(ret->head) + sizeof(ret->registers);

	if (len < head)
		return false;
	memcpy(&ret->head, data, sizeof(ret->head));
	memcpy(ret->registers, data + sizeof(ret->head), sizeof(ret->registers));
	ret->memory = data + head;
	ret->len = len - head;
	return ret->head.n == EBT_DUMP_X86_REGISTERS;
}

/* Could the files of the recorded machine say more than the tables here? */
static bool is_open(uint32_t stop)
{
	return stop == EBT_STOP_NO_MAPPING || stop == EBT_STOP_NO_TABLE ||
	       stop == EBT_STOP_NO_ROW || stop == EBT_STOP_FRAME_POINTER;
}

/* What of the dump lies behind the place where the walk ended. */
static void add_rest(struct ebt_record *out, size_t offset, const struct unwind_frame *frame,
		     const struct dump *dump)
{
	uint64_t gone = frame->registers[SP] - dump->registers[SP];
	struct {
		struct ebt_wire_dump head;
		uint64_t registers[EBT_DUMP_X86_REGISTERS];
		unsigned char memory[EBT_DUMP_STACK];
	} rest = {
		.head.attrs =
			(frame->caller ? EBT_DUMP_CALLER : 0) | (frame->inner ? EBT_DUMP_INNER : 0),
		.head.n = EBT_DUMP_X86_REGISTERS,
		.head.pc = frame->pc,
	};
	size_t len = 0;

	if (frame->inner) {
		memcpy(rest.registers, frame->registers, sizeof(rest.registers));
	} else {
		rest.registers[FP] = frame->registers[FP];
		rest.registers[SP] = frame->registers[SP];
	}
	if (gone < dump->len) {
		len = dump->len - gone;
		if (len > sizeof(rest.memory))
			len = sizeof(rest.memory);
		memcpy(rest.memory, dump->memory + gone, len);
	}
	ebt_record_bytes(out, offset, &rest, sizeof(rest.head) + sizeof(rest.registers) + len);
}

/* A stack with as many addresses as the BPF programs give at the most. */
struct stack {
	struct ebt_wire_stack head;
	uint64_t addresses[EBREC_MAX_STACK];
};

static bool parse_stack(const unsigned char *data, size_t len, struct stack *ret)
{
	if (!data || len < sizeof(ret->head))
		return false;
	memcpy(&ret->head, data, sizeof(ret->head));
	if (!ret->head.n || ret->head.n > EBREC_MAX_STACK ||
	    len != sizeof(ret->head) + ret->head.n * sizeof(uint64_t))
		return false;
	memcpy(ret->addresses, data + sizeof(ret->head), ret->head.n * sizeof(uint64_t));
	return true;
}

/* Continues the walk at the last frame of the stack. Returns EBT_STOP_*. */
static uint32_t continue_walk(const struct deferred *d, uint32_t pid, const struct dump *dump,
			      struct stack *stack, struct unwind_frame *frame)
{
	struct memory memory = { d, pid, dump->registers[SP] - EBT_DUMP_BELOW, dump->memory,
				 dump->len };
	const struct unwind_space space = { find_table, read_memory, &memory };
	uint32_t first = stack->head.n - 1, max = d->unwinder->max_stack, methods, stop;
	size_t n;

	*frame = (struct unwind_frame){
		.arch = CFI_X86_64,
		.pc = dump->head.pc,
		.inner = dump->head.attrs & EBT_DUMP_INNER,
		.caller = dump->head.attrs & EBT_DUMP_CALLER,
	};
	memcpy(frame->registers, dump->registers, sizeof(dump->registers));
	stop = unwind_walk(frame, &space, stack->addresses + first, max > first ? max - first : 0,
			   &n);
	stack->head.n = first + (uint32_t)n;
	methods = (stack->head.attrs >> EBT_STACK_METHOD_SHIFT & 0xff) | frame->methods |
		  EBT_METHOD_DUMP;
	stack->head.attrs = EBT_STACK_USER | methods << EBT_STACK_METHOD_SHIFT |
			    stop << EBT_STACK_STOP_SHIFT |
			    (stop == EBT_STOP_TRUNCATED ? EBT_STACK_TRUNCATED : 0);
	return stop;
}

/* Adds the record, with what the walk has found. */
static struct ebt_error *add_walked(struct deferred *d, struct ebt_stream *stream,
				    const struct taken *taken, struct ebt_record *out)
{
	const struct layout *layout = layout_of(taken->record, taken->len);
	const unsigned char *kstack, *data;
	struct ebt_wire_head head;
	struct unwind_frame frame;
	struct ebt_task_id id;
	size_t klen = 0, len;
	struct stack stack;
	struct dump dump;
	uint32_t tid, stop;
	char *row;

	data = refered(taken->record, taken->len, layout->udump, &len);
	if (!data || !parse_dump(data, len, &dump))
		return ebt_stream_add(stream, taken->record, taken->len);
	data = refered(taken->record, taken->len, layout->ustack, &len);
	if (!parse_stack(data, len, &stack))
		return ebt_stream_add(stream, taken->record, taken->len);
	memcpy(&head, taken->record, sizeof(head));
	memcpy(&tid, taken->record + layout->task, sizeof(tid));
	tasks_resolve(d->tasks, tid, taken->time, &id);
	stop = continue_walk(d, id.pid, &dump, &stack, &frame);

	row = ebt_record_begin(out, head.table, taken->time);
	memcpy(row + sizeof(head), taken->record + sizeof(head), layout->size - sizeof(head));
	memset(row + layout->kstack, 0, sizeof(struct ebt_ref));
	memset(row + layout->ustack, 0, sizeof(struct ebt_ref));
	memset(row + layout->udump, 0, sizeof(struct ebt_ref));
	kstack = refered(taken->record, taken->len, layout->kstack, &klen);
	if (kstack)
		ebt_record_bytes(out, layout->kstack, kstack, klen);
	ebt_record_bytes(out, layout->ustack, &stack,
			 sizeof(stack.head) + stack.head.n * sizeof(uint64_t));
	if (is_open(stop))
		add_rest(out, layout->udump, &frame, &dump);
	else
		d->stats.whole += stop == EBT_STOP_ROOT;
	return ebt_record_add(out, stream);
}

/* --- all of them --- */

/* Takes those that are old enough, and puts them into order of time: *ret_n in a new array. */
static struct taken **take_old(struct deferred *d, uint64_t before, size_t *ret_n)
{
	struct taken **list = NULL, **p;
	size_t n = 0;

	pthread_mutex_lock(&d->lock);
	for (p = &d->first; *p; p = &(*p)->next)
		n += (*p)->time < before;
	if (n)
		list = calloc(n, sizeof(*list));
	n = 0;
	for (p = &d->first; list && *p;) {
		struct taken *taken = *p;

		if (taken->time >= before) {
			p = &taken->next;
			continue;
		}
		*p = taken->next;
		d->bytes -= taken->len;
		list[n++] = taken;
	}
	pthread_mutex_unlock(&d->lock);
	*ret_n = n;
	return list;
}

static int compare_taken(const void *a, const void *b)
{
	const struct taken *x = *(struct taken *const *)a, *y = *(struct taken *const *)b;

	return (x->time > y->time) - (x->time < y->time);
}

struct ebt_error *deferred_run(struct deferred *d, struct ebt_stream *stream, uint64_t now_ns,
			       bool all)
{
	uint64_t before = all ? UINT64_MAX : now_ns > WAIT_NS ? now_ns - WAIT_NS : 0;
	struct ebt_record out = EBT_RECORD_INIT;
	struct ebt_error *err = NULL;
	struct taken **list;
	size_t n;

	if (!d)
		return NULL;
	list = take_old(d, before, &n);
	if (n)
		qsort(list, n, sizeof(*list), compare_taken);
	for (size_t i = 0; i < n; i++) {
		unwind_model_advance(&d->unwinder->past, list[i]->time);
		if (!err)
			err = add_walked(d, stream, list[i], &out);
		free(list[i]);
	}
	free(list);
	ebt_record_deinit(&out);
	unwind_model_advance(&d->unwinder->past, before);
	return err;
}

void deferred_stats(struct deferred *d, struct deferred_stats *ret)
{
	pthread_mutex_lock(&d->lock);
	*ret = d->stats;
	pthread_mutex_unlock(&d->lock);
}
