/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking Sysprof's frames apart; see sysprof_frames.h. */
#include "record/sources/sysprof_frames.h"

#include <string.h>

#define MAGIC 0xfdca975eu

/* Offsets in a frame; all numbers are of this machine's order. */
enum {
	AT_LEN = 0,   /* u16 */
	AT_CPU = 2,   /* s16 */
	AT_PID = 4,   /* s32 */
	AT_TIME = 8,  /* s64 */
	AT_TYPE = 16, /* u8, and 7 bytes without a meaning */

	MARK_DURATION = 24, /* s64 */
	MARK_GROUP = 32,
	MARK_GROUP_SIZE = 24,
	MARK_NAME = 56,
	MARK_NAME_SIZE = 40,
	MARK_MESSAGE = 96,

	LOG_SEVERITY = 24, /* u16 */
	LOG_DOMAIN = 32,
	LOG_DOMAIN_SIZE = 32,
	LOG_MESSAGE = 64,

	LIST_COUNT = 24, /* u16 */
	LIST = 32,

	COUNTER_SIZE = 128,
	COUNTER_CATEGORY = 0,
	COUNTER_NAME = 32,
	COUNTER_DESCRIPTION = 64,
	COUNTER_NAME_SIZE = 32,
	COUNTER_DESCRIPTION_SIZE = 52,
	COUNTER_ID = 116, /* u32: 24 bits, and 8 of its type */

	GROUP_IDS = 0,			   /* u32 each */
	GROUP_VALUES = SYSPROF_VALUES * 4, /* u64 each */
	GROUP_SIZE = SYSPROF_VALUES * 12,
};

#define LOAD(type, data, at)                                    \
	({                                                      \
		type loaded;                                    \
		memcpy(&loaded, (data) + (at), sizeof(loaded)); \
		loaded;                                         \
	})

static struct sysprof_text text(const unsigned char *data, size_t size)
{
	return (struct sysprof_text){ (const char *)data, strnlen((const char *)data, size) };
}

enum sysprof_bytes sysprof_frame_parse(const void *arg, size_t len, struct sysprof_frame *ret)
{
	const unsigned char *data = arg;
	size_t whole;

	if (len < SYSPROF_HEAD)
		return SYSPROF_IS_CUT;
	whole = LOAD(uint16_t, data, AT_LEN);
	if (whole < SYSPROF_HEAD || whole % SYSPROF_ALIGN)
		return SYSPROF_IS_NONE;
	*ret = (struct sysprof_frame){
		.len = whole,
		.type = data[AT_TYPE],
		.cpu = LOAD(int16_t, data, AT_CPU),
		.pid = LOAD(int32_t, data, AT_PID),
		.time = LOAD(int64_t, data, AT_TIME),
		.clean = !(LOAD(uint64_t, data, AT_TYPE) & ~UINT64_C(0xff)),
		.data = data,
	};
	if (!ret->type || (ret->type > SYSPROF_LAST && ret->type != SYSPROF_FINAL))
		return SYSPROF_IS_NONE;
	return whole > len ? SYSPROF_IS_CUT : SYSPROF_IS_FRAME;
}

enum sysprof_bytes sysprof_file_parse(const void *data, size_t len)
{
	const unsigned char *bytes = data;

	/* Version 1, in this machine's order. */
	if (len < 6 || LOAD(uint32_t, bytes, 0) != MAGIC || bytes[4] != 1 || bytes[5] != 1)
		return SYSPROF_IS_NONE;
	return len < SYSPROF_FILE_HEAD ? SYSPROF_IS_CUT : SYSPROF_IS_FRAME;
}

bool sysprof_frame_mark(const struct sysprof_frame *frame, struct sysprof_mark *ret)
{
	const unsigned char *data = frame->data;

	if (frame->len < MARK_MESSAGE)
		return false;
	ret->duration = LOAD(int64_t, data, MARK_DURATION);
	ret->group = text(data + MARK_GROUP, MARK_GROUP_SIZE);
	ret->name = text(data + MARK_NAME, MARK_NAME_SIZE);
	ret->message = text(data + MARK_MESSAGE, frame->len - MARK_MESSAGE);
	return true;
}

bool sysprof_frame_log(const struct sysprof_frame *frame, struct sysprof_log *ret)
{
	const unsigned char *data = frame->data;

	if (frame->len < LOG_MESSAGE)
		return false;
	ret->severity = LOAD(uint16_t, data, LOG_SEVERITY);
	ret->domain = text(data + LOG_DOMAIN, LOG_DOMAIN_SIZE);
	ret->message = text(data + LOG_MESSAGE, frame->len - LOG_MESSAGE);
	return true;
}

bool sysprof_frame_count(const struct sysprof_frame *frame, size_t *ret)
{
	bool values = frame->type == SYSPROF_COUNTER_SET;
	size_t n;

	if (frame->len < LIST)
		return false;
	n = LOAD(uint16_t, frame->data, LIST_COUNT);
	if (n > (frame->len - LIST) / (values ? GROUP_SIZE : COUNTER_SIZE))
		return false;
	*ret = values ? n * SYSPROF_VALUES : n;
	return true;
}

void sysprof_frame_counter(const struct sysprof_frame *frame, size_t i, struct sysprof_counter *ret)
{
	const unsigned char *data = frame->data + LIST + i * COUNTER_SIZE;
	uint32_t id = LOAD(uint32_t, data, COUNTER_ID);

	ret->id = id & 0xffffff;
	ret->is_double = id >> 24 == 1;
	ret->category = text(data + COUNTER_CATEGORY, COUNTER_NAME_SIZE);
	ret->name = text(data + COUNTER_NAME, COUNTER_NAME_SIZE);
	ret->description = text(data + COUNTER_DESCRIPTION, COUNTER_DESCRIPTION_SIZE);
}

void sysprof_frame_value(const struct sysprof_frame *frame, size_t i, struct sysprof_value *ret)
{
	const unsigned char *group = frame->data + LIST + i / SYSPROF_VALUES * GROUP_SIZE;

	i %= SYSPROF_VALUES;
	ret->id = LOAD(uint32_t, group, GROUP_IDS + i * 4);
	ret->bits = LOAD(uint64_t, group, GROUP_VALUES + i * 8);
}
