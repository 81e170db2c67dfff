/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The growing string, and escaping for terminals, XML, CSV and dumps; see text.h. */
#include "report/base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/base/amount.h"
#include "format/base/compare.h"
#include "format/base/utf8.h"

struct ebt_error *text_error(const struct text *text)
{
	return text->failed ? &ebt_enomem : NULL;
}

const char *text_get(const struct text *text)
{
	return text->data && text->len ? text->data : "";
}

struct ebt_str text_str(const struct text *text)
{
	return (struct ebt_str){ text_get(text), text->len };
}

/* Room for so many bytes more and a NUL; NULL when there is none. */
static char *text_reserve(struct text *text, size_t len)
{
	size_t need, capacity = text->capacity ? text->capacity : 64;
	char *data;

	if (text->failed || __builtin_add_overflow(text->len, len + 1, &need) || len == SIZE_MAX) {
		text->failed = true;
		return NULL;
	}
	if (need <= text->capacity)
		return text->data + text->len;
	while (capacity < need && capacity <= SIZE_MAX / 2)
		capacity *= 2;
	data = capacity >= need ? realloc(text->data, capacity) : NULL;
	if (!data) {
		text->failed = true;
		return NULL;
	}
	text->data = data;
	text->capacity = capacity;
	return data + text->len;
}

void text_add(struct text *text, const char *s, size_t len)
{
	char *to = text_reserve(text, len);

	if (!to)
		return;
	if (len)
		memcpy(to, s, len);
	to[len] = '\0';
	text->len += len;
}

void text_addc(struct text *text, char c)
{
	char *to = text_reserve(text, 1);

	if (!to)
		return;
	to[0] = c;
	to[1] = '\0';
	text->len++;
}

void text_cstr(struct text *text, const char *s)
{
	text_add(text, s, strlen(s));
}

void text_printf(struct text *text, const char *format, ...)
{
	size_t guess = 63;
	va_list args;
	char *to;
	int n;

	/* Once in nearly all cases, and again where it turns out to be longer. */
	for (;;) {
		to = text_reserve(text, guess);
		if (!to)
			return;
		va_start(args, format);
		n = vsnprintf(to, guess + 1, format, args);
		va_end(args);
		if (n < 0) {
			text->failed = true;
			return;
		}
		if ((size_t)n <= guess)
			break;
		guess = (size_t)n;
	}
	text->len += (size_t)n;
}

void text_u64(struct text *text, uint64_t v)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	text_add(text, digits + i, sizeof(digits) - i);
}

void text_hex(struct text *text, uint64_t v)
{
	char digits[16];
	size_t i = sizeof(digits);

	do {
		digits[--i] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	text_add(text, digits + i, sizeof(digits) - i);
}

void text_hex_bytes(struct text *text, struct ebt_str bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		text_addc(text, "0123456789abcdef"[(unsigned char)bytes.data[i] >> 4]);
		text_addc(text, "0123456789abcdef"[(unsigned char)bytes.data[i] & 15]);
	}
}

int text_compare(struct ebt_str a, struct ebt_str b)
{
	const size_t len = a.len < b.len ? a.len : b.len;
	const int c = len ? memcmp(a.data, b.data, len) : 0;

	return c ? c : ebt_compare(a.len, b.len);
}

struct ebt_str text_comm(struct ebt_str comm)
{
	static const char unknown[] = "[unknown]";

	return comm.len ? comm : (struct ebt_str){ unknown, sizeof(unknown) - 1 };
}

void text_task(struct text *text, struct ebt_str comm, uint32_t number)
{
	comm = text_comm(comm);
	text_add(text, comm.data, comm.len);
	text_printf(text, " (%" PRIu32 ")", number);
}

void text_thread(struct text *text, struct ebt_str comm, uint32_t tid)
{
	comm = text_comm(comm);
	text_add(text, comm.data, comm.len);
	text_printf(text, "/%" PRIu32, tid);
}

void text_program(struct text *text, struct ebt_str comm, uint64_t number)
{
	comm = text_comm(comm);
	text_printf(text, "%" PRIu64 " × ", number);
	text_add(text, comm.data, comm.len);
}

