/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Headers of tables of lines; see files.h. */
#include "symbolize/dwarf/files.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

/* The longest path that is put together. */
#define MAX_PATH 16384

/* What an entry of version 5 can be made of. Compilers use 5 at most. */
#define MAX_FORMS 16

struct header {
	struct dwarf_files *files;
	struct ebt_bytes in;
	const unsigned char *program;
	bool wide; /* 64-bit DWARF */
};

void dwarf_files_deinit(struct dwarf_files *files)
{
	for (size_t i = 0; files->paths && i < files->files.n; i++)
		free(files->paths[i]);
	free(files->paths);
	free(files->files.items);
	free(files->dirs.items);
	*files = (struct dwarf_files){ 0 };
}

static struct ebt_error *add(struct dwarf_file_list *list, const struct dwarf_file *item)
{
	struct ebt_error *err = ebt_array_reserve(&list->items, list->n, &list->capacity);

	if (!err)
		list->items[list->n++] = *item;
	return err;
}

static bool read_offset(struct header *header, uint64_t *ret)
{
	uint32_t narrow;

	if (header->wide)
		return ebt_bytes_u64(&header->in, ret);
	if (!ebt_bytes_u32(&header->in, &narrow))
		return false;
	*ret = narrow;
	return true;
}

static bool read_string(struct header *header, const char **ret)
{
	const void *nul = memchr(header->in.pos, 0, ebt_bytes_left(&header->in));

	if (!nul)
		return false;
	*ret = (const char *)header->in.pos;
	return ebt_bytes_skip(&header->in,
			      (uint64_t)((const unsigned char *)nul - header->in.pos) + 1);
}

/* A string of another section: only where it is, for now. */
static bool read_string_at(struct header *header, enum pages_section section, const char **ret)
{
	const struct pages *pages = header->files->pages;
	uint64_t offset;

	if (!read_offset(header, &offset) || offset >= pages->sections[section].size)
		return false;
	*ret = pages->base + pages->sections[section].offset + offset;
	return true;
}

/* A string or number of an entry of version 5. */
static bool read_form(struct header *header, uint64_t form, const char **string, uint64_t *number)
{
	uint64_t n;
	uint16_t half;
	uint8_t byte;

	switch (form) {
	case DW_FORM_string:
		return read_string(header, string);
	case DW_FORM_line_strp:
		return read_string_at(header, PAGES_LINE_STR, string);
	case DW_FORM_strp:
		return read_string_at(header, PAGES_STR, string);
	case DW_FORM_udata:
		return ebt_bytes_varint(&header->in, number);
	case DW_FORM_data1:
		return ebt_bytes_u8(&header->in, &byte) && (*number = byte, true);
	case DW_FORM_data2:
		return ebt_bytes_u16(&header->in, &half) && (*number = half, true);
	case DW_FORM_block:
		return ebt_bytes_varint(&header->in, &n) && ebt_bytes_skip(&header->in, n);
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_data16:
		n = form == DW_FORM_data4 ? 4 : form == DW_FORM_data8 ? 8 : 16;
		return ebt_bytes_skip(&header->in, n);
	default:
		return false;
	}
}

/* A list of directories or files of version 5. */
static struct ebt_error *read_list(struct header *header, struct dwarf_file_list *list,
				   bool *ret_good)
{
	struct {
		uint64_t kind, form;
	} forms[MAX_FORMS];
	uint64_t n = 0;
	uint8_t n_forms;

	*ret_good = ebt_bytes_u8(&header->in, &n_forms) && n_forms <= MAX_FORMS;
	for (unsigned int i = 0; *ret_good && i < n_forms; i++)
		*ret_good = ebt_bytes_varint(&header->in, &forms[i].kind) &&
			    ebt_bytes_varint(&header->in, &forms[i].form);
	*ret_good = *ret_good && ebt_bytes_varint(&header->in, &n) &&
		    n <= ebt_bytes_left(&header->in) && (n_forms || !n);
	for (uint64_t entry = 0; *ret_good && entry < n; entry++) {
		struct dwarf_file item = { "", 0 };
		struct ebt_error *err;

		for (unsigned int i = 0; *ret_good && i < n_forms; i++) {
			const char *string = "";
			uint64_t number = 0;

			*ret_good = read_form(header, forms[i].form, &string, &number);
			if (forms[i].kind == DW_LNCT_path)
				item.name = string;
			else if (forms[i].kind == DW_LNCT_directory_index)
				item.dir = number;
		}
		err = *ret_good ? add(list, &item) : NULL;
		if (err)
			return err;
	}
	return NULL;
}

