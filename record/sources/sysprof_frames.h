/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Sysprof's capture protocol, as programs write them into rings and files. Any bytes may
 * come: everything is checked against the length given, and nothing is kept.
 */
#ifndef RECORD_SOURCES_SYSPROF_FRAMES_H
#define RECORD_SOURCES_SYSPROF_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SYSPROF_HEAD = 24,	   /* bytes that every frame begins with */
	SYSPROF_FILE_HEAD = 256,   /* bytes that a file begins with */
	SYSPROF_ALIGN = 8,	   /* lengths and positions of frames */
	SYSPROF_MAX_FRAME = 65528, /* its length has 16 bits */
	SYSPROF_VALUES = 8,	   /* of a group */
};

/* Kinds of frames that are understood here, and the last that there is. */
enum sysprof_type {
	SYSPROF_TIMESTAMP = 1, /* says nothing else */
	SYSPROF_COUNTER_DEFINE = 8,
	SYSPROF_COUNTER_SET = 9,
	SYSPROF_MARK = 10,
	SYSPROF_LOG = 12,
	SYSPROF_LAST = 15,
	SYSPROF_FINAL = 255, /* of a ring: its thread has ended */
};

struct sysprof_frame {
	size_t len;
	uint8_t type;
	int cpu; /* -1: not known */
	int32_t pid;
	int64_t time; /* CLOCK_MONOTONIC */
	bool clean;   /* bits without a meaning are 0, as libraries leave them in files */
	const unsigned char *data;
};

/* Not NUL-terminated. */
struct sysprof_text {
	const char *s;
	size_t len;
};

struct sysprof_mark {
	int64_t duration;
	struct sysprof_text group, name, message;
};

struct sysprof_log {
	uint16_t severity;
	struct sysprof_text domain, message;
};

struct sysprof_counter {
	uint32_t id; /* of 24 bits */
	bool is_double;
	struct sysprof_text category, name, description;
};

struct sysprof_value {
	uint32_t id; /* 0: this place is not used */
	uint64_t bits;
};

enum sysprof_bytes {
	SYSPROF_IS_FRAME,
	SYSPROF_IS_CUT, /* it may be one, of which not all is there */
	SYSPROF_IS_NONE,
};

/* What the bytes begin with. */
enum sysprof_bytes sysprof_frame_parse(const void *data, size_t len, struct sysprof_frame *ret);

/* Are they the SYSPROF_FILE_HEAD bytes that a file begins with? */
enum sysprof_bytes sysprof_file_parse(const void *data, size_t len);

/* False: it is too short for what it says of itself. The texts are within the frame. */
bool sysprof_frame_mark(const struct sysprof_frame *frame, struct sysprof_mark *ret);
bool sysprof_frame_log(const struct sysprof_frame *frame, struct sysprof_log *ret);
/* How many counters it defines, or places for values it has. */
bool sysprof_frame_count(const struct sysprof_frame *frame, size_t *ret);
/* Of those. */
void sysprof_frame_counter(const struct sysprof_frame *frame, size_t i,
			   struct sysprof_counter *ret);
void sysprof_frame_value(const struct sysprof_frame *frame, size_t i, struct sysprof_value *ret);

#endif
