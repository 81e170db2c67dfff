/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Python frames in the memory of another process; see thread_python.h. */
#include "record/session/thread_python.h"

#include <stddef.h>
#include <string.h>

#include "record/unwind/python.h"

#define WORDS	    (PYTHON_OBJECT_BYTES / sizeof(uint64_t))
#define FRAME_WORDS (PYTHON_FRAME_BYTES / sizeof(uint64_t))

static uint64_t word(const uint64_t *words, uint32_t offset)
{
	return words[offset / sizeof(*words)];
}

static int32_t half(const uint64_t *words, uint32_t offset)
{
	int32_t ret;

	memcpy(&ret, (const char *)words + offset, sizeof(ret));
	return ret;
}

static uint8_t byte(const uint64_t *words, uint32_t offset)
{
	return ((const uint8_t *)words)[offset];
}

/* 0 where it cannot be read. */
static uint64_t peek(const struct python_stack *p, uint64_t address)
{
	uint64_t ret;

	return p->read(p->arg, address, &ret, sizeof(ret)) ? ret : 0;
}

static bool read_object(const struct python_stack *p, uint64_t address, uint64_t *ret)
{
	return p->read(p->arg, address, ret, PYTHON_OBJECT_BYTES);
}

/* --- frames --- */

static void append(struct python_stack *p, uint64_t entry)
{
	if (p->n < PYTHON_ENTRIES)
		p->entries[p->n++] = entry;
}

/* The frames since the last such call have their place on the C stack there. False: there is no
 * room for another group. */
static bool end_group(struct python_stack *p, uint64_t place)
{
	if (p->group < PYTHON_ENTRIES)
		p->entries[p->group] = place & ~EBT_ENTRY_INTERP;
	p->group = p->n;
	append(p, 0);
	return p->group < PYTHON_ENTRIES;
}

static void add_code(struct python_stack *p, const uint64_t *frame)
{
	const uint64_t code = word(frame, p->build.frame_code);
	uint64_t words[WORDS];
	const struct thread_code_place place = {
		.build = &p->build,
		.time = p->row->time,
		.address = code,
		.words = words,
		.tid = p->row->tid,
		.pid = p->row->pid,
	};
	const struct thread_code *known = thread_codes_find(&p->python->codes, p->row->pid, code);
	const int64_t bytes = (int64_t)(word(frame, p->build.frame_instruction) - code -
					p->build.code_instructions);
	int64_t index = bytes >> 1;
	uint32_t id;

	if (!known && !read_object(p, code, words)) {
		append(p, EBT_ENTRY_INTERP | EBT_ENTRY_INSTRUCTION);
		return;
	}
	/* A frame that is being made, which Python does not show. */
	if (byte(frame, p->build.frame_owner) != PYTHON_OWNER_GENERATOR &&
	    index < (known ? known->first_traceable : half(words, p->build.code_first_traceable)))
		return;
	if ((uint64_t)index >= EBT_ENTRY_INSTRUCTION)
		index = EBT_ENTRY_INSTRUCTION;
	id = known ? known->id : thread_codes_number(&p->python->codes, &place, p->read, p->arg);
	append(p, EBT_ENTRY_INTERP | (uint64_t)id << EBT_ENTRY_ID_SHIFT | (uint64_t)index);
}

/* Most of a thread's frames lie side by side. */
static bool read_frame(struct python_stack *p, uint64_t address, uint64_t *ret)
{
	const uint64_t page = address & ~(uint64_t)(PYTHON_PAGE - 1), at = address - page;

	if (at > PYTHON_PAGE - PYTHON_FRAME_BYTES)
		return p->read(p->arg, address, ret, PYTHON_FRAME_BYTES);
	if (page != p->page) {
		p->page = 0;
		if (!p->read(p->arg, page, p->data, sizeof(p->data)))
			return false;
		p->page = page;
	}
	memcpy(ret, p->data + at, PYTHON_FRAME_BYTES);
	return true;
}

/* Up to 3.11: the first frame of a loop says so, and the loop's cframe is on the C stack. */
static bool end_entry_frame(struct python_stack *p)
{
	const uint64_t cframe = p->cframe;

	p->cframe = peek(p, cframe + p->build.cframe_previous);
	return end_group(p, cframe);
}

