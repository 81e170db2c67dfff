/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `oom`: the kernel kills a process because there is no memory left. It kills one at a time,
 * under a lock: first it chooses and says why, in lines of its log that tracepoint `console` sees
 * as they are put together, then it sends SIGKILL, then it marks the victim. The row is made at the
 * mark. Where functions can be traced, the choice is also read from where it was made.
 */
#include "record/bpf/compat.bpf.h"

#define MESSAGE_LEN 64
#define CGROUP_LEN  512
#define SIGKILL	    9
#define SEND_PRIV   1 /* SEND_SIG_PRIV: the kernel itself sends it */

/* Tracepoint mark_victim: 6.10 gives the task, earlier kernels its thread id. */
const volatile __u32 oom_victim_is_task = 0;

struct mem_cgroup___oom {
	struct cgroup_subsys_state css;
} __attribute__((preserve_access_index));

/* CO-RE takes an enum for an enum only. */
enum oom_constraint___oom { CONSTRAINT_NONE___oom };

struct oom_control___oom {
	struct mem_cgroup___oom *memcg;
	__u32 gfp_mask;
	int order;
	unsigned long totalpages;
	long chosen_points;
	enum oom_constraint___oom constraint;
} __attribute__((preserve_access_index));

/* What the next piece of the log line is. */
enum oom_piece { OTHER, LIMIT, CGROUP };

struct oom_text {
	__u32 len;
	char text[CGROUP_LEN];
};

/* What is known of the choice. */
struct oom_choice {
	__u32 tid;  /* whose choice it is; 0: nobody's */
	__u32 used; /* its victim has been marked */
	__u32 group;
	enum oom_piece next;
	__u32 constraint, gfp;
	__s32 order;
	__u32 message_len;
	__u64 total, limit_cgroup;
	__s64 points;
	char message[MESSAGE_LEN];
	struct oom_text limit, cgroup;
};

/* One is enough, as the kernel makes one choice at a time. */
EBREC_ARRAY(oom_choices, 1, struct oom_choice);

/* Between signal and mark the task stays on its CPU: it holds a spinlock of the victim. */
struct oom_signal {
	__u32 tid; /* who has sent it */
	__u32 victim;
	const struct task_struct *task;
};

EBREC_CPU_ARRAY(oom_signals, 1, struct oom_signal);

static __always_inline __u32 this_tid(void)
{
	return bpf_get_current_task_btf()->pid;
}

/* --- the choice --- */

#define MOST_PAGES (1ll << 48) /* points that are no number of pages are LONG_MAX */

static __always_inline __s64 in_bytes(__s64 pages)
{
	if (pages > MOST_PAGES)
		pages = MOST_PAGES;
	if (pages < -MOST_PAGES)
		pages = -MOST_PAGES;
	return pages * (__s64)config.page_size;
}

/* Nothing is known. */
static __always_inline void forget(struct oom_choice *choice)
{
	__builtin_memset(choice, 0, offsetof(struct oom_choice, message));
	choice->constraint = EBT_V_oom_kill_constraint_not_known;
	choice->limit.len = 0;
	choice->cgroup.len = 0;
}

/* The function and the log tell of the same choice, one after the other. */
static __always_inline struct oom_choice *begin_choice(void)
{
	struct oom_choice *choice = ebrec_entry(&oom_choices);
	__u32 tid = this_tid();

	if (!choice || (choice->tid == tid && !choice->used))
		return choice;
	forget(choice);
	choice->tid = tid;
	return choice;
}

SEC("fentry/oom_kill_process")
int BPF_PROG(ebrec_oom_choice, struct oom_control___oom *oc, const char *message)
{
	struct mem_cgroup___oom *memcg;
	long n;
	struct oom_choice *choice = gate ? begin_choice() : NULL;

	if (!choice)
		return 0;
	memcg = BPF_CORE_READ(oc, memcg);
	choice->constraint = BPF_CORE_READ(oc, constraint);
	choice->gfp = BPF_CORE_READ(oc, gfp_mask);
	choice->order = BPF_CORE_READ(oc, order);
	choice->total = in_bytes(BPF_CORE_READ(oc, totalpages));
	choice->points = in_bytes(BPF_CORE_READ(oc, chosen_points));
	choice->limit_cgroup = memcg ? BPF_CORE_READ(memcg, css.cgroup, kn, id) : 0;
	n = bpf_probe_read_kernel_str(choice->message, MESSAGE_LEN, message);
	choice->message_len = n > 0 ? n - 1 : 0;
	return 0;
}

/* --- the log --- */

#define CONSTRAINT	   "oom-kill:constraint=CONSTRAINT_"
#define INVOKED		   " invoked oom-killer: gfp_mask=0x"
#define ORDER		   ", order="
#define SHORT		   40  /* of a piece: more than the longest words above and what decides */
#define FLAGS_LEN	   256 /* longest names of flags */
#define MAX_DIGITS	   8

#define STARTS(text, word) (!__builtin_memcmp(text, word, sizeof(word) - 1))

