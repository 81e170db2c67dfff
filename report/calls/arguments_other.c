/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of arguments of class OTHER: what others say decides, or they have a form of their own. */
#include "report/calls/signature.h"

/* As argument_add_flags(), behind a first part: nothing where nothing is left. */
static void add_more(const struct call_shown *call, enum flag_set set, uint64_t value,
		     struct text *text)
{
	if (!value)
		return;
	text_addc(text, '|');
	flags_add(text, set, call->abi->flags, value, NULL);
}

/* --- files --- */

void argument_add_open(const struct call_shown *call, uint32_t flags, struct text *text)
{
	text_cstr(text, flag_name(FLAGS_access_mode, call->abi->flags, flags & 3));
	add_more(call, FLAGS_open, flags & ~3u, text);
}

static bool add_open_flags(const struct call_shown *call, unsigned int i, struct text *text)
{
	argument_add_open(call, argument_u32(call, i), text);
	return true;
}

bool open_creates(uint32_t flags)
{
	/* O_TMPFILE without O_DIRECTORY, which is a part of it and not the same on all machines. */
	return flags & (FLAG_open_O_CREAT | 020000000);
}

static bool add_open_mode(const struct call_shown *call, unsigned int i, struct text *text)
{
	if (!open_creates(argument_u32(call, i - 1)))
		return false;
	text_octal(text, (uint16_t)argument_u32(call, i));
	return true;
}

static bool add_mq_attr_created(const struct call_shown *call, unsigned int i, struct text *text)
{
	if (!(argument_u32(call, i - 2) & FLAG_open_O_CREAT))
		return false;
	text_address(text, argument_word(call, i));
	return true;
}

void argument_add_mode(const struct call_shown *call, uint32_t mode, struct text *text)
{
	const char *type = flag_name(FLAGS_file_type, call->abi->flags, mode & 0170000);

	if (type) {
		text_cstr(text, type);
		text_cstr(text, mode & 04000 ? "|S_ISUID" : "");
		text_cstr(text, mode & 02000 ? "|S_ISGID" : "");
		text_cstr(text, mode & 01000 ? "|S_ISVTX" : "");
		text_addc(text, '|');
		mode &= 0777;
	}
	text_octal(text, (uint16_t)mode);
}

static bool add_node_mode(const struct call_shown *call, unsigned int i, struct text *text)
{
	argument_add_mode(call, argument_u32(call, i), text);
	return true;
}

void argument_add_device(uint32_t device, struct text *text)
{
	text_cstr(text, "makedev(");
	text_0x(text, device >> 8 & 0xfff);
	text_cstr(text, ", ");
	text_0x(text, (device & 0xff) | (device >> 12 & 0xfff00));
	text_addc(text, ')');
}

static bool add_device(const struct call_shown *call, unsigned int i, struct text *text)
{
	argument_add_device(argument_u32(call, i), text);
	return true;
}

static bool add_node_device(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t type = argument_u32(call, i - 1) & 0170000;

	return (type == FLAG_file_type_S_IFCHR || type == FLAG_file_type_S_IFBLK) &&
	       add_device(call, i, text);
}

static bool add_ulong_high(const struct call_shown *call, unsigned int i, struct text *text)
{
	/* _llseek() has the high half first; the low one is what it prints. */
	text_i64(text,
		 (int64_t)((uint64_t)argument_u32(call, i) << 32 | argument_u32(call, i + 1)));
	return true;
}

static bool add_pages(const struct call_shown *call, unsigned int i, struct text *text)
{
	text_0x(text, argument_word(call, i) * 4096);
	return true;
}

static bool add_statx_flags(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t flags = argument_u32(call, i);
	uint32_t sync = FLAG_at_sync_AT_STATX_FORCE_SYNC | FLAG_at_sync_AT_STATX_DONT_SYNC;

	argument_add_flags(call, KIND_at_sync, flags & sync, text);
	add_more(call, FLAGS_at, flags & ~sync, text);
	return true;
}

static bool add_fanotify_init_flags(const struct call_shown *call, unsigned int i,
				    struct text *text)
{
	uint32_t flags = argument_u32(call, i);

	argument_add_name(call, KIND_fanotify_class, flags & 0xc, text);
	add_more(call, FLAGS_fanotify_init, flags & ~0xcu, text);
	return true;
}

static bool add_fanotify_mask(const struct call_shown *call, unsigned int i, struct text *text)
{
	argument_add_flags(call, KIND_fanotify_mask, call->view->args[i], text);
	return true;
}

