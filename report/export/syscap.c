/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See syscap.h. */
#include "report/export/syscap.h"

#include <string.h>
#include <time.h>

#define MAGIC UINT32_C(0xfdca975e)
#define ALIGN 8

enum frame_type {
	SAMPLE = 2,
	PROCESS = 4,
	EXIT = 6,
	JITMAP = 7,
	COUNTER_DEFINE = 8,
	COUNTER_SET = 9,
	MARK = 10,
	LOG = 12,
};

struct __attribute__((packed)) file_head {
	uint32_t magic;
	uint8_t version, little_endian, padding[2];
	char capture_time[64];
	int64_t time, end_time;
	char suffix[168];
};

struct __attribute__((packed)) frame_head {
	uint16_t len;
	int16_t cpu;
	int32_t pid;
	int64_t time;
	uint8_t type, padding[7];
};

struct __attribute__((packed)) sample {
	uint16_t n_addresses, padding;
	int32_t tid;
};

struct __attribute__((packed)) mark {
	int64_t duration;
	char group[SYSCAP_GROUP], name[SYSCAP_MARK];
};

struct __attribute__((packed)) log {
	uint16_t severity, padding[3];
	char domain[SYSCAP_CATEGORY];
};

#define COUNTER_DOUBLE 1

struct __attribute__((packed)) counter_define {
	uint16_t n, padding[3];
	char category[SYSCAP_CATEGORY], name[SYSCAP_CATEGORY], description[SYSCAP_DESCRIPTION];
	uint32_t id_and_type; /* 24 bits and 8 */
	uint64_t value;
};

struct __attribute__((packed)) counter_set {
	uint16_t n, padding[3];
	uint32_t ids[8];
	double values[8];
};

_Static_assert(sizeof(struct file_head) == 256, "");
_Static_assert(sizeof(struct frame_head) == 24, "");
_Static_assert(sizeof(struct frame_head) + sizeof(struct sample) == 32, "");
_Static_assert(sizeof(struct frame_head) + sizeof(struct mark) == 96, "");
_Static_assert(sizeof(struct frame_head) + sizeof(struct log) == 64, "");
_Static_assert(sizeof(struct counter_define) == 8 + 128, "");
_Static_assert(sizeof(struct counter_set) == 8 + 96, "");

void syscap_deinit(struct syscap *s)
{
	text_deinit(&s->text);
}

struct ebt_error *syscap_error(const struct syscap *s)
{
	return text_error(&s->text);
}

static int64_t at(uint64_t time)
{
	return time > INT64_MAX ? INT64_MAX : (int64_t)time;
}

/* rest: what is behind the fixed part. */
static void put(struct syscap *s, enum frame_type type, struct syscap_when when, const void *fixed,
		size_t n_fixed, const void *rest, size_t n_rest)
{
	static const char zeros[ALIGN];
	const size_t n = sizeof(struct frame_head) + n_fixed + n_rest,
		     len = (n + ALIGN - 1) / ALIGN * ALIGN;
	const struct frame_head head = {
		.len = (uint16_t)len,
		.cpu = when.cpu > INT16_MAX ? -1 : (int16_t)when.cpu,
		.pid = when.pid,
		.time = at(when.time),
		.type = (uint8_t)type,
	};

	fwrite(&head, 1, sizeof(head), s->f);
	if (n_fixed)
		fwrite(fixed, 1, n_fixed, s->f);
	if (n_rest)
		fwrite(rest, 1, n_rest, s->f);
	fwrite(zeros, 1, len - n, s->f);
}

/* So many bytes of valid UTF-8 at the most that no character is cut. */
static size_t fit(const char *s, size_t len, size_t most)
{
	if (len <= most)
		return len;
	while (most && ((unsigned char)s[most] & 0xc0) == 0x80)
		most--;
	return most;
}

/* Into a place that is zero and keeps one NUL. False: it was cut. */
static bool fill(struct syscap *s, char *place, size_t size, struct ebt_str value)
{
	size_t len;

	text_clear(&s->text);
	text_utf8(&s->text, value);
	len = fit(text_get(&s->text), s->text.len, size - 1);
	memcpy(place, text_get(&s->text), len);
	return len == s->text.len;
}

