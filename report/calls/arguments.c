/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which kinds the arguments of a call have, and kinds that need nothing but their own value. */
#include "report/calls/arguments.h"

#include <string.h>

#include "report/calls/recorded.h"
#include "report/calls/signature.h"
#include "report/calls/structs.h"

enum argument_class {
	CLASS_INT,
	CLASS_UINT,
	CLASS_UINT_HEX,
	CLASS_LONG,
	CLASS_ULONG,
	CLASS_HEX,
	CLASS_ID,
	CLASS_OCTAL,
	CLASS_OFFSET,
	CLASS_PAIR,
	CLASS_ADDRESS,
	CLASS_FD,
	CLASS_DIRFD,
	CLASS_FLAGS,
	CLASS_ENUM,
	CLASS_OTHER,
	CLASS_NOTHING,
	CLASS_STRING_IN,
	CLASS_STRING_OUT,
	CLASS_STRUCT_IN,
	CLASS_STRUCT_OUT,
	CLASS_STRUCT_INOUT,
	CLASS_LIST,
	CLASS_BUFFER_IN,
	CLASS_BUFFER_OUT,
	CLASS_BUFFER,
};

static const struct {
	uint8_t class; /* enum argument_class */
	uint8_t set;   /* enum flag_set */
	const char *unknown;
} kinds[N_KINDS] = {
#define KIND(token, class, set, unknown) [KIND_##token] = { CLASS_##class, FLAGS_##set, unknown },
#include "format/calls/kinds.def"
#undef KIND
};

/* --- signatures --- */

#define KINDS(result, a, b, c, d, e, f, ...)                                       \
	{                                                                          \
		KIND_##result,                                                     \
		{                                                                  \
			KIND_##a, KIND_##b, KIND_##c, KIND_##d, KIND_##e, KIND_##f \
		}                                                                  \
	}
#define SIGNATURE(...) KINDS(__VA_ARGS__, NONE, NONE, NONE, NONE, NONE, NONE, )

static const struct call_signature signatures[N_CALLS] = {
#define CALL(name, ...) [CALL_##name] = SIGNATURE(__VA_ARGS__),
#define CALL_OF(machine, name, ...)
#include "format/calls/arguments.def"
#undef CALL
#undef CALL_OF
};

/* Those of single machines; without a result there is none. */
#define OF_MACHINE_i386	 SYSCALL_I386
#define OF_MACHINE_arm64 SYSCALL_ARM64
static const struct call_signature of_machine[SYSCALL_N_ARCHES][N_CALLS] = {
#define CALL(name, ...)
#define CALL_OF(machine, name, ...) [OF_MACHINE_##machine][CALL_##name] = SIGNATURE(__VA_ARGS__),
#include "format/calls/arguments.def"
#undef CALL
#undef CALL_OF
};

void call_show(const struct call_view *view, struct call_shown *ret)
{
	const struct syscall_desc *desc = syscall_desc(view->machine, view->compat, view->nr);
	const struct syscall_abi *abi = syscall_abi(view->machine, view->compat);
	const struct call_signature *own = desc ? &of_machine[abi->order][desc->call] : NULL;

	*ret = (struct call_shown){
		.view = view,
		.desc = desc,
		.abi = abi,
		.signature = !desc	   ? NULL
			     : own->result ? own
					   : &signatures[desc->call],
	};
}

unsigned int call_n_args(const struct call_shown *call)
{
	if (!call->desc)
		return SYSCALL_MAX_ARGS;
	/* The new program has new registers; what it ran may be known otherwise. */
	if (!call->view->result && (call->desc->call == CALL_execveat ||
				    (call->desc->call == CALL_execve &&
				     !(call->view->call && call->view->call->exec_file.data))))
		return 0;
	return call->desc->n_args;
}

bool call_arg_is_plain(const struct call_shown *call, unsigned int i)
{
	switch (call->signature ? (enum argument_class)kinds[call->signature->args[i]].class
				: CLASS_OTHER) {
	case CLASS_FD:
	case CLASS_DIRFD:
	case CLASS_FLAGS:
	case CLASS_ENUM:
	case CLASS_OCTAL:
	case CLASS_OFFSET:
		return true;
	default:
		return false;
	}
}

/* --- numbers --- */

void text_i64(struct text *text, int64_t v)
{
	if (v < 0)
		text_addc(text, '-');
	text_u64(text, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void text_address(struct text *text, uint64_t v)
{
	if (v)
		text_0x(text, v);
	else
		text_add(text, "NULL", 4);
}

void text_octal(struct text *text, uint32_t v)
{
	char digits[12];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + (v & 7));
		v >>= 3;
	} while (v || i > sizeof(digits) - 2);
	digits[--i] = '0';
	text_add(text, digits + i, sizeof(digits) - i);
}

