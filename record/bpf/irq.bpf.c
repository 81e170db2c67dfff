/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `irq`: interrupts, soft interrupts, timers and work items, a row each when they end. On a
 * CPU they lie within each other as calls do: what comes later ends first. Rows belong to the CPU;
 * their task is whom the time was taken from, not who caused it.
 */
#include "record/bpf/compat.bpf.h"

/* Kinds of spans: those of irq.kind, and behind them those of timer.kind. */
enum {
	SPAN_TIMERS = EBT_V_irq_kind_spurious_apic + 1,
	SPAN_TIMER = SPAN_TIMERS + EBT_V_timer_kind_timer,
	SPAN_HRTIMER = SPAN_TIMERS + EBT_V_timer_kind_hrtimer,
};

#define MAX_DEPTH   8
#define MAX_SOFT    16 /* NR_SOFTIRQS is 10 */
#define NAMES	    1024
#define NAME_LENGTH 32

struct irqaction {
	const char *name;
} __attribute__((preserve_access_index));

struct timer_list {
	void *function;
} __attribute__((preserve_access_index));

struct hrtimer {
	void *function;
} __attribute__((preserve_access_index));

struct work_struct {
	void *func;
} __attribute__((preserve_access_index));

struct span {
	__u64 id; /* number of the line or vector, address of the timer: the same at its end */
	__u64 since, nested, delay, function;
	__u32 kind, depth;
};

struct irq_cpu {
	__u32 depth, unused;
	struct span spans[MAX_DEPTH];
	__u64 raised[MAX_SOFT]; /* since when; 0: it is not */
};

EBREC_CPU_ARRAY(irq_cpus, 1, struct irq_cpu);

/* Names that are in the file, by a hash of where they are in memory. Where two fall together, both
 * come again. */
EBREC_ARRAY(irq_names, NAMES, __u64);

struct work_state {
	__u64 since, function;
};

EBREC_TASK_STORAGE(work_states, struct work_state);

/* With -a interrupts of idle CPUs and of the recorder count too: they are the machine's. */
static __always_inline bool wanted(void)
{
	return gate && (config.all || ebrec_tid_followed(bpf_get_current_task_btf()->pid));
}

/* The clock may go back by a little when it is adjusted. */
static __always_inline __u64 since(const struct span *span, __u64 now)
{
	return now > span->since ? now - span->since : 0;
}

static __always_inline void enter(__u32 kind, __u64 id, __u64 function)
{
	struct irq_cpu *cpu = ebrec_entry(&irq_cpus);
	struct span *span;
	__u32 depth;

	if (!cpu || !wanted())
		return;
	/* What was not seen to end lies there for ever, until it is too much. */
	depth = cpu->depth;
	if (depth >= MAX_DEPTH)
		depth = 0;
	/* Ours from here on: an interrupt that comes now takes the next one. */
	*(volatile __u32 *)&cpu->depth = depth + 1;
	barrier();
	span = &cpu->spans[depth];
	span->nested = span->delay = 0;
	span->function = function;
	span->kind = kind;
	span->id = id;
	span->since = bpf_ktime_get_ns();
	if (kind == EBT_V_irq_kind_soft && id < MAX_SOFT) {
		if (cpu->raised[id])
			span->delay = span->since - cpu->raised[id];
		cpu->raised[id] = 0;
	}
}

/*
 * Ends a span, and those within it whose end was not seen. Its time counts as that of the one
 * around it if that was interrupted by it: a timer is what its interrupt does.
 */
static __always_inline bool leave(__u32 kind, __u64 id, __u64 now, struct span *ret)
{
	struct irq_cpu *cpu = ebrec_entry(&irq_cpus);
	struct span *span = NULL, *around;
	__u32 depth = 0;

	if (!cpu || !wanted())
		return false;
	for (__u32 i = 0; i < MAX_DEPTH; i++) {
		if (i < cpu->depth && cpu->spans[i].kind == kind && cpu->spans[i].id == id) {
			span = &cpu->spans[i];
			depth = i;
		}
	}
	if (!span)
		return false;
	*ret = *span;
	ret->depth = depth;
	barrier();
	*(volatile __u32 *)&cpu->depth = depth;
	if (depth && depth <= MAX_DEPTH) {
		around = &cpu->spans[depth - 1];
		around->nested += kind >= SPAN_TIMERS ? ret->nested : since(ret, now);
	}
	return true;
}

static __always_inline __u64 self_of(const struct span *span, __u64 duration)
{
	return span->nested < duration ? duration - span->nested : 0;
}

static __always_inline void leave_irq(__u32 kind, __u32 number, __u32 handled)
{
	__u64 now = bpf_ktime_get_ns(), flags;
	struct ebt_wire_irq *row;
	struct span span;

	if (!leave(kind, number, now, &span))
		return;
	row = ebrec_reserve_event(EBT_T_irq, sizeof(*row), now, &flags);
	if (!row)
		return;
	row->task = bpf_get_current_task_btf()->pid;
	row->kind = kind;
	row->number = number;
	row->duration = since(&span, now);
	row->self = self_of(&span, row->duration);
	row->delay = span.delay;
	row->handled = handled;
	row->depth = span.depth;
	bpf_ringbuf_submit(row, flags);
}

