/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Look-ups in flags.def. Sets are short: they are gone through; only ioctls are searched. */
#include "report/calls/flags.h"

#include <stddef.h>

/* A value of flags.def where the machine has none. No flag has so many bits. */
#define NO UINT64_MAX

struct flag {
	const char *name; /* NULL: begins a set */
	uint64_t values[SYSCALL_N_ARCHES];
};

#define SET(set)				{ NULL, { NO, NO, NO } },
#define FLAG(set, name, value)			{ #name, { value, value, value } },
#define FLAG_OF(set, name, x86_64, i386, arm64) { #name, { x86_64, i386, arm64 } },
static const struct flag flags[] = {
#include "report/calls/flags.def"
	SET(end)
};
#undef SET
#undef FLAG
#undef FLAG_OF

enum {
#define SET(set)				ROW_##set,
#define FLAG(set, name, value)			ROW_##set##_##name,
#define FLAG_OF(set, name, x86_64, i386, arm64) ROW_##set##_##name,
#include "report/calls/flags.def"
	N_ROWS
};
#undef SET
#undef FLAG
#undef FLAG_OF

/* The first row of each set. */
static const uint16_t begins[] = {
	[FLAGS_NONE] = N_ROWS,
#define SET(set) [FLAGS_##set] = ROW_##set + 1,
#define FLAG(set, name, value)
#define FLAG_OF(set, name, x86_64, i386, arm64)
#include "report/calls/flags.def"
};
#undef SET
#undef FLAG
#undef FLAG_OF

void text_0x(struct text *text, uint64_t v)
{
	if (v)
		text_add(text, "0x", 2);
	text_hex(text, v);
}

static void add_unknown(struct text *text, uint64_t value, const char *unknown)
{
	text_0x(text, value);
	if (unknown) {
		text_cstr(text, " /* ");
		text_cstr(text, unknown);
		text_cstr(text, " */");
	}
}

const char *flag_name(enum flag_set set, enum syscall_arch arch, uint64_t value)
{
	for (const struct flag *f = &flags[begins[set]]; f->name; f++) {
		if (f->values[arch] == value)
			return f->name;
	}
	return NULL;
}

uint64_t flags_add_known(struct text *text, enum flag_set set, enum syscall_arch arch,
			 uint64_t value)
{
	bool first = true;

	for (const struct flag *f = &flags[begins[set]]; value && f->name; f++) {
		uint64_t bits = f->values[arch];

		if (!bits || bits == NO || (value & bits) != bits)
			continue;
		if (!first)
			text_addc(text, '|');
		first = false;
		text_cstr(text, f->name);
		value &= ~bits;
	}
	return value;
}

void flags_add(struct text *text, enum flag_set set, enum syscall_arch arch, uint64_t value,
	       const char *unknown)
{
	const char *name = value ? NULL : flag_name(set, arch, 0);
	size_t before = text->len;
	uint64_t rest;

	if (!value) {
		text_cstr(text, name ? name : "0");
		return;
	}
	rest = flags_add_known(text, set, arch, value);
	if (text->len == before) {
		add_unknown(text, rest, unknown);
	} else if (rest) {
		text_addc(text, '|');
		text_0x(text, rest);
	}
}

void flag_add(struct text *text, enum flag_set set, enum syscall_arch arch, uint64_t value,
	      const char *unknown)
{
	const char *name = flag_name(set, arch, value);

	if (name)
		text_cstr(text, name);
	else
		add_unknown(text, value, unknown);
}

/* Rows of ioctls are in order of x86_64's numbers, which are those of most machines. Returns the
 * first row from which on those of the number stand. */
static const struct flag *first_ioctl(enum syscall_arch arch, uint32_t command)
{
	size_t low = begins[FLAGS_ioctl], high = sizeof(flags) / sizeof(flags[0]) - 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (flags[middle].values[SYSCALL_X86_64] < command)
			low = middle + 1;
		else
			high = middle;
	}
	return flags[low].name && flags[low].values[arch] == command ? &flags[low]
								     : &flags[begins[FLAGS_ioctl]];
}

static void add_ioctl_parts(struct text *text, uint32_t command)
{
	static const char *const directions[] = { "_IOC_NONE", "_IOC_WRITE", "_IOC_READ",
						  "_IOC_READ|_IOC_WRITE" };

	text_cstr(text, "_IOC(");
	text_cstr(text, directions[command >> 30]);
	text_cstr(text, ", ");
	text_0x(text, command >> 8 & 0xff);
	text_cstr(text, ", ");
	text_0x(text, command & 0xff);
	text_cstr(text, ", ");
	text_0x(text, command >> 16 & 0x3fff);
	text_addc(text, ')');
}

void ioctl_add(struct text *text, enum syscall_arch arch, uint32_t command)
{
	size_t before = text->len;

	for (const struct flag *f = first_ioctl(arch, command); f->name; f++) {
		if (f->values[arch] == command) {
			text_cstr(text, text->len == before ? "" : " or ");
			text_cstr(text, f->name);
		} else if (text->len != before && arch == SYSCALL_X86_64) {
			break; /* those of a number stand together */
		}
	}
	if (text->len == before)
		add_ioctl_parts(text, command);
}
