/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an ELF file says about the CPython in it; see python_build.h. */
#include "record/unwind/python_build.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "unwind/elf_headers.h"

#define MAX_SECTIONS 4096
/* Symbols of CPython's library: some 15,000; of a program with it inside, more. */
#define MAX_SYMBOLS    (1u << 18)
#define SYMBOLS_A_READ 1024
/* Larger than any structure: interpreters have 100 kB and more. */
#define MAX_OFFSET (1u << 20)

/* The word that is loaded at an address. */
static bool read_word(const struct elf_headers *elf, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		const Elf64_Shdr *h = &elf->sections[i];

		if (!(h->sh_flags & SHF_ALLOC) || h->sh_type == SHT_NOBITS ||
		    address < h->sh_addr || h->sh_size < sizeof(*ret) ||
		    address - h->sh_addr > h->sh_size - sizeof(*ret))
			continue;
		return elf_headers_read(elf, h->sh_offset + (address - h->sh_addr), ret,
					sizeof(*ret));
	}
	return false;
}

/* Py_Version in one symbol table. */
static bool find_version(const struct elf_headers *elf, const Elf64_Shdr *table, uint64_t *ret)
{
	static const char name[] = "Py_Version";
	_cleanup_free_ Elf64_Sym *symbols = calloc(SYMBOLS_A_READ, sizeof(*symbols));
	uint64_t n = table->sh_size / sizeof(*symbols), strings;
	char text[sizeof(name)];

	if (!symbols || table->sh_link >= elf->n_sections || n > MAX_SYMBOLS)
		return false;
	strings = elf->sections[table->sh_link].sh_offset;
	for (uint64_t i = 0; i < n; i += SYMBOLS_A_READ) {
		uint64_t some = n - i < SYMBOLS_A_READ ? n - i : SYMBOLS_A_READ;

		if (!elf_headers_read(elf, table->sh_offset + i * sizeof(*symbols), symbols,
				      some * sizeof(*symbols)))
			return false;
		for (uint64_t k = 0; k < some; k++) {
			if (symbols[k].st_size != sizeof(uint64_t) ||
			    ELF64_ST_TYPE(symbols[k].st_info) != STT_OBJECT ||
			    !elf_headers_read(elf, strings + symbols[k].st_name, text,
					      sizeof(text)) ||
			    memcmp(text, name, sizeof(name)))
				continue;
			return read_word(elf, symbols[k].st_value, ret);
		}
	}
	return false;
}

static bool read_version(const struct elf_headers *elf, uint64_t *ret)
{
	static const uint32_t types[] = { SHT_DYNSYM, SHT_SYMTAB };

	/* A file has one of each at the most. */
	for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
		for (size_t i = 0; i < elf->n_sections; i++) {
			if (elf->sections[i].sh_type != types[t])
				continue;
			if (find_version(elf, &elf->sections[i], ret))
				return true;
			break;
		}
	}
	return false;
}

/* What 3.11 to 3.13 have in common; the others' differences follow. */
static const struct ebrec_python_build common = {
	.interpreters_head = 40,
	.interpreter_next = 0,
	.thread_next = 8,
	.thread_interpreter = 16,
	.thread_frame = 56,
	.frame_instruction = 56,
	.frame_is_entry = PYTHON_NONE,
	.code_file = 112,
	.code_name = 128,
	.code_lines = 136,
	.bytes_data = 32,
};

static void set_3_11(struct ebrec_python_build *b)
{
	*b = common;
	b->interpreter_threads = 16;
	b->thread_id = 152;
	b->cframe_frame = 8;
	b->cframe_previous = 16;
	b->frame_code = 32;
	b->frame_previous = 48;
	b->frame_owner = 69;
	b->frame_is_entry = 68;
	b->code_first_line = 72;
	b->code_first_traceable = 168;
	b->code_instructions = 184;
	b->text_ascii = 48;
	b->text_compact = 72;
}

static void set_3_12(struct ebrec_python_build *b)
{
	*b = common;
	b->interpreter_threads = 72;
	b->thread_id = 136;
	b->cframe_frame = 0;
	b->cframe_previous = 8;
	b->frame_code = 0;
	b->frame_previous = 8;
	b->frame_owner = 70;
	b->code_first_line = 68;
	b->code_first_traceable = 176;
	b->code_instructions = 192;
	b->text_ascii = 40;
	b->text_compact = 56;
}