static void add_escaped(struct text *text, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		text_printf(text, "\\x%02x", (unsigned char)s[i]);
}

void text_terminal(struct text *text, struct ebt_str s)
{
	size_t i = 0, plain = 0;

	while (i < s.len) {
		uint32_t c = 0;
		size_t n = ebt_utf8(s.data + i, s.len - i, &c);

		if (n && !ebt_utf8_is_control(c) && !ebt_utf8_is_layout(c)) {
			i += n;
			continue;
		}
		text_add(text, s.data + plain, i - plain);
		add_escaped(text, s.data + i, n ? n : 1);
		i += n ? n : 1;
		plain = i;
	}
	text_add(text, s.data + plain, s.len - plain);
}

void text_utf8(struct text *text, struct ebt_str s)
{
	size_t plain = 0, i = 0;

	while (i < s.len) {
		uint32_t c;
		const size_t n = ebt_utf8(s.data + i, s.len - i, &c);

		if (n && c) {
			i += n;
			continue;
		}
		text_add(text, s.data + plain, i - plain);
		text_cstr(text, "\xef\xbf\xbd");
		plain = ++i;
	}
	text_add(text, s.data + plain, s.len - plain);
}

static const char *xml_entity(uint32_t c)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = {
		{ '&', "&amp;" },  { '<', "&lt;" },   { '>', "&gt;" },
		{ '"', "&quot;" }, { '\'', "&#39;" },
	};

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
		if (c == (unsigned char)entities[i].c)
			return entities[i].entity;
	}
	return NULL;
}

void text_xml(struct text *text, struct ebt_str s)
{
	for (size_t i = 0, n; i < s.len; i += n) {
		const char *entity;
		uint32_t c = 0;

		n = ebt_utf8(s.data + i, s.len - i, &c);
		entity = n ? xml_entity(c) : NULL;
		if (entity) {
			text_cstr(text, entity);
		} else if (!n || ebt_utf8_is_control(c) || ebt_utf8_is_layout(c) || c == 0xfffe ||
			   c == 0xffff) {
			n = n ? n : 1;
			add_escaped(text, s.data + i, n);
		} else {
			text_add(text, s.data + i, n);
		}
	}
}

/* With another text in the place of each mark. */
static void add_quoted(struct text *text, struct ebt_str s, char mark, const char *instead)
{
	for (size_t i = 0, n; i < s.len; i += n) {
		const char *at = memchr(s.data + i, mark, s.len - i);

		n = at ? (size_t)(at - s.data) - i : s.len - i;
		text_terminal(text, (struct ebt_str){ s.data + i, n });
		if (at) {
			text_cstr(text, instead);
			n++;
		}
	}
}

void text_csv(struct text *text, struct ebt_str s)
{
	bool formula = s.len && memchr("=+-@", s.data[0], 4);
	bool quote = formula;

	for (size_t i = 0; i < s.len && !quote; i++)
		quote = s.data[i] == ',' || s.data[i] == '"';
	if (quote)
		text_addc(text, '"');
	if (formula)
		text_addc(text, '\'');
	add_quoted(text, s, '"', "\"\"");
	if (quote)
		text_addc(text, '"');
}

/* Bytes that are no character of the shell's, and all of UTF-8 beyond ASCII. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c & 0x80 || (c && strchr("%+,-./:=@_", c));
}

void text_shell(struct text *text, struct ebt_str s)
{
	bool quote = !s.len;

	for (size_t i = 0; i < s.len && !quote; i++)
		quote = !is_plain(s.data[i]);
	if (quote)
		text_addc(text, '\'');
	add_quoted(text, s, '\'', "'\\''");
	if (quote)
		text_addc(text, '\'');
}

void text_dump_string(struct text *text, struct ebt_str s)
{
	text_addc(text, '"');
	for (size_t i = 0, n; i < s.len; i += n) {
		uint32_t c = 0;

		n = ebt_utf8(s.data + i, s.len - i, &c);
		if (!n || ebt_utf8_is_control(c) || ebt_utf8_is_layout(c)) {
			n = n ? n : 1;
			add_escaped(text, s.data + i, n);
			continue;
		}
		if (c == '"' || c == '\\')
			text_addc(text, '\\');
		text_add(text, s.data + i, n);
	}
	text_addc(text, '"');
}

/* v / unit with four significant digits: 1.234, 12.34, 123.4, 1234. */
static void add_scaled(struct text *text, uint64_t v, uint64_t unit, const char *name)
{
	double scaled = (double)v / (double)unit;
	int digits = scaled < 9.9995 ? 3 : scaled < 99.995 ? 2 : scaled < 999.95 ? 1 : 0;

	text_printf(text, "%.*f %s", digits, scaled, name);
}

