/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structs as text; see structs.h. Where fields are: the kernel's include/uapi of each machine. */
#include "report/calls/structs.h"

#include <inttypes.h>
#include <string.h>

/* What was recorded of one: fields are found from its beginning on. */
struct recorded_part {
	const char *data;
	size_t offset, len;
	const struct call_shown *call;
	enum argument_kind kind;
};

static uint64_t field(const struct recorded_part *part, size_t at, size_t size)
{
	uint64_t value = 0;

	if (at >= part->offset && at - part->offset + size <= part->len)
		memcpy(&value, part->data + (at - part->offset), size);
	return value;
}

static uint32_t u32(const struct recorded_part *part, size_t at)
{
	return (uint32_t)field(part, at, 4);
}

static uint64_t u64(const struct recorded_part *part, size_t at)
{
	return field(part, at, 8);
}

static size_t word_size(const struct recorded_part *part)
{
	return part->call->abi->word;
}

/* The nth word. */
static uint64_t word(const struct recorded_part *part, size_t n)
{
	return field(part, n * word_size(part), word_size(part));
}

static bool is_i386(const struct recorded_part *part)
{
	return part->call->abi->order == SYSCALL_I386;
}

static bool is_arm64(const struct recorded_part *part)
{
	return part->call->abi->order == SYSCALL_ARM64;
}

static void add_name(const struct recorded_part *part, enum argument_kind kind, const char *name,
		     uint64_t value, struct text *text)
{
	text_cstr(text, name);
	argument_add_flags(part->call, kind, value, text);
}

/* --- files --- */

/* Of a device which one it is, of others the size. */
static void add_mode_and_size(const struct recorded_part *part, const char *prefix, uint32_t mode,
			      uint64_t device, uint64_t size, struct text *text)
{
	text_cstr(text, prefix);
	text_cstr(text, "_mode=");
	argument_add_mode(part->call, mode, text);
	text_cstr(text, ", ");
	text_cstr(text, prefix);
	if ((mode & 0170000) == FLAG_file_type_S_IFCHR ||
	    (mode & 0170000) == FLAG_file_type_S_IFBLK) {
		text_cstr(text, "_rdev=");
		argument_add_device((uint32_t)device, text);
	} else {
		text_cstr(text, "_size=");
		text_i64(text, (int64_t)size);
	}
	text_cstr(text, ", ...}");
}

static void add_stat(const struct recorded_part *part, struct text *text)
{
	text_addc(text, '{');
	if (part->kind == KIND_stat64_out)
		add_mode_and_size(part, "st", u32(part, 16), u64(part, 32), u64(part, 44), text);
	else if (is_i386(part))
		add_mode_and_size(part, "st", (uint32_t)field(part, 8, 2), u32(part, 16),
				  u32(part, 20), text);
	else if (is_arm64(part))
		add_mode_and_size(part, "st", u32(part, 16), u64(part, 32), u64(part, 48), text);
	else
		add_mode_and_size(part, "st", u32(part, 24), u64(part, 40), u64(part, 48), text);
}

static void add_statx(const struct recorded_part *part, struct text *text)
{
	add_name(part, KIND_statx_mask, "{stx_mask=", u32(part, 0), text);
	add_name(part, KIND_statx_attributes, ", stx_attributes=", u64(part, 8), text);
	text_cstr(text, ", stx_mode=");
	argument_add_mode(part->call, (uint32_t)field(part, 28, 2), text);
	text_cstr(text, ", stx_size=");
	text_u64(text, u64(part, 40));
	text_cstr(text, ", ...}");
}

static void add_open_how(const struct recorded_part *part, struct text *text)
{
	const uint64_t flags = u64(part, 0);

	text_cstr(text, "{flags=");
	argument_add_open(part->call, (uint32_t)flags, text);
	if (open_creates((uint32_t)flags) || u64(part, 8)) {
		text_cstr(text, ", mode=");
		text_octal(text, (uint32_t)u64(part, 8));
	}
	add_name(part, KIND_resolve, ", resolve=", u64(part, 16), text);
	text_addc(text, '}');
}

/* --- processes --- */

static void add_clone_address(const struct recorded_part *part, const char *name, size_t at,
			      struct text *text)
{
	text_cstr(text, name);
	text_address(text, u64(part, at));
}

