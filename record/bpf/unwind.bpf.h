/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walking user stacks by tables made of .eh_frame (unwind/cfi_row.h), frame pointers where there
 * can be no table. One walk, unwind_user(), for all programs; it works where faults are not
 * allowed and where a sampler interrupts another walk.
 *
 * For the verifier: the steps of a walk are a bpf_loop() callback, its state lies in a map, and
 * whatever indexes a map is a key, never an offset into a value; otherwise each frame's state
 * would be told apart from every other's, and the program be too large.
 */
#ifndef RECORD_BPF_UNWIND_BPF_H
#define RECORD_BPF_UNWIND_BPF_H

#include "record/bpf/python.bpf.h"
#include "record/bpf/stack.bpf.h"
#include "record/bpf/unwind_chain.bpf.h"
#include "record/bpf/unwind_returns.bpf.h"
#include "record/bpf/unwind_space.bpf.h"

struct unwind_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_CHUNK_ROWS);
	__uint(key_size, sizeof(__u32)); /* types of an inner map's own are left out of the BTF */
	__uint(value_size, sizeof(struct cfi_row));
};

EBREC_MAPS(unwind_rows, struct unwind_chunk) __weak;
EBREC_SHARED_ARRAY(unwind_pages, struct ebrec_unwind_page) __weak;
EBREC_SHARED_ARRAY(unwind_tables, struct ebrec_unwind_table) __weak;

/* A walk as it goes. */
struct unwind_state {
	__u64 pc, sp, fp;
	__u64 regs[4];			     /* of the innermost frame: rdi, r10, rax, r11 */
	struct ebrec_unwind_mapping mapping; /* the last one found; end 0: none */
	struct ebrec_unwind_process process;
	__u32 n;       /* entries so far */
	__u32 python;  /* of these, functions of an interpreter */
	__u32 methods; /* EBT_METHOD_* */
	__u32 stop;    /* EBT_STOP_* */
	__u32 taken;   /* whoever interrupts this walk takes the next state; its number from 1 */
	bool caller;   /* pc is a return address */
	struct unwind_returns returns;
};

/* Walks that can be under way on one CPU: of a task, of an interrupt, of an NMI. */
#define UNWIND_LEVELS 3

EBREC_CPU_ARRAY(unwind_states, UNWIND_LEVELS, struct unwind_state) __weak;

struct unwind_walk {
	struct unwind_state *state;
	__u64 *addresses;	      /* config.max_entries */
	struct unwind_lesson *lesson; /* or NULL */
	struct python_walk *python;   /* or NULL */
};

/* The searches, and other parts of a walk, are global functions: the verifier goes through them
 * once, and not through what comes behind them again for each place where they may end. It goes
 * through them also where nothing is walked by tables, and there are no maps of tables. */
__weak bool unwind_find_mapping(struct unwind_state *s, __u64 pc)
{
	const struct ebrec_unwind_mapping *m;
	__u32 low, high;

	if (!s || !config.unwind)
		return false;
	if (pc >= s->mapping.start && pc < s->mapping.end)
		return true;
	low = s->process.first;
	high = low + s->process.n;
	for (int i = 0; i < UNWIND_MAPPING_STEPS; i++) {
		__u32 middle = low + (high - low) / 2;

		if (low >= high)
			break;
		m = bpf_map_lookup_elem(&unwind_mappings, &middle);
		if (!m)
			return false;
		if (pc < m->start) {
			high = middle;
		} else if (pc >= m->end) {
			low = middle + 1;
		} else {
			s->mapping = *m;
			return m->ticket == s->process.ticket;
		}
	}
	return false;
}