/* text is "cc0(GFP_KERNEL), order=0, oom_score_adj=0". */
static __always_inline void parse_request(struct oom_choice *choice, const char *text)
{
	char order[4] = {}, *flags = choice->limit.text; /* not used yet */
	__u32 gfp = 0, i;

	if (bpf_probe_read_kernel_str(flags, FLAGS_LEN, text) < 0)
		return;
	for (i = 0; i < MAX_DIGITS; i++) {
		char c = flags[i];

		if (c >= '0' && c <= '9')
			gfp = gfp << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			gfp = gfp << 4 | (c - 'a' + 10);
		else
			break;
	}
	choice->gfp = gfp;
	for (i = 0; i < FLAGS_LEN && flags[i] != ','; i++)
		;
	if (bpf_probe_read_kernel(order, sizeof(order) - 1, text + i + sizeof(ORDER) - 1))
		return;
	if (order[0] == '-')
		choice->order = -1;
	else
		choice->order = order[1] >= '0' && order[1] <= '9'
					? (order[0] - '0') * 10 + order[1] - '0'
					: order[0] - '0';
}

/* The first line of a choice: "NAME invoked oom-killer: gfp_mask=0x…". */
static __always_inline bool is_request(const char *text, __u64 len)
{
	char line[SHORT] = {}, comm[COMM_LEN] = {};
	struct oom_choice *choice;

	bpf_get_current_comm(comm, sizeof(comm));
	text += ebrec_comm_len(comm);
	if (len < ebrec_comm_len(comm) + sizeof(INVOKED) ||
	    bpf_probe_read_kernel(line, sizeof(INVOKED) - 1, text) || !STARTS(line, INVOKED))
		return false;
	choice = begin_choice();
	if (choice)
		parse_request(choice, text + sizeof(INVOKED) - 1);
	return true;
}

/* NONE, CPUSET, MEMORY_POLICY, MEMCG */
static __always_inline __u32 parse_constraint(const char *name)
{
	switch (name[0]) {
	case 'N':
		return EBT_V_oom_kill_constraint_machine;
	case 'C':
		return EBT_V_oom_kill_constraint_cpuset;
	case 'M':
		return name[3] == 'C' ? EBT_V_oom_kill_constraint_cgroup
				      : EBT_V_oom_kill_constraint_memory_policy;
	}
	return EBT_V_oom_kill_constraint_not_known;
}

static __always_inline void keep_text(struct oom_text *to, const char *from, __u64 len)
{
	if (len > CGROUP_LEN)
		len = CGROUP_LEN;
	to->len = bpf_probe_read_kernel(to->text, len, from) ? 0 : len;
}

/*
 * The second line comes in pieces: "oom-kill:constraint=…,nodemask=…", ",cpuset=", …,
 * ",oom_memcg=", the path, ",task_memcg=", the path, ",task=…". So does the one that is said of a
 * group.
 */
static __always_inline void take_piece(struct oom_choice *choice, const char *line,
				       const char *text, __u64 len)
{
	enum oom_piece piece = choice->next;

	choice->next = OTHER;
	if (piece == LIMIT)
		keep_text(&choice->limit, text, len);
	else if (piece == CGROUP)
		keep_text(&choice->cgroup, text, len);
	else if (STARTS(line, CONSTRAINT))
		choice->constraint = parse_constraint(line + sizeof(CONSTRAINT) - 1);
	else if (STARTS(line, ",oom_memcg="))
		choice->next = LIMIT;
	else if (STARTS(line, ",task_memcg="))
		choice->next = CGROUP;
	else if (STARTS(line, "Tasks in "))
		choice->group = 1;
}

/* The text need not end with NUL. */
SEC("tp_btf/console")
int BPF_PROG(ebrec_oom_console, const char *text, unsigned long len)
{
	struct oom_choice *choice;
	char line[SHORT] = {};

	if (!gate || ebrec_in_interrupt() || is_request(text, len))
		return 0;
	choice = ebrec_entry(&oom_choices);
	if (!choice || choice->tid != this_tid())
		return 0;
	bpf_probe_read_kernel(line, len < sizeof(line) ? len : sizeof(line), text);
	take_piece(choice, line, text, len);
	return 0;
}

/* --- the kill --- */

SEC("tp_btf/signal_generate")
int BPF_PROG(ebrec_oom_signal, int sig, __u64 info, const struct task_struct *task)
{
	struct oom_signal *sent;

	if (sig != SIGKILL || info != SEND_PRIV || !gate)
		return 0;
	sent = ebrec_entry(&oom_signals);
	if (!sent)
		return 0;
	sent->tid = this_tid();
	sent->victim = task->pid;
	sent->task = (const void *)task;
	return 0;
}

/* Counters of CPUs may make it less than nothing. */
static __always_inline __u64 counted(__s64 pages)
{
	return pages > 0 ? in_bytes(pages) : 0;
}

