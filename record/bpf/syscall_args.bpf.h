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
#include "record/bpf/sockets.bpf.h"

const volatile struct ebrec_call_plan call_plans[EBREC_CALLS] = {};
const volatile struct ebrec_call_plan compat_call_plans[EBREC_CALLS] = {};
const volatile struct ebrec_call_structs call_structs[EBREC_CALLS] = {};
const volatile struct ebrec_call_structs compat_call_structs[EBREC_CALLS] = {};
/* By number: a native call or a 32-bit one closes a descriptor. */
const volatile __u8 calls_that_close[EBREC_CALLS] = {};

#define ARG_DATA 128	/* struct sockaddr_storage */
#define ARG_CWD	 (-100) /* AT_FDCWD */

enum { ATTR_UNREADABLE = 1, ATTR_CUT = 2 };

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

/* 6.2. Costs no instruction: what it returns can be read without a helper. Only here, as bpftool
 * links no two objects that have it. */
extern void *bpf_rdonly_cast(const void *from, __u32 type) __ksym __weak;

/* The same pointer; only where there is bpf_rdonly_cast(). */
#define EBREC_CAST(from) \
	((typeof(from))bpf_rdonly_cast(from, bpf_core_type_id_kernel(typeof(*(from)))))

/* A field of what a pointer points to, wherever that comes from. */
#define EBREC_READ(from, field) \
	(bpf_rdonly_cast ? EBREC_CAST(from)->field : BPF_CORE_READ(from, field))

/* Where each field can be read by itself, nothing has to be. */
#define PART_READ(part, from) \
	(bpf_rdonly_cast ? !(from) : bpf_probe_read_kernel(&(part), sizeof(part), from))

/* A field of what was read, or of what it was read from where kernels have it farther behind. */
#define PART_FIELD(part, from, field)                                                             \
	({                                                                                        \
		typeof((from)->field) value_;                                                     \
		__u32 at_ = bpf_core_field_offset((from)->field);                                 \
		if (at_ <= sizeof(part) - sizeof(value_))                                         \
			__builtin_memcpy((void *)&value_, (void *)&(part) + at_, sizeof(value_)); \
		else                                                                              \
			bpf_core_read((void *)&value_, sizeof(value_), &(from)->field);           \
		value_;                                                                           \
	})
#define PART(part, from, field) \
	(bpf_rdonly_cast ? EBREC_CAST(from)->field : PART_FIELD(part, from, field))

/* What a pointer to a pointer, or to a word, points to: any type of the kernel whose first field is
 * one will do. */
static __always_inline const void *pointer_at(const void *from)
{
	const void *to = NULL;

	if (bpf_rdonly_cast)
		return EBREC_CAST((const struct list_head *)from)->next;
	bpf_probe_read_kernel(&to, sizeof(to), from);
	return to;
}

static __always_inline unsigned long word_at(const void *from)
{
	unsigned long word = 0;

	if (bpf_rdonly_cast && !bpf_core_field_offset(struct vm_area_struct, vm_start))
		return EBREC_CAST((const struct vm_area_struct *)from)->vm_start;
	bpf_probe_read_kernel(&word, sizeof(word), from);
	return word;
}

static __always_inline const struct file *file_of(const struct task_struct *task, __u32 fd,
						  bool *cloexec)
{
	const struct fdtable *fdt = task->files->fdt;

	if (fd >= fdt->max_fds)
		return NULL;
	*cloexec = word_at(fdt->close_on_exec + fd / 64) >> fd % 64 & 1;
	return pointer_at(fdt->fd + fd);
}

/*
 * Which of the names of an inode. Files that are in no folder have no hash; of these one inode
 * stands for all of anon_inode, whose kinds differ in the first bytes of their names.
 */
static __always_inline __u32 name_hash(const struct dentry *dentry, const struct dentry_part *part)
{
	__u32 hash = PART(*part, dentry, d_name.hash);
	__u64 bytes = 0;

	if (hash)
		return hash;
	bpf_probe_read_kernel_str(&bytes, sizeof(bytes), PART(*part, dentry, d_name.name));
	return bytes ^ bytes >> 32;
}

static __always_inline bool is_deleted(const struct dentry *dentry, const struct dentry_part *part)
{
	return !PART(*part, dentry, d_hash.pprev) && PART(*part, dentry, d_parent) != dentry;
}