/* The row that holds at `at` (address - bias), or EBT_STOP_*. */
__weak __u32 unwind_find_row(__u32 table, __u64 at, struct cfi_row *ret)
{
	__u32 low, high, page, pc = at, n_pages;
	const struct ebrec_unwind_page *p;
	struct ebrec_unwind_table *t;
	const struct cfi_row *row;
	void *chunk;

	if (!ret || !config.unwind)
		return EBT_STOP_NO_TABLE;
	t = bpf_map_lookup_elem(&unwind_tables, &table);
	if (!t)
		return EBT_STOP_NO_TABLE;
	if (!t->used) /* a line of memory that all CPUs read is written only where it must be */
		t->used = 1;
	n_pages = *(volatile __u32 *)&t->n_pages; /* before first_page */
	if (!n_pages)
		return EBT_STOP_NO_TABLE;
	if (at >> UNWIND_PAGE_BITS >= n_pages)
		return EBT_STOP_NO_ROW;
	page = t->first_page + (__u32)(at >> UNWIND_PAGE_BITS);
	p = bpf_map_lookup_elem(&unwind_pages, &page);
	if (!p || !p->n)
		return EBT_STOP_NO_ROW;
	chunk = bpf_map_lookup_elem(&unwind_rows, &p->chunk);
	if (!chunk)
		return EBT_STOP_NO_ROW;
	low = p->first;
	high = low + p->n;
	/* The last row whose pc is not above. The first one is not, so low never is the answer's
	 * successor. */
	for (int i = 0; i < UNWIND_ROW_STEPS; i++) {
		__u32 middle = low + (high - low) / 2;

		if (high - low <= 1)
			break;
		row = bpf_map_lookup_elem(chunk, &middle);
		if (!row)
			return EBT_STOP_NO_ROW;
		if (row->pc <= pc)
			low = middle;
		else
			high = middle;
	}
	row = bpf_map_lookup_elem(chunk, &low);
	if (!row)
		return EBT_STOP_NO_ROW;
	*ret = *row;
	return row->pc <= pc ? 0 : EBT_STOP_NO_ROW;
}

static __always_inline long unwind_stop(struct unwind_state *s, __u32 stop)
{
	s->stop = stop;
	return 1;
}

/* Goes on at the caller. */
static __always_inline long unwind_to(struct unwind_state *s, __u64 pc, __u64 sp)
{
	s->pc = pc;
	s->sp = sp;
	s->caller = true;
	return pc ? 0 : unwind_stop(s, EBT_STOP_ROOT);
}

/* A stack is not larger than this (RLIMIT_STACK is 8 MiB by default): a frame pointer that is
 * farther away is none. */
#define UNWIND_MAX_FP_DISTANCE (64u << 20)

/* A step by the frame pointer, which is there and has been checked; record is what it points to. */
static __always_inline long unwind_follow_fp(struct unwind_state *s, const __u64 *record,
					     struct unwind_lesson *lesson)
{
	s->methods |= EBT_METHOD_FP;
	if (lesson) {
		unwind_learn_base(lesson, s->fp);
		unwind_learn_frame(lesson, s->n, record[1], s->fp + sizeof(s->fp));
		lesson->fp_place = s->fp;
	}
	s->sp = s->fp + 2 * sizeof(*record);
	s->fp = record[0];
	return unwind_to(s, record[1], s->sp);
}

static __always_inline bool unwind_fp_is_likely(const struct unwind_state *s)
{
	return !(s->fp & 7) && s->fp >= s->sp && s->fp - s->sp <= UNWIND_MAX_FP_DISTANCE;
}

/*
 * A trampoline has nothing behind its call but `add $n,%rsp; ret`, which says where its frame ends.
 * That of python3 -X perf has no frame pointer.
 */
static __always_inline bool unwind_is_trampoline(const struct unwind_state *s, __u64 *ret_cfa)
{
	__u64 code = 0;

	if (!s->caller || bpf_probe_read_user(&code, 5, (void *)s->pc))
		return false;
	*ret_cfa = s->sp + (code >> 24 & 0xff) + sizeof(*ret_cfa);
	return (code & 0xff80ffffffULL) == 0xc300c48348ULL;
}

/* In generated code, which has frame pointers. */
static __always_inline long unwind_step_fp(struct unwind_state *s, struct unwind_lesson *lesson)
{
	__u64 record[2], cfa;

	if (s->mapping.table == UNWIND_TABLE_ANON && unwind_is_trampoline(s, &cfa)) {
		if (bpf_probe_read_user(record, sizeof(record[0]), (void *)(cfa - 8)))
			return unwind_stop(s, EBT_STOP_FAULT);
		if (lesson)
			unwind_learn_frame(lesson, s->n, record[0], cfa - 8);
		s->methods |= EBT_METHOD_FP;
		return unwind_to(s, record[0], cfa);
	}
	if (!unwind_fp_is_likely(s)) {
		if (lesson)
			lesson->unfit = true;
		return unwind_stop(s, s->fp ? EBT_STOP_FRAME_POINTER : EBT_STOP_ROOT);
	}
	if (bpf_probe_read_user(record, sizeof(record), (void *)s->fp))
		return unwind_stop(s, EBT_STOP_FAULT);
	return unwind_follow_fp(s, record, lesson);
}

