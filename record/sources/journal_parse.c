/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal's export format; see journal_parse.h. */
#include "record/sources/journal_parse.h"

#include <stdlib.h>
#include <string.h>

/* Longer names are none of ours. */
#define MAX_NAME 32

enum journal_state {
	IN_NAME,
	IN_TEXT, /* NAME=TEXT\n */
	IN_SIZE, /* NAME\n, the size in 8 bytes, little-endian, … */
	IN_DATA, /* … and so many bytes, then \n */
	BEHIND_DATA,
};

struct parsed_field {
	size_t len;
	uint64_t cut;
};

struct journal_parser {
	journal_entry_fn *fn;
	void *arg;
	enum journal_state state;
	char name[MAX_NAME];
	size_t name_len; /* may be more than there is room for */
	int current;	 /* enum journal_field; -1: of no interest */
	uint64_t size;	 /* of data that are left, or what is known of it */
	unsigned int size_bytes;
	bool any; /* the entry has a field */
	struct parsed_field fields[JOURNAL_N_FIELDS];
	char texts[JOURNAL_N_SHORT][JOURNAL_SHORT];
	char message[JOURNAL_MESSAGE];
};

static const char *const names[JOURNAL_N_FIELDS] = {
	[JOURNAL_MONOTONIC] = "__MONOTONIC_TIMESTAMP",
	[JOURNAL_REALTIME] = "__REALTIME_TIMESTAMP",
	[JOURNAL_SOURCE_REALTIME] = "_SOURCE_REALTIME_TIMESTAMP",
	[JOURNAL_BOOT_ID] = "_BOOT_ID",
	[JOURNAL_PID] = "_PID",
	[JOURNAL_PRIORITY] = "PRIORITY",
	[JOURNAL_UNIT] = "_SYSTEMD_UNIT",
	[JOURNAL_IDENTIFIER] = "SYSLOG_IDENTIFIER",
	[JOURNAL_COMM] = "_COMM",
	[JOURNAL_CURSOR] = "__CURSOR",
	[JOURNAL_MESSAGE_TEXT] = "MESSAGE",
};

const char *journal_field_name(enum journal_field field)
{
	return names[field];
}

struct ebt_error *journal_parser_create(journal_entry_fn *fn, void *arg,
					struct journal_parser **ret)
{
	struct journal_parser *p = calloc(1, sizeof(*p));

	if (!p)
		return &ebt_enomem;
	p->fn = fn;
	p->arg = arg;
	*ret = p;
	return NULL;
}

void journal_parser_destroy(struct journal_parser *p)
{
	free(p);
}

void journal_parser_reset(struct journal_parser *p)
{
	p->state = IN_NAME;
	p->name_len = 0;
	p->any = false;
	memset(p->fields, 0, sizeof(p->fields));
}

static void begin_field(struct journal_parser *p)
{
	p->current = -1;
	for (int i = 0; i < JOURNAL_N_FIELDS; i++) {
		if (p->name_len == strlen(names[i]) && !memcmp(p->name, names[i], p->name_len))
			p->current = i;
	}
	p->any = true;
	p->name_len = 0;
	p->size = 0;
	p->size_bytes = 0;
	if (p->current >= 0)
		p->fields[p->current] = (struct parsed_field){ 0 };
}

static void add_value(struct journal_parser *p, const char *data, size_t len)
{
	bool is_message = p->current == JOURNAL_MESSAGE_TEXT;
	struct parsed_field *field;
	size_t room, kept;
	char *text;

	if (p->current < 0)
		return;
	field = &p->fields[p->current];
	text = is_message ? p->message : p->texts[p->current];
	room = (is_message ? sizeof(p->message) : sizeof(p->texts[0])) - field->len;
	kept = len < room ? len : room;
	memcpy(text + field->len, data, kept);
	field->len += kept;
	field->cut += len - kept;
}

static struct ebt_error *end_entry(struct journal_parser *p)
{
	struct ebt_error *err = p->any ? p->fn(p->arg, p) : NULL;

	memset(p->fields, 0, sizeof(p->fields));
	p->any = false;
	return err;
}

/* Each step takes at least one byte. */
static struct ebt_error *add_name(struct journal_parser *p, char c)
{
	if (c == '\n' && !p->name_len)
		return end_entry(p);
	if (c == '=' || c == '\n') {
		p->state = c == '=' ? IN_TEXT : IN_SIZE;
		begin_field(p);
		return NULL;
	}
	if (p->name_len < MAX_NAME)
		p->name[p->name_len] = c;
	p->name_len++;
	return NULL;
}

static size_t add_text(struct journal_parser *p, const char *data, size_t len)
{
	const char *end = memchr(data, '\n', len);
	size_t n = end ? (size_t)(end - data) : len;

	add_value(p, data, n);
	if (!end)
		return n;
	p->state = IN_NAME;
	return n + 1;
}

static void add_size(struct journal_parser *p, char c)
{
	p->size |= (uint64_t)(unsigned char)c << (8 * p->size_bytes);
	if (++p->size_bytes == 8)
		p->state = p->size ? IN_DATA : BEHIND_DATA;
}

static size_t add_data(struct journal_parser *p, const char *data, size_t len)
{
	size_t n = len < p->size ? len : (size_t)p->size;

	add_value(p, data, n);
	p->size -= n;
	if (!p->size)
		p->state = BEHIND_DATA;
	return n;
}

struct ebt_error *journal_parse(struct journal_parser *p, const char *data, size_t len)
{
	struct ebt_error *err = NULL;
	size_t n;

	for (; len && !err; data += n, len -= n) {
		n = 1;
		switch (p->state) {
		case IN_NAME:
			err = add_name(p, *data);
			break;
		case IN_TEXT:
			n = add_text(p, data, len);
			break;
		case IN_SIZE:
			add_size(p, *data);
			break;
		case IN_DATA:
			n = add_data(p, data, len);
			break;
		case BEHIND_DATA:
			p->state = IN_NAME;
			break;
		}
	}
	return err;
}

struct journal_text journal_text(const struct journal_parser *p, enum journal_field field)
{
	return (struct journal_text){
		.data = field == JOURNAL_MESSAGE_TEXT ? p->message : p->texts[field],
		.len = p->fields[field].len,
		.cut = p->fields[field].cut,
	};
}

bool journal_number(const struct journal_parser *p, enum journal_field field, uint64_t *ret)
{
	struct journal_text text = journal_text(p, field);
	uint64_t number = 0;

	/* 19 digits always fit. */
	if (!text.len || text.len > 19)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(text.data[i] - '0');
	}
	*ret = number;
	return true;
}