static void add_clone_args(const struct recorded_part *part, struct text *text)
{
	const uint64_t flags = u64(part, 0), signal = u64(part, 32), size = u64(part, 48);

	text_cstr(text, "{flags=");
	flags_add(text, FLAGS_clone, part->call->abi->flags, flags, "CLONE_???");
	if (flags & FLAG_clone_CLONE_PIDFD)
		add_clone_address(part, ", pidfd=", 8, text);
	if (flags & (FLAG_clone_CLONE_CHILD_SETTID | FLAG_clone_CLONE_CHILD_CLEARTID))
		add_clone_address(part, ", child_tid=", 16, text);
	if (flags & FLAG_clone_CLONE_PARENT_SETTID)
		add_clone_address(part, ", parent_tid=", 24, text);
	text_cstr(text, ", exit_signal=");
	argument_add_signal(part->call, (uint32_t)signal, text);
	add_clone_address(part, ", stack=", 40, text);
	text_cstr(text, ", stack_size=");
	text_0x(text, size);
	if (flags & FLAG_clone_CLONE_SETTLS)
		add_clone_address(part, ", tls=", 56, text);
	text_addc(text, '}');
	/* The kernel stores the number that it returns. */
	if (flags & FLAG_clone_CLONE_PARENT_SETTID && part->call->view->result > 0)
		text_printf(text, " => {parent_tid=[%" PRId64 "]}", part->call->view->result);
}

/* include/uapi/linux/wait.h and glibc's bits/waitstatus.h */
static void add_wait_status(const struct recorded_part *part, struct text *text)
{
	const uint32_t status = u32(part, 0), signal = status & 0x7f;

	if (status == 0xffff) {
		text_cstr(text, "[{WIFCONTINUED(s)}]");
	} else if ((status & 0xff) == 0x7f) {
		text_cstr(text, "[{WIFSTOPPED(s) && WSTOPSIG(s) == ");
		argument_add_signal(part->call, status >> 8 & 0xff, text);
		text_cstr(text, "}]");
	} else if (signal) {
		text_cstr(text, "[{WIFSIGNALED(s) && WTERMSIG(s) == ");
		argument_add_signal(part->call, signal, text);
		text_cstr(text, status & 0x80 ? " && WCOREDUMP(s)}]" : "}]");
	} else {
		text_printf(text, "[{WIFEXITED(s) && WEXITSTATUS(s) == %u}]", status >> 8 & 0xff);
	}
}

static void add_limit(uint64_t limit, uint64_t infinity, const char *name, struct text *text)
{
	if (limit == infinity)
		text_cstr(text, name);
	else if (limit > 1024 && limit % 1024 == 0)
		text_printf(text, "%" PRIu64 "*1024", limit / 1024);
	else
		text_u64(text, limit);
}

static void add_rlimit(const struct recorded_part *part, struct text *text)
{
	bool wide = part->kind == KIND_rlimit64_in || part->kind == KIND_rlimit64_out;
	const size_t size = wide ? 8 : word_size(part);
	const char *name = size == 8 ? "RLIM64_INFINITY" : "RLIM_INFINITY";
	const uint64_t infinity = size == 8 ? UINT64_MAX : UINT32_MAX;

	text_cstr(text, "{rlim_cur=");
	add_limit(field(part, 0, size), infinity, name, text);
	text_cstr(text, ", rlim_max=");
	add_limit(field(part, size, size), infinity, name, text);
	text_addc(text, '}');
}

/* --- time --- */

/* Two numbers of `size` bytes from the nth such pair on. */
static void add_time(const struct recorded_part *part, size_t size, size_t n, const char *unit,
		     struct text *text)
{
	uint64_t seconds = field(part, 2 * n * size, size),
		 rest = field(part, (2 * n + 1) * size, size);

	if (size == 4)
		seconds = (uint64_t)(int32_t)seconds;
	text_printf(text, "{tv_sec=%" PRId64 ", tv_%s=%" PRIu64 "}", (int64_t)seconds, unit, rest);
}

static void add_interval(const struct recorded_part *part, size_t size, const char *unit,
			 struct text *text)
{
	text_cstr(text, "{it_interval=");
	add_time(part, size, 0, unit, text);
	text_cstr(text, ", it_value=");
	add_time(part, size, 1, unit, text);
	text_addc(text, '}');
}

/* --- signals --- */

#define N_SIGNALS 64

