/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What arguments.c and its parts share: kinds, their classes, and numbers as text. */
#ifndef REPORT_CALLS_SIGNATURE_H
#define REPORT_CALLS_SIGNATURE_H

#include "report/calls/arguments.h"
#include "report/calls/flags.h"

enum argument_kind {
	KIND_NONE, /* there is no such argument */
#define KIND(token, class, set, unknown) KIND_##token,
#include "format/calls/kinds.def"
#undef KIND
	N_KINDS
};

struct call_signature {
	uint16_t result, args[SYSCALL_MAX_ARGS]; /* enum argument_kind */
};

/* A kind of class OTHER: false where the argument is not there. */
typedef bool (*argument_fn)(const struct call_shown *call, unsigned int i, struct text *text);

/* NULL: prints as it is. */
argument_fn argument_other(enum argument_kind kind);

/* clone(), futex() and prctl(), each of whose arguments depends on one of them. */
bool argument_add_clone(const struct call_shown *call, unsigned int i, struct text *text);
bool argument_add_futex(const struct call_shown *call, unsigned int i, struct text *text);
bool argument_add_prctl(const struct call_shown *call, unsigned int i, struct text *text);

/* What the argument pointed to; NULL: not recorded, or the recorder could not read it. */
const struct call_text *call_recorded(const struct call_shown *call, unsigned int i);

/* An argument as if it were of this kind. */
bool argument_add_as(const struct call_shown *call, unsigned int i, enum argument_kind kind,
		     struct text *text);

/* Flags or the name of a value, by the set of a kind. */
void argument_add_flags(const struct call_shown *call, enum argument_kind kind, uint64_t value,
			struct text *text);
void argument_add_name(const struct call_shown *call, enum argument_kind kind, uint64_t value,
		       struct text *text);

/* The access mode, then the flags of open(). */
void argument_add_open(const struct call_shown *call, uint32_t flags, struct text *text);
/* These flags of open() need a mode. */
bool open_creates(uint32_t flags);
/* S_IFREG|0644 */
void argument_add_mode(const struct call_shown *call, uint32_t mode, struct text *text);
/* makedev(0x8, 0x1): as the kernel tells it to programs. */
void argument_add_device(uint32_t device, struct text *text);
/* 3</etc/hostname> */
void argument_add_fd(const struct call_shown *call, int32_t fd, struct text *text);
/* "SIGTERM", "SIGRT_2", 0. */
void argument_add_signal(const struct call_shown *call, uint32_t signal, struct text *text);
void argument_add_personality(const struct call_shown *call, uint32_t value, struct text *text);
void argument_add_ioprio(const struct call_shown *call, uint32_t value, struct text *text);

void text_i64(struct text *text, int64_t v);
/* 0x1f; NULL for 0. */
void text_address(struct text *text, uint64_t v);
/* 0644, 000. */
void text_octal(struct text *text, uint32_t v);

/* A word of the program, as it is passed to a function of its size. */
static inline uint64_t argument_word(const struct call_shown *call, unsigned int i)
{
	return call->abi->word == 4 ? (uint32_t)call->view->args[i] : call->view->args[i];
}

/* An argument of 32 bits. */
static inline uint32_t argument_u32(const struct call_shown *call, unsigned int i)
{
	return (uint32_t)call->view->args[i];
}

#endif
