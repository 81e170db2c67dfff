/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streaming JSON writer; see json.h. */
#include "report/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "format/base/utf8.h"

void json_init(struct json *json, FILE *f)
{
	*json = (struct json){ .f = f };
}

/* Comma before a value or a key, where one is due. False: this level is left out. */
static bool json_before(struct json *json)
{
	if (json->skipped)
		return false;
	if (json->comma && !json->after_key)
		fputc(',', json->f);
	if (json->line && !json->after_key) {
		fputc('\n', json->f);
		json->line = false;
	}
	json->comma = true;
	json->after_key = false;
	return true;
}

static void json_open(struct json *json, char open, char close)
{
	if (json->skipped || json->depth == JSON_MAX_DEPTH) {
		/* A key that stands before it still needs a value. */
		if (!json->skipped)
			json_put_null(json);
		json->skipped++;
		return;
	}
	json_before(json);
	fputc(open, json->f);
	json->kind[json->depth++] = (unsigned char)close;
	json->comma = false;
}

void json_open_object(struct json *json)
{
	json_open(json, '{', '}');
}

void json_open_array(struct json *json)
{
	json_open(json, '[', ']');
}

void json_end(struct json *json)
{
	if (json->skipped) {
		json->skipped--;
		return;
	}
	fputc(json->kind[--json->depth], json->f);
	json->comma = true;
	json->line = false;
	if (!json->depth)
		fputc('\n', json->f);
}

void json_key(struct json *json, const char *key)
{
	if (json->skipped)
		return;
	json_cstr(json, key);
	fputc(':', json->f);
	json->after_key = true;
}

void json_u64(struct json *json, uint64_t v)
{
	if (json_before(json))
		fprintf(json->f, "%" PRIu64, v);
}

void json_i64(struct json *json, int64_t v)
{
	if (json_before(json))
		fprintf(json->f, "%" PRId64, v);
}

void json_wide_u64(struct json *json, uint64_t v)
{
	if (json_before(json))
		fprintf(json->f, "\"%" PRIu64 "\"", v);
}

void json_wide_i64(struct json *json, int64_t v)
{
	if (json_before(json))
		fprintf(json->f, "\"%" PRId64 "\"", v);
}

void json_time(struct json *json, uint64_t time, uint64_t start_ns)
{
	if (time >= start_ns)
		json_u64(json, time - start_ns);
	else
		json_i64(json, -(int64_t)(start_ns - time));
}

void json_f64(struct json *json, double v)
{
	if (!isfinite(v))
		json_put_null(json);
	else if (json_before(json))
		fprintf(json->f, "%.6g", v);
}

void json_exact(struct json *json, double v)
{
	if (!isfinite(v))
		json_put_null(json);
	else if (json_before(json))
		fprintf(json->f, "%.15g", v);
}

void json_bool(struct json *json, bool v)
{
	if (json_before(json))
		fputs(v ? "true" : "false", json->f);
}

void json_put_null(struct json *json)
{
	if (json_before(json))
		fputs("null", json->f);
}

static void put_char(FILE *f, uint32_t c)
{
	switch (c) {
	case '"':
		fputs("\\\"", f);
		break;
	case '\\':
		fputs("\\\\", f);
		break;
	case '\n':
		fputs("\\n", f);
		break;
	case '\t':
		fputs("\\t", f);
		break;
	default:
		fprintf(f, "\\u%04x", c);
	}
}

/* A reader gets the same text; a terminal, a page or a script of old obeys nothing in it. */
static bool must_escape(uint32_t c)
{
	if (c >= 0x20 && c < 0x7f)
		return c == '"' || c == '\\' || c == '<' || c == '>' || c == '&';
	return ebt_utf8_is_control(c) || ebt_utf8_is_layout(c);
}

void json_str(struct json *json, const char *s, size_t len)
{
	size_t plain = 0, i = 0;

	if (!json_before(json))
		return;
	fputc('"', json->f);
	while (i < len) {
		uint32_t c = 0xfffd;
		size_t n = ebt_utf8(s + i, len - i, &c);

		if (n && !must_escape(c)) {
			i += n;
			continue;
		}
		fwrite(s + plain, 1, i - plain, json->f);
		put_char(json->f, c);
		i += n ? n : 1;
		plain = i;
	}
	fwrite(s + plain, 1, len - plain, json->f);
	fputc('"', json->f);
}

void json_cstr(struct json *json, const char *s)
{
	if (s)
		json_str(json, s, strlen(s));
	else
		json_put_null(json);
}

void json_newline(struct json *json)
{
	json->line = !json->skipped && !json->one_line;
}

void json_written(struct json *json, const char *s, size_t len)
{
	if (json_before(json))
		fwrite(s, 1, len, json->f);
}