/* In code of a file of which the file says nothing: generated before it was linked, as node's and
 * other interpreters' is, or written by hand. Only if what is there then is code. */
static __always_inline long unwind_step_unknown(struct unwind_state *s,
						struct unwind_lesson *lesson)
{
	__u64 record[2];

	if (!unwind_fp_is_likely(s) || bpf_probe_read_user(record, sizeof(record), (void *)s->fp) ||
	    !unwind_find_mapping(s, record[1] - 1))
		return unwind_stop(s, EBT_STOP_NO_ROW);
	return unwind_follow_fp(s, record, lesson);
}

/* From a handler to what the signal interrupted: struct rt_sigframe of arch/x86, whose ucontext
 * is at sp; gregs begin 40 bytes into it. */
static __always_inline long unwind_step_signal(struct unwind_state *s)
{
	__u64 regs[7]; /* bp, bx, dx, ax, cx, sp, ip */

	if (bpf_probe_read_user(regs, sizeof(regs), (void *)(s->sp + 40 + 10 * 8)))
		return unwind_stop(s, EBT_STOP_FAULT);
	s->pc = regs[6];
	s->sp = regs[5];
	s->fp = regs[0];
	s->caller = false;
	return 0;
}

/* Registers that only the innermost frame still has. */
static __always_inline bool unwind_register(const struct unwind_state *s, __s8 number, __u64 *ret)
{
	if (s->n != 1)
		return false;
	switch (number) {
	case 0:
		*ret = s->regs[2];
		break;
	case 5:
		*ret = s->regs[0];
		break;
	case 10:
		*ret = s->regs[1];
		break;
	case 11:
		*ret = s->regs[3];
		break;
	default:
		return false;
	}
	return true;
}

/* Canonical frame address of a row whose frame has one; false: s->stop says why not. */
static __always_inline bool unwind_cfa(struct unwind_state *s, const struct cfi_row *row,
				       __u64 *ret)
{
	__s64 offset = (__s64)row->cfa * 8;
	__u64 base;

	switch (row->op & CFI_OP_MASK) {
	case CFI_SP:
	case CFI_RA_REG:
		*ret = s->sp + offset;
		return true;
	case CFI_FP:
		*ret = s->fp + offset;
		return true;
	case CFI_PLT:
		*ret = s->sp + offset + ((s->pc & 15) >= (__u8)row->fp ? 8 : 0);
		return true;
	case CFI_SP_DEREF:
	case CFI_FP_DEREF:
		base = (row->op & CFI_OP_MASK) == CFI_SP_DEREF ? s->sp : s->fp;
		base += (__s64)(row->cfa >> 4) * 8;
		if (bpf_probe_read_user(ret, sizeof(*ret), (void *)base)) {
			s->stop = EBT_STOP_FAULT;
			return false;
		}
		*ret += (row->cfa & 15) * 8;
		return true;
	case CFI_REG:
		s->stop = EBT_STOP_RULE;
		if (!unwind_register(s, row->fp, &base))
			return false;
		*ret = base + offset;
		return true;
	default:
		s->stop = EBT_STOP_RULE;
		return false;
	}
}

/* The frame pointer of the caller. *ret_place: where it was, 0 where it stays as it is, or
 * UNWIND_FP_LOST. */
static __always_inline bool unwind_fp(struct unwind_state *s, const struct cfi_row *row, __u64 cfa,
				      __u64 *ret_place)
{
	__u32 op = row->op & CFI_OP_MASK;
	__u64 at = cfa;

	*ret_place = 0;
	if (op == CFI_PLT || op == CFI_REG || op == CFI_RA_REG)
		return true;
	if (row->op & CFI_FP_BY_FP) {
		at = s->fp;
	} else if (!row->fp) {
		return true;
	} else if (row->fp == CFI_FP_LOST) {
		*ret_place = UNWIND_FP_LOST;
		s->fp = 0;
		return true;
	}
	*ret_place = at + (__s64)row->fp * 8;
	return !bpf_probe_read_user(&s->fp, sizeof(s->fp), (void *)*ret_place);
}

