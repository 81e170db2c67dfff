/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks in the memory of another process; see thread_walk.h. */
#include "record/session/thread_walk.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

#include "record/bpf/lock_owner.h"
#include "record/session/reader.h"
#include "record/session/thread_python.h"
#include "record/unwind/unwinder.h"
#include "unwind/step.h"

/* Read at a time: most stacks are not larger. */
#define PAGE  4096u
#define PAGES 4

_Static_assert((int)EBT_V_thread_stack_owner_by_futex == (int)EBT_V_futex_wait_owner_by_futex &&
		       (int)EBT_V_thread_stack_owner_by_guess ==
			       (int)EBT_V_futex_wait_owner_by_guess,
	       "lock_owner() gives values of both");

struct thread_memory {
	const struct thread_walk *walk;
	uint32_t pid, tid;
	uint32_t table; /* of the frame that was looked at last, and what to subtract there */
	uint64_t bias;
	uint64_t start;
	size_t len;
	unsigned char data[PAGES * PAGE];
};

/* Whole pages, as many as there are of those wanted. */
static void read_pages(struct thread_memory *m, uint64_t address)
{
	struct iovec local = { m->data, sizeof(m->data) }, remote[PAGES];
	ssize_t n;

	m->start = address & ~(uint64_t)(PAGE - 1);
	for (size_t i = 0; i < PAGES; i++)
		remote[i] = (struct iovec){ (char *)(uintptr_t)m->start + i * PAGE, PAGE };
	n = reader_read(m->walk->reader, (pid_t)m->tid, &local, remote, PAGES);
	m->len = n > 0 ? (size_t)n : 0;
}

static bool read_memory(void *arg, uint64_t address, void *data, size_t len)
{
	struct thread_memory *m = arg;

	for (int i = 0; i < 2; i++) {
		if (address >= m->start && address - m->start <= m->len &&
		    len <= m->len - (address - m->start)) {
			memcpy(data, m->data + (address - m->start), len);
			return true;
		}
		if (!i)
			read_pages(m, address);
	}
	return false;
}

/* What is read of Python does not lie together. */
static bool read_object(void *arg, uint64_t address, void *ret, size_t len)
{
	const struct thread_memory *m = arg;
	struct iovec local = { ret, len }, remote = { (void *)(uintptr_t)address, len };

	return reader_read(m->walk->reader, (pid_t)m->tid, &local, &remote, 1) == (ssize_t)len;
}

static enum unwind_code find_table(void *arg, uint64_t pc, const struct unwind_table **ret,
				   uint64_t *ret_bias)
{
	struct thread_memory *m = arg;
	const struct unwinder *u = m->walk->unwinder;
	const struct ebrec_unwind_mapping *mapping;

	if (!u)
		return UNWIND_CODE_UNTOLD;
	mapping = unwind_spaces_find(u->spaces, m->pid, pc);
	m->table = mapping ? mapping->table : UNWIND_TABLE_NONE;
	m->bias = mapping ? mapping->bias : 0;
	return unwinder_code(u, mapping, m->walk->deadline, ret, ret_bias);
}

/* As unwind_walk(), with what Python ran in between. */
static uint32_t walk_entries(struct unwind_frame *frame, struct thread_memory *m,
			     struct python_stack *python, uint64_t *entries, uint32_t *ret_n)
{
	const struct unwind_space space = { find_table, read_memory, m };
	const struct thread_walk *walk = m->walk;
	uint32_t stop = EBT_STOP_UNKNOWN, n = 0;

	for (uint32_t frames = 0; !stop && frames < walk->max && n < walk->max_entries; frames++) {
		const uint64_t low = frame->registers[CFI_X86_RSP];

		entries[n++] = frame->pc;
		stop = unwind_step(frame, &space);
		if (!stop && python) {
			const struct python_native native = {
				.low = low,
				.high = frame->registers[CFI_X86_RSP],
				.bias = m->bias,
				.table = m->table,
			};
			const uint32_t more = python_stack_add(python, &native, entries + n,
							       walk->max_entries - n);

			frame->methods |= more ? EBT_METHOD_INTERP : 0;
			n += more;
		}
	}
	*ret_n = n;
	return stop ? stop : EBT_STOP_TRUNCATED;
}

uint32_t thread_walk(const struct thread_walk *walk, const struct ebrec_thread_stack *row,
		     uint64_t *entries, uint32_t *ret_attrs)
{
	struct unwind_frame frame = {
		.arch = CFI_X86_64,
		.pc = row->pc,
		.inner = true,
		.caller = row->caller,
	};
	struct thread_memory memory = { .walk = walk, .pid = row->pid, .tid = row->tid };
	struct python_stack python;
	uint32_t stop, n;

	if (walk->python)
		python_stack_begin(&python, walk->python, row, read_object, &memory);
	memcpy(frame.registers, row->registers, sizeof(row->registers));
	stop = walk_entries(&frame, &memory, walk->python ? &python : NULL, entries, &n);
	*ret_attrs = EBT_STACK_USER | frame.methods << EBT_STACK_METHOD_SHIFT |
		     stop << EBT_STACK_STOP_SHIFT |
		     (stop == EBT_STOP_TRUNCATED ? EBT_STACK_TRUNCATED : 0);
	return n;
}

uint32_t thread_lock_owner(const struct thread_walk *walk, const struct ebrec_thread_stack *row,
			   uint32_t *ret_owner_by)
{
	/* di, si, dx: the first arguments, in the order of DWARF. */
	const uint64_t address = row->registers[5], value = row->registers[1];
	const uint32_t op = (uint32_t)row->registers[4] &
			    ~(uint32_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
	struct glibc_mutex mutex;
	struct iovec local = { &mutex, sizeof(mutex) };
	struct iovec remote = { (void *)(uintptr_t)address, sizeof(mutex) };

	*ret_owner_by = EBT_V_thread_stack_owner_by_not_known;
	if (row->call != SYS_futex || row->compat || row->namespaced ||
	    reader_read(walk->reader, (pid_t)row->tid, &local, &remote, 1) != sizeof(mutex))
		return 0;
	return lock_owner(op, (uint32_t)value, &mutex, ret_owner_by);
}