static bool add_fanotify_mask_low(const struct call_shown *call, unsigned int i, struct text *text)
{
	argument_add_flags(call, KIND_fanotify_mask,
			   argument_u32(call, i) | (uint64_t)argument_u32(call, i + 1) << 32, text);
	return true;
}

static bool add_fcntl_argument(const struct call_shown *call, unsigned int i, struct text *text)
{
	enum argument_kind kind;

	switch (argument_u32(call, i - 1)) {
	case FLAG_fcntl_F_GETFD:
	case FLAG_fcntl_F_GETFL:
	case FLAG_fcntl_F_GETOWN:
	case FLAG_fcntl_F_GETSIG:
	case FLAG_fcntl_F_GETLEASE:
	case FLAG_fcntl_F_GETPIPE_SZ:
	case FLAG_fcntl_F_GET_SEALS:
		return false;
	case FLAG_fcntl_F_DUPFD:
	case FLAG_fcntl_F_DUPFD_CLOEXEC:
	case FLAG_fcntl_F_DUPFD_QUERY:
	case FLAG_fcntl_F_SETOWN:
	case FLAG_fcntl_F_SETPIPE_SZ:
		kind = KIND_int;
		break;
	case FLAG_fcntl_F_SETFD:
		kind = KIND_fd_flags;
		break;
	case FLAG_fcntl_F_SETFL:
		kind = KIND_open_flags;
		break;
	case FLAG_fcntl_F_SETSIG:
		kind = KIND_signal;
		break;
	case FLAG_fcntl_F_SETLEASE:
		kind = KIND_lease;
		break;
	case FLAG_fcntl_F_NOTIFY:
		kind = KIND_dnotify_flags;
		break;
	case FLAG_fcntl_F_ADD_SEALS:
		kind = KIND_seals;
		break;
	case FLAG_fcntl_F_GETLK:
	case FLAG_fcntl_F_SETLK:
	case FLAG_fcntl_F_SETLKW:
	case FLAG_fcntl_F_OFD_GETLK:
	case FLAG_fcntl_F_OFD_SETLK:
	case FLAG_fcntl_F_OFD_SETLKW:
	case FLAG_fcntl_F_SETOWN_EX:
	case FLAG_fcntl_F_GETOWN_EX:
	case FLAG_fcntl_F_GETOWNER_UIDS:
		kind = KIND_address;
		break;
	default:
		kind = KIND_hex;
		break;
	}
	return argument_add_as(call, i, kind, text);
}

static bool add_ioctl_command(const struct call_shown *call, unsigned int i, struct text *text)
{
	ioctl_add(text, call->abi->flags, argument_u32(call, i));
	return true;
}

/* Numbers of terminals and files that take no pointer; those of others say so themselves. */
static bool add_ioctl_argument(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t command = argument_u32(call, i - 1);

	switch (command) {
	case FLAG_ioctl_FIOCLEX:
	case FLAG_ioctl_FIONCLEX:
	case FLAG_ioctl_TIOCNOTTY:
		return false;
	case FLAG_ioctl_FICLONE: /* a descriptor */
	case FLAG_ioctl_TIOCSCTTY:
	case FLAG_ioctl_TCSBRK:
	case FLAG_ioctl_TCSBRKP:
		return argument_add_as(call, i, KIND_int, text);
	case FLAG_ioctl_TCFLSH:
		return argument_add_as(call, i, KIND_tcflush, text);
	case FLAG_ioctl_TCXONC:
		return argument_add_as(call, i, KIND_tcflow, text);
	default:
		/* Those of terminals and of sockets have no such bits, but pointers. */
		if (command >> 30 || command >> 8 == 0x54 || command >> 8 == 0x89)
			text_address(text, argument_word(call, i));
		else
			text_0x(text, argument_word(call, i));
		return true;
	}
}

static bool add_quota_command(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t command = argument_u32(call, i);

	text_cstr(text, "QCMD(");
	argument_add_name(call, KIND_quota, command >> 8, text);
	text_cstr(text, ", ");
	argument_add_name(call, KIND_quota_type, command & 0xff, text);
	text_addc(text, ')');
	return true;
}

/* --- memory --- */

/* What the size of a huge page is the logarithm of stands in the upper bits. */
static void add_huge(const struct call_shown *call, enum flag_set set, uint32_t flags,
		     const char *shift, const char *unknown, struct text *text)
{
	uint32_t log = flags & (1u << 18 | 4) && flags >> 26 ? flags >> 26 : 0;

	if (log)
		flags &= (1u << 26) - 1;
	flags_add(text, set, call->abi->flags, flags, unknown);
	if (!log)
		return;
	text_addc(text, '|');
	text_u64(text, log);
	text_cstr(text, shift);
}