/* The lists of version 2 to 4 end with an empty string, and what they count begins with 1. */
static struct ebt_error *read_old_list(struct header *header, struct dwarf_file_list *list,
				       bool is_files, bool *ret_good)
{
	struct ebt_error *err = add(list, &(struct dwarf_file){ "", 0 });

	*ret_good = true;
	while (!err) {
		struct dwarf_file item = { NULL, 0 };
		uint64_t ignored;

		*ret_good = read_string(header, &item.name);
		if (!*ret_good || !*item.name)
			return NULL;
		if (is_files)
			*ret_good = ebt_bytes_varint(&header->in, &item.dir) &&
				    ebt_bytes_varint(&header->in, &ignored) &&
				    ebt_bytes_varint(&header->in, &ignored);
		if (!*ret_good)
			return NULL;
		err = add(list, &item);
	}
	return err;
}

/* Reads the fields up to the lists, and makes of `in` the bytes of the unit. */
static bool read_start(struct header *header)
{
	struct dwarf_files *files = header->files;
	struct ebt_bytes *in = &header->in;
	uint8_t line_base, is_statement;
	uint64_t length;

	files->max_operations = 1;
	return ebt_bytes_u16(in, &files->version) && files->version >= 2 && files->version <= 5 &&
	       ebt_bytes_skip(in, files->version >= 5 ? 2 : 0) && read_offset(header, &length) &&
	       length <= ebt_bytes_left(in) && (header->program = in->pos + length, true) &&
	       ebt_bytes_u8(in, &files->min_length) &&
	       (files->version < 4 || ebt_bytes_u8(in, &files->max_operations)) &&
	       ebt_bytes_u8(in, &is_statement) && ebt_bytes_u8(in, &line_base) &&
	       (files->line_base = (int8_t)line_base, true) &&
	       ebt_bytes_u8(in, &files->line_range) && files->line_range &&
	       ebt_bytes_u8(in, &files->opcode_base) && files->opcode_base &&
	       ebt_bytes_left(in) >= files->opcode_base;
}

/* Takes the bytes of the table, which are read from the file. */
static bool take_unit(struct header *header, uint64_t offset)
{
	struct pages *pages = header->files->pages;
	uint64_t size = pages->sections[PAGES_LINE].size, length, head;
	uint64_t at = pages->sections[PAGES_LINE].offset + offset;

	if (offset >= size || size - offset < 12 || !pages_need(pages, at, 12))
		return false;
	length = ebt_load_u32(pages->base + at);
	header->wide = length == UINT32_MAX;
	if (header->wide)
		length = ebt_load_u64(pages->base + at + 4);
	head = header->wide ? 12 : 4;
	if (length > size - offset - head || !pages_need(pages, at + head, length))
		return false;
	header->in = ebt_bytes(pages->base + at + head, length);
	return true;
}

struct ebt_error *dwarf_files_read(struct pages *pages, uint64_t offset, const char *comp_dir,
				   struct ebt_bytes *ret_program, struct dwarf_files *ret,
				   bool *ret_good)
{
	struct dwarf_file_list *const lists[] = { &ret->dirs, &ret->files };
	struct header header = { .files = ret };
	struct ebt_error *err = NULL;

	*ret = (struct dwarf_files){ .pages = pages, .comp_dir = comp_dir };
	*ret_good = take_unit(&header, offset) && read_start(&header);
	if (!*ret_good)
		return NULL;
	for (unsigned int i = 0; i + 1 < ret->opcode_base; i++)
		ebt_bytes_u8(&header.in, &ret->operands[i]);
	/* Sizes of addresses and segments follow version 5, and are not needed. */
	for (unsigned int i = 0; !err && *ret_good && i < 2; i++)
		err = ret->version >= 5 ? read_list(&header, lists[i], ret_good)
					: read_old_list(&header, lists[i], i, ret_good);
	if (header.in.pos < header.program)
		header.in.pos = header.program;
	*ret_program = header.in;
	return err;
}

static const char *join(const char *dir, const char *name, char *buffer)
{
	if (!dir || !*dir || *name == '/')
		return name;
	return snprintf(buffer, MAX_PATH, "%s/%s", dir, name) < MAX_PATH ? buffer : name;
}

/* The path of a file that is in the list; NULL: it has no name, or there is no memory. */
static char *make_path(const struct dwarf_files *files, const struct dwarf_file *file)
{
	const char *name = pages_string(files->pages, file->name);
	const char *dir = NULL, *base = files->comp_dir;
	char near[MAX_PATH], far[MAX_PATH];

	if (file->dir < files->dirs.n)
		dir = pages_string(files->pages, files->dirs.items[file->dir].name);
	if (!base && files->version >= 5 && files->dirs.n)
		base = pages_string(files->pages, files->dirs.items[0].name);
	if (!name || !*name)
		return NULL;
	return strdup(join(base, join(dir, name, near), far));
}

struct ebt_error *dwarf_files_path(struct dwarf_files *files, uint64_t number, const char **ret)
{
	*ret = NULL;
	if (number >= files->files.n || (files->version < 5 && !number))
		return NULL;
	if (!files->paths) {
		files->paths = calloc(files->files.n, sizeof(*files->paths));
		if (!files->paths)
			return &ebt_enomem;
	}
	if (!files->paths[number])
		files->paths[number] = make_path(files, &files->files.items[number]);
	*ret = files->paths[number];
	return NULL;
}
