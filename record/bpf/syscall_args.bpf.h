/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What arguments of system calls point to, and which files their descriptors are: rows of tables
 * `syscall_arg` and `fd`, made when a call returns, before its own row is handed over. At the
 * entry a program's first use of a page of constants could not be read; the kernel has done that at
 * the return. A text is what the program said, the file of a descriptor what the kernel did.
 */
#ifndef RECORD_BPF_SYSCALL_ARGS_BPF_H
#define RECORD_BPF_SYSCALL_ARGS_BPF_H

#include "record/bpf/fds.bpf.h"
#include "record/bpf/inode_path.bpf.h"

const volatile struct ebrec_call_plan call_plans[EBREC_CALLS] = {};
const volatile struct ebrec_call_plan compat_call_plans[EBREC_CALLS] = {};

#define ARG_TEXT 4097	/* PATH_MAX, with the zero byte, and one more: it goes on */
#define ARG_DATA 128	/* struct sockaddr_storage */
#define ARG_CWD	 (-100) /* AT_FDCWD */

enum { ATTR_UNREADABLE = 1, ATTR_CUT = 2 };

/* Rows are handed over by their first bytes. */
struct arg_scratch {
	struct ebt_wire_syscall_arg row;
	char bytes[2 * 4096]; /* half of it is for the verifier */
};

EBREC_CPU_ARRAY(arg_scratch, 1, struct arg_scratch);

static __always_inline __u64 arg_of(const struct ebt_wire_syscall *call, __u32 n)
{
	switch (n) {
	case 0:
		return call->arg0;
	case 1:
		return call->arg1;
	case 2:
		return call->arg2;
	case 3:
		return call->arg3;
	case 4:
		return call->arg4;
	default:
		return call->arg5;
	}
}

/* --- files --- */

static __always_inline const struct file *file_of(const struct task_struct *task, __u32 fd,
						  bool *cloexec)
{
	const struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	const struct file *file = NULL;
	unsigned long word = 0;

	if (fd >= BPF_CORE_READ(fdt, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(fdt, fd) + fd);
	bpf_probe_read_kernel(&word, sizeof(word), BPF_CORE_READ(fdt, close_on_exec) + fd / 64);
	*cloexec = word >> fd % 64 & 1;
	return file;
}

/*
 * Which of the names of an inode. Files that are in no folder have no hash; of these one inode
 * stands for all of anon_inode, whose kinds differ in the first bytes of their names.
 */
static __always_inline __u32 name_hash(const struct dentry *dentry)
{
	__u32 hash = BPF_CORE_READ(dentry, d_name.hash);
	__u64 bytes = 0;

	if (hash)
		return hash;
	bpf_probe_read_kernel_str(&bytes, sizeof(bytes), BPF_CORE_READ(dentry, d_name.name));
	return bytes ^ bytes >> 32;
}

static __always_inline bool is_deleted(const struct dentry *dentry)
{
	return !BPF_CORE_READ(dentry, d_hash.pprev) && BPF_CORE_READ(dentry, d_parent) != dentry;
}

static __always_inline __u32 mount_id(const struct vfsmount *mnt)
{
	return BPF_CORE_READ((const struct mount *)((const void *)mnt -
						    bpf_core_field_offset(struct mount, mnt)),
			     mnt_id);
}

#define O_CLOEXEC 02000000 /* the same on x86 and arm64 */

/* fd: a descriptor of the current task, or ARG_CWD. False: it is none, or the row is lost. */
__noinline int syscall_send_fd(__u64 now, int fd, __u32 why)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct file *file = NULL;
	const struct dentry *dentry;
	const struct vfsmount *mnt;
	const struct inode *inode;
	struct ebrec_inode_id id;
	struct ebt_wire_fd *row;
	bool cloexec = false;
	__u64 flags;
	__u16 mode;

	if (fd == ARG_CWD) {
		dentry = BPF_CORE_READ(task, fs, pwd.dentry);
		mnt = BPF_CORE_READ(task, fs, pwd.mnt);
		inode = BPF_CORE_READ(dentry, d_inode);
	} else {
		file = file_of(task, fd, &cloexec);
		if (!file)
			return 0;
		dentry = BPF_CORE_READ(file, f_path.dentry);
		mnt = BPF_CORE_READ(file, f_path.mnt);
		inode = BPF_CORE_READ(file, f_inode);
	}
	ebrec_inode_id(inode, &id);
	id.name_hash = name_hash(dentry);
	mode = BPF_CORE_READ(inode, i_mode);
	/* Sockets and pipes are known by their inodes. */
	if (mode >> 12 != EBT_V_fd_type_socket && BPF_CORE_READ(dentry, d_name.len))
		ebrec_name_inode(inode, dentry, &id, false);
	row = ebrec_reserve_event(EBT_T_fd, sizeof(*row), now, &flags);
	if (!row)
		return 0;
	row->task = task->pid;
	row->fd = fd;
	row->why = why;
	row->type = mode >> 12;
	row->flags = file ? BPF_CORE_READ(file, f_flags) : 0;
	if (cloexec)
		row->flags |= O_CLOEXEC;
	row->attrs = is_deleted(dentry);
	row->dev_major = EBREC_DEV_MAJOR(id.dev);
	row->dev_minor = EBREC_DEV_MINOR(id.dev);
	row->generation = id.generation;
	row->name_hash = id.name_hash;
	row->inode = id.inode;
	row->mount = mount_id(mnt);
	row->unused = 0;
	row->cookie = 0;
	bpf_ringbuf_submit(row, flags);
	return 1;
}