/* What a step by a row read. base: the frame pointer before it. */
static __always_inline void unwind_learn_step(struct unwind_lesson *lesson,
					      const struct unwind_state *s,
					      const struct cfi_row *row, __u64 base, __u64 fp_place,
					      __u64 cfa, __u64 ra)
{
	__u32 op = row->op & CFI_OP_MASK;

	if (op != CFI_SP && op != CFI_FP && op != CFI_PLT)
		lesson->unfit = true;
	if (op == CFI_FP || row->op & CFI_FP_BY_FP)
		unwind_learn_base(lesson, base);
	unwind_learn_frame(lesson, s->n, ra, cfa - sizeof(ra));
	if (fp_place)
		lesson->fp_place = fp_place;
}

static __always_inline long unwind_step_row(struct unwind_state *s, const struct cfi_row *row,
					    struct unwind_lesson *lesson)
{
	__u32 op = row->op & CFI_OP_MASK;
	__u64 cfa, ra, base = s->fp, fp_place;

	if (op == CFI_NONE)
		return unwind_step_unknown(s, lesson);
	s->methods |= EBT_METHOD_TABLE;
	if (op == CFI_END)
		return unwind_stop(s, EBT_STOP_ROOT);
	if (op == CFI_SIGNAL) {
		if (lesson)
			lesson->unfit = true;
		return unwind_step_signal(s);
	}
	if (!unwind_cfa(s, row, &cfa))
		return 1;
	if (op == CFI_RA_REG) {
		if (lesson)
			lesson->unfit = true;
		if (!unwind_register(s, row->fp, &ra))
			return unwind_stop(s, EBT_STOP_RULE);
		return unwind_to(s, ra, cfa);
	}
	/* A frame that does not grow would be walked for ever. */
	if (cfa <= s->sp)
		return unwind_stop(s, EBT_STOP_LOOP);
	/* The word below is read only where a row wants it: there may be no page below a stack. */
	if (bpf_probe_read_user(&ra, sizeof(ra), (void *)(cfa - sizeof(ra))))
		return unwind_stop(s, EBT_STOP_FAULT);
	if (!unwind_fp(s, row, cfa, &fp_place))
		return unwind_stop(s, EBT_STOP_FAULT);
	if (lesson)
		unwind_learn_step(lesson, s, row, base, fp_place, cfa, ra);
	return unwind_to(s, ra, cfa);
}

/* A Python function that was run by the frame that was added last; false: there is none. */
static __always_inline bool unwind_python(struct unwind_walk *walk, __u32 n)
{
	__u64 entry = walk->python ? python_next(walk->python, walk->state->sp) : 0;

	if (!entry)
		return false;
	walk->addresses[n] = entry;
	walk->state->n = n + 1;
	walk->state->python++;
	walk->state->methods |= EBT_METHOD_INTERP;
	return true;
}

/* From the frame at s->pc, which is known to be there, to its caller; 1: the walk ends. python: or
 * NULL. */
__weak int unwind_step_native(struct unwind_state *s, struct unwind_lesson *lesson,
			      struct python_walk *python)
{
	struct cfi_row row;
	__u32 stop;
	__u64 pc;

	if (!s)
		return 1;
	pc = s->pc - s->caller;
	if (!unwind_find_mapping(s, pc)) {
		if (config.returns && s->pc == s->returns.trampoline &&
		    unwind_returns_take(&s->returns, s->sp - sizeof(pc), &s->pc)) {
			/* The words of the stack do not say where this leads to. */
			if (lesson)
				lesson->unfit = true;
			s->n--;
			return 0;
		}
		return unwind_stop(s, EBT_STOP_NO_MAPPING);
	}
	if (python)
		python_meet(python, s->sp, s->mapping.table, s->mapping.bias);
	if (s->mapping.table == UNWIND_TABLE_LATER || s->mapping.table == UNWIND_TABLE_FULL)
		return unwind_stop(s, EBT_STOP_NO_TABLE);
	if (s->mapping.table == UNWIND_TABLE_NONE || s->mapping.table == UNWIND_TABLE_ANON)
		return unwind_step_fp(s, lesson);
	stop = unwind_find_row(s->mapping.table, pc - s->mapping.bias, &row);
	if (stop == EBT_STOP_NO_TABLE)
		return unwind_stop(s, EBT_STOP_NO_TABLE);
	if (stop)
		return unwind_step_unknown(s, lesson);
	return unwind_step_row(s, &row, lesson);
}

