/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an ELF file says about the CPython in it: by _Py_DebugOffsets where there is one (3.13),
 * else by tables.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "record/bpf/python.h"
#include "record/unwind/python.h"
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

/* A file has one of each type at the most. */
static bool find_version_in(const struct elf_headers *elf, uint32_t type, uint64_t *ret)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		if (elf->sections[i].sh_type == type)
			return find_version(elf, &elf->sections[i], ret);
	}
	return false;
}

#define FIELD(name) offsetof(struct ebrec_python_build, name)

/* Offsets of 3.11 and 3.12. Most of 3.13 are what it says, the others those of 3.12. */
static const struct {
	size_t field;
	__u32 v3_11, v3_12;
} offsets[] = {
	{ FIELD(interpreters_head), 40, 40 },
	{ FIELD(interpreter_next), 0, 0 },
	{ FIELD(interpreter_threads), 16, 72 },
	{ FIELD(thread_next), 8, 8 },
	{ FIELD(thread_interpreter), 16, 16 },
	{ FIELD(thread_frame), 56, 56 },
	{ FIELD(thread_id), 152, 136 },
	{ FIELD(cframe_frame), 8, 0 },
	{ FIELD(cframe_previous), 16, 8 },
	{ FIELD(frame_code), 32, 0 },
	{ FIELD(frame_previous), 48, 8 },
	{ FIELD(frame_instruction), 56, 56 },
	{ FIELD(frame_owner), 69, 70 },
	{ FIELD(frame_is_entry), 68, PYTHON_NONE },
	{ FIELD(code_file), 112, 112 },
	{ FIELD(code_name), 128, 128 },
	{ FIELD(code_lines), 136, 136 },
	{ FIELD(code_first_line), 72, 68 },
	{ FIELD(code_first_traceable), 168, 176 },
	{ FIELD(code_instructions), 184, 192 },
	{ FIELD(bytes_data), 32, 32 },
	{ FIELD(text_ascii), 48, 40 },
	{ FIELD(text_compact), 72, 56 },
};

static void set_known(bool v3_11, struct ebrec_python_build *b)
{
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		memcpy((char *)b + offsets[i].field, v3_11 ? &offsets[i].v3_11 : &offsets[i].v3_12,
		       sizeof(__u32));
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
	set_known(false, b);
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
	} else {
		if (!find_version_in(elf, SHT_DYNSYM, &version) &&
		    !find_version_in(elf, SHT_SYMTAB, &version))
			return false;
		if (!is_version(version, 11) && !is_version(version, 12))
			return false;
		set_known(is_version(version, 11), ret);
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