/* What an argument means is not known: small numbers, also negative ones of 32 bits (as AT_FDCWD),
 * are decimal, all else is hexadecimal. */
static void add_raw(struct text *text, uint64_t v)
{
	int64_t number = v <= UINT32_MAX ? (int32_t)v : (int64_t)v;

	if (number < 0 && number >= -4096)
		text_i64(text, number);
	else if (v < 1u << 20)
		text_u64(text, v);
	else
		text_0x(text, v);
}

/* --- kinds --- */

void argument_add_flags(const struct call_shown *call, enum argument_kind kind, uint64_t value,
			struct text *text)
{
	flags_add(text, kinds[kind].set, call->abi->flags, value, kinds[kind].unknown);
}

void argument_add_name(const struct call_shown *call, enum argument_kind kind, uint64_t value,
		       struct text *text)
{
	flag_add(text, kinds[kind].set, call->abi->flags, value, kinds[kind].unknown);
}

/* made: by this call. */
static void add_file(const struct call_shown *call, int32_t fd, bool made, struct text *text)
{
	const struct call_view *view = call->view;

	if (view->calls)
		call_fd_name_add(view->calls, view->call, fd, made, view->as_strace, text);
}

void argument_add_fd(const struct call_shown *call, int32_t fd, struct text *text)
{
	text_i64(text, fd);
	add_file(call, fd, false, text);
}

static void add_dirfd(const struct call_shown *call, int32_t fd, struct text *text)
{
	if (fd != FDS_CWD) {
		argument_add_fd(call, fd, text);
		return;
	}
	text_cstr(text, "AT_FDCWD");
	add_file(call, fd, false, text);
}

const struct call_text *call_recorded(const struct call_shown *call, unsigned int i)
{
	const struct call_text *found = call->view->call ? &call->view->call->texts[i] : NULL;

	return found && found->there && !found->unreadable ? found : NULL;
}

#define LONGEST 4095 /* that strace prints of a path */

static void add_string(const struct call_text *recorded, struct text *text)
{
	struct ebt_str bytes = recorded->bytes;
	bool cut = recorded->cut || bytes.len > LONGEST;

	if (bytes.len > LONGEST)
		bytes.len = LONGEST;
	/* getcwd() counts the zero byte. */
	if (recorded->kind == EBT_V_syscall_arg_kind_result && bytes.len &&
	    !bytes.data[bytes.len - 1])
		bytes.len--;
	recorded_add_string(text, bytes);
	text_cstr(text, cut ? "..." : "");
}

static void add_descriptors(const struct call_shown *call, const struct call_text *recorded,
			    struct text *text)
{
	for (uint32_t at = 0; at + sizeof(int32_t) <= recorded->bytes.len; at += sizeof(int32_t)) {
		int32_t fd;

		memcpy(&fd, recorded->bytes.data + at, sizeof(fd));
		text_cstr(text, at ? ", " : "[");
		text_i64(text, fd);
		add_file(call, fd, true, text);
	}
	text_addc(text, ']');
}

/* ["git", "status"] */
static void add_list(struct ebt_str list, struct text *text)
{
	text_addc(text, '[');
	for (uint32_t at = 0; at < list.len;) {
		const uint32_t len = (uint32_t)strnlen(list.data + at, list.len - at);

		text_cstr(text, at ? ", " : "");
		recorded_add_string(text, (struct ebt_str){ list.data + at, len });
		at += len + 1;
	}
	text_addc(text, ']');
}

/* An argument of an exec that succeeded. */
static bool add_exec(const struct call_shown *call, enum argument_kind kind, struct text *text)
{
	const struct call *recorded = call->view->call;

	if (!recorded || !recorded->exec_file.data)
		return false;
	if (kind == KIND_path)
		recorded_add_string(text, recorded->exec_file);
	else if (kind == KIND_argv)
		add_list(recorded->exec_args, text);
	else if (kind == KIND_env)
		text_cstr(text, "/* not recorded */");
	else
		return false;
	return true;
}

/* False: it was not recorded. */
static bool add_recorded(const struct call_shown *call, unsigned int i, struct text *text)
{
	const struct call_text *recorded = call_recorded(call, i);

	if (!recorded)
		return false;
	switch (recorded->kind) {
	case EBT_V_syscall_arg_kind_text:
	case EBT_V_syscall_arg_kind_result:
		add_string(recorded, text);
		return true;
	case EBT_V_syscall_arg_kind_address:
		recorded_add_address(text, call->abi->flags, recorded->bytes);
		return true;
	case EBT_V_syscall_arg_kind_descriptors:
		add_descriptors(call, recorded, text);
		return true;
	default:
		return false;
	}
}

static void add_id(uint32_t id, struct text *text)
{
	if (id == UINT32_MAX)
		text_add(text, "-1", 2);
	else
		text_u64(text, id);
}