static long unwind_step(__u32 i, struct unwind_walk *walk)
{
	struct unwind_state *s = walk->state;
	__u32 n = s->n;

	if (n >= config.max_entries)
		return unwind_stop(s, EBT_STOP_TRUNCATED);
	if (walk->python && python_waits(walk->python))
		return 1;
	if (unwind_python(walk, n))
		return 0;
	if (n - s->python >= config.max_stack)
		return unwind_stop(s, EBT_STOP_TRUNCATED);
	walk->addresses[n] = s->pc;
	s->n = n + 1;
	if (s->stop) /* before the walk began */
		return 1;
	if (!n)
		unwind_note_code(bpf_get_current_task_btf(), &s->process);
	return unwind_step_native(s, walk->lesson, walk->python) != 0;
}

static __always_inline void unwind_begin(struct unwind_state *s, struct task_struct *task)
{
	const struct pt_regs___kernel *regs = (const void *)bpf_task_pt_regs(task);

	s->pc = regs->ip;
	s->sp = regs->sp;
	s->fp = regs->bp;
	s->regs[0] = regs->di;
	s->regs[1] = regs->r10;
	s->regs[2] = regs->ax;
	s->regs[3] = regs->r11;
	/* In a call, pc is behind the syscall instruction, which leaves it in rcx. A program or
	 * signal handler that has just been started by one is elsewhere. */
	s->caller = (__s64)regs->orig_ax >= 0 && regs->cx == regs->ip;
	s->n = 0;
	s->python = 0;
	s->methods = 0;
	s->mapping.start = 0;
	s->mapping.end = 0;
	if (config.returns)
		unwind_returns_begin(task, &s->returns);
	s->stop = unwind_find_space(task, &s->process) ? 0 : EBT_STOP_EXEC;
}

EBREC_CPU_ARRAY(unwind_dumps, 1, struct ebrec_rate) __weak;

/* Can more be found out about the rest of the stack later? */
static __always_inline bool unwind_can_go_on(const struct unwind_state *s)
{
	switch (s->stop) {
	case EBT_STOP_NO_MAPPING:
	case EBT_STOP_NO_TABLE:
	case EBT_STOP_NO_ROW:
		return true;
	case EBT_STOP_RULE: /* by a register that is not kept here */
		return s->n == 1;
	case EBT_STOP_FRAME_POINTER: /* its debug file may have a table */
		return s->mapping.table == UNWIND_TABLE_NONE;
	case EBT_STOP_EXEC:
		return false;
	default:
		return config.dump_all;
	}
}

static __always_inline bool unwind_may_dump(void)
{
	struct ebrec_rate *rate;

	if (config.dump_all)
		return true;
	rate = ebrec_entry(&unwind_dumps);
	return rate && ebrec_may(rate, bpf_ktime_get_ns(), config.dumps);
}

/* By DWARF number. */
static __always_inline void unwind_registers(const struct pt_regs___kernel *regs, __u64 *out)
{
	out[0] = regs->ax;
	out[1] = regs->dx;
	out[2] = regs->cx;
	out[3] = regs->bx;
	out[4] = regs->si;
	out[5] = regs->di;
	out[8] = regs->r8;
	out[9] = regs->r9;
	out[10] = regs->r10;
	out[11] = regs->r11;
	out[12] = regs->r12;
	out[13] = regs->r13;
	out[14] = regs->r14;
	out[15] = regs->r15;
}

#define UNWIND_PIECE 4096

/* What user space needs to go on where the walk ended. Returns its bytes; out has room for all of
 * struct ebrec_stacks_dump from `dump` on. */
