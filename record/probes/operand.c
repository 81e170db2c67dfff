/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operands of USDT notes, as the assembler writes them: "-4@%eax", "8@$1", "8@-16(%rbp)",
 * "4@8(%rax,%rbx,4)"; on aarch64 "8@x0", "-4@[sp, 28]", "4@10". See spec.h.
 */
#include "record/probes/spec.h"

#include <asm/ptrace.h>
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A text that is taken from the front. */
struct cursor {
	const char *at, *end;
};

static bool take(struct cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

static bool take_number(struct cursor *c, int64_t *ret)
{
	char copy[32];
	size_t len = (size_t)(c->end - c->at);
	char *end;

	if (len >= sizeof(copy))
		len = sizeof(copy) - 1;
	memcpy(copy, c->at, len);
	copy[len] = '\0';
	if (!isdigit((unsigned char)copy[*copy == '-']))
		return false;
	errno = 0;
	/* What the assembler writes may be more than a signed number holds. */
	*ret = *copy == '-' ? strtoll(copy, &end, 0) : (int64_t)strtoull(copy, &end, 0);
	c->at += end - copy;
	return !errno;
}

#if defined(__x86_64__)

#define AT(field) offsetof(struct pt_regs, field)

bool probe_register(const char *name, size_t len, uint16_t *ret)
{
	static const struct {
		const char names[5][6]; /* of 64, 32, 16 and 8 bits, and in struct pt_regs */
		uint16_t at;
	} registers[] = {
		{ { "rax", "eax", "ax", "al" }, AT(rax) },
		{ { "rbx", "ebx", "bx", "bl" }, AT(rbx) },
		{ { "rcx", "ecx", "cx", "cl" }, AT(rcx) },
		{ { "rdx", "edx", "dx", "dl" }, AT(rdx) },
		{ { "rsi", "esi", "si", "sil" }, AT(rsi) },
		{ { "rdi", "edi", "di", "dil" }, AT(rdi) },
		{ { "rbp", "ebp", "bp", "bpl" }, AT(rbp) },
		{ { "rsp", "esp", "sp", "spl" }, AT(rsp) },
		{ { "r8", "r8d", "r8w", "r8b" }, AT(r8) },
		{ { "r9", "r9d", "r9w", "r9b" }, AT(r9) },
		{ { "r10", "r10d", "r10w", "r10b" }, AT(r10) },
		{ { "r11", "r11d", "r11w", "r11b" }, AT(r11) },
		{ { "r12", "r12d", "r12w", "r12b" }, AT(r12) },
		{ { "r13", "r13d", "r13w", "r13b" }, AT(r13) },
		{ { "r14", "r14d", "r14w", "r14b" }, AT(r14) },
		{ { "r15", "r15d", "r15w", "r15b" }, AT(r15) },
		{ { "rip" }, AT(rip) },
	};

	for (size_t i = 0; i < sizeof(registers) / sizeof(*registers); i++) {
		for (size_t j = 0; j < 4; j++) {
			const char *known = registers[i].names[j];

			if (len && strlen(known) == len && !memcmp(known, name, len)) {
				*ret = registers[i].at;
				return true;
			}
		}
	}
	return false;
}

static bool take_register(struct cursor *c, uint16_t *ret)
{
	const char *begin;

	if (!take(c, '%'))
		return false;
	begin = c->at;
	while (c->at < c->end && isalnum((unsigned char)*c->at))
		c->at++;
	return probe_register(begin, (size_t)(c->at - begin), ret);
}

/* "(%base)", "(%base,%index)", "(%base,%index,scale)" */
static bool take_memory(struct cursor *c, struct ebrec_fetch *f)
{
	int64_t scale = 1;

	f->n_derefs = 1;
	if (!take(c, '('))
		return false;
	/* What follows "(,": no base. */
	if (c->at < c->end && *c->at != ',' && !take_register(c, &f->base))
		return false;
	if (take(c, ',') && !take_register(c, &f->index))
		return false;
	if (take(c, ',') && !take_number(c, &scale))
		return false;
	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return false;
	f->shift = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2;
	return take(c, ')');
}

static bool take_operand(struct cursor *c, struct ebrec_fetch *f)
{
	int64_t number = 0;

	if (take(c, '$')) {
		if (!take_number(c, &number))
			return false;
		f->add = number;
		return true;
	}
	if (c->at < c->end && *c->at == '%')
		return take_register(c, &f->base);
	if (c->at < c->end && *c->at != '(' && !take_number(c, &number))
		return false;
	f->add = number;
	return take_memory(c, f);
}

#elif defined(__aarch64__)

bool probe_register(const char *name, size_t len, uint16_t *ret)
{
	char copy[8], *end;
	unsigned long number;

	if (len == 2 && !memcmp(name, "sp", 2)) {
		*ret = offsetof(struct user_pt_regs, sp);
		return true;
	}
	if (len < 2 || len >= sizeof(copy) || (*name != 'x' && *name != 'w'))
		return false;
	memcpy(copy, name, len);
	copy[len] = '\0';
	number = strtoul(copy + 1, &end, 10);
	if (!isdigit((unsigned char)copy[1]) || *end || number > 30)
		return false;
	*ret = (uint16_t)(offsetof(struct user_pt_regs, regs) + 8 * number);
	return true;
}

static bool take_register(struct cursor *c, uint16_t *ret)
{
	const char *begin = c->at;

	while (c->at < c->end && isalnum((unsigned char)*c->at))
		c->at++;
	return probe_register(begin, (size_t)(c->at - begin), ret);
}

static bool take_operand(struct cursor *c, struct ebrec_fetch *f)
{
	int64_t number = 0;

	if (take(c, '[')) {
		f->n_derefs = 1;
		if (!take_register(c, &f->base))
			return false;
		if (take(c, ',')) {
			take(c, ' ');
			if (!take_number(c, &number))
				return false;
		}
		f->add = number;
		return take(c, ']');
	}
	if (take_number(c, &number)) {
		f->add = number;
		return true;
	}
	return take_register(c, &f->base);
}

#endif

bool probe_operand_parse(const char *text, size_t len, struct ebrec_fetch *ret)
{
	struct cursor c = { text, text + len };
	int64_t size;

	*ret = (struct ebrec_fetch){ .base = EBREC_NO_REGISTER, .index = EBREC_NO_REGISTER };
	if (!take_number(&c, &size) || !take(&c, '@') || size < -8 || size > 8 ||
	    __builtin_popcountll((uint64_t)llabs(size)) != 1)
		return false;
	ret->size = (uint8_t)llabs(size);
	ret->is_signed = size < 0;
	return take_operand(&c, ret) && c.at == c.end;
}