void text_duration(struct text *text, uint64_t ns)
{
	if (ns < 1000)
		text_printf(text, "%llu ns", (unsigned long long)ns);
	else if (ns < 1000000)
		add_scaled(text, ns, 1000, "us");
	else if (ns < 1000000000)
		add_scaled(text, ns, 1000000, "ms");
	else
		add_scaled(text, ns, 1000000000, "s");
}

void text_seconds(struct text *text, uint64_t time, uint64_t start_ns)
{
	uint64_t d = time >= start_ns ? time - start_ns : start_ns - time;

	text_printf(text, "%s%" PRIu64 ".%06" PRIu64, time >= start_ns ? "" : "-", d / 1000000000,
		    d % 1000000000 / 1000);
}

void text_bytes(struct text *text, uint64_t bytes)
{
	char buf[EBT_AMOUNT_MAX];

	text_cstr(text, ebt_bytes_text(bytes, buf));
}

void text_amount(struct text *text, uint64_t amount, const char *unit)
{
	if (strcmp(unit, "ns") == 0)
		text_duration(text, amount);
	else if (strcmp(unit, "bytes") == 0)
		text_bytes(text, amount);
	else
		text_printf(text, "%llu%s%s", (unsigned long long)amount, unit[0] ? " " : "", unit);
}

static unsigned int char_columns(uint32_t c)
{
	static const struct {
		uint32_t first, last;
		unsigned int columns;
	} ranges[] = {
		{ 0x0300, 0x036f, 0 },	 { 0x0483, 0x0489, 0 },	  { 0x0591, 0x05bd, 0 },
		{ 0x0610, 0x061a, 0 },	 { 0x064b, 0x065f, 0 },	  { 0x1100, 0x115f, 2 },
		{ 0x1ab0, 0x1aff, 0 },	 { 0x1dc0, 0x1dff, 0 },	  { 0x200b, 0x200d, 0 },
		{ 0x20d0, 0x20ff, 0 },	 { 0x2e80, 0x303e, 2 },	  { 0x3041, 0xa4cf, 2 },
		{ 0xa960, 0xa97f, 2 },	 { 0xac00, 0xd7a3, 2 },	  { 0xf900, 0xfaff, 2 },
		{ 0xfe00, 0xfe0f, 0 },	 { 0xfe20, 0xfe2f, 0 },	  { 0xfe30, 0xfe6f, 2 },
		{ 0xff00, 0xff60, 2 },	 { 0xffe0, 0xffe6, 2 },	  { 0x1f300, 0x1f64f, 2 },
		{ 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
		{ 0xe0100, 0xe01ef, 0 },
	};

	if (c < 0x300)
		return 1;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (c >= ranges[i].first && c <= ranges[i].last)
			return ranges[i].columns;
	}
	return 1;
}

/* One walk for both questions below: stops before the character that would not fit. */
static size_t walk(const char *s, size_t len, size_t limit, size_t *ret_columns)
{
	size_t i = 0, columns = 0;

	while (i < len) {
		uint32_t c = 0;
		size_t n = ebt_utf8(s + i, len - i, &c);
		size_t width = n ? char_columns(c) : 1;

		if (columns + width > limit)
			break;
		columns += width;
		i += n ? n : 1;
	}
	*ret_columns = columns;
	return i;
}

size_t text_columns(const char *s, size_t len)
{
	size_t columns;

	walk(s, len, SIZE_MAX - 2, &columns);
	return columns;
}

size_t text_fit(const char *s, size_t len, size_t columns)
{
	size_t unused;

	return walk(s, len, columns, &unused);
}