/* A text at the end of a frame. */
static void put_with_text(struct syscap *s, enum frame_type type, struct syscap_when when,
			  const void *fixed, size_t n_fixed, struct ebt_str value)
{
	size_t len;

	text_clear(&s->text);
	text_utf8(&s->text, value);
	len = fit(text_get(&s->text), s->text.len, SYSCAP_MOST_TEXT);
	s->cut += len < s->text.len;
	s->text.len = len;
	text_addc(&s->text, '\0');
	if (!s->text.failed)
		put(s, type, when, fixed, n_fixed, s->text.data, len + 1);
}

void syscap_put_head(struct syscap *s, uint64_t realtime, uint64_t from, uint64_t to)
{
	const time_t seconds = (time_t)(realtime / 1000000000);
	struct file_head head = {
		.magic = MAGIC,
		.version = 1,
		.little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
		.time = at(from),
		.end_time = at(to),
	};
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(head.capture_time, sizeof(head.capture_time), "%FT%TZ", &tm);
	fwrite(&head, 1, sizeof(head), s->f);
}

void syscap_put_sample(struct syscap *s, struct syscap_when when, uint32_t tid,
		       const uint64_t *addresses, size_t n)
{
	const struct sample sample = { .n_addresses = (uint16_t)n, .tid = (int32_t)tid };

	put(s, SAMPLE, when, &sample, sizeof(sample), addresses, n * sizeof(*addresses));
}

void syscap_put_process(struct syscap *s, struct syscap_when when, struct ebt_str cmdline)
{
	put_with_text(s, PROCESS, when, NULL, 0, cmdline);
}

void syscap_put_exit(struct syscap *s, struct syscap_when when)
{
	put(s, EXIT, when, NULL, 0, NULL, 0);
}

void syscap_put_function(struct syscap *s, uint64_t address, struct ebt_str name)
{
	const struct __attribute__((packed)) {
		uint32_t n;
		uint64_t address;
	} fixed = { 1, address };

	put_with_text(s, JITMAP, (struct syscap_when){ 0, -1, -1 }, &fixed, sizeof(fixed), name);
}

void syscap_put_mark(struct syscap *s, struct syscap_when when, uint64_t duration,
		     struct ebt_str group, struct ebt_str name, struct ebt_str message)
{
	const int64_t begin = at(when.time);
	struct mark mark = { .duration = at(duration) };

	if (mark.duration > INT64_MAX - begin)
		mark.duration = INT64_MAX - begin;
	fill(s, mark.group, sizeof(mark.group), group);
	fill(s, mark.name, sizeof(mark.name), name);
	put_with_text(s, MARK, when, &mark, sizeof(mark), message);
}

void syscap_put_log(struct syscap *s, struct syscap_when when, uint16_t severity,
		    struct ebt_str domain, struct ebt_str message)
{
	struct log log = { .severity = severity };

	s->cut += !fill(s, log.domain, sizeof(log.domain), domain);
	put_with_text(s, LOG, when, &log, sizeof(log), message);
}

void syscap_put_counter(struct syscap *s, struct syscap_when when, uint32_t id,
			struct ebt_str category, struct ebt_str name, struct ebt_str description)
{
	/* A bit field of 24 bits and one of 8, as compilers for this byte order lay them out. */
	const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	struct counter_define define = {
		.n = 1,
		.id_and_type = little ? id | COUNTER_DOUBLE << 24 : id << 8 | COUNTER_DOUBLE,
	};
	bool whole;

	s->cut += !fill(s, define.category, sizeof(define.category), category);
	whole = fill(s, define.name, sizeof(define.name), name);
	s->cut += !fill(s, define.description, sizeof(define.description), description) && !whole;
	put(s, COUNTER_DEFINE, when, &define, sizeof(define), NULL, 0);
}

void syscap_put_value(struct syscap *s, struct syscap_when when, uint32_t id, double value)
{
	const struct counter_set set = { .n = 1, .ids = { id }, .values = { value } };

	put(s, COUNTER_SET, when, &set, sizeof(set), NULL, 0);
}