static __always_inline __u32 unwind_dump(const struct unwind_state *s, struct task_struct *task,
					 void *out)
{
	struct ebt_wire_dump *dump = out;
	__u64 *regs = (void *)(dump + 1);
	__u8 *memory = (void *)(regs + EBT_DUMP_X86_REGISTERS);
	__u64 from = s->sp - EBT_DUMP_BELOW;
	__u32 piece = UNWIND_PIECE - (__u32)(from & (UNWIND_PIECE - 1)), len = 0;

	for (int i = 0; i < EBT_DUMP_X86_REGISTERS; i++)
		regs[i] = 0;
	if (s->n == 1)
		unwind_registers((const void *)bpf_task_pt_regs(task), regs);
	regs[6] = s->fp;
	regs[7] = s->sp;
	dump->pc = s->pc;
	dump->attrs = (s->caller ? EBT_DUMP_CALLER : 0) | (s->n == 1 ? EBT_DUMP_INNER : 0);
	dump->n = EBT_DUMP_X86_REGISTERS;
	/* Faults cannot be handled here: whole pages are there, or not. */
	for (int i = 0; i < EBT_DUMP_STACK / UNWIND_PIECE; i++) {
		if (bpf_probe_read_user(memory + len, piece, (void *)(from + len)))
			break;
		len += piece;
		piece = UNWIND_PIECE;
	}
	return sizeof(*dump) + EBT_DUMP_X86_REGISTERS * sizeof(*regs) + len;
}

static __always_inline struct unwind_state *unwind_take_state(void)
{
	struct unwind_state *s;

	for (__u32 level = 0; level < UNWIND_LEVELS; level++) {
		__u32 key = level;

		/* At once: a program of a uprobe may be preempted. */
		s = bpf_map_lookup_elem(&unwind_states, &key);
		if (s && !__sync_val_compare_and_swap(&s->taken, 0, key + 1))
			return s;
	}
	return NULL;
}

/* A walk that met what nobody knows goes on if the kernel does. */
static __always_inline void unwind_ask_kernel(struct unwind_walk *walk, struct task_struct *task)
{
	struct unwind_state *s = walk->state;

	if (s->stop != EBT_STOP_NO_MAPPING || !unwind_ask(task, s->pc - s->caller, &s->process))
		return;
	if (walk->lesson)
		walk->lesson->unfit = true; /* of another address space, in a way */
	s->stop = 0;
	s->n--;
}

/* slot: of the ring for what goes into tables of its own. */
static __always_inline void unwind_walk(struct unwind_walk *walk, struct task_struct *task,
					__u32 slot)
{
	struct unwind_state *s = walk->state;

	if (config.dump_all) {
		walk->addresses[0] = s->pc;
		s->n = 1;
		return;
	}
	if (config.python) {
		walk->python = python_begin(s->taken - 1, slot);
		if (!walk->python) /* cannot be, and the verifier need not see both */
			return;
	}
	bpf_loop(config.max_entries + 1, unwind_step, walk, 0);
	/* A walk that waits for the kernel's answer gets no Python functions: a third part of it
	 * would cost the verifier more than the rest, and it is one walk of a process that has just
	 * begun. */
	unwind_ask_kernel(walk, task);
	if (config.python)
		python_read(walk->python);
	if (!s->stop)
		bpf_loop(config.max_entries + 1, unwind_step, walk, 0);
}

/* Heads the stack of a walk that is over, and dumps what it did not reach. */
static __always_inline struct ebrec_lengths unwind_finish(struct unwind_walk *walk,
							  struct task_struct *task,
							  struct ebt_wire_stack *stack,
							  bool with_dump)
{
	struct unwind_state *s = walk->state;
	struct ebrec_lengths len = {};
	__u32 n = s->n, attrs;

	attrs = EBT_STACK_USER | s->methods << EBT_STACK_METHOD_SHIFT |
		s->stop << EBT_STACK_STOP_SHIFT;
	if (s->stop == EBT_STOP_TRUNCATED)
		attrs |= EBT_STACK_TRUNCATED;
	if (walk->python)
		python_end(walk->python, s->stop == EBT_STOP_ROOT);
	if (s->stop == EBT_STOP_NO_MAPPING ||
	    (s->stop == EBT_STOP_NO_TABLE && s->mapping.table == UNWIND_TABLE_LATER))
		unwind_call_recorder();
	if (!n || n > config.max_entries)
		return len;
	stack->attrs = attrs;
	stack->n = n;
	len.stack = sizeof(*stack) + n * sizeof(__u64);
	if (with_dump && config.dumps && unwind_can_go_on(s) && unwind_may_dump()) {
		/* Until 6.2 the verifier forgets bounds of what was put on the stack. */
		barrier_var(n);
		if (n <= config.max_entries)
			len.dump = unwind_dump(s, task, walk->addresses + n);
	}
	return len;
}