static void add_sigset(const struct recorded_part *part, size_t at, struct text *text)
{
	uint64_t set = u64(part, at);
	bool first = true;

	/* Where most are in it, those that are not. */
	if (__builtin_popcountll(set) >= N_SIGNALS * 2 / 3) {
		text_addc(text, '~');
		set = ~set;
	}
	text_addc(text, '[');
	for (uint32_t signal = 1; signal <= N_SIGNALS; signal++) {
		_cleanup_text_ struct text name = TEXT_INIT;

		if (!(set >> (signal - 1) & 1))
			continue;
		argument_add_signal(part->call, signal, &name);
		text_cstr(text, first ? "" : " ");
		text_cstr(text, text_get(&name) + strlen("SIG"));
		first = false;
	}
	text_addc(text, ']');
}

static void add_sigaction(const struct recorded_part *part, struct text *text)
{
	const uint64_t handler = word(part, 0), flags = word(part, 1);
	static const char *const named[] = { "SIG_DFL", "SIG_IGN" };

	text_cstr(text, "{sa_handler=");
	if (handler < 2)
		text_cstr(text, named[handler]);
	else
		text_0x(text, handler);
	text_cstr(text, ", sa_mask=");
	add_sigset(part, 3 * word_size(part), text);
	add_name(part, KIND_sigaction_flags, ", sa_flags=", flags, text);
	if (flags & FLAG_sigaction_SA_RESTORER) {
		text_cstr(text, ", sa_restorer=");
		text_address(text, word(part, 2));
	}
	text_addc(text, '}');
}

/* --- waiting for descriptors --- */

static void add_pollfd(const struct recorded_part *part, struct text *text)
{
	text_cstr(text, "{fd=");
	argument_add_fd(part->call, (int32_t)u32(part, 0), text);
	if ((int32_t)u32(part, 0) >= 0)
		add_name(part, KIND_poll_events, ", events=", field(part, 4, 2), text);
	text_addc(text, '}');
}

static void add_revents(const struct recorded_part *part, struct text *text)
{
	text_cstr(text, "{fd=");
	text_i64(text, (int32_t)u32(part, 0));
	add_name(part, KIND_poll_events, ", revents=", field(part, 6, 2), text);
	text_addc(text, '}');
}

/* The data are the program's; behind a hole where the struct is not packed. */
static void add_epoll_event(const struct recorded_part *part, struct text *text)
{
	const size_t at = is_arm64(part) ? 8 : 4;

	add_name(part, KIND_epoll_events, "{events=", u32(part, 0), text);
	text_printf(text, ", data={u32=%" PRIu32 ", u64=%" PRIu64 "}}", u32(part, at),
		    u64(part, at));
}

/* --- numbers --- */

static void add_number(const struct recorded_part *part, struct text *text)
{
	text_addc(text, '[');
	text_i64(text, (int32_t)u32(part, 0));
	text_addc(text, ']');
}

/* --- kinds --- */

/* Which part of it the machine's is; in the order of enum syscall_order. */
static const struct recorded_struct {
	uint16_t kind; /* enum argument_kind */
	bool is_array;
	struct {
		uint8_t offset, size;
	} of[SYSCALL_N_ARCHES];
} structs[] = {
#define MANY_ONE    false
#define MANY_NEXT   true
#define MANY_RESULT true
#define MANY_BYTES  false
#define MANY_INT    false
#define MANY_INT_AT false
#define MANY_FUTEX  false
#define MANY_EPOLL  false
#define STRUCT(kind, always, when, many, offset, size, offset32, size32, offset_arm, size_arm) \
	{ KIND_##kind,                                                                         \
	  MANY_##many,                                                                         \
	  { [SYSCALL_X86_64] = { offset, size },                                               \
	    [SYSCALL_I386] = { offset32, size32 },                                             \
	    [SYSCALL_ARM64] = { offset_arm, size_arm } } },
#include "format/calls/structs.def"
#undef STRUCT
};

static const struct recorded_struct *find_struct(enum argument_kind kind)
{
	for (size_t i = 0; i < sizeof(structs) / sizeof(structs[0]); i++) {
		if (structs[i].kind == kind)
			return &structs[i];
	}
	return NULL;
}