static __always_inline __u32 mount_id(const struct vfsmount *mnt)
{
	const struct mount *mount = (const void *)mnt - bpf_core_field_offset(struct mount, mnt);

	return EBREC_READ(mount, mnt_id);
}

static __always_inline void file_id(const struct inode *inode, __u32 hash,
				    struct ebrec_inode_id *ret)
{
	const struct super_block *sb = EBREC_READ(inode, i_sb);

	ret->inode = EBREC_READ(inode, i_ino);
	ret->dev = EBREC_READ(sb, s_dev);
	ret->generation = EBREC_READ(inode, i_generation);
	ret->name_hash = hash;
	ret->unused = 0;
}

enum { FD_DELETED = 1, FD_DOUBTFUL = 2 }; /* field attrs */

#define O_CLOEXEC 02000000 /* the same on x86 and arm64 */

/* What file it is; mnt: by which mount it was opened. */
static __always_inline void fill_fd(struct ebt_wire_fd *row, const struct ebrec_inode_id *id,
				    const struct dentry *dentry, const struct dentry_part *name,
				    const struct vfsmount *mnt)
{
	row->cpu = bpf_get_smp_processor_id();
	row->attrs = is_deleted(dentry, name) ? FD_DELETED : 0;
	row->dev_major = EBREC_DEV_MAJOR(id->dev);
	row->dev_minor = EBREC_DEV_MINOR(id->dev);
	row->generation = id->generation;
	row->name_hash = id->name_hash;
	row->inode = id->inode;
	row->mount = mount_id(mnt);
	row->unused = 0;
}

/* It is not there any more. Where descriptors change without calls, readers would take it for what
 * it was before. */
static __always_inline int add_gone(const struct task_struct *task, struct call_rows *rows,
				    __u64 now, int fd, __u32 why)
{
	const struct ebrec_fds *fds = fds_slot(task->tgid);
	struct ebt_wire_fd *row;

	if (!fds || !fds->changing)
		return 0;
	row = call_rows_place(rows, now);
	__builtin_memset(row, 0, sizeof(*row));
	row->cpu = bpf_get_smp_processor_id();
	row->task = task->pid;
	row->fd = fd;
	row->why = why;
	row->attrs = FD_DOUBTFUL;
	call_rows_add(rows, &row->head, EBT_T_fd, sizeof(*row), now);
	rows->n_fds++;
	return 0;
}

#define NAMED_LATELY 256 /* a power of two */

/* Files that have been named, of those that were used last: a hash table costs more. Only calls use
 * it, which do not interrupt each other. */
EBREC_CPU_ARRAY(named_lately, NAMED_LATELY, struct ebrec_inode_id);

static __always_inline bool id_is(const struct ebrec_inode_id *a, const struct ebrec_inode_id *b)
{
	return a->inode == b->inode && a->dev == b->dev && a->generation == b->generation &&
	       a->name_hash == b->name_hash;
}

static __always_inline void name_file(const struct inode *inode, const struct dentry *dentry,
				      const struct ebrec_inode_id *id)
{
	__u32 key = (id->inode ^ id->name_hash) % NAMED_LATELY;
	struct ebrec_inode_id *named = bpf_map_lookup_elem(&named_lately, &key);

	if (named && !id_is(named, id) && ebrec_name_inode(inode, dentry, id, false))
		*named = *id;
}

/* fd: a descriptor of the current task, or ARG_CWD. False: it is none, or it may have become
 * another file since, as its row says. */
