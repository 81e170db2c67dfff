/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing jitdump files by the kernel's specification; see jit_data.h. */
#include "tests/tools/jit_data.h"

#include <stdlib.h>
#include <string.h>

static void put(struct jit_data *d, const void *bytes, size_t len)
{
	d->data = realloc(d->data, d->len + len);
	memcpy(d->data + d->len, bytes, len);
	d->len += len;
}

static void put_u32(struct jit_data *d, uint32_t value)
{
	put(d, &value, sizeof(value));
}

static void put_u64(struct jit_data *d, uint64_t value)
{
	put(d, &value, sizeof(value));
}

void jit_data_init(struct jit_data *d, uint64_t time, uint64_t flags)
{
	*d = (struct jit_data){ 0 };
	put_u32(d, 0x4a695444);
	put_u32(d, 1);
	put_u32(d, 40);
	put_u32(d, 62); /* EM_X86_64 */
	put_u32(d, 0);
	put_u32(d, 1234);
	put_u64(d, time);
	put_u64(d, flags);
}

void jit_data_deinit(struct jit_data *d)
{
	free(d->data);
	*d = (struct jit_data){ 0 };
}

void jit_data_record(struct jit_data *d, uint32_t id, uint64_t time, const void *body, size_t len)
{
	put_u32(d, id);
	put_u32(d, (uint32_t)(16 + len));
	put_u64(d, time);
	put(d, body, len);
}

void jit_data_load(struct jit_data *d, uint64_t time, uint64_t number, uint64_t address,
		   uint64_t size, const char *name)
{
	struct jit_data body = { 0 };

	put_u32(&body, 1234);
	put_u32(&body, 1234);
	put_u64(&body, address);
	put_u64(&body, address);
	put_u64(&body, size);
	put_u64(&body, number);
	put(&body, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size && i < 64; i++)
		put(&body, "\xc3", 1);
	jit_data_record(d, 0, time, body.data, body.len);
	jit_data_deinit(&body);
}

void jit_data_move(struct jit_data *d, uint64_t time, uint64_t number, uint64_t from, uint64_t to,
		   uint64_t size)
{
	struct jit_data body = { 0 };

	put_u32(&body, 1234);
	put_u32(&body, 1234);
	put_u64(&body, to);
	put_u64(&body, from);
	put_u64(&body, to);
	put_u64(&body, size);
	put_u64(&body, number);
	jit_data_record(d, 1, time, body.data, body.len);
	jit_data_deinit(&body);
}

void jit_data_lines(struct jit_data *d, uint64_t address, const struct jit_line *lines, size_t n)
{
	struct jit_data body = { 0 };

	put_u64(&body, address);
	put_u64(&body, n);
	for (size_t i = 0; i < n; i++) {
		const char *file = lines[i].file ? lines[i].file : "\xff";

		put_u64(&body, lines[i].address);
		put_u32(&body, lines[i].line);
		put_u32(&body, 0);
		put(&body, file, strlen(file) + 1);
	}
	jit_data_record(d, 2, 0, body.data, body.len);
	jit_data_deinit(&body);
}
