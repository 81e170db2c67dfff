/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is written behind the name of a function or of a USDT probe: which arguments are fetched,
 * and what they are.
 *
 *	ARGS   = ARG { "+" ARG }
 *	ARG    = [NAME "="] (NUMBER | "%" REGISTER | "ret") { "@" OFFSET } ["/" FORMAT] ["@ret"]
 *	FORMAT = ("d" | "u" | "x" | "b") [BITS] | "s" | "m" BYTES
 *
 * "@OFFSET" is what is in memory so far behind the pointer before it.
 */
#ifndef RECORD_PROBES_SPEC_H
#define RECORD_PROBES_SPEC_H

#include <linux/types.h>
#include <stdbool.h>

#include "format/base/error.h"
#include "record/bpf/probe_user.h"
#include "record/probes/list.h"

/* Registers of the x86-64 and aarch64 calling conventions hold so many. */
#if defined(__x86_64__)
#define PROBE_REGISTER_ARGS 6
#else
#define PROBE_REGISTER_ARGS 8
#endif

/* An argument: where it comes from, and its row. */
struct probe_spec_arg {
	uint32_t position; /* of an argument, from 1; 0: fetch.base says where */
	struct ebrec_fetch fetch;
	struct probe_arg arg;
	bool has_format;
};

struct probe_spec {
	struct probe_spec_arg list[EBREC_PROBE_FETCHES];
	size_t n;
	size_t n_later; /* of these, at the end: read when the function returns */
};

/* EBT_ERR_INVALID: what is wrong with the text. function: it can return. */
struct ebt_error *probe_spec_parse(const char *text, bool function, struct probe_spec *ret);

/* Those of a function of which nothing is said: the registers of its arguments. */
void probe_spec_default(struct probe_spec *ret);

void probe_spec_deinit(struct probe_spec *spec);

/* "rdi", also as the compiler calls parts of it: where it is in struct pt_regs. */
bool probe_register(const char *name, size_t len, uint16_t *ret);

/*
 * An operand of a USDT note, as "-4@%eax" or "8@-16(%rbp)"; text ends with a space or 0. False: it
 * cannot be fetched, as a number in a vector register; then it is shown as unreadable.
 */
bool probe_operand_parse(const char *text, size_t len, struct ebrec_fetch *ret);

#endif