__noinline int syscall_add_fd(__u64 now, int fd, __u32 why)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct call_rows *rows = ebrec_entry(&call_rows);
	const struct file *file = NULL;
	const struct dentry *dentry;
	const struct vfsmount *mnt;
	const struct inode *inode;
	struct ebrec_inode_id id;
	struct ebt_wire_fd *row;
	bool cloexec = false, doubtful;
	__u32 flags = 0, type;

	if (!rows)
		return 0;
	if (fd == ARG_CWD) {
		dentry = task->fs->pwd.dentry;
		mnt = task->fs->pwd.mnt;
	} else {
		file = file_of(task, fd, &cloexec);
		if (!file || PART_READ(rows->file, file))
			return add_gone(task, rows, now, fd, why);
		dentry = PART(rows->file, file, f_path.dentry);
		mnt = PART(rows->file, file, f_path.mnt);
		flags = PART(rows->file, file, f_flags);
	}
	if (PART_READ(rows->name, dentry))
		return 0;
	inode = file ? PART(rows->file, file, f_inode) : PART(rows->name, dentry, d_inode);
	file_id(inode, name_hash(dentry, &rows->name), &id);
	type = EBREC_READ(inode, i_mode) >> 12;
	rows->cookie = 0;
	if (file && type == EBT_V_fd_type_socket) {
		rows->socket = (__u64)file;
		syscall_add_socket(now);
	}
	row = call_rows_place(rows, now);
	row->type = type;
	/* Sockets and pipes are known by their inodes. */
	if (type != EBT_V_fd_type_socket && PART(rows->name, dentry, d_name.len))
		name_file(inode, dentry, &id);
	fill_fd(row, &id, dentry, &rows->name, mnt);
	row->task = task->pid;
	row->fd = fd;
	row->why = why;
	row->flags = cloexec ? flags | O_CLOEXEC : flags;
	row->cookie = rows->cookie;
	doubtful = fd != ARG_CWD && !fds_is_as_of(task, fd, now);
	if (doubtful)
		row->attrs |= FD_DOUBTFUL;
	call_rows_add(rows, &row->head, EBT_T_fd, sizeof(*row), now);
	rows->n_fds++;
	return !doubtful;
}

/* It counts as told before it is looked up: who closes it meanwhile clears that. */
static __always_inline void tell_fd(struct ebrec_fds *fds, __u64 now, int fd, __u32 why)
{
	fds_set_told(fds, fd);
	if (!syscall_add_fd(now, fd, why))
		fds_clear_told(fds, fd);
}

