/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_event_open(2) describes the records. In an MMAP2 record either device and inode or a
 * build-id stand in the same 24 bytes; PERF_RECORD_MISC_MMAP_BUILD_ID tells which.
 */
#include <string.h>

#include "record/sideband/parse.h"

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

#define KSYMBOL_UNREGISTER 1u
#define PERF_BUILD_ID_MAX  20u

struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, pgoff;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		};
		struct {
			uint8_t size, reserved[3];
			uint8_t build_id[PERF_BUILD_ID_MAX];
		};
	};
	uint32_t prot, flags;
};

struct ksymbol {
	struct perf_event_header header;
	uint64_t address;
	uint32_t length;
	uint16_t type, flags;
};

struct lost {
	struct perf_event_header header;
	uint64_t id, count;
};

_Static_assert(sizeof(struct mmap2) == 72, "PERF_RECORD_MMAP2 up to the name");
_Static_assert(sizeof(struct ksymbol) == 24, "PERF_RECORD_KSYMBOL up to the name");
_Static_assert(sizeof(struct lost) == 24, "PERF_RECORD_LOST");

static bool parse_mmap2(const char *record, size_t len, struct sideband_event *event)
{
	struct mmap2 m;

	if (len < sizeof(m))
		return false;
	memcpy(&m, record, sizeof(m));
	event->kind = SIDEBAND_MMAP;
	event->pid = m.pid;
	event->tid = m.tid;
	event->start = m.start;
	event->length = m.length;
	event->pgoff = m.pgoff;
	event->prot = m.prot;
	event->flags = m.flags;
	event->name = record + sizeof(m);
	event->name_len = strnlen(event->name, len - sizeof(m));
	if (m.header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		if (m.size > PERF_BUILD_ID_MAX)
			return false;
		event->build_id.len = m.size;
		memcpy(event->build_id.bytes, m.build_id, m.size);
	} else {
		event->dev_major = m.major;
		event->dev_minor = m.minor;
		event->inode = m.inode;
		event->generation = m.generation;
	}
	return true;
}

/*
 * The time is right behind the name, and not always at the end: for each event that hears of a
 * symbol after another (two recorders, or perf), Linux makes the record 8 bytes longer and writes
 * no more than before (perf_event_ksymbol_output() adds to a size that it never resets).
 */
static bool parse_ksymbol(const char *record, size_t len, struct sideband_event *event)
{
	struct ksymbol k;
	size_t time;

	if (len < sizeof(k))
		return false;
	memcpy(&k, record, sizeof(k));
	event->kind = SIDEBAND_KSYMBOL;
	event->start = k.address;
	event->length = k.length;
	event->type = k.type;
	event->unregister = k.flags & KSYMBOL_UNREGISTER;
	event->name = record + sizeof(k);
	event->name_len = strnlen(event->name, len - sizeof(k));
	time = sizeof(k) + (event->name_len + 8) / 8 * 8;
	if (time <= len)
		memcpy(&event->time, record + time, sizeof(event->time));
	return true;
}

static bool parse_lost(const char *record, size_t len, struct sideband_event *event)
{
	struct lost lost;

	if (len < sizeof(lost))
		return false;
	memcpy(&lost, record, sizeof(lost));
	event->kind = SIDEBAND_LOST;
	event->lost = lost.count;
	return true;
}

size_t sideband_parse(const void *bytes, size_t len, struct sideband_event *ret)
{
	struct sideband_event event = { .kind = SIDEBAND_OTHER };
	struct perf_event_header header;
	bool good = true;
	size_t body;

	if (len < sizeof(header))
		return 0;
	memcpy(&header, bytes, sizeof(header));
	if (header.size < sizeof(header) + sizeof(event.time) || header.size > len)
		return 0;
	body = header.size - sizeof(event.time);
	memcpy(&event.time, (const char *)bytes + body, sizeof(event.time));
	if (header.type == PERF_RECORD_MMAP2)
		good = parse_mmap2(bytes, body, &event);
	else if (header.type == PERF_RECORD_KSYMBOL)
		good = parse_ksymbol(bytes, body, &event);
	else if (header.type == PERF_RECORD_LOST)
		good = parse_lost(bytes, body, &event);
	if (!good)
		event = (struct sideband_event){ .kind = SIDEBAND_MALFORMED, .time = event.time };
	*ret = event;
	return header.size;
}
