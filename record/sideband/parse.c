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
	struct mapping *mapping = &event->mapping;
	struct mmap2 m;

	if (len < sizeof(m))
		return false;
	memcpy(&m, record, sizeof(m));
	event->kind = SIDEBAND_MMAP;
	mapping->pid = m.pid;
	mapping->tid = m.tid;
	mapping->start = m.start;
	mapping->length = m.length;
	mapping->pgoff = m.pgoff;
	mapping->prot = m.prot;
	mapping->flags = m.flags;
	mapping->path = record + sizeof(m);
	mapping->path_len = strnlen(mapping->path, len - sizeof(m));
	if (m.header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		if (m.size > PERF_BUILD_ID_MAX)
			return false;
		mapping->build_id.len = m.size;
		memcpy(mapping->build_id.bytes, m.build_id, m.size);
	} else {
		mapping->dev_major = m.major;
		mapping->dev_minor = m.minor;
		mapping->inode = m.inode;
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
	struct mapping *symbol = &event->mapping;
	struct ksymbol k;
	size_t time;

	if (len < sizeof(k))
		return false;
	memcpy(&k, record, sizeof(k));
	event->kind = SIDEBAND_KSYMBOL;
	symbol->start = k.address;
	symbol->length = k.length;
	symbol->path = record + sizeof(k);
	symbol->path_len = strnlen(symbol->path, len - sizeof(k));
	event->type = k.type;
	event->unregister = k.flags & KSYMBOL_UNREGISTER;
	time = sizeof(k) + (symbol->path_len + 8) / 8 * 8;
	if (time <= len)
		memcpy(&symbol->time, record + time, sizeof(symbol->time));
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
	uint64_t *time = &event.mapping.time;
	struct perf_event_header header;
	bool good = true;
	size_t body;

	if (len < sizeof(header))
		return 0;
	memcpy(&header, bytes, sizeof(header));
	if (header.size < sizeof(header) + sizeof(*time) || header.size > len)
		return 0;
	body = header.size - sizeof(*time);
	memcpy(time, (const char *)bytes + body, sizeof(*time));
	if (header.type == PERF_RECORD_MMAP2)
		good = parse_mmap2(bytes, body, &event);
	else if (header.type == PERF_RECORD_KSYMBOL)
		good = parse_ksymbol(bytes, body, &event);
	else if (header.type == PERF_RECORD_LOST)
		good = parse_lost(bytes, body, &event);
	if (!good)
		event = (struct sideband_event){ .kind = SIDEBAND_MALFORMED,
						 .mapping.time = *time };
	*ret = event;
	return header.size;
}
