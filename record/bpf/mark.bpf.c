/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `mark`: a program of somebody ran over a probe of ebmark.h. The arguments are in registers
 * that the header chose; which probe it is, the cookie says.
 *
 * A text may lie where nothing is mapped yet: constants that nobody but us reads. So the program
 * sleeps, where the kernel has such programs, and has the page brought in, unless that could take
 * as long as somebody likes. Between two programs of this kind another task may run, so rows are
 * put together in memory of the task.
 */
#include "record/bpf/bring_in.bpf.h"
#include "record/bpf/mark.h"

#include <linux/ptrace.h>

#define CUT_CHUNK  512 /* what is left out of a log's line is counted by these */
#define CUT_CHUNKS 16
#define ROW_ROOM   96

/* Registers of the probe. */
struct mark_args {
	__u64 kind, time, group, name, message, a, b;
};

/* The texts of a row, one behind the other. */
struct mark_texts {
	struct ebt_ref group, name, message; /* off is from the first one */
	__u32 len;			     /* of all */
	bool cut;			     /* the last one has more */
};

/*
 * The row ends where the texts begin. What is known of these is in here too, as the verifier
 * forgets what it knows of memory: else it would look at each text once for each way the ones
 * before can go.
 */
struct mark_scratch {
	struct mark_args args; /* not on the stack: see bring_in.bpf.h */
	__u8 row[ROW_ROOM];
	char text[EBREC_MARK_GROUP + EBREC_MARK_NAME + EBREC_MARK_MESSAGE + 3];
	char rest[CUT_CHUNK];
	struct mark_texts texts;
};

EBREC_TASK_STORAGE(mark_scratches, struct mark_scratch);

/* The last argument is in a register that ebmark.h can name without a variable for it. */
#ifdef __TARGET_ARCH_x86
#define MARK_LAST(ctx) PT_REGS_RC(ctx)
#else
#define MARK_LAST(ctx) PT_REGS_PARM5(ctx)
#endif

/* --- texts --- */

/* As bpf_probe_read_user_str(). */
static __always_inline long read_text(char *to, __u32 size, __u64 from)
{
	long n = bpf_probe_read_user_str(to, size, (const void *)from);

	if (n >= 0 || !config.mark_sleeps)
		return n;
	ebrec_bring_in(from);
	n = bpf_probe_read_user_str(to, size, (const void *)from);
	if (n >= 0)
		return n;
	/* It goes on in the next page. */
	ebrec_bring_in((from | 4095) + 1);
	return bpf_probe_read_user_str(to, size, (const void *)from);
}

static __always_inline __u32 put_unreadable(char *to)
{
	static const char text[] = "(unreadable)";

	__builtin_memcpy(to, text, sizeof(text));
	return sizeof(text) - 1;
}

/* Not in the middle of a character. */
static __always_inline __u32 put_ellipsis(char *to, __u32 limit)
{
	__u32 end = limit - 3;

	for (int i = 0; i < 3; i++)
		end -= (to[end] & 0xc0) == 0x80;
	to[end] = (char)0xe2;
	to[end + 1] = (char)0x80;
	to[end + 2] = (char)0xa6;
	return end + 3;
}

/* Appends a text. most: where it begins at the most; limit: bytes of it that are recorded;
 * ellipsis: one that is cut says so. */
static __always_inline struct ebt_ref add_text(struct mark_scratch *s, struct mark_texts *texts,
					       __u32 most, __u32 limit, __u64 from, bool ellipsis)
{
	struct ebt_ref ref = {};
	__u32 start = texts->len;
	long n;

	texts->cut = false;
	barrier_var(start);
	if (!from || start > most)
		return ref;
	ref.off = start;
	n = read_text(s->text + start, limit + 2, from);
	if (n < 0 || n > limit + 2) {
		ref.len = put_unreadable(s->text + start);
	} else {
		ref.len = n ? (__u32)n - 1 : 0; /* not all kernels count a NUL that is alone */
		texts->cut = ref.len > limit;
		if (texts->cut)
			ref.len = ellipsis ? put_ellipsis(s->text + start, limit) : limit;
	}
	texts->len = start + ref.len;
	return ref;
}

/* Bytes of a text from there on; of a very long one, those that were looked at. */
static __always_inline __u32 count_rest(struct mark_scratch *s, __u64 from)
{
	__u32 rest = 0;

	for (int i = 0; i < CUT_CHUNKS; i++) {
		long n = bpf_probe_read_user_str(s->rest, CUT_CHUNK, (const void *)(from + rest));

		if (n <= 0)
			break;
		rest += (__u32)n - 1;
		if (n < CUT_CHUNK)
			break;
	}
	return rest;
}

#define GROUP_MOST   0
#define NAME_MOST    EBREC_MARK_GROUP
#define MESSAGE_MOST (EBREC_MARK_GROUP + EBREC_MARK_NAME)