/* The beginning of struct _Py_DebugOffsets of 3.13, as far as it is used. */
struct debug_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	struct {
		uint64_t size, finalizing, interpreters_head;
	} runtime;
	struct {
		uint64_t size, id, next, threads_head, gc, modules, sysdict, builtins, gil, state,
			enabled, locked, holder;
	} interpreter;
	struct {
		uint64_t size, prev, next, interpreter, current_frame, thread_id, native_thread_id,
			datastack, status;
	} thread;
	struct {
		uint64_t size, previous, executable, instruction, localsplus, owner;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, argcount,
			localsplusnames, localspluskinds, instructions;
	} code;
};

/* An offset that a program gives: aligned and within the bytes that are read, else the build is
 * not used. */
static bool take(uint64_t offset, uint64_t align, uint64_t end, __u32 *ret, bool *ok)
{
	*ok &= offset % align == 0 && offset < end && end - offset >= align;
	*ret = (__u32)offset;
	return *ok;
}

static bool set_3_13(const struct elf_headers *elf, uint64_t offset, struct ebrec_python_build *b)
{
	struct debug_offsets d;
	bool ok = true;

	if (!elf_headers_read(elf, offset, &d, sizeof(d)))
		return false;
	set_3_12(b);
	b->cframe_frame = PYTHON_NONE;
	take(d.runtime.interpreters_head, 8, MAX_OFFSET, &b->interpreters_head, &ok);
	take(d.interpreter.next, 8, MAX_OFFSET, &b->interpreter_next, &ok);
	take(d.interpreter.threads_head, 8, MAX_OFFSET, &b->interpreter_threads, &ok);
	take(d.thread.next, 8, PYTHON_OBJECT_BYTES, &b->thread_next, &ok);
	take(d.thread.interpreter, 8, PYTHON_OBJECT_BYTES, &b->thread_interpreter, &ok);
	take(d.thread.current_frame, 8, PYTHON_OBJECT_BYTES, &b->thread_frame, &ok);
	take(d.thread.thread_id, 8, PYTHON_OBJECT_BYTES, &b->thread_id, &ok);
	take(d.frame.previous, 8, PYTHON_FRAME_BYTES, &b->frame_previous, &ok);
	take(d.frame.executable, 8, PYTHON_FRAME_BYTES, &b->frame_code, &ok);
	take(d.frame.instruction, 8, PYTHON_FRAME_BYTES, &b->frame_instruction, &ok);
	take(d.frame.owner, 1, PYTHON_FRAME_BYTES, &b->frame_owner, &ok);
	take(d.code.filename, 8, PYTHON_OBJECT_BYTES, &b->code_file, &ok);
	take(d.code.qualname, 8, PYTHON_OBJECT_BYTES, &b->code_name, &ok);
	take(d.code.linetable, 8, PYTHON_OBJECT_BYTES, &b->code_lines, &ok);
	take(d.code.firstlineno, 4, PYTHON_OBJECT_BYTES, &b->code_first_line, &ok);
	take(d.code.instructions, 8, MAX_OFFSET, &b->code_instructions, &ok);
	/* The last field but one before them. */
	return ok && take(d.code.instructions - 16, 4, PYTHON_OBJECT_BYTES,
			  &b->code_first_traceable, &ok);
}

static bool is_version(uint64_t version, unsigned int minor)
{
	return version >> 16 == (3u << 8 | minor);
}

/* The runtime's first words are the cookie and the version from 3.13 on. */
static bool set_offsets(const struct elf_headers *elf, const Elf64_Shdr *runtime,
			struct ebrec_python_build *ret)
{
	uint64_t head[2] = { 0 }, version;

	if (runtime->sh_type != SHT_NOBITS &&
	    elf_headers_read(elf, runtime->sh_offset, head, sizeof(head)) &&
	    !memcmp(head, "xdebugpy", 8)) {
		version = head[1];
		if (!is_version(version, 13) || !set_3_13(elf, runtime->sh_offset, ret))
			return false;
	} else if (!read_version(elf, &version)) {
		return false;
	} else if (is_version(version, 12)) {
		set_3_12(ret);
	} else if (is_version(version, 11)) {
		set_3_11(ret);
	} else {
		return false;
	}
	ret->version = (__u32)version;
	ret->runtime = runtime->sh_addr;
	return true;
}

bool python_build_read(int fd, struct ebrec_python_build *ret)
{
	_cleanup_(elf_headers_deinit) struct elf_headers elf;
	const Elf64_Shdr *runtime;

	if (!elf_headers_of_fd(fd, &elf) || !elf_headers_is_le64(&elf) ||
	    !elf_headers_sections(&elf, MAX_SECTIONS))
		return false;
	/* CPython has its state in a section of its own since 3.11. */
	runtime = elf_headers_section(&elf, ".PyRuntime");
	return runtime && set_offsets(&elf, runtime, ret);
}