/* It counts as told before it is looked up: who closes it meanwhile clears that. */
static __always_inline void tell_fd(struct ebrec_fds *fds, __u64 now, int fd, __u32 why)
{
	fds_set_told(fds, fd);
	if (!syscall_send_fd(now, fd, why))
		fds_clear_told(fds, fd);
}

/* A call used this descriptor. */
static __always_inline void use_fd(struct ebrec_fds *fds, __u64 now, int fd)
{
	if (fd == ARG_CWD) {
		if (!fds->cwd || fds->changing) {
			fds->cwd = 1;
			if (!syscall_send_fd(now, ARG_CWD, EBT_V_fd_why_used))
				fds->cwd = 0;
		}
	} else if (fd >= 0 && !fds_is_told(fds, fd)) {
		tell_fd(fds, now, fd, EBT_V_fd_why_used);
	}
}

static __always_inline void use_arg(struct ebrec_fds *fds, const struct ebt_wire_syscall *call,
				    __u32 arg)
{
	use_fd(fds, call->head.time, arg == EBREC_FD_CWD ? ARG_CWD : arg_of(call, arg - 1));
}

/* A call made it. */
static __always_inline void return_fd(struct ebrec_fds *fds, __u64 now, int fd)
{
	if (fd >= 0)
		tell_fd(fds, now, fd, EBT_V_fd_why_returned);
}

/* --- what arguments point to --- */

static __always_inline bool send_arg(struct arg_scratch *s, __u32 kind, __u32 len, __u64 now)
{
	s->row.kind = kind;
	if (kind == EBT_V_syscall_arg_kind_text || kind == EBT_V_syscall_arg_kind_result) {
		s->row.text = (struct ebt_ref){ sizeof(s->row), len };
		s->row.data = (struct ebt_ref){ sizeof(s->row) + len, 0 };
	} else {
		s->row.text = (struct ebt_ref){ sizeof(s->row), 0 };
		s->row.data = (struct ebt_ref){ sizeof(s->row), len };
	}
	barrier_var(len);
	if (len > 4096)
		return false;
	return ebrec_output(ebrec_event_slot(), EBT_T_syscall_arg, &s->row.head,
			    (sizeof(s->row) + len + 7) & ~7u, now);
}

/* where: bits 0-7 the argument, 8-15 EBREC_READ_, 16-31 the number of the call. ret: of the call,
 * or for an address its length, or where that is. True: it is told, and could be read. */
__noinline int syscall_send_arg(__u64 now, __u32 where, __u64 from, __s64 ret)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct arg_scratch *s = ebrec_entry(&arg_scratch);
	__u32 how = where >> 8 & 0xff, kind = EBT_V_syscall_arg_kind_text;
	long n;

	if (!s)
		return 0;
	s->row.cpu = bpf_get_smp_processor_id();
	s->row.task = task->pid;
	s->row.nr = where >> 16;
	s->row.arg = where & 0xff;
	s->row.attrs = 0;
	if (how == EBREC_READ_TEXT) {
		n = bpf_probe_read_user_str(s->bytes, ARG_TEXT, (const void *)from);
		if (n == ARG_TEXT)
			s->row.attrs = ATTR_CUT;
		if (n > 0)
			n--;
	} else if (how == EBREC_READ_RESULT) {
		kind = EBT_V_syscall_arg_kind_result;
		n = ret;
		if (n > 4096)
			n = 4096;
		if (n < 0)
			return 0;
		if (bpf_probe_read_user(s->bytes, n & 0x1fff, (const void *)from))
			n = -1;
	} else {
		__s32 len = ret;

		kind = EBT_V_syscall_arg_kind_address;
		if (how == EBREC_READ_ADDRESS_OUT &&
		    bpf_probe_read_user(&len, sizeof(len), (const void *)ret))
			len = 0;
		if (how == EBREC_READ_DESCRIPTORS) {
			kind = EBT_V_syscall_arg_kind_descriptors;
			len = 8;
		}
		if (len <= 0)
			return 0;
		if (len > ARG_DATA)
			len = ARG_DATA;
		n = bpf_probe_read_user(s->bytes, len & 0xff, (const void *)from) ? -1 : len;
	}
	if (n < 0) {
		s->row.attrs = ATTR_UNREADABLE;
		send_arg(s, kind, 0, now);
		return 0;
	}
	if (n > 4096)
		return 0;
	return send_arg(s, kind, n, now);
}