static bool add_mmap_flags(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t flags = argument_u32(call, i);

	argument_add_name(call, KIND_map_type, flags & 0xf, text);
	if (!(flags & ~0xfu))
		return true;
	text_addc(text, '|');
	add_huge(call, FLAGS_map, flags & ~0xfu, "<<MAP_HUGE_SHIFT", NULL, text);
	return true;
}

static bool add_memfd_flags(const struct call_shown *call, unsigned int i, struct text *text)
{
	add_huge(call, FLAGS_memfd, argument_u32(call, i), "<<MFD_HUGE_SHIFT", "MFD_???", text);
	return true;
}

static bool add_mremap_address(const struct call_shown *call, unsigned int i, struct text *text)
{
	const uint32_t flags = argument_u32(call, i - 1),
		       fixed = FLAG_mremap_MREMAP_MAYMOVE | FLAG_mremap_MREMAP_FIXED;

	if ((flags & fixed) != fixed && !(flags & FLAG_mremap_MREMAP_DONTUNMAP))
		return false;
	text_address(text, argument_word(call, i));
	return true;
}

static bool add_mempolicy(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t mode = argument_u32(call, i), flags = mode & 0xe000;

	argument_add_name(call, KIND_mempolicy, mode & ~0xe000u, text);
	add_more(call, FLAGS_mpol_mode, flags, text);
	return true;
}

static bool add_swap_flags(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t flags = argument_u32(call, i);

	flags_add(text, FLAGS_swap, call->abi->flags, flags & ~0x7fffu, "SWAP_FLAG_???");
	if (flags & 0x7fff) {
		text_addc(text, '|');
		text_u64(text, flags & 0x7fff);
	}
	return true;
}

/* --- signals, clocks, queues --- */

void argument_add_signal(const struct call_shown *call, uint32_t signal, struct text *text)
{
	const char *name = flag_name(FLAGS_signal, call->abi->flags, signal);

	if (name) {
		text_cstr(text, name);
	} else if (signal == 32) {
		text_cstr(text, "SIGRTMIN");
	} else if (signal > 32 && signal <= 64) {
		text_cstr(text, "SIGRT_");
		text_u64(text, signal - 32);
	} else {
		text_i64(text, (int32_t)signal);
	}
}

static bool add_signal(const struct call_shown *call, unsigned int i, struct text *text)
{
	argument_add_signal(call, argument_u32(call, i), text);
	return true;
}

static bool add_ipc_key(const struct call_shown *call, unsigned int i, struct text *text)
{
	if (argument_u32(call, i))
		text_0x(text, argument_u32(call, i));
	else
		text_cstr(text, "IPC_PRIVATE");
	return true;
}

/* Flags, then permissions. */
static bool add_ipc_flags(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t flags = argument_u32(call, i), more = flags & ~0777u;

	if (more) {
		flags_add(text, call->desc->call == CALL_shmget ? FLAGS_shm : FLAGS_ipc,
			  call->abi->flags, more, NULL);
		text_addc(text, '|');
	}
	text_octal(text, flags & 0777);
	return true;
}

static bool add_ipc_command(const struct call_shown *call, unsigned int i, struct text *text)
{
	enum argument_kind kind = call->signature->args[i];
	uint32_t command = argument_u32(call, i);

	if (command & 0x100)
		text_cstr(text, "IPC_64|");
	argument_add_name(call, kind, command & ~0x100u, text);
	return true;
}

static bool add_hex(const struct call_shown *call, unsigned int i, struct text *text)
{
	text_0x(text, argument_word(call, i));
	return true;
}

/* --- sockets --- */

static bool add_socket_type(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t type = argument_u32(call, i);
	const char *name = flag_name(FLAGS_socket_type, call->abi->flags, type & 0xf);

	if (name) {
		text_cstr(text, name);
		add_more(call, FLAGS_socket_flags, type & ~0xfu, text);
	} else {
		flags_add(text, FLAGS_socket_flags, call->abi->flags, type, "SOCK_???");
	}
	return true;
}

static bool add_socket_protocol(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t protocol = argument_u32(call, i);

	switch (argument_u32(call, i - 2)) {
	case FLAG_family_AF_INET:
	case FLAG_family_AF_INET6:
		argument_add_name(call, KIND_ip_protocol, protocol, text);
		return true;
	case FLAG_family_AF_NETLINK:
		argument_add_name(call, KIND_netlink_protocol, protocol, text);
		return true;
	case FLAG_family_AF_PACKET:
		text_cstr(text, "htons(");
		argument_add_name(call, KIND_ethernet, __builtin_bswap16((uint16_t)protocol), text);
		text_addc(text, ')');
		return true;
	default:
		text_u64(text, protocol);
		return true;
	}
}

