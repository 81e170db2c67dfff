/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streaming JSON. Commas and nesting are kept right; what is not UTF-8 becomes U+FFFD; <, > and &
 * are written as \u escapes, so that a document can stand inside HTML. Write errors stay in the
 * FILE, where whoever owns it checks once at the end.
 */
#ifndef REPORT_BASE_JSON_H
#define REPORT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Arrays and objects open at one time; deeper nesting is left out, brackets included, so that the
 * document stays valid. */
#define JSON_MAX_DEPTH 8192

struct json {
	FILE *f;
	unsigned int depth;   /* of what is open */
	unsigned int skipped; /* levels open beyond JSON_MAX_DEPTH */
	bool comma;	      /* something stands before on this level */
	bool after_key;
	bool line;			    /* a line break is due behind the next comma */
	bool one_line;			    /* none ever is */
	unsigned char kind[JSON_MAX_DEPTH]; /* '}' or ']' */
};

void json_init(struct json *json, FILE *f);

void json_open_object(struct json *json);
void json_open_array(struct json *json);
void json_end(struct json *json); /* of whichever is open */

void json_key(struct json *json, const char *key);
/* A member: its key, and its value by json_TYPE(). Evaluates json twice. */
#define json_put(json, key, type, ...) \
	(json_key((json), (key)), json_##type((json)__VA_OPT__(, ) __VA_ARGS__))

void json_u64(struct json *json, uint64_t v);
void json_i64(struct json *json, int64_t v);
/* The same as strings: readers of JSON may take numbers for doubles, exact up to 2^53 only. */
void json_wide_u64(struct json *json, uint64_t v);
void json_wide_i64(struct json *json, int64_t v);
void json_f64(struct json *json, double v);   /* not finite: null */
void json_exact(struct json *json, double v); /* the same, exact up to 15 digits */
void json_bool(struct json *json, bool v);
void json_put_null(struct json *json);
void json_str(struct json *json, const char *s, size_t len);
void json_cstr(struct json *json, const char *s); /* NULL: null */

/* A value that is written as JSON already. */
void json_written(struct json *json, const char *s, size_t len);

/* A time by the trace's clock, as all JSON has it: from the start of the trace, negative before. */
void json_time(struct json *json, uint64_t time, uint64_t start_ns);

/* The next value or key begins a line: for people who look at the file. */
void json_newline(struct json *json);

#endif