static void add_one(const struct recorded_part *part, struct text *text)
{
	const size_t size = word_size(part);

	switch (part->kind) {
	case KIND_open_how:
		return add_open_how(part, text);
	case KIND_clone_args:
		return add_clone_args(part, text);
	case KIND_stat_out:
	case KIND_stat64_out:
		return add_stat(part, text);
	case KIND_statx_out:
		return add_statx(part, text);
	case KIND_timespec_in:
	case KIND_timespec_out:
	case KIND_timespec_inout:
	case KIND_futex_timeout:
		return add_time(part, size, 0, "nsec", text);
	case KIND_timespec64_in:
	case KIND_timespec64_out:
	case KIND_timespec64_inout:
	case KIND_futex_timeout64:
		return add_time(part, 8, 0, "nsec", text);
	case KIND_timeval_in:
	case KIND_timeval_out:
		return add_time(part, size, 0, "usec", text);
	case KIND_itimerspec_in:
	case KIND_itimerspec_out:
		return add_interval(part, size, "nsec", text);
	case KIND_itimerspec64_in:
	case KIND_itimerspec64_out:
		return add_interval(part, 8, "nsec", text);
	case KIND_itimerval_in:
	case KIND_itimerval_out:
		return add_interval(part, size, "usec", text);
	case KIND_sigset_in:
	case KIND_sigset_out:
		return add_sigset(part, 0, text);
	case KIND_sigaction_in:
	case KIND_sigaction_out:
		return add_sigaction(part, text);
	case KIND_pollfds:
		return add_pollfd(part, text);
	case KIND_epoll_event:
	case KIND_epoll_events_out:
		return add_epoll_event(part, text);
	case KIND_wait_status_out:
		return add_wait_status(part, text);
	case KIND_sockopt_in:
	case KIND_sockopt_out:
	case KIND_length_inout:
		return add_number(part, text);
	default:
		return add_rlimit(part, text);
	}
}

/* The nth of those that an argument points to; false: so many were not recorded. */
static bool nth_part(const struct call_shown *call, unsigned int i, enum argument_kind kind,
		     size_t n, struct recorded_part *ret)
{
	const struct call_text *recorded = call_recorded(call, i);
	const struct recorded_struct *of = find_struct(kind);
	size_t size;

	if (!recorded || recorded->kind != EBT_V_syscall_arg_kind_data || !of)
		return false;
	size = of->of[call->abi->order].size;
	if (!size || (n + 1) * size > recorded->bytes.len)
		return false;
	*ret = (struct recorded_part){
		.data = recorded->bytes.data + n * size,
		.offset = of->of[call->abi->order].offset,
		.len = size,
		.call = call,
		.kind = kind,
	};
	return true;
}

static void add_array(const struct call_shown *call, unsigned int i, enum argument_kind kind,
		      struct text *text)
{
	struct recorded_part part;
	size_t n = 0;

	while (nth_part(call, i, kind, n, &part)) {
		text_cstr(text, n++ ? ", " : "[");
		add_one(&part, text);
	}
	text_cstr(text, call_recorded(call, i)->cut ? ", ...]" : "]");
}

/* An array of none, which the call's own numbers tell. */
static bool is_empty(const struct call_shown *call, unsigned int i, enum argument_kind kind)
{
	return (kind == KIND_epoll_events_out && !call->view->result) ||
	       (kind == KIND_pollfds && !argument_u32(call, i + 1));
}

bool struct_add(const struct call_shown *call, unsigned int i, enum argument_kind kind,
		struct text *text)
{
	const struct recorded_struct *of = find_struct(kind);
	const struct call_text *recorded;
	struct recorded_part part;

	if (is_empty(call, i, kind)) {
		text_cstr(text, "[]");
		return true;
	}

	/* Its value at the entry is not known. */
	if (!of || kind == KIND_timespec_inout || kind == KIND_timespec64_inout)
		return false;
	if (nth_part(call, i, kind, 0, &part)) {
		if (of->is_array)
			add_array(call, i, kind, text);
		else
			add_one(&part, text);
		return true;
	}
	recorded = call_recorded(call, i);
	if (!recorded || recorded->kind != EBT_V_syscall_arg_kind_data)
		return false;
	text_cstr(text, "..."); /* it was taken out */
	return true;
}

void struct_add_changes(const struct call_shown *call, struct text *text)
{
	const enum argument_kind time = call->signature->args[2];
	size_t shown = 0;
	struct recorded_part part;

	if (call->view->result <= 0)
		return;
	for (size_t n = 0; nth_part(call, 0, call->signature->args[0], n, &part); n++) {
		if (part.kind != KIND_pollfds || !field(&part, 6, 2))
			continue;
		text_cstr(text, shown++ ? ", " : " ([");
		add_revents(&part, text);
	}
	if (!shown)
		return;
	text_cstr(text, call_recorded(call, 0)->cut ? ", ...]" : "]");
	if ((time == KIND_timespec_inout || time == KIND_timespec64_inout) &&
	    nth_part(call, 2, time, 0, &part)) {
		text_cstr(text, ", left ");
		add_one(&part, text);
	}
	text_addc(text, ')');
}