/* So much as the program gave, or got. */
static void add_buffer(const struct call_shown *call, unsigned int i, bool out, struct text *text)
{
	uint64_t address = call->view->args[i];
	uint64_t length = i + 1 < SYSCALL_MAX_ARGS ? call->view->args[i + 1] : 0;
	int64_t result = call->view->result;

	if (!address || (out && result < 0) || call->view->as_strace) {
		text_address(text, address);
		return;
	}
	if (out && (uint64_t)result < length)
		length = (uint64_t)result;
	text_u64(text, length);
	text_cstr(text, text_plural(length, " byte", " bytes"));
}

bool argument_add_as(const struct call_shown *call, unsigned int i, enum argument_kind kind,
		     struct text *text)
{
	uint64_t v = call->view->args[i];
	uint64_t word = call->abi->word == 4 ? (uint32_t)v : v;
	int64_t signed_word = call->abi->word == 4 ? (int32_t)v : (int64_t)v;

	switch ((enum argument_class)kinds[kind].class) {
	case CLASS_INT:
		return text_i64(text, (int32_t)v), true;
	case CLASS_FD:
		return argument_add_fd(call, (int32_t)v, text), true;
	case CLASS_UINT:
		return text_u64(text, (uint32_t)v), true;
	case CLASS_UINT_HEX:
		return text_0x(text, (uint32_t)v), true;
	case CLASS_LONG:
	case CLASS_OFFSET:
		return text_i64(text, signed_word), true;
	case CLASS_ULONG:
		return text_u64(text, word), true;
	case CLASS_HEX:
		return text_0x(text, word), true;
	case CLASS_ID:
		return add_id((uint32_t)v, text), true;
	case CLASS_OCTAL:
		return text_octal(text, (uint16_t)v), true;
	case CLASS_PAIR:
		if (call->abi->word == 4)
			v = (uint32_t)v | call->view->args[i + 1] << 32;
		return text_i64(text, (int64_t)v), true;
	case CLASS_DIRFD:
		return add_dirfd(call, (int32_t)v, text), true;
	case CLASS_FLAGS:
		return argument_add_flags(call, kind, (uint32_t)v, text), true;
	case CLASS_ENUM:
		return argument_add_name(call, kind, (uint32_t)v, text), true;
	case CLASS_OTHER:
		return argument_other(kind)(call, i, text);
	case CLASS_NOTHING:
		return false;
	case CLASS_BUFFER_IN:
		return add_buffer(call, i, false, text), true;
	case CLASS_BUFFER_OUT:
		return add_buffer(call, i, true, text), true;
	case CLASS_ADDRESS:
	case CLASS_STRING_IN:
	case CLASS_STRING_OUT:
	case CLASS_STRUCT_IN:
	case CLASS_STRUCT_OUT:
	case CLASS_STRUCT_INOUT:
	case CLASS_LIST:
	case CLASS_BUFFER:
		break;
	}
	if (!add_exec(call, kind, text) && !add_recorded(call, i, text) &&
	    !struct_add(call, i, kind, text))
		text_address(text, word);
	return true;
}

/* strace begins with the stack, and has the child's thread id last: which register is that? */
static unsigned int clone_register(const struct call_shown *call, unsigned int place)
{
	static const uint8_t places[2][5] = { { 1, 0, 2, 4, 3 }, { 1, 0, 2, 3, 4 } };

	return places[call->abi->order != SYSCALL_X86_64][place];
}

bool call_add_arg(const struct call_shown *call, unsigned int place, struct text *text)
{
	unsigned int i = place;

	if (!call->desc)
		return add_raw(text, call->view->args[i]), true;
	if (call->desc->call == CALL_clone)
		i = clone_register(call, place);
	return argument_add_as(call, i, call->signature->args[i], text);
}

/* --- results --- */

static void add_text_of(struct text *text, const char *s)
{
	text_cstr(text, " (");
	text_cstr(text, s);
	text_addc(text, ')');
}

static void add_fcntl_result(const struct call_shown *call, uint64_t result, struct text *text)
{
	uint32_t command = argument_u32(call, 1);

	if (command == FLAG_fcntl_F_GETFL) {
		text_0x(text, result);
		text_cstr(text, " (flags ");
		argument_add_open(call, (uint32_t)result, text);
		text_addc(text, ')');
	} else if (command == FLAG_fcntl_F_GETFD && result) {
		text_0x(text, result);
		text_cstr(text, " (flags ");
		flags_add(text, FLAGS_fd_flags, call->abi->flags, result, NULL);
		text_addc(text, ')');
	} else if (command == FLAG_fcntl_F_GET_SEALS && result) {
		text_0x(text, result);
		text_cstr(text, " (seals ");
		flags_add(text, FLAGS_seals, call->abi->flags, result, NULL);
		text_addc(text, ')');
	} else if (command == FLAG_fcntl_F_GETLEASE) {
		text_0x(text, result);
		text_cstr(text, " (");
		flag_add(text, FLAGS_lease, call->abi->flags, result, "F_???");
		text_addc(text, ')');
	} else if (command == FLAG_fcntl_F_GETSIG && result) {
		text_u64(text, result);
		text_cstr(text, " (");
		argument_add_signal(call, (uint32_t)result, text);
		text_addc(text, ')');
	} else {
		text_i64(text, (int64_t)result);
		if (command == FLAG_fcntl_F_DUPFD || command == FLAG_fcntl_F_DUPFD_CLOEXEC)
			add_file(call, (int32_t)result, true, text);
	}
}

