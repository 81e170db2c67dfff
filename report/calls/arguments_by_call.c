/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clone(), futex() and prctl(): flags, or an operation, decide what the other arguments are. */
#include "report/calls/signature.h"
#include "report/calls/structs.h"

/* --- clone() --- */

/* Arguments have names, as strace prints them: their order is not that of registers. */
static bool add_named(const char *name, uint64_t address, struct text *text)
{
	text_cstr(text, name);
	text_address(text, address);
	return true;
}

static void add_clone_flags(const struct call_shown *call, uint32_t flags, struct text *text)
{
	uint32_t rest, signal = flags & 0xff;
	size_t before;

	text_cstr(text, "flags=");
	before = text->len;
	rest = (uint32_t)flags_add_known(text, FLAGS_clone, call->abi->flags, flags & ~0xffu);
	if (rest) {
		text_cstr(text, text->len == before ? "" : "|");
		text_0x(text, rest);
	}
	if (text->len != before && !signal)
		return;
	text_cstr(text, text->len == before ? "" : "|");
	argument_add_signal(call, signal, text);
}

bool argument_add_clone(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t flags = argument_u32(call, 0);
	uint64_t value = argument_word(call, i);

	switch (call->signature->args[i]) {
	case KIND_clone_flags:
		add_clone_flags(call, flags, text);
		return true;
	case KIND_clone_stack:
		return add_named("child_stack=", value, text);
	case KIND_clone_parent_tid:
		return flags & (FLAG_clone_CLONE_PARENT_SETTID | FLAG_clone_CLONE_PIDFD) &&
		       add_named("parent_tid=", value, text);
	case KIND_clone_tls:
		return flags & FLAG_clone_CLONE_SETTLS && add_named("tls=", value, text);
	default:
		return flags & (FLAG_clone_CLONE_CHILD_SETTID | FLAG_clone_CLONE_CHILD_CLEARTID) &&
		       add_named("child_tidptr=", value, text);
	}
}

/* --- futex() --- */

#define FUTEX_PRIVATE  0x80u
#define FUTEX_REALTIME 0x100u

static void add_futex_operation(const struct call_shown *call, uint32_t operation,
				struct text *text)
{
	const char *name = flag_name(FLAGS_futex, call->abi->flags,
				     operation & ~(FUTEX_PRIVATE | FUTEX_REALTIME));

	if (!name) {
		argument_add_name(call, KIND_futex_operation, operation, text);
		return;
	}
	text_cstr(text, name);
	text_cstr(text, operation & FUTEX_PRIVATE ? "_PRIVATE" : "");
	text_cstr(text, operation & FUTEX_REALTIME ? "|FUTEX_CLOCK_REALTIME" : "");
}

/* FUTEX_WAKE_OP: what is done to the second word, and how it is compared. */
static void add_wake_op(const struct call_shown *call, uint32_t v, struct text *text)
{
	text_cstr(text, v >> 31 ? "FUTEX_OP_OPARG_SHIFT<<28|" : "");
	flag_add(text, FLAGS_futex_wake_op, call->abi->flags, v >> 28 & 7, "FUTEX_OP_???");
	text_cstr(text, "<<28|");
	text_0x(text, v >> 12 & 0xfff);
	text_cstr(text, "<<12|");
	flag_add(text, FLAGS_futex_wake_cmp, call->abi->flags, v >> 24 & 15, "FUTEX_OP_CMP_???");
	text_cstr(text, "<<24|");
	text_0x(text, v & 0xfff);
}

static void add_bitset(uint32_t bits, struct text *text)
{
	if (bits == UINT32_MAX)
		text_cstr(text, "FUTEX_BITSET_MATCH_ANY");
	else
		text_0x(text, bits);
}

/* The words of the 4th to 6th argument: n a number, t a time (a pointer), a an address, b a bitset,
 * o what FUTEX_WAKE_OP does, x hexadecimal, - none. */
static const char *futex_form(uint32_t operation)
{
	switch (operation & ~(FUTEX_PRIVATE | FUTEX_REALTIME)) {
	case FLAG_futex_FUTEX_WAIT:
		return "nt--";
	case FLAG_futex_FUTEX_WAKE:
	case FLAG_futex_FUTEX_FD:
		return "n---";
	case FLAG_futex_FUTEX_REQUEUE:
		return "nna-";
	case FLAG_futex_FUTEX_CMP_REQUEUE:
	case FLAG_futex_FUTEX_CMP_REQUEUE_PI:
		return "nnan";
	case FLAG_futex_FUTEX_WAKE_OP:
		return "nnao";
	case FLAG_futex_FUTEX_LOCK_PI:
	case FLAG_futex_FUTEX_LOCK_PI2:
		return "-t--";
	case FLAG_futex_FUTEX_UNLOCK_PI:
	case FLAG_futex_FUTEX_TRYLOCK_PI:
		return "----";
	case FLAG_futex_FUTEX_WAIT_BITSET:
		return "nt-b";
	case FLAG_futex_FUTEX_WAKE_BITSET:
		return "n--b";
	case FLAG_futex_FUTEX_WAIT_REQUEUE_PI:
		return "nta-";
	default:
		return "naax";
	}
}