static __always_inline void take_texts(struct mark_scratch *s, const struct mark_args *args,
				       struct mark_texts *texts)
{
	texts->group = add_text(s, texts, GROUP_MOST, EBREC_MARK_GROUP, args->group, true);
	texts->name = add_text(s, texts, NAME_MOST, EBREC_MARK_NAME, args->name, true);
	/* A row of log says how much was cut. */
	texts->message = add_text(s, texts, MESSAGE_MOST, EBREC_MARK_MESSAGE, args->message,
				  args->kind != EBREC_MARK_LOG);
}

/* --- rows --- */

#define ROW_OF(s, type) ((type *)((s)->row + ROW_ROOM - sizeof(type)))

/* As a row of this size has it. */
static __always_inline struct ebt_ref behind(struct ebt_ref ref, __u32 size)
{
	return (struct ebt_ref){ ref.off + size, ref.len };
}

static __always_inline void hand_over(struct mark_scratch *s, __u32 table, void *row, __u32 size,
				      __u32 len, __u64 time)
{
	barrier_var(len);
	if (len <= sizeof(s->text))
		ebrec_output(ebrec_event_slot(), table, row, size + len, time);
}

static __always_inline void put_mark(struct mark_scratch *s, const struct mark_args *args,
				     const struct mark_texts *texts, __u32 tid)
{
	struct ebt_wire_mark *row = ROW_OF(s, struct ebt_wire_mark);
	__s64 duration = (__s64)(args->b - args->a), late = (__s64)(args->time - args->b);

	row->cpu = bpf_get_smp_processor_id();
	row->task = tid;
	row->kind = (__u32)args->kind;
	row->origin = EBT_V_mark_origin_ebmark;
	row->duration = row->late = row->key = 0;
	if (args->kind == EBREC_MARK_SPAN) {
		row->duration = duration > 0 ? duration : 0;
		row->late = late > 0 ? late : 0;
	} else {
		row->key = args->a;
	}
	row->group = behind(texts->group, sizeof(*row));
	row->name = behind(texts->name, sizeof(*row));
	row->message = behind(texts->message, sizeof(*row));
	hand_over(s, EBT_T_mark, row, sizeof(*row), texts->len, args->time);
}

static __always_inline void put_counter(struct mark_scratch *s, const struct mark_args *args,
					const struct mark_texts *texts, __u32 tid)
{
	struct ebt_wire_mark_counter *row = ROW_OF(s, struct ebt_wire_mark_counter);

	row->cpu = bpf_get_smp_processor_id();
	row->task = tid;
	row->type = args->kind == EBREC_MARK_COUNTER_DOUBLE ? EBT_V_mark_counter_type_double
							    : EBT_V_mark_counter_type_integer;
	row->origin = EBT_V_mark_counter_origin_ebmark;
	row->late = 0;
	row->value = args->a;
	row->group = behind(texts->group, sizeof(*row));
	row->name = behind(texts->name, sizeof(*row));
	row->doc = behind(texts->message, sizeof(*row));
	hand_over(s, EBT_T_mark_counter, row, sizeof(*row), texts->len, args->time);
}

static __always_inline void put_log(struct mark_scratch *s, const struct mark_args *args,
				    const struct mark_texts *texts, __u32 tid)
{
	struct ebt_wire_log *row = ROW_OF(s, struct ebt_wire_log);

	row->cpu = bpf_get_smp_processor_id();
	row->task = tid;
	row->severity = args->a < EBT_V_log_severity_none ? args->a : EBT_V_log_severity_none;
	row->origin = EBT_V_log_origin_ebmark;
	row->late = row->pid = 0;
	row->cut = texts->cut ? count_rest(s, args->message + EBREC_MARK_MESSAGE) : 0;
	row->domain = behind(texts->group, sizeof(*row));
	row->message = behind(texts->message, sizeof(*row));
	hand_over(s, EBT_T_log, row, sizeof(*row), texts->len, args->time);
}

static __always_inline __u32 table_of(__u64 kind)
{
	if (kind < EBREC_MARK_COUNTER)
		return EBT_T_mark;
	return kind == EBREC_MARK_LOG ? EBT_T_log : EBT_T_mark_counter;
}

SEC("uprobe")
int ebrec_mark(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mark_scratch *s;
	__u64 kind, time;

	if (!gate || !ebrec_task_followed(task))
		return 0;
	time = bpf_ktime_get_ns();
	kind = bpf_get_attach_cookie(ctx);
	s = bpf_task_storage_get(&mark_scratches, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		ebrec_count_no_storage(table_of(kind));
		return 0;
	}
	s->args.time = time;
	s->args.kind = kind;
	s->args.group = PT_REGS_PARM1(ctx);
	s->args.name = PT_REGS_PARM2(ctx);
	s->args.message = PT_REGS_PARM3(ctx);
	s->args.a = PT_REGS_PARM4(ctx);
	s->args.b = MARK_LAST(ctx);
	s->texts.len = 0;
	take_texts(s, &s->args, &s->texts);
	if (s->args.kind < EBREC_MARK_COUNTER)
		put_mark(s, &s->args, &s->texts, task->pid);
	else if (s->args.kind == EBREC_MARK_LOG)
		put_log(s, &s->args, &s->texts, task->pid);
	else
		put_counter(s, &s->args, &s->texts, task->pid);
	return 0;
}
