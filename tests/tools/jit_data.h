/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jitdump files as a JIT would write them, record by record. */
#ifndef TESTS_TOOLS_JIT_DATA_H
#define TESTS_TOOLS_JIT_DATA_H

#include <stddef.h>
#include <stdint.h>

struct jit_data {
	unsigned char *data;
	size_t len;
};

struct jit_line {
	uint64_t address;
	uint32_t line;
	const char *file; /* NULL: that of the line before */
};

/* With a header; time 0 and no flags. */
void jit_data_init(struct jit_data *d, uint64_t time, uint64_t flags);
void jit_data_deinit(struct jit_data *d);

void jit_data_load(struct jit_data *d, uint64_t time, uint64_t number, uint64_t address,
		   uint64_t size, const char *name);
void jit_data_move(struct jit_data *d, uint64_t time, uint64_t number, uint64_t from, uint64_t to,
		   uint64_t size);
void jit_data_lines(struct jit_data *d, uint64_t address, const struct jit_line *lines, size_t n);
/* Any record. */
void jit_data_record(struct jit_data *d, uint32_t id, uint64_t time, const void *body, size_t len);

#endif