static bool add_socket_option(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t option = argument_u32(call, i);

	switch (argument_u32(call, i - 1)) {
	case FLAG_level_SOL_SOCKET:
		return argument_add_name(call, KIND_so, option, text), true;
	case FLAG_level_SOL_IP:
		return argument_add_name(call, KIND_so_ip, option, text), true;
	case FLAG_level_SOL_IPV6:
		return argument_add_name(call, KIND_so_ipv6, option, text), true;
	case FLAG_level_SOL_TCP:
		return argument_add_name(call, KIND_so_tcp, option, text), true;
	case FLAG_level_SOL_UDP:
		return argument_add_name(call, KIND_so_udp, option, text), true;
	case FLAG_level_SOL_NETLINK:
		return argument_add_name(call, KIND_so_netlink, option, text), true;
	case FLAG_level_SOL_PACKET:
		return argument_add_name(call, KIND_so_packet, option, text), true;
	default:
		return text_u64(text, option), true;
	}
}

/* --- others --- */

static bool add_arch_prctl_argument(const struct call_shown *call, unsigned int i,
				    struct text *text)
{
	text_0x(text, argument_word(call, i));
	return true;
}

void argument_add_personality(const struct call_shown *call, uint32_t value, struct text *text)
{
	if (value == UINT32_MAX) {
		text_0x(text, value);
		return;
	}
	argument_add_name(call, KIND_personality_type, value & 0xff, text);
	add_more(call, FLAGS_personality_flag, value & ~0xffu, text);
}

static bool add_personality(const struct call_shown *call, unsigned int i, struct text *text)
{
	argument_add_personality(call, argument_u32(call, i), text);
	return true;
}

void argument_add_ioprio(const struct call_shown *call, uint32_t value, struct text *text)
{
	text_cstr(text, "IOPRIO_PRIO_VALUE(");
	argument_add_name(call, KIND_ioprio_class, value >> 13, text);
	text_cstr(text, ", ");
	text_u64(text, value & 0x1fff);
	text_addc(text, ')');
}

static bool add_ioprio(const struct call_shown *call, unsigned int i, struct text *text)
{
	argument_add_ioprio(call, argument_u32(call, i), text);
	return true;
}

static bool add_seccomp_flags(const struct call_shown *call, unsigned int i, struct text *text)
{
	if (argument_u32(call, i - 1) == FLAG_seccomp_SECCOMP_SET_MODE_FILTER)
		argument_add_flags(call, KIND_seccomp_flags, argument_u32(call, i), text);
	else
		text_0x(text, argument_u32(call, i));
	return true;
}

static bool add_kcmp_index(const struct call_shown *call, unsigned int i, struct text *text)
{
	const uint32_t type = argument_u32(call, 2);

	if (type == FLAG_kcmp_KCMP_FILE)
		text_i64(text, (int32_t)argument_u32(call, i));
	else if (!flag_name(FLAGS_kcmp, call->abi->flags, type))
		text_0x(text, argument_word(call, i));
	else
		return false;
	return true;
}

static bool add_membarrier_cpu(const struct call_shown *call, unsigned int i, struct text *text)
{
	if (!argument_u32(call, i - 1))
		return false;
	text_i64(text, (int32_t)argument_u32(call, i));
	return true;
}

static bool add_keyring(const struct call_shown *call, unsigned int i, struct text *text)
{
	const char *name = flag_name(FLAGS_keyring, call->abi->flags, argument_u32(call, i));

	if (name)
		text_cstr(text, name);
	else
		text_i64(text, (int32_t)argument_u32(call, i));
	return true;
}

static bool add_ptrace_pid(const struct call_shown *call, unsigned int i, struct text *text)
{
	return argument_u32(call, 0) != FLAG_ptrace_PTRACE_TRACEME &&
	       argument_add_as(call, i, KIND_pid, text);
}

static bool add_ptrace_argument(const struct call_shown *call, unsigned int i, struct text *text)
{
	switch (argument_u32(call, 0)) {
	case FLAG_ptrace_PTRACE_TRACEME:
	case FLAG_ptrace_PTRACE_ATTACH:
	case FLAG_ptrace_PTRACE_INTERRUPT:
	case FLAG_ptrace_PTRACE_KILL:
	case FLAG_ptrace_PTRACE_LISTEN:
		return false;
	case FLAG_ptrace_PTRACE_SEIZE:
	case FLAG_ptrace_PTRACE_SETOPTIONS:
		if (i == 3)
			return argument_add_as(call, i, KIND_ptrace_options, text);
		break;
	case FLAG_ptrace_PTRACE_CONT:
	case FLAG_ptrace_PTRACE_SYSCALL:
	case FLAG_ptrace_PTRACE_DETACH:
		if (i == 3)
			return add_signal(call, i, text);
		break;
	default:
		break;
	}
	text_address(text, argument_word(call, i));
	return true;
}