/* What it pointed to has a row: the address says nothing more. */
static __always_inline void forget_arg(struct ebt_wire_syscall *call, __u32 n)
{
	switch (n) {
	case 0:
		call->arg0 = 0;
		break;
	case 1:
		call->arg1 = 0;
		break;
	case 2:
		call->arg2 = 0;
		break;
	case 3:
		call->arg3 = 0;
		break;
	case 4:
		call->arg4 = 0;
		break;
	default:
		call->arg5 = 0;
	}
}

static __always_inline void send_text(struct ebt_wire_syscall *call, __u32 text, __u32 length)
{
	__u32 n = (text & 15) - 1, how = text >> 4;
	__u64 from = arg_of(call, n);
	__s64 ret = call->ret;

	if (!from || (ret < 0 && (how == EBREC_READ_RESULT || how == EBREC_READ_ADDRESS_OUT ||
				  how == EBREC_READ_DESCRIPTORS)))
		return;
	if (how == EBREC_READ_ADDRESS || how == EBREC_READ_ADDRESS_OUT)
		ret = arg_of(call, length);
	if (syscall_send_arg(call->head.time, n | how << 8 | call->nr << 16, from, ret))
		forget_arg(call, n);
}

/* --- calls --- */

/* What it does to what is known. */
static __always_inline void take_effect(const struct task_struct *task, struct ebrec_fds *fds,
					const struct ebt_wire_syscall *call, __u32 effect)
{
	switch (effect) {
	case EBREC_EFFECT_CLOSE:
	case EBREC_EFFECT_SOCKET:
		fds_clear_told(fds, call->arg0);
		break;
	case EBREC_EFFECT_ALL:
		fds_forget(fds);
		break;
	case EBREC_EFFECT_CWD:
		fds->cwd = 0;
		break;
	case EBREC_EFFECT_SHARED:
		fds->changing = 1;
		break;
	case EBREC_EFFECT_UNSHARE:
		fds_begin(fds, task->tgid,
			  fds_are_shared(task) || BPF_CORE_READ(task, signal, nr_threads) > 1);
		break;
	case EBREC_EFFECT_EXEC:
		if (!call->ret)
			fds_begin(fds, task->tgid, fds_are_shared(task));
		break;
	}
}

/* fcntl(): F_DUPFD, F_DUPFD_CLOEXEC */
static __always_inline bool makes_fd(const struct ebt_wire_syscall *call, __u32 result)
{
	return result == EBREC_RESULT_FD ||
	       (result == EBREC_RESULT_FCNTL && (call->arg1 == 0 || call->arg1 == 1030));
}

static __always_inline bool is_compat(const struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

/* At the entry: what is going to be closed is still there. */
static __always_inline void syscall_args_enter(const struct task_struct *task, __u64 now, __u64 nr,
					       const struct pt_regs___kernel *regs)
{
	bool compat = is_compat(task);
	struct ebrec_fds *fds;
	__u32 effect;

	if (nr >= EBREC_CALLS)
		return;
	effect = compat ? compat_call_plans[nr].effect : call_plans[nr].effect;
	if (effect != EBREC_EFFECT_CLOSE && effect != EBREC_EFFECT_REPLACE)
		return;
	fds = fds_of(task);
	if (!fds)
		return;
	if (effect == EBREC_EFFECT_CLOSE)
		use_fd(fds, now, compat ? regs->bx : regs->di);
	else
		use_fd(fds, now, compat ? regs->cx : regs->si);
}

static __always_inline void syscall_args(const struct task_struct *task,
					 struct ebt_wire_syscall *call)
{
	const volatile struct ebrec_call_plan *plan;
	__u64 now = call->head.time;
	struct ebrec_fds *fds;
	int pair[2] = { -1, -1 };
	__u32 nr = call->nr;

	if (nr >= EBREC_CALLS)
		return;
	plan = call->abi ? &compat_call_plans[nr] : &call_plans[nr];
	if (plan->effect == EBREC_EFFECT_EXEC && !call->ret) {
		fds = fds_of(task);
		if (fds)
			take_effect(task, fds, call, plan->effect);
		return;
	}
	if (plan->result == EBREC_RESULT_PAIR && !call->ret)
		bpf_probe_read_user(pair, sizeof(pair),
				    (const void *)arg_of(call, (plan->texts[0] & 15) - 1));
	for (__u32 i = 0; i < 3 && plan->texts[i]; i++)
		send_text(call, plan->texts[i], plan->lengths);
	if (!plan->fds[0] && !plan->effect && !plan->result)
		return;
	fds = fds_of(task);
	if (!fds)
		return;
	if (plan->effect)
		take_effect(task, fds, call, plan->effect);
	if (plan->fds[0])
		use_arg(fds, call, plan->fds[0]);
	if (plan->fds[1])
		use_arg(fds, call, plan->fds[1]);
	if (makes_fd(call, plan->result))
		return_fd(fds, now, call->ret);
	if (pair[0] >= 0) {
		return_fd(fds, now, pair[0]);
		return_fd(fds, now, pair[1]);
	}
}

#endif
