/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From what was read of a code object to a row of table interp_code. Text becomes UTF-8; what is
 * missing is read now, as the rest of a long line table, if the process is still there.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "format/base/cleanup.h"
#include "record/bpf/python.h"
#include "record/unwind/python.h"

/* Of a line table; a function of 20,000 lines has 100 kB. */
#define MAX_LINES (256u << 10)

bool python_is_code(const void *record, size_t len)
{
	struct ebt_wire_head head;

	if (len < sizeof(head))
		return false;
	memcpy(&head, record, sizeof(head));
	return head.table == EBREC_T_PYTHON_CODE;
}

static size_t put_utf8(uint32_t c, char *out)
{
	size_t n;

	if (c >= 0x110000 || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 63));
	out[0] = (char)(n == 1 ? c : 0xff << (8 - n) | c);
	return n;
}

/* Adds a str as far as it is here; what is missing is shown as an ellipsis. */
static void add_text(struct ebt_record *out, size_t offset, const struct ebrec_python_text *text,
		     const unsigned char *data, size_t room)
{
	static const char more[] = "…";
	char utf8[4 * PYTHON_FILE_BYTES + sizeof(more)];
	size_t len = 0, n;

	if (text->width != 1 && text->width != 2 && text->width != 4)
		return;
	n = room / text->width < text->chars ? room / text->width : text->chars;
	for (size_t i = 0; i < n; i++) {
		uint32_t c = 0; /* machines that this runs on are little-endian */

		memcpy(&c, data + text->width * i, text->width);
		len += put_utf8(c, utf8 + len);
	}
	if (n < text->chars) {
		memcpy(utf8 + len, more, sizeof(more) - 1);
		len += sizeof(more) - 1;
	}
	ebt_record_bytes(out, offset, utf8, len);
}

/* A str that was not in memory when the program looked, or that nobody has looked at. */
static void read_text(python_read *read, void *arg, const struct ebrec_python_code *code,
		      uint64_t address, struct ebrec_python_text *text, unsigned char *data,
		      size_t room)
{
	struct ebrec_python_str head;
	uint32_t width;
	size_t bytes;

	if (text->width || !read(arg, address, &head, sizeof(head)))
		return;
	width = PYTHON_STR_WIDTH(head.state);
	if (!(head.state & PYTHON_STR_COMPACT) || !width || head.length > UINT32_MAX)
		return;
	bytes = head.length < room / width ? head.length * width : room;
	address += head.state & PYTHON_STR_ASCII ? code->text_ascii : code->text_compact;
	if (!read(arg, address, data, bytes))
		return;
	text->chars = (uint32_t)head.length;
	text->width = width;
}

/* The whole table, if the process still has it and it begins with what is here. */
static void *read_lines(python_read *read, void *arg, const struct ebrec_python_code *code,
			size_t have)
{
	unsigned char *lines;

	if (code->lines <= have || code->lines > MAX_LINES)
		return NULL;
	lines = malloc(code->lines);
	if (!lines)
		return NULL;
	if (read(arg, code->lines_address, lines, code->lines) &&
	    !memcmp(lines, code->lines_data, have))
		return lines;
	free(lines);
	return NULL;
}

void python_make_row(struct ebrec_python_code *code, size_t n_lines, python_read *read, void *arg,
		     struct ebt_record *ret)
{
	_cleanup_free_ void *whole = NULL;
	struct ebt_wire_interp_code *row;

	read_text(read, arg, code, code->name_address, &code->name, code->name_data,
		  sizeof(code->name_data));
	read_text(read, arg, code, code->file_address, &code->file, code->file_data,
		  sizeof(code->file_data));
	whole = read_lines(read, arg, code, n_lines);
	row = ebt_record_begin(ret, EBT_T_interp_code, code->head.time);
	row->task = code->tid;
	row->id = code->id;
	row->address = code->address;
	row->version = code->version;
	row->first_line = code->first_line;
	add_text(ret, offsetof(struct ebt_wire_interp_code, name), &code->name, code->name_data,
		 sizeof(code->name_data));
	add_text(ret, offsetof(struct ebt_wire_interp_code, file), &code->file, code->file_data,
		 sizeof(code->file_data));
	if (whole || n_lines)
		ebt_record_bytes(ret, offsetof(struct ebt_wire_interp_code, lines),
				 whole ? whole : code->lines_data, whole ? code->lines : n_lines);
}

static bool read_memory(void *arg, uint64_t address, void *ret, size_t len)
{
	const struct ebrec_python_code *code = arg;
	struct iovec local = { ret, len }, remote = { (void *)(uintptr_t)address, len };

	return process_vm_readv((pid_t)code->pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

struct ebt_error *python_add_code(struct ebt_stream *stream, const void *record, size_t len)
{
	const size_t head = offsetof(struct ebrec_python_code, lines_data);
	_cleanup_free_ struct ebrec_python_code *code = calloc(1, sizeof(*code));
	struct ebt_record row = EBT_RECORD_INIT;
	struct ebt_error *err;

	if (!code)
		return &ebt_enomem;
	if (len < head || len > sizeof(*code))
		return NULL;
	memcpy(code, record, len);
	python_make_row(code, len - head, read_memory, code, &row);
	err = ebt_record_add(&row, stream);
	ebt_record_deinit(&row);
	return err;
}