/*
 * The user stack of the current task, with room for config.max_entries, and, with_dump, behind it
 * what is needed to go on if it is not whole. slot: of the ring that it goes to. function: where a
 * function begins that has just returned, and of which the stack is wanted; or 0.
 */
static __always_inline struct ebrec_lengths unwind_user(struct task_struct *task, __u32 slot,
							struct ebt_wire_stack *stack,
							bool with_dump, __u64 function)
{
	struct unwind_walk walk = { .addresses = (void *)(stack + 1) };
	struct unwind_state *s = unwind_take_state();
	struct ebrec_lengths len = {};

	if (!s)
		return len;
	unwind_begin(s, task);
	if (function) {
		walk.addresses[0] = function;
		s->n = 1;
		s->caller = true;
	}
	walk.state = s;
	unwind_walk(&walk, task, slot);
	len = unwind_finish(&walk, task, stack, with_dump);
	s->taken = 0;
	return len;
}

/* Is the stack where the walk begins the chain? Copies its addresses if so. Global functions: the
 * verifier goes through them once. */
__weak bool unwind_begins_with(const struct unwind_chain *chain, const struct unwind_state *s,
			       struct unwind_lesson *lesson, struct unwind_chain_frames *ret)
{
	return chain && s && lesson && ret &&
	       unwind_is_chain(chain, &s->process, s->pc, s->sp, s->fp, s->caller, lesson,
			       ret->address);
}

/* The same of all chains of the set. Returns the number of the one that it is, from 1. */
__weak int unwind_find_chain(struct unwind_chain_set *set, struct unwind_state *s,
			     struct unwind_lesson *lesson, struct unwind_chain_frames *ret)
{
	if (!set || !s || !lesson || !ret)
		return 0;
	for (int i = 0; i < UNWIND_CHAIN_WAYS; i++) {
		if (unwind_begins_with(&set->chain[i], s, lesson, ret))
			return i + 1;
	}
	return 0;
}

/* The same, where most stacks have been seen before. number: UNWIND_LESSON_*. */
static __always_inline struct ebrec_lengths unwind_user_again(struct task_struct *task, __u32 slot,
							      __u32 number,
							      struct ebt_wire_stack *stack,
							      bool with_dump)
{
	struct unwind_walk walk = { .addresses = (void *)(stack + 1) };
	struct unwind_state *s = unwind_take_state();
	struct unwind_chain_set *set = NULL;
	struct unwind_lesson *lesson;
	struct ebrec_lengths len = {};
	__u32 known = 0;

	if (!s)
		return len;
	unwind_begin(s, task);
	walk.state = s;
	lesson = bpf_map_lookup_elem(&unwind_lessons, &number);
	if (!s->stop)
		set = unwind_chain_set(&s->process, s->pc, s->sp);
	if (lesson && set)
		known = unwind_find_chain(set, s, lesson, (void *)walk.addresses);
	if (known && known <= UNWIND_CHAIN_WAYS) {
		const struct unwind_chain *chain = &set->chain[known - 1];

		stack->attrs = chain->attrs;
		stack->n = chain->n;
		len.stack = sizeof(*stack) + chain->n * sizeof(__u64);
		s->taken = 0;
		return len;
	}
	if (set && lesson) {
		unwind_begin_lesson(lesson, &s->process, s->pc, s->sp, s->caller);
		walk.lesson = lesson;
	}
	unwind_walk(&walk, task, slot);
	len = unwind_finish(&walk, task, stack, with_dump);
	/* The same words on the stack may be other Python frames. */
	if (walk.lesson && walk.python && walk.python->met)
		walk.lesson->unfit = true;
	if (walk.lesson && set && s->stop == EBT_STOP_ROOT)
		unwind_keep(walk.lesson, set, stack->n, stack->attrs);
	s->taken = 0;
	return len;
}

#endif