bool argument_add_futex(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t operation = argument_u32(call, 1);

	if (i == 1) {
		add_futex_operation(call, operation, text);
		return true;
	}
	switch (futex_form(operation)[i - 2]) {
	case '-':
		return false;
	case 'n':
		text_u64(text, argument_u32(call, i));
		return true;
	case 'b':
		add_bitset(argument_u32(call, i), text);
		return true;
	case 'o':
		add_wake_op(call, argument_u32(call, i), text);
		return true;
	case 'x':
		text_0x(text, argument_word(call, i));
		return true;
	default:
		if (i != 3 || !struct_add(call, i, call->signature->args[i], text))
			text_address(text, argument_word(call, i));
		return true;
	}
}

/* --- prctl() --- */

/* Arguments behind an option: all that have a kind. */
static const struct prctl_form {
	uint64_t option;
	uint16_t kinds[4]; /* enum argument_kind */
} prctl_forms[] = {
#define FORM(option, ...)               \
	{                               \
		FLAG_prctl_PR_##option, \
		{                       \
			__VA_ARGS__     \
		}                       \
	}
	FORM(SET_PDEATHSIG, KIND_signal),
	FORM(GET_PDEATHSIG, KIND_address),
	FORM(GET_DUMPABLE, KIND_NONE),
	FORM(SET_DUMPABLE, KIND_prctl_dumpable),
	FORM(GET_KEEPCAPS, KIND_NONE),
	FORM(SET_KEEPCAPS, KIND_ulong),
	FORM(SET_NAME, KIND_string),
	FORM(GET_NAME, KIND_string),
	FORM(GET_SECCOMP, KIND_NONE),
	FORM(SET_SECCOMP, KIND_seccomp_mode, KIND_address),
	FORM(CAPBSET_READ, KIND_prctl_capability),
	FORM(CAPBSET_DROP, KIND_prctl_capability),
	FORM(GET_TSC, KIND_address),
	FORM(SET_TSC, KIND_prctl_tsc),
	FORM(GET_SECUREBITS, KIND_NONE),
	FORM(SET_SECUREBITS, KIND_securebits),
	FORM(SET_TIMERSLACK, KIND_long),
	FORM(GET_TIMERSLACK, KIND_NONE),
	FORM(TASK_PERF_EVENTS_DISABLE, KIND_NONE),
	FORM(TASK_PERF_EVENTS_ENABLE, KIND_NONE),
	FORM(MCE_KILL, KIND_prctl_mce, KIND_hex, KIND_hex, KIND_hex),
	FORM(SET_MM, KIND_prctl_mm, KIND_hex, KIND_hex, KIND_hex),
	FORM(SET_CHILD_SUBREAPER, KIND_ulong),
	FORM(GET_CHILD_SUBREAPER, KIND_address),
	FORM(SET_NO_NEW_PRIVS, KIND_ulong, KIND_hex, KIND_hex, KIND_hex),
	FORM(GET_TID_ADDRESS, KIND_address),
	FORM(SET_THP_DISABLE, KIND_ulong, KIND_hex, KIND_hex, KIND_hex),
	FORM(CAP_AMBIENT, KIND_prctl_ambient, KIND_prctl_capability, KIND_hex, KIND_hex),
	FORM(GET_SPECULATION_CTRL, KIND_prctl_spec),
	FORM(SET_SPECULATION_CTRL, KIND_prctl_spec, KIND_prctl_spec_set),
	FORM(SET_IO_FLUSHER, KIND_ulong, KIND_hex, KIND_hex, KIND_hex),
	FORM(SET_VMA, KIND_prctl_vma, KIND_hex, KIND_ulong, KIND_address),
	FORM(SET_PTRACER, KIND_int),
#undef FORM
};

bool argument_add_prctl(const struct call_shown *call, unsigned int i, struct text *text)
{
	uint32_t option = argument_u32(call, 0);

	for (size_t k = 0; k < sizeof(prctl_forms) / sizeof(prctl_forms[0]); k++) {
		const struct prctl_form *form = &prctl_forms[k];
		enum argument_kind kind = form->kinds[i - 1];

		if (form->option != option)
			continue;
		/* Only two of the operations on ambient capabilities are about a single one. */
		if (option == FLAG_prctl_PR_CAP_AMBIENT && i == 2 &&
		    argument_u32(call, 1) == FLAG_prctl_ambient_PR_CAP_AMBIENT_CLEAR_ALL)
			kind = KIND_hex;
		return kind != KIND_NONE && argument_add_as(call, i, kind, text);
	}
	return argument_add_as(call, i, KIND_hex, text);
}
