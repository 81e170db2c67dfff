/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of JSON with sequence numbers, so that a receiver sees whether one is missing. */
#ifndef REPORT_BASE_NDJSON_H
#define REPORT_BASE_NDJSON_H

#include "report/base/json.h"

struct ndjson {
	struct json json; /* of the line at hand */
	uint64_t seq;	  /* of the next line: 0, 1, 2 … */
};

static inline void ndjson_init(struct ndjson *lines, FILE *f, uint64_t seq)
{
	json_init(&lines->json, f);
	lines->seq = seq;
}

/* A line begins; members may be added until ndjson_end(). */
static inline struct json *ndjson_begin(struct ndjson *lines)
{
	lines->json.comma = false;
	json_open_object(&lines->json);
	json_key(&lines->json, "seq");
	json_u64(&lines->json, lines->seq++);
	return &lines->json;
}

static inline void ndjson_end(struct ndjson *lines)
{
	json_end(&lines->json);
}

#endif