/* What the kernel prints of the victim; it does not sum up what CPUs keep for themselves either. */
static __always_inline void fill_memory(struct ebt_wire_oom_kill *row, const struct mm_struct *mm)
{
	const struct mm_struct___old *old = (const void *)mm;

	row->total_vm = counted(BPF_CORE_READ(mm, total_vm));
	row->page_tables = BPF_CORE_READ(mm, pgtables_bytes.counter);
	if (bpf_core_field_exists(mm->rss_stat[0].count)) {
		row->anon = counted(BPF_CORE_READ(mm, rss_stat[ANON_PAGES].count));
		row->file = counted(BPF_CORE_READ(mm, rss_stat[FILE_PAGES].count));
		row->shmem = counted(BPF_CORE_READ(mm, rss_stat[SHMEM_PAGES].count));
		row->swap = counted(BPF_CORE_READ(mm, rss_stat[SWAP_ENTRIES].count));
		return;
	}
	row->anon = counted(BPF_CORE_READ(old, rss_stat.count[ANON_PAGES].counter));
	row->file = counted(BPF_CORE_READ(old, rss_stat.count[FILE_PAGES].counter));
	row->shmem = counted(BPF_CORE_READ(old, rss_stat.count[SHMEM_PAGES].counter));
	row->swap = counted(BPF_CORE_READ(old, rss_stat.count[SWAP_ENTRIES].counter));
}

struct oom_record {
	struct ebt_wire_oom_kill row;
	char task_comm[COMM_LEN];
	char comm[COMM_LEN];
	char message[MESSAGE_LEN];
	char limit[CGROUP_LEN];
	char cgroup[CGROUP_LEN];
};

#define REFER(member, len) ((struct ebt_ref){ offsetof(struct oom_record, member), len })

static __always_inline void fill_choice(struct oom_record *record, const struct oom_choice *choice)
{
	struct ebt_wire_oom_kill *row = &record->row;

	row->constraint = choice->constraint;
	row->order = choice->order;
	row->gfp = choice->gfp;
	row->group = choice->group;
	row->total = choice->total;
	row->points = choice->points;
	row->limit_cgroup = choice->limit_cgroup;
	bpf_probe_read_kernel(record->message, MESSAGE_LEN, choice->message);
	bpf_probe_read_kernel(record->limit, CGROUP_LEN, choice->limit.text);
	bpf_probe_read_kernel(record->cgroup, CGROUP_LEN, choice->cgroup.text);
	row->message = REFER(message, choice->message_len);
	row->limit = REFER(limit, choice->limit.len);
	row->cgroup = REFER(cgroup, choice->cgroup.len);
}

static __always_inline void fill_victim(struct oom_record *record, const struct task_struct *victim)
{
	struct ebt_wire_oom_kill *row = &record->row;

	row->victim = BPF_CORE_READ(victim, pid);
	row->victim_pid = BPF_CORE_READ(victim, tgid);
	row->uid = BPF_CORE_READ(victim, real_cred, uid.val);
	row->score_adj = BPF_CORE_READ(victim, signal, oom_score_adj);
	fill_memory(row, BPF_CORE_READ(victim, mm));
	bpf_core_read(record->comm, COMM_LEN, &victim->comm);
	row->comm = REFER(comm, ebrec_comm_len(record->comm));
}

static __always_inline void emit_kill(const struct task_struct *victim,
				      const struct oom_choice *choice)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	struct oom_record *record;
	__u64 flags;

	record = ebrec_reserve_event(EBT_T_oom_kill, sizeof(*record), bpf_ktime_get_ns(), &flags);
	if (!record)
		return;
	record->row.task = task->pid;
	record->row.task_pid = task->tgid;
	record->row.task_score_adj = task->signal->oom_score_adj;
	bpf_get_current_comm(record->task_comm, COMM_LEN);
	record->row.task_comm = REFER(task_comm, ebrec_comm_len(record->task_comm));
	fill_victim(record, victim);
	fill_choice(record, choice);
	bpf_ringbuf_submit(record, flags);
}

/* Also marked, but not killed, is who is about to end anyway. */
SEC("tp_btf/mark_victim")
int ebrec_oom_mark(__u64 *ctx)
{
	const struct task_struct *task = (const void *)ctx[0];
	struct oom_choice *choice;
	struct oom_signal *sent;
	__u32 victim;

	if (!gate)
		return 0;
	victim = oom_victim_is_task ? task->pid : (__u32)ctx[0];
	choice = ebrec_entry(&oom_choices);
	sent = ebrec_entry(&oom_signals);
	if (!choice || !sent)
		return 0;
	/* The kernel may have said nothing: it says no more than ten times in five seconds. */
	if (choice->tid != this_tid() || (choice->used && !choice->group))
		forget(choice);
	choice->used = 1;
	if (sent->tid != this_tid() || sent->victim != victim)
		return 0;
	sent->tid = 0;
	if (config.all || ebrec_tid_followed(this_tid()) || ebrec_tid_followed(victim))
		emit_kill(sent->task, choice);
	return 0;
}