static void add_prctl_result(const struct call_shown *call, uint64_t result, struct text *text)
{
	const char *name;

	if (argument_u32(call, 0) == FLAG_prctl_PR_GET_SPECULATION_CTRL) {
		text_0x(text, result);
		text_cstr(text, " (");
		argument_add_flags(call, KIND_prctl_spec_set, result, text);
		text_addc(text, ')');
		return;
	}
	text_i64(text, (int64_t)result);
	if (argument_u32(call, 0) != FLAG_prctl_PR_GET_DUMPABLE)
		return;
	name = flag_name(FLAGS_prctl_dumpable, call->abi->flags, result);
	if (name)
		add_text_of(text, name);
}

static void add_membarrier_result(const struct call_shown *call, uint64_t result, struct text *text)
{
	if (argument_u32(call, 0) != FLAG_membarrier_MEMBARRIER_CMD_QUERY) {
		text_i64(text, (int64_t)result);
		return;
	}
	text_0x(text, result);
	text_cstr(text, " (");
	argument_add_flags(call, KIND_membarrier_command, result, text);
	text_addc(text, ')');
}

static void add_good_result(const struct call_shown *call, uint64_t result, struct text *text)
{
	const char *name;

	switch (call->signature ? (enum argument_kind)call->signature->result : KIND_int) {
	case KIND_address:
		text_0x(text, result);
		return;
	case KIND_fd:
		text_i64(text, (int64_t)result);
		add_file(call, (int32_t)result, true, text);
		return;
	case KIND_octal:
		text_octal(text, (uint32_t)result);
		return;
	case KIND_fcntl_result:
		add_fcntl_result(call, result, text);
		return;
	case KIND_prctl_result:
		add_prctl_result(call, result, text);
		return;
	case KIND_personality_result:
		text_0x(text, result);
		text_cstr(text, " (");
		argument_add_personality(call, (uint32_t)result, text);
		text_addc(text, ')');
		return;
	case KIND_ioprio_result:
		text_0x(text, result);
		text_cstr(text, " (");
		argument_add_ioprio(call, (uint32_t)result, text);
		text_addc(text, ')');
		return;
	case KIND_membarrier_result:
		add_membarrier_result(call, result, text);
		return;
	case KIND_scheduler_result:
		text_u64(text, result);
		text_cstr(text, " (");
		argument_add_name(call, KIND_scheduler, result, text);
		text_addc(text, ')');
		return;
	case KIND_signal_result:
		text_i64(text, (int64_t)result);
		name = flag_name(FLAGS_signal, call->abi->flags, result);
		if (name)
			add_text_of(text, name);
		return;
	case KIND_polled:
		text_i64(text, (int64_t)result);
		text_cstr(text, result ? "" : " (Timeout)");
		struct_add_changes(call, text);
		return;
	default:
		text_i64(text, (int64_t)result);
	}
}

/* What the kernel means by an error that no program sees: which calls begin again. */
static const char *restarts(const char *error)
{
	static const char *const texts[][2] = {
		{ "ERESTARTSYS", "To be restarted if SA_RESTART is set" },
		{ "ERESTARTNOINTR", "To be restarted" },
		{ "ERESTARTNOHAND", "To be restarted if no handler" },
		{ "ERESTART_RESTARTBLOCK", "Interrupted by signal" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!strcmp(texts[i][0], error))
			return texts[i][1];
	}
	return NULL;
}

/* 512 and above never reach a program: a signal came in between, and the call begins again. */
void call_add_result(const struct call_shown *call, struct text *text)
{
	int64_t result = call->view->result;
	uint64_t errnum = syscall_failed(result) ? (uint64_t)-result : 0;
	const char *error = errnum ? errno_name(errnum) : NULL;

	if (!error) {
		add_good_result(call, (uint64_t)result, text);
		return;
	}
	text_cstr(text, errnum >= 512 ? "? " : "-1 ");
	text_cstr(text, error);
	if (errnum < 512)
		add_text_of(text, strerror((int)errnum));
	else if (restarts(error))
		add_text_of(text, restarts(error));
}