/* The frames of a thread, from the innermost. */
static void read_frames(struct python_stack *p, uint64_t frame)
{
	const struct ebrec_python_build *b = &p->build;
	uint64_t words[FRAME_WORDS];

	while (frame && p->frames++ < PYTHON_FRAMES && read_frame(p, frame, words)) {
		const bool on_stack = b->frame_is_entry == PYTHON_NONE &&
				      byte(words, b->frame_owner) == PYTHON_OWNER_CSTACK;
		bool room = true;

		if (on_stack)
			room = end_group(p, frame);
		else if (p->n < PYTHON_ENTRIES)
			add_code(p, words);
		if (b->frame_is_entry != PYTHON_NONE && byte(words, b->frame_is_entry))
			room = end_entry_frame(p);
		frame = room ? word(words, b->frame_previous) : 0;
	}
	/* Frames without a place: the last group is not whole. */
	p->n = p->group;
}

/* --- the thread --- */

static void read_thread(struct python_stack *p, const uint64_t *thread)
{
	uint64_t frame = word(thread, p->build.thread_frame);

	if (p->build.cframe_frame != PYTHON_NONE) {
		p->cframe = frame;
		frame = peek(p, frame + p->build.cframe_frame);
	}
	append(p, 0);
	read_frames(p, frame);
}

static void read_states(struct python_stack *p, struct python_states *states)
{
	const struct ebrec_python_build *b = &p->build;
	uint64_t interpreter = peek(p, p->runtime + b->interpreters_head), words[WORDS];
	uint32_t looked = 0;

	states->pid = 0;
	states->n = 0;
	states->many = false;
	while (interpreter && looked++ < PYTHON_THREADS) {
		uint64_t thread = peek(p, interpreter + b->interpreter_threads);

		interpreter = peek(p, interpreter + b->interpreter_next);
		states->many = states->many || interpreter;
		while (thread && looked < PYTHON_THREADS && read_object(p, thread, words)) {
			states->list[states->n].thread_id = word(words, b->thread_id);
			states->list[states->n].address = thread;
			states->n++;
			looked++;
			thread = word(words, b->thread_next);
		}
	}
	states->pid = p->row->pid;
	states->runtime = p->runtime;
}

/* The thread's own states, one for each interpreter that it is in; the newest interpreter comes
 * first. */
static void read_python(struct python_stack *p)
{
	struct python_states *states = &p->python->states;
	uint64_t words[WORDS];

	if (states->pid != p->row->pid || states->runtime != p->runtime)
		read_states(p, states);
	for (size_t i = 0; i < states->n; i++) {
		if (states->list[i].thread_id != p->row->fsbase ||
		    !read_object(p, states->list[i].address, words) ||
		    word(words, p->build.thread_id) != p->row->fsbase)
			continue;
		read_thread(p, words);
		if (!states->many)
			break;
	}
}

/* --- the walk --- */

void python_stack_begin(struct python_stack *p, struct thread_python *python,
			const struct ebrec_thread_stack *row, python_read *read, void *arg)
{
	p->python = python;
	p->row = row;
	p->read = read;
	p->arg = arg;
	p->table = PYTHON_NONE;
	p->page = 0;
	p->met = row->compat || !row->fsbase;
	p->frames = p->group = p->n = p->at = 0;
}

static void meet(struct python_stack *p, const struct python_native *native)
{
	if (p->table == native->table)
		return;
	p->table = native->table;
	if (p->met || !python_find_build(p->python->skel, native->table, &p->build))
		return;
	p->met = true;
	p->build_table = native->table;
	p->runtime = native->bias + p->build.runtime;
	read_python(p);
}

uint32_t python_stack_add(struct python_stack *p, const struct python_native *native,
			  uint64_t *entries, uint32_t room)
{
	uint32_t n = 0;

	meet(p, native);
	if (p->at >= p->n || p->entries[p->at] < native->low || p->entries[p->at] >= native->high)
		return 0;
	for (p->at++; p->at < p->n && p->entries[p->at] & EBT_ENTRY_INTERP && n < room; p->at++)
		entries[n++] = p->entries[p->at];
	if (n && native->table != p->build_table)
		entries[0] |= EBT_ENTRY_BESIDE;
	return n;
}