/* A call used this descriptor. */
static __always_inline void use_fd(struct ebrec_fds *fds, __u64 now, int fd)
{
	if (fd == ARG_CWD) {
		if (fds->cwd && !fds->changing)
			return;
		/* As for others: who changes it meanwhile clears that. */
		fds->cwd = 1;
		if (!syscall_add_fd(now, ARG_CWD, EBT_V_fd_why_used))
			fds->cwd = 0;
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

/* ret: the length of an address or a struct, or where that is. */
static __always_inline __u32 data_length(__u32 how, __s64 ret)
{
	__s32 len = ret;

	if (how == EBREC_READ_DESCRIPTORS)
		return 8;
	if (how == EBREC_READ_ADDRESS_OUT &&
	    bpf_probe_read_user(&len, sizeof(len), (const void *)ret))
		return 0;
	if (len < 0)
		return 0;
	return len > ARG_DATA ? ARG_DATA : len;
}

#define NOTHING	 (-1)	   /* there is nothing to be read */
#define READ_CUT (1 << 16) /* with the number of bytes: there are more */

/* Of a text that has no end where it can be read: too long for the kernel, it may end where memory
 * does. */
static __always_inline long read_long(char *bytes, __u64 from)
{
	return bpf_probe_read_user(bytes, ARG_TEXT - 1, (const void *)from)
		       ? NOTHING - 1
		       : (ARG_TEXT - 1) | READ_CUT;
}

/* How many bytes were read; below NOTHING: they could not be. */
static __always_inline long read_arg(char *bytes, __u32 how, __u64 from, __s64 ret)
{
	__u32 len;
	long n;

	if (how == EBREC_READ_TEXT) {
		n = bpf_probe_read_user_str(bytes, ARG_TEXT, (const void *)from);
		if (!n)
			return 0; /* not all kernels count a NUL that is alone */
		return n == ARG_TEXT ? (n - 1) | READ_CUT : n > 0 ? n - 1 : read_long(bytes, from);
	}
	if (how == EBREC_READ_RESULT) {
		n = ret > 4096 ? 4096 : ret;
		if (n < 0)
			return NOTHING;
		barrier_var(n);
		return bpf_probe_read_user(bytes, n & 0x1fff, (const void *)from) ? NOTHING - 1 : n;
	}
	len = data_length(how, ret);
	if (!len)
		return NOTHING;
	n = len;
	barrier_var(len);
	return bpf_probe_read_user(bytes, len & 0xff, (const void *)from) ? NOTHING - 1 : n;
}

static __always_inline __u32 arg_kind(__u32 how)
{
	switch (how) {
	case EBREC_READ_TEXT:
		return EBT_V_syscall_arg_kind_text;
	case EBREC_READ_RESULT:
		return EBT_V_syscall_arg_kind_result;
	case EBREC_READ_DESCRIPTORS:
		return EBT_V_syscall_arg_kind_descriptors;
	case EBREC_READ_STRUCT:
		return EBT_V_syscall_arg_kind_data;
	default:
		return EBT_V_syscall_arg_kind_address;
	}
}

/* where: bits 0-7 the argument, 8-15 EBREC_READ_, 16-31 the number of the call. ret: of the call,
 * or for an address or a struct its length, or where that is. */
static __always_inline void add_arg(const struct task_struct *task, struct call_rows *rows,
				    __u64 now, __u32 where, __u64 from, __s64 ret)
{
	__u32 how = where >> 8 & (EBREC_READ_CUT - 1), len;
	struct ebt_wire_syscall_arg *row = call_rows_place(rows, now);
	long n = read_arg((char *)(row + 1), how, from, ret);

	if (n == NOTHING)
		return;
	row->cpu = bpf_get_smp_processor_id();
	row->task = task->pid;
	row->nr = where >> 16;
	row->arg = where & 0xff;
	row->kind = arg_kind(how);
	row->attrs = n < 0 ? ATTR_UNREADABLE : n & READ_CUT ? ATTR_CUT : 0;
	if (where & EBREC_READ_CUT << 8)
		row->attrs |= ATTR_CUT;
	len = n < 0 ? 0 : n & (READ_CUT - 1);
	row->text = (struct ebt_ref){ sizeof(*row), 0 };
	row->data = (struct ebt_ref){ sizeof(*row), 0 };
	if (how == EBREC_READ_TEXT || how == EBREC_READ_RESULT)
		row->text.len = len;
	else
		row->data.len = len;
	call_rows_add(rows, &row->head, EBT_T_syscall_arg, sizeof(*row) + len, now);
	rows->n_args++;
	if (n >= 0)
		rows->told |= 1 << (where & 7);
}

__noinline int syscall_add_arg(__u64 now, __u32 where, __u64 from, __s64 ret)
{
	struct call_rows *rows = ebrec_entry(&call_rows);

	if (rows)
		add_arg(bpf_get_current_task_btf(), rows, now, where, from, ret);
	return 0;
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

/* The same of all of a set. */
static __always_inline void forget_args(struct ebt_wire_syscall *call, __u32 args)
{
	for (__u32 n = 0; n < 6; n++) {
		if (args >> n & 1)
			forget_arg(call, n);
	}
}

static __always_inline void add_text(const struct ebt_wire_syscall *call, __u32 text, __u32 length)
{
	__u32 n = (text & 15) - 1, how = text >> 4;
	__u64 from = arg_of(call, n);
	__s64 ret = call->ret;

	if (!from || (ret < 0 && (how == EBREC_READ_RESULT || how == EBREC_READ_ADDRESS_OUT ||
				  how == EBREC_READ_DESCRIPTORS)))
		return;
	if (how == EBREC_READ_ADDRESS || how == EBREC_READ_ADDRESS_OUT)
		ret = arg_of(call, length & (EBREC_PLAN_STRUCTS - 1));
	syscall_add_arg(call->head.time, n | how << 8 | call->nr << 16, from, ret);
}

/* Most calls that have any have one, a path: that is read without a call of a function. */
static __always_inline void add_texts(const struct task_struct *task, struct call_rows *rows,
				      const struct ebt_wire_syscall *call,
				      const struct ebrec_call_plan *plan)
{
	__u32 n = (plan->texts[0] & 15) - 1, first = 0;
	__u64 from;

	if (plan->texts[0] >> 4 == EBREC_READ_TEXT) {
		from = arg_of(call, n);
		if (from)
			add_arg(task, rows, call->head.time,
				n | EBREC_READ_TEXT << 8 | call->nr << 16, from, call->ret);
		first = 1;
	}
	for (__u32 i = first; i < 3 && plan->texts[i]; i++)
		add_text(call, plan->texts[i], plan->lengths);
}

/* include/uapi/linux/futex.h: WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2; others have
 * numbers in its place, or nothing. */
#define FUTEX_COMMANDS	  0x7f
#define FUTEXES_WITH_TIME (1 << 0 | 1 << 6 | 1 << 9 | 1 << 11 | 1 << 13)

#define EPOLL_CTL_DEL	  2

/* How many there are. */
static __always_inline __s64 how_many(const struct ebt_wire_syscall *call,
				      const struct ebrec_call_struct *part)
{
	__u64 next = arg_of(call, part->arg);
	__u32 command = call->arg1 & FUTEX_COMMANDS;
	__s32 len = next;

	switch (part->how_many) {
	case EBREC_MANY_NEXT:
		return (__u32)next;
	case EBREC_MANY_RESULT:
		return call->ret;
	case EBREC_MANY_INT_AT:
		if (bpf_probe_read_user(&len, sizeof(len), (const void *)next))
			return 0;
		return len == sizeof(__s32);
	case EBREC_MANY_BYTES:
		return next >= part->offset + part->size;
	case EBREC_MANY_INT:
		return len == sizeof(__s32);
	case EBREC_MANY_EPOLL:
		return call->arg1 != EPOLL_CTL_DEL;
	case EBREC_MANY_FUTEX:
		return command < 32 && FUTEXES_WITH_TIME >> command & 1;
	default:
		return 1;
	}
}

static __always_inline bool is_there(const struct ebt_wire_syscall *call,
				     const struct ebrec_call_struct *part)
{
	return part->when == EBREC_WHEN_IN || call->ret > 0 ||
	       (part->when != EBREC_WHEN_SOME && !call->ret);
}

static __always_inline void add_struct(const struct ebt_wire_syscall *call, struct call_rows *rows,
				       const struct ebrec_call_struct *part)
{
	__u32 n = part->arg - 1, where = n | EBREC_READ_STRUCT << 8 | call->nr << 16;
	const __u32 size = part->size;
	__u64 from = arg_of(call, n);
	__s64 many;

	if (!from || !is_there(call, part))
		return;
	many = how_many(call, part);
	if (many <= 0)
		return;
	if (many * size > ARG_DATA) {
		many = ARG_DATA / size;
		where |= EBREC_READ_CUT << 8;
	}
	syscall_add_arg(call->head.time, where, from + part->offset, many * size);
	/* What it was at the entry is not known: strace would show that in its place. */
	if (part->when == EBREC_WHEN_LEFT)
		rows->told &= ~(1 << (n & 7));
}

/* Of a call that has some. */
__noinline int syscall_add_structs(struct ebt_wire_syscall *call)
{
	const volatile struct ebrec_call_structs *structs;
	struct call_rows *rows = ebrec_entry(&call_rows);
	struct ebrec_call_struct part;

	if (!call || !rows || call->nr >= EBREC_CALLS)
		return 0;
	structs = call->abi ? &compat_call_structs[call->nr] : &call_structs[call->nr];
	for (__u32 i = 0; i < EBREC_CALL_STRUCTS; i++) {
		part = structs->parts[i];
		if (!part.arg)
			break;
		add_struct(call, rows, &part);
	}
	return 0;
}

/* --- calls --- */

/* What it does to what is known. */
static __always_inline void take_effect(const struct task_struct *task, struct ebrec_fds *fds,
					const struct ebt_wire_syscall *call, __u32 effect)
{
	switch (effect) {
	case EBREC_EFFECT_REPLACE:
		fds_end_close(fds, call->arg1);
		break;
	case EBREC_EFFECT_CLOSE:
		fds_end_close(fds, call->arg0);
		fds_clear_told(fds, call->arg0);
		break;
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

static __always_inline bool makes_pair(const struct ebt_wire_syscall *call,
				       const struct ebrec_call_plan *plan, int pair[2])
{
	return plan->result == EBREC_RESULT_PAIR && !call->ret &&
	       !bpf_probe_read_user(pair, 2 * sizeof(*pair),
				    (const void *)arg_of(call, (plan->texts[0] & 15) - 1));
}

/* What the call did to descriptors, and which of them are told with it. */
static __always_inline void args_fds(const struct task_struct *task,
				     const struct ebt_wire_syscall *call,
				     const struct ebrec_call_plan *plan, struct ebrec_fds *fds)
{
	__u64 now = call->head.time;
	int pair[2];

	if (plan->effect)
		take_effect(task, fds, call, plan->effect);
	/* Where a program begins; its arguments are those of the old one. */
	if (plan->effect == EBREC_EFFECT_EXEC && !call->ret) {
		use_fd(fds, now, ARG_CWD);
		return;
	}
	if (plan->fds[0])
		use_arg(fds, call, plan->fds[0]);
	if (plan->fds[1])
		use_arg(fds, call, plan->fds[1]);
	if (makes_fd(call, plan->result))
		return_fd(fds, now, call->ret);
	if (makes_pair(call, plan, pair)) {
		return_fd(fds, now, pair[0]);
		return_fd(fds, now, pair[1]);
	}
}

static __always_inline struct ebrec_call_plan plan_of(bool compat, __u64 nr)
{
	struct ebrec_call_plan plan = { 0 };

	if (nr < EBREC_CALLS)
		plan.all = compat ? compat_call_plans[nr].all : call_plans[nr].all;
	return plan;
}

/* Where rows of the call that begin at this position of the queue go. */
static __always_inline struct call_rows *call_rows_begin(__u64 where)
{
	struct call_rows *rows = ebrec_entry(&call_rows);

	if (rows) {
		rows->where = where;
		rows->used = rows->n_args = rows->n_fds = rows->n_sockets = rows->told = 0;
	}
	return rows;
}

/* Which descriptor a call that begins is going to close; negative: none. */
static __always_inline int closed_fd(const struct pt_regs___kernel *regs, bool compat, __u64 nr)
{
	switch (plan_of(compat, nr).effect) {
	case EBREC_EFFECT_CLOSE:
		return compat ? regs->bx : regs->di;
	case EBREC_EFFECT_REPLACE:
		return compat ? regs->cx : regs->si;
	default:
		return -1;
	}
}

static __always_inline void tell_closed(struct ebrec_fds *fds, int fd, __u64 now)
{
	struct ebrec_spsc *queue = call_queue_with_room(EBREC_CALL_BYTES);
	struct call_rows *rows = call_rows_begin(queue ? queue->head : CALL_ROWS_RING);

	if (!rows)
		return;
	tell_fd(fds, now, fd, EBT_V_fd_why_used);
	if (queue)
		call_queue_submit(queue, rows->used);
	else if (rows->used && !call_rows_send(now))
		fds_forget(fds);
}

/* A function, so that calls that close nothing save no registers for it. */
__noinline int syscall_tell_closed(__u64 now, int fd)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct ebrec_fds *fds = fds_of(task);

	if (!fds || fd < 0)
		return 0;
	if (!fds_is_told(fds, fd))
		tell_closed(fds, fd, now);
	fds_begin_close(fds, fd, now);
	return 0;
}

/* At the entry: what is going to be closed is still there. */
static __always_inline void syscall_args_enter(const struct task_struct *task, __u64 now, __u64 nr,
					       const struct pt_regs___kernel *regs)
{
	if (nr < EBREC_CALLS && calls_that_close[nr])
		syscall_tell_closed(now, closed_fd(regs, is_compat(task), nr));
}

/* Of a call that has a plan, whose bytes are `all`. Verifiers go through it once, wherever the row
 * lies. where: struct call_rows. How many bytes there are in the queue. */
__noinline int syscall_tell_args(struct ebt_wire_syscall *call, __u64 all, __u64 where)
{
	const struct ebrec_call_plan plan = { .all = all };
	const struct task_struct *task = bpf_get_current_task_btf();
	struct call_rows *rows = call_rows_begin(where);
	struct ebrec_fds *fds = fds_of(task);

	if (!call || !fds || !rows)
		return 0;
	if (plan.texts[0] && (plan.effect != EBREC_EFFECT_EXEC || call->ret))
		add_texts(task, rows, call, &plan);
	if (plan.lengths & EBREC_PLAN_STRUCTS)
		syscall_add_structs(call);
	if (plan.fds[0] || plan.effect || plan.result)
		args_fds(task, call, &plan, fds);
	if (where == CALL_ROWS_RING && rows->used && !call_rows_send(call->head.time)) {
		fds_forget(fds);
		return 0;
	}
	if (rows->told)
		forget_args(call, rows->told);
	return rows->used;
}

/*
 * The plan of a call that returns, if anything is to be done. Nothing is for one that only uses its
 * first argument, which has been told of. Asked before the clock is: reading that waits for what
 * was begun, and has nothing else to do meanwhile.
 */
static __always_inline __u64 plan_to_follow(const struct task_struct *task,
					    const struct pt_regs___kernel *regs)
{
	const struct ebrec_call_plan only_first = { .fds = { 1 } };
	bool compat = is_compat(task);
	__u64 all = plan_of(compat, regs->orig_ax).all;
	struct ebrec_fds *fds;

	if (all != only_first.all)
		return all;
	fds = fds_slot(task->tgid);
	return fds && fds_is_surely_told(fds, task->tgid, compat ? regs->bx : regs->di) ? 0 : all;
}

#endif
