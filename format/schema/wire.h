/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records as BPF programs and the recorder hand them over, made from the event table. Shared by
 * user space and BPF: nothing but types.
 *
 * A record is `struct ebt_wire_NAME`, whose head says which table it is a row of, followed by
 * the bytes that its ebt_ref fields point to. Several may share a place in a ring, one behind the
 * other, each from a multiple of 8 bytes on. This is no file format: a record never leaves the
 * machine, and may change with any build.
 */
#ifndef FORMAT_SCHEMA_WIRE_H
#define FORMAT_SCHEMA_WIRE_H

#include <linux/types.h>

struct ebt_wire_head {
	__u64 time;  /* CLOCK_MONOTONIC ns */
	__u32 len;   /* of the whole record, head included */
	__u16 table; /* enum ebt_table_id */
	__u16 flags; /* zero */
};

/* Bytes that belong to a record: off is from the record's first byte. len 0: none. */
struct ebt_ref {
	__u32 off;
	__u32 len;
};

/* What a STACK's ebt_ref points to: this, then n addresses, the innermost frame first. */
struct ebt_wire_stack {
	__u32 attrs; /* EBT_STACK_* */
	__u32 n;
};

/*
 * Attributes of a stack, in wire records and in files. Bits 8 to 15 hold the method and 16 to 23
 * the reason for which the walk ended.
 */
enum {
	EBT_STACK_USER = 1 << 0,      /* addresses of user space */
	EBT_STACK_TRUNCATED = 1 << 1, /* there were more frames than fit */

	EBT_STACK_METHOD_SHIFT = 8, /* 0: the kernel's walker (frame pointers for user space) */
	EBT_STACK_STOP_SHIFT = 16,  /* 0: not known */
};

/*
 * What the ebt_ref of a field `udump` points to: this, then registers[n], then the stack from
 * EBT_DUMP_BELOW bytes below sp on, as much as there is: a function that is about to return has
 * taken registers from there, but the rules still say so. The user stack of the same row ends with
 * a frame at pc; the dump is what is needed to go on from there. Same layout in files.
 */
struct ebt_wire_dump {
	__u32 attrs; /* EBT_DUMP_* */
	__u32 n;     /* registers, by their DWARF numbers: EBT_DUMP_X86_REGISTERS, _ARM64_ */
	__u64 pc;
};

enum {
	EBT_DUMP_CALLER = 1 << 0, /* pc is a return address */
	EBT_DUMP_INNER = 1 << 1,  /* the innermost frame: all registers; else frame and stack
				     pointer only */

	EBT_DUMP_X86_REGISTERS = 16,   /* rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15 */
	EBT_DUMP_ARM64_REGISTERS = 32, /* x0 to x30, sp */
	EBT_DUMP_BELOW = 128,	       /* the red zone of x86-64 */
	EBT_DUMP_STACK = 16 << 10,     /* bytes of stack at the most */
};

/*
 * An entry of a user stack with the top bit set is no address, but a function of an interpreted
 * language that was being run: its number in table `interp_code`, and the index of its
 * instruction (of CPython: in code units of 2 bytes). Such entries follow, the innermost first,
 * the address of the function of the interpreter that ran them.
 */
#define EBT_ENTRY_INTERP      (1ull << 63)
#define EBT_ENTRY_ID_SHIFT    28		 /* 32 bits; 0: nothing is known of it */
#define EBT_ENTRY_INSTRUCTION ((1ull << 28) - 1) /* all ones: not known */
/* The address before the first of these entries is not that function's. */
#define EBT_ENTRY_BESIDE (1ull << 62)

/* How the frames of a stack were found, bits of its method. 0: by the kernel's own walker. */
enum {
	EBT_METHOD_TABLE = 1 << 0,  /* unwind information of the files */
	EBT_METHOD_FP = 1 << 1,	    /* frame pointers */
	EBT_METHOD_DUMP = 1 << 2,   /* the rest from a copy of the stack, later */
	EBT_METHOD_INTERP = 1 << 3, /* there are entries of functions of interpreted languages */
};

/* Why a walk ended. */
enum {
	EBT_STOP_UNKNOWN,
	EBT_STOP_ROOT,		/* the outermost frame: whole */
	EBT_STOP_TRUNCATED,	/* there were more frames than fit */
	EBT_STOP_NO_MAPPING,	/* nothing is known to be mapped there */
	EBT_STOP_NO_TABLE,	/* the file's table was not ready */
	EBT_STOP_NO_ROW,	/* the file says nothing about the address */
	EBT_STOP_RULE,		/* a rule that tables cannot express */
	EBT_STOP_FAULT,		/* stack memory was not there */
	EBT_STOP_LOOP,		/* the frame did not grow */
	EBT_STOP_FRAME_POINTER, /* a frame pointer that cannot be one */
	EBT_STOP_BUSY,		/* too many walks on the CPU at once */
	EBT_STOP_EXEC,		/* in exec: the program's memory has gone, so there is no stack */
};

/* --- enum ebt_table_id: EBT_T_NAME, the ids in chunk headers --- */
enum ebt_table_id {
#define EBT_TABLE(name, id, class, doc) EBT_T_##name = id,
#include "format/events/all.def"
};

/*
 * --- enum ebt_TABLE_FIELD { EBT_V_TABLE_FIELD_TOKEN, … }: the values of ENUM fields ---
 *
 * Values stand behind their field, so that each field closes the enum of the one before it. What
 * a field of another type opens, and nobody uses, is an empty struct.
 */
/* clang-format off */
#define EBT_OPEN_ENUM(table, name)     enum ebt_##table##_##name {
#define EBT_OPEN_U64(table, name)      struct ebt_no_values_##table##_##name {
#define EBT_OPEN_I64(table, name)      EBT_OPEN_U64(table, name)
#define EBT_OPEN_HEX(table, name)      EBT_OPEN_U64(table, name)
#define EBT_OPEN_TIME(table, name)     EBT_OPEN_U64(table, name)
#define EBT_OPEN_DURATION(table, name) EBT_OPEN_U64(table, name)
#define EBT_OPEN_TASK(table, name)     EBT_OPEN_U64(table, name)
#define EBT_OPEN_STACK(table, name)    EBT_OPEN_U64(table, name)
#define EBT_OPEN_STRING(table, name)   EBT_OPEN_U64(table, name)
#define EBT_OPEN_BYTES(table, name)    EBT_OPEN_U64(table, name)
#define EBT_TABLE(name, id, class, doc) EBT_OPEN_U64(name, time)
#define EBT_FIELD(table, id, ctype, name, type, unit, doc) }; EBT_OPEN_##type(table, name)
#define EBT_VALUE(table, field, token, value, text) EBT_V_##table##_##field##_##token = value,
#define EBT_END(name) };
#include "format/events/all.def"
/* clang-format on */

/* --- struct ebt_wire_NAME --- */
#define EBT_TABLE(name, id, class, doc) \
	struct ebt_wire_##name {        \
		struct ebt_wire_head head;
#define EBT_FIELD(table, id, ctype, name, type, unit, doc) ctype name;
#define EBT_END(name) \
	}             \
	;
#include "format/events/all.def"

/* No padding anywhere: a record's bytes are all meant, none leak kernel stack. */
#define EBT_TABLE(name, id, class, doc) \
	_Static_assert(sizeof(struct ebt_wire_##name) == sizeof(struct ebt_wire_head)
#define EBT_FIELD(table, id, ctype, name, type, unit, doc) +sizeof(ctype)
#define EBT_END(name) , "struct ebt_wire_" #name " has padding: reorder its fields");
#include "format/events/all.def"

#endif