static __always_inline void leave_timer(__u32 kind, __u64 id)
{
	__u64 now = bpf_ktime_get_ns(), flags;
	struct ebt_wire_timer *row;
	struct span span;

	if (!leave(kind, id, now, &span))
		return;
	row = ebrec_reserve_event(EBT_T_timer, sizeof(*row), now, &flags);
	if (!row)
		return;
	row->task = bpf_get_current_task_btf()->pid;
	row->function = span.function;
	row->duration = since(&span, now);
	row->self = self_of(&span, row->duration);
	row->kind = kind - SPAN_TIMERS;
	row->unused = 0;
	bpf_ringbuf_submit(row, flags);
}

/* --- lines --- */

struct name_record {
	struct ebt_wire_irq_name row;
	char name[NAME_LENGTH];
};

static __always_inline void say_name(__u32 number, const struct irqaction *action)
{
	__u64 address = (__u64)BPF_CORE_READ(action, name), *known, flags;
	__u32 key = (__u32)(address >> 6) * 0x9e3779b1u >> 22, cpu;
	struct name_record *record;
	long n;

	known = bpf_map_lookup_elem(&irq_names, &key);
	if (!known || *known == address)
		return;
	cpu = bpf_get_smp_processor_id();
	record = ebrec_reserve(EBREC_SLOT_EVENT(cpu), EBT_T_irq_name, sizeof(*record),
			       bpf_ktime_get_ns(), &flags);
	if (!record)
		return;
	record->row.number = number;
	record->row.cpu = cpu;
	n = bpf_probe_read_kernel_str(record->name, sizeof(record->name), (void *)address);
	record->row.name = (struct ebt_ref){ sizeof(record->row), n > 0 ? n - 1 : 0 };
	bpf_ringbuf_submit(record, flags);
	*known = address;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(ebrec_irq_handler_entry, int irq, struct irqaction *action)
{
	enter(EBT_V_irq_kind_line, irq, 0);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(ebrec_irq_handler_exit, int irq, struct irqaction *action, int ret)
{
	if (wanted())
		say_name(irq, action);
	leave_irq(EBT_V_irq_kind_line, irq, ret);
	return 0;
}

/* --- soft interrupts, vectors of x86 --- */

SEC("tp_btf/softirq_raise")
int BPF_PROG(ebrec_softirq_raise, unsigned int nr)
{
	struct irq_cpu *cpu = ebrec_entry(&irq_cpus);

	if (gate && nr < MAX_SOFT && cpu && !cpu->raised[nr])
		cpu->raised[nr] = bpf_ktime_get_ns();
	return 0;
}

#define VECTOR(name, kind)                             \
	SEC("tp_btf/" #name "_entry")                  \
	int BPF_PROG(ebrec_##name##_entry, int vector) \
	{                                              \
		enter(kind, vector, 0);                \
		return 0;                              \
	}                                              \
	SEC("tp_btf/" #name "_exit")                   \
	int BPF_PROG(ebrec_##name##_exit, int vector)  \
	{                                              \
		leave_irq(kind, vector, 0);            \
		return 0;                              \
	}

VECTOR(softirq, EBT_V_irq_kind_soft)
VECTOR(local_timer, EBT_V_irq_kind_local_timer)
VECTOR(reschedule, EBT_V_irq_kind_reschedule)
VECTOR(call_function, EBT_V_irq_kind_call_function)
VECTOR(call_function_single, EBT_V_irq_kind_call_function_single)
VECTOR(irq_work, EBT_V_irq_kind_irq_work)
VECTOR(x86_platform_ipi, EBT_V_irq_kind_x86_platform_ipi)
VECTOR(thermal_apic, EBT_V_irq_kind_thermal_apic)
VECTOR(threshold_apic, EBT_V_irq_kind_threshold_apic)
VECTOR(deferred_error_apic, EBT_V_irq_kind_deferred_error_apic)
VECTOR(error_apic, EBT_V_irq_kind_error_apic)
VECTOR(spurious_apic, EBT_V_irq_kind_spurious_apic)

/* --- timers --- */

#define TIMER(name, type, kind)                                                   \
	SEC("tp_btf/" #name "_expire_entry")                                      \
	int BPF_PROG(ebrec_##name##_expire_entry, struct type *timer)             \
	{                                                                         \
		enter(kind, (__u64)timer, (__u64)BPF_CORE_READ(timer, function)); \
		return 0;                                                         \
	}                                                                         \
	SEC("tp_btf/" #name "_expire_exit")                                       \
	int BPF_PROG(ebrec_##name##_expire_exit, struct type *timer)              \
	{                                                                         \
		leave_timer(kind, (__u64)timer);                                  \
		return 0;                                                         \
	}

TIMER(timer, timer_list, SPAN_TIMER)
TIMER(hrtimer, hrtimer, SPAN_HRTIMER)

/* --- work items, which a task does, and which may sleep --- */

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(ebrec_work_start, struct work_struct *work)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct work_state *state;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	state = bpf_task_storage_get(&work_states, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (state) {
		/* Kept, as the item may be gone when it is done. */
		state->function = (__u64)BPF_CORE_READ(work, func);
		state->since = bpf_ktime_get_ns();
		return 0;
	}
	ebrec_count_no_storage(EBT_T_work);
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(ebrec_work_end)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct work_state *state;
	struct ebt_wire_work *row;
	__u64 now, flags;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	state = bpf_task_storage_get(&work_states, task, NULL, 0);
	if (!state || !state->since)
		return 0;
	now = bpf_ktime_get_ns();
	row = ebrec_reserve_event(EBT_T_work, sizeof(*row), now, &flags);
	if (row) {
		row->task = task->pid;
		row->function = state->function;
		row->duration = now - state->since;
		bpf_ringbuf_submit(row, flags);
	}
	state->since = 0;
	return 0;
}
