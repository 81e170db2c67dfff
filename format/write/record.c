/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wire records put together in user space; see struct ebt_record in writer.h. */
#include "format/write/writer.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/limits.h"

/* Each wire struct fits the scratch area. */
#define EBT_TABLE(name, id, class, doc)                                   \
	_Static_assert(sizeof(struct ebt_wire_##name) <=                  \
			       sizeof(((struct ebt_record *)0)->scratch), \
		       #name);
#include "format/events/all.def"

static bool reserve(struct ebt_record *rec, size_t more)
{
	size_t capacity = rec->capacity ? rec->capacity : 512, need;
	unsigned char *data;

	if (__builtin_add_overflow(rec->len, more, &need) || need > UINT32_MAX)
		return false;
	if (need <= rec->capacity)
		return true;
	while (capacity < need)
		capacity *= 2;
	data = realloc(rec->data, capacity);
	if (!data)
		return false;
	rec->data = data;
	rec->capacity = capacity;
	return true;
}

void *ebt_record_begin(struct ebt_record *rec, enum ebt_table_id table, uint64_t time_ns)
{
	const struct ebt_table *t = ebt_table_by_id((uint16_t)table);
	size_t size = t ? t->wire_size : 0;
	struct ebt_wire_head head = { .time = time_ns, .table = (uint16_t)table };

	rec->len = 0;
	rec->failed = !t || !reserve(rec, size);
	if (rec->failed)
		return memset(rec->scratch, 0, sizeof(rec->scratch));
	memset(rec->data, 0, size);
	memcpy(rec->data, &head, sizeof(head));
	rec->len = size;
	return rec->data;
}

/* Appends len bytes for the reference at ref_offset; returns where, or NULL. */
static unsigned char *append(struct ebt_record *rec, size_t ref_offset, size_t len)
{
	struct ebt_ref ref = { .off = (uint32_t)rec->len, .len = (uint32_t)len };

	if (rec->failed || !len)
		return NULL;
	if (!reserve(rec, len)) {
		rec->failed = true;
		return NULL;
	}
	memcpy(rec->data + ref_offset, &ref, sizeof(ref));
	rec->len += len;
	return rec->data + ref.off;
}

void ebt_record_bytes(struct ebt_record *rec, size_t ref_offset, const void *data, size_t len)
{
	unsigned char *p = append(rec, ref_offset, len);

	if (p)
		memcpy(p, data, len);
}

void ebt_record_str(struct ebt_record *rec, size_t ref_offset, const char *s)
{
	ebt_record_bytes(rec, ref_offset, s, strlen(s));
}

void ebt_record_stack(struct ebt_record *rec, size_t ref_offset, uint32_t attrs,
		      const uint64_t *addresses, size_t n)
{
	struct ebt_wire_stack stack = { .attrs = attrs };
	unsigned char *p;

	if (n > EBT_MAX_FRAMES) {
		n = EBT_MAX_FRAMES;
		stack.attrs |= EBT_STACK_TRUNCATED;
	}
	stack.n = (uint32_t)n;
	p = append(rec, ref_offset, sizeof(stack) + n * sizeof(*addresses));
	if (!p)
		return;
	memcpy(p, &stack, sizeof(stack));
	if (n)
		memcpy(p + sizeof(stack), addresses, n * sizeof(*addresses));
}

struct ebt_error *ebt_record_add(struct ebt_record *rec, struct ebt_stream *stream)
{
	uint32_t len = (uint32_t)rec->len;

	if (rec->failed)
		return &ebt_enomem;
	memcpy(rec->data + offsetof(struct ebt_wire_head, len), &len, sizeof(len));
	return ebt_stream_add(stream, rec->data, rec->len);
}

void ebt_record_deinit(struct ebt_record *rec)
{
	free(rec->data);
	*rec = EBT_RECORD_INIT;
}