static bool add_futex2_flags(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t flags = argument_u32(call, i);

	argument_add_name(call, KIND_futex2_size, flags & 3, text);
	add_more(call, FLAGS_futex2, flags & ~3u, text);
	return true;
}

static bool add_mount_flags(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint64_t flags = argument_word(call, i);
	bool magic = (flags & 0xffff0000) == FLAG_mount_MS_MGC_VAL;

	if (magic)
		flags &= ~(uint64_t)FLAG_mount_MS_MGC_VAL;
	text_cstr(text, magic ? "MS_MGC_VAL" : "");
	if (magic && flags)
		text_addc(text, '|');
	if (!magic || flags)
		argument_add_flags(call, KIND_mount_flags, flags, text);
	return true;
}

static const argument_fn others[N_KINDS] = {
	[KIND_open_flags] = add_open_flags,
	[KIND_open_mode] = add_open_mode,
	[KIND_mq_attr_created] = add_mq_attr_created,
	[KIND_node_mode] = add_node_mode,
	[KIND_node_device] = add_node_device,
	[KIND_device] = add_device,
	[KIND_ulong_high] = add_ulong_high,
	[KIND_pages] = add_pages,
	[KIND_statx_flags] = add_statx_flags,
	[KIND_fanotify_init_flags] = add_fanotify_init_flags,
	[KIND_fanotify_mask] = add_fanotify_mask,
	[KIND_fanotify_mask_low] = add_fanotify_mask_low,
	[KIND_fcntl_argument] = add_fcntl_argument,
	[KIND_ioctl_command] = add_ioctl_command,
	[KIND_ioctl_argument] = add_ioctl_argument,
	[KIND_quota_command] = add_quota_command,
	[KIND_mmap_flags] = add_mmap_flags,
	[KIND_memfd_flags] = add_memfd_flags,
	[KIND_mremap_address] = add_mremap_address,
	[KIND_mempolicy] = add_mempolicy,
	[KIND_swap_flags] = add_swap_flags,
	[KIND_signal] = add_signal,
	[KIND_ipc_key] = add_ipc_key,
	[KIND_ipc_flags] = add_ipc_flags,
	[KIND_shm_flags] = add_ipc_flags,
	[KIND_msg_command] = add_ipc_command,
	[KIND_sem_command] = add_ipc_command,
	[KIND_shm_command] = add_ipc_command,
	[KIND_sem_argument] = add_hex,
	[KIND_socket_type] = add_socket_type,
	[KIND_socket_protocol] = add_socket_protocol,
	[KIND_socket_option] = add_socket_option,
	[KIND_arch_prctl_argument] = add_arch_prctl_argument,
	[KIND_personality] = add_personality,
	[KIND_ioprio] = add_ioprio,
	[KIND_seccomp_flags] = add_seccomp_flags,
	[KIND_kcmp_index] = add_kcmp_index,
	[KIND_membarrier_cpu] = add_membarrier_cpu,
	[KIND_keyring] = add_keyring,
	[KIND_keyctl_argument] = add_hex,
	[KIND_ptrace_pid] = add_ptrace_pid,
	[KIND_ptrace_address] = add_ptrace_argument,
	[KIND_ptrace_data] = add_ptrace_argument,
	[KIND_futex2_flags] = add_futex2_flags,
	[KIND_mount_flags] = add_mount_flags,
	[KIND_clone_flags] = argument_add_clone,
	[KIND_clone_stack] = argument_add_clone,
	[KIND_clone_parent_tid] = argument_add_clone,
	[KIND_clone_child_tid] = argument_add_clone,
	[KIND_clone_tls] = argument_add_clone,
	[KIND_futex_operation] = argument_add_futex,
	[KIND_futex_value] = argument_add_futex,
	[KIND_futex_timeout] = argument_add_futex,
	[KIND_futex_timeout64] = argument_add_futex,
	[KIND_futex_address2] = argument_add_futex,
	[KIND_futex_value3] = argument_add_futex,
	[KIND_prctl_argument] = argument_add_prctl,
};

argument_fn argument_other(enum argument_kind kind)
{
	return others[kind];
}
