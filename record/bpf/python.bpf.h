/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Python frames of the running thread, found while its native stack is walked. When the walk
 * meets code of a CPython that the recorder knows (python.h), the thread's state is looked for,
 * its interpreter frames are read into memory of the CPU, and the walk goes on. The interpreter
 * keeps something on the C stack of each of its loops: the native frame in which that lies is the
 * one that ran these Python frames, and they become entries behind its address.
 *
 * All of it is one state machine whose steps are steps of the walk's bpf_loop(), as nested loops
 * would be checked once for each other's state. Every word that is read here may be anything.
 */
#ifndef RECORD_BPF_PYTHON_BPF_H
#define RECORD_BPF_PYTHON_BPF_H

#include "record/bpf/ebt.bpf.h"
#include "record/bpf/python.h"

/* Steps of a walk that are not native ones. */
#define PYTHON_STEPS (PYTHON_ENTRIES + PYTHON_FRAMES + PYTHON_THREADS)
/* New code objects a second and CPU: 1 MB/s on average, 5 at the most. */
#define PYTHON_CODES 1000

enum python_phase {
	PYTHON_OFF, /* no code of an interpreter met yet */
	PYTHON_INTERPRETER,
	PYTHON_THREAD,
	PYTHON_FRAME,
	PYTHON_CODE,
	PYTHON_PLACE, /* all frames are read; native frames are compared with their places */
	PYTHON_DONE,
};

EBREC_HASH(python_builds, 1, __u32, struct ebrec_python_build) __weak;

/* How many there are: most machines run no Python, and need not look. */
volatile __u32 python_n_builds __weak = 0;

/*
 * Two caches that are arrays: hash maps of the kernel that forget by themselves take locks, and a
 * sample may interrupt whoever holds them.
 *
 * Thread states, by tid. What is found is looked at again each time.
 */
#define PYTHON_THREAD_SLOTS 8192u

struct python_thread {
	__u64 tid, address;
};

EBREC_ARRAY(python_threads, 1, struct python_thread) __weak;

/* Numbers of code objects, by a hash of what tells one from all others. The second word has a part
 * of the hash too, so that two that are written at the same time do not make a third. */
#define PYTHON_CODE_SETS 8192u
#define PYTHON_CODE_WAYS 4

struct python_code_set {
	__u64 hash[PYTHON_CODE_WAYS];
	__u64 id[PYTHON_CODE_WAYS];
};

EBREC_ARRAY(python_codes, 1, struct python_code_set) __weak;

__u32 python_last_id __weak = 0;

EBREC_CPU_ARRAY(python_counts, 1, struct ebrec_python_counts) __weak;

struct python_walk {
	struct ebrec_python_build build;
	__u64 runtime;
	__u64 fsbase;  /* which is a Python thread's id */
	__u64 process; /* something that no other one has */
	__u64 interpreter, thread, frame, cframe;
	__u64 code_address, hash, index; /* of a code object, and where in it */
	__u64 low;			 /* stack pointer of the native frame that was added last */
	__u32 phase;
	__u32 table; /* of the native frame that was looked at last */
	__u32 build_table;
	__u32 tid, pid, slot;
	__u32 threads; /* looked at */
	__u32 frames;  /* read */
	__u32 n, at;   /* entries that were made of them, and that were placed */
	__u32 group;   /* the entry that gets the place of the frames that are being read */
	bool met;      /* the walk came through an interpreter */
	bool cached;   /* the thread state was known */
	bool many;     /* there are several interpreters */
	bool placing, beside;
	__u64 links[4]; /* of a cframe */
	struct ebrec_python_str head;
	__u64 frame_words[16];
	__u64 words[32]; /* of an object; powers of two, for the verifier */
	/* Of each group its place on the C stack, then its entries. */
	__u64 entries[PYTHON_ENTRIES];
	struct ebrec_python_code code;
};

EBREC_CPU_ARRAY(python_walks, 1, struct python_walk) __weak;

/* --- words of what was read --- */

static __always_inline __u64 python_word(const struct python_walk *p, __u32 offset)
{
	return p->words[offset / 8 & 31];
}

static __always_inline __u32 python_half(const struct python_walk *p, __u32 offset)
{
	return ((const __u32 *)p->words)[offset / 4 & 63];
}

static __always_inline __u64 python_frame_word(const struct python_walk *p, __u32 offset)
{
	return p->frame_words[offset / 8 & 15];
}

static __always_inline __u8 python_frame_byte(const struct python_walk *p, __u32 offset)
{
	return ((const __u8 *)p->frame_words)[offset & 127];
}

static __always_inline bool python_read_object(struct python_walk *p, __u64 address)
{
	return !bpf_probe_read_user(p->words, PYTHON_OBJECT_BYTES, (const void *)address);
}

/* A word of the program's memory; 0 where it cannot be read. */
static __always_inline __u64 python_peek(__u64 address)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (const void *)address);
	return word;
}

/* --- a code object that has not been seen --- */

static __always_inline void python_read_text(struct python_walk *p, __u64 address,
					     struct ebrec_python_text *text, __u8 *data, __u32 room)
{
	struct ebrec_python_str *head = &p->head;
	__u64 bytes, length; /* Linux 6.1 does not see through bounds of 32-bit values */
	__u32 width;

	text->chars = 0;
	text->width = 0;
	if (bpf_probe_read_user(head, sizeof(*head), (const void *)address))
		return;
	width = PYTHON_STR_WIDTH(head->state);
	if (!(head->state & PYTHON_STR_COMPACT) || (width != 1 && width != 2 && width != 4))
		return;
	length = head->length;
	text->chars = length < (1u << 20) ? length : 1u << 20;
	bytes = length < room ? length * width : room;
	if (bytes > room)
		bytes = room;
	address += head->state & PYTHON_STR_ASCII ? p->build.text_ascii : p->build.text_compact;
	if (!bpf_probe_read_user(data, bytes, (const void *)address))
		text->width = width;
}

/* Sends the code object in p->words. Returns its number, or 0 where that could not be done. */
static __always_inline __u32 python_send_code(struct python_walk *p)
{
	struct ebrec_python_counts *counts = ebrec_entry(&python_counts);
	__u64 now = bpf_ktime_get_ns(), lines, len, n = 0;
	struct ebrec_python_code *code = &p->code;
	__u64 length = 0;

	if (!counts || !ebrec_may(&counts->codes, now, PYTHON_CODES))
		return 0;
	lines = python_word(p, p->build.code_lines);
	code->address = p->code_address;
	code->lines_address = lines + p->build.bytes_data;
	code->name_address = python_word(p, p->build.code_name);
	code->file_address = python_word(p, p->build.code_file);
	code->text_ascii = p->build.text_ascii;
	code->text_compact = p->build.text_compact;
	code->id = __sync_fetch_and_add(&python_last_id, 1) + 1;
	code->tid = p->tid;
	code->pid = p->pid;
	code->version = p->build.version;
	code->first_line = python_half(p, p->build.code_first_line);
	python_read_text(p, code->name_address, &code->name, code->name_data, PYTHON_NAME_BYTES);
	python_read_text(p, code->file_address, &code->file, code->file_data, PYTHON_FILE_BYTES);
	/* ob_size of a bytes */
	if (!bpf_probe_read_user(&length, sizeof(length), (const void *)(lines + 16))) {
		code->lines = length < (1u << 20) ? length : 1u << 20;
		n = length < PYTHON_LINES_BYTES ? length : PYTHON_LINES_BYTES;
		if (bpf_probe_read_user(code->lines_data, n, (const void *)code->lines_address))
			n = 0;
	} else {
		code->lines = 0;
	}
	len = offsetof(struct ebrec_python_code, lines_data) + n;
	if (len > sizeof(*code)) /* for the verifier */
		return 0;
	if (!ebrec_output(p->slot, EBREC_T_PYTHON_CODE, &code->head, len, now)) {
		ebrec_count_drop(EBT_T_interp_code);
		return 0;
	}
	return code->id;
}

static __always_inline __u64 python_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Tells the code object in p->words from others, also from one that takes its place later. */
static __always_inline __u64 python_code_hash(const struct python_walk *p, __u64 address)
{
	const __u64 name = python_word(p, p->build.code_name);
	__u64 hash = python_mix(p->process, address);

	for (int i = PYTHON_PRINT_FROM; i < PYTHON_PRINT_TO; i++)
		hash = python_mix(hash, i == PYTHON_PRINT_HALF ? (__u32)p->words[i] : p->words[i]);
	/* Code that is generated over and over may have all of these words again, and another
	 * name: the hash of a str is in it. */
	return python_mix(hash, python_peek(name + offsetof(struct ebrec_python_str, hash)));
}

/* --- frames --- */

static __always_inline void python_append(struct python_walk *p, __u64 entry)
{
	__u32 n = p->n;

	if (n >= PYTHON_ENTRIES)
		return;
	p->entries[n] = entry;
	p->n = n + 1;
}

/* The frames since the last such call have their place on the C stack there. */
static __always_inline void python_end_group(struct python_walk *p, __u64 place)
{
	__u32 group = p->group;

	if (group < PYTHON_ENTRIES)
		p->entries[group] = place & ~EBT_ENTRY_INTERP;
	p->group = p->n;
	if (p->n >= PYTHON_ENTRIES) /* no room for another */
		p->frame = 0;
	python_append(p, 0);
}

/* All that can be read has been. */
static __always_inline void python_end_frames(struct python_walk *p)
{
	/* Frames without a place: the last group is not whole. */
	p->n = p->group;
	if (p->many) {
		python_append(p, 0);
		p->phase = PYTHON_THREAD;
		return;
	}
	p->phase = PYTHON_PLACE;
}

/* The frame that was read has been added, or passed over. */
static __always_inline void python_end_frame(struct python_walk *p)
{
	p->phase = PYTHON_FRAME;
	if (p->build.frame_is_entry == PYTHON_NONE ||
	    !python_frame_byte(p, p->build.frame_is_entry))
		return;
	python_end_group(p, p->cframe);
	if (bpf_probe_read_user(p->links, sizeof(p->links), (const void *)p->cframe))
		p->frame = 0;
	else
		p->cframe = p->links[p->build.cframe_previous / 8 & 3];
}

static __always_inline void python_append_code(struct python_walk *p, __u64 id)
{
	python_append(p, EBT_ENTRY_INTERP | id << EBT_ENTRY_ID_SHIFT | p->index);
	python_end_frame(p);
}

static __always_inline struct python_code_set *python_code_set(__u64 hash)
{
	__u32 key = (__u32)(hash >> 32) % PYTHON_CODE_SETS;

	return bpf_map_lookup_elem(&python_codes, &key);
}

/* The code object of the frame that was read: its number is known, or it has to be sent. */
static __always_inline void python_add_code(struct python_walk *p)
{
	__u64 code = python_frame_word(p, p->build.frame_code), hash, known;
	const struct python_code_set *set;

	p->index = EBT_ENTRY_INSTRUCTION;
	if (!python_read_object(p, code)) {
		python_append_code(p, 0);
		return;
	}
	p->index = python_frame_word(p, p->build.frame_instruction) - code -
		   p->build.code_instructions;
	p->index = (__s64)p->index >> 1;
	/* Before the first instruction that can be traced the frame is being made, and Python
	 * does not show it. */
	if (python_frame_byte(p, p->build.frame_owner) != PYTHON_OWNER_GENERATOR &&
	    (__s64)p->index < (__s32)python_half(p, p->build.code_first_traceable)) {
		python_end_frame(p);
		return;
	}
	if (p->index >= EBT_ENTRY_INSTRUCTION)
		p->index = EBT_ENTRY_INSTRUCTION;
	hash = python_code_hash(p, code);
	set = python_code_set(hash);
	for (int i = 0; set && i < PYTHON_CODE_WAYS; i++) {
		known = set->id[i];
		if (set->hash[i] == hash && (__u32)known == (__u32)hash) {
			python_append_code(p, known >> 32);
			return;
		}
	}
	p->hash = hash;
	p->code_address = code;
	p->phase = PYTHON_CODE;
}

/*
 * The code object in p->words is new. This and other steps are global functions: the verifier looks
 * at such a function once, and not again for each state that a walk can be in; and their stacks,
 * of which the kernel gives all functions together 512 bytes, stay small. It looks at them also
 * where no Python is walked, and there are no maps of it.
 */
__weak int python_add_new_code(struct python_walk *p)
{
	struct python_code_set *set;
	__u32 id, way;

	if (!p || !config.python)
		return 0;
	id = python_send_code(p);
	way = id % PYTHON_CODE_WAYS;
	set = python_code_set(p->hash);
	if (id && set) {
		set->hash[way] = p->hash;
		set->id[way] = (__u64)id << 32 | (__u32)p->hash;
	}
	python_append_code(p, id);
	return 0;
}

/* One frame of the interpreter. */
__weak int python_read_frame(struct python_walk *p)
{
	__u64 frame;

	if (!p || !config.python)
		return 0;
	frame = p->frame;
	if (!frame || p->frames++ >= PYTHON_FRAMES ||
	    bpf_probe_read_user(p->frame_words, PYTHON_FRAME_BYTES, (const void *)frame)) {
		python_end_frames(p);
		return 0;
	}
	p->frame = python_frame_word(p, p->build.frame_previous);
	if (p->build.frame_is_entry == PYTHON_NONE &&
	    python_frame_byte(p, p->build.frame_owner) == PYTHON_OWNER_CSTACK)
		python_end_group(p, frame);
	else if (p->n >= PYTHON_ENTRIES)
		python_end_frame(p);
	else
		python_add_code(p);
	return 0;
}

/* --- the thread --- */

/* The thread state that was read: its innermost frame. */
static __always_inline void python_enter_thread(struct python_walk *p)
{
	__u64 frame = python_word(p, p->build.thread_frame);

	if (p->build.cframe_frame != PYTHON_NONE) {
		p->cframe = frame;
		frame = 0;
		if (!bpf_probe_read_user(p->links, sizeof(p->links), (const void *)p->cframe))
			frame = p->links[p->build.cframe_frame / 8 & 3];
	}
	p->frame = frame;
	p->phase = PYTHON_FRAME;
}

static __always_inline void python_no_thread(struct python_walk *p)
{
	struct ebrec_python_counts *counts = ebrec_entry(&python_counts);

	p->phase = p->n > 1 ? PYTHON_PLACE : PYTHON_DONE;
	p->n = p->group;
	if (counts && p->phase == PYTHON_DONE)
		counts->no_thread++;
}

static __always_inline struct python_thread *python_thread_slot(__u32 tid)
{
	__u32 key = tid % PYTHON_THREAD_SLOTS;

	return bpf_map_lookup_elem(&python_threads, &key);
}

static __always_inline void python_keep_thread(const struct python_walk *p, __u64 address)
{
	struct python_thread *slot = python_thread_slot(p->tid);

	if (!slot)
		return;
	slot->tid = 0;
	slot->address = address;
	slot->tid = p->tid;
}

/* Is it the newest interpreter's? There may be a state of the same thread for each of them. */
static __always_inline bool python_is_newest(const struct python_walk *p)
{
	return python_peek(p->runtime + p->build.interpreters_head) ==
	       python_word(p, p->build.thread_interpreter);
}

/* One thread state, to see whether it is this thread's. */
__weak int python_look_at_thread(struct python_walk *p)
{
	__u64 thread;
	bool found;

	if (!p || !config.python)
		return 0;
	thread = p->thread;
	if (p->threads++ >= PYTHON_THREADS) {
		python_no_thread(p);
		return 0;
	}
	if (!thread) {
		p->phase = PYTHON_INTERPRETER;
		return 0;
	}
	found = python_read_object(p, thread) && python_word(p, p->build.thread_id) == p->fsbase;
	if (p->cached && (!found || !python_is_newest(p))) { /* not any more */
		p->cached = false;
		p->interpreter = 0;
		p->phase = PYTHON_INTERPRETER;
		return 0;
	}
	p->thread = python_word(p, p->build.thread_next);
	if (!found)
		return 0;
	if (!p->many && !p->cached)
		python_keep_thread(p, thread);
	python_enter_thread(p);
	return 0;
}

/* The first interpreter, or the next one. */
__weak int python_look_at_interpreter(struct python_walk *p)
{
	__u64 next, from;

	if (!p || !config.python)
		return 0;
	from = p->runtime + p->build.interpreters_head;
	if (p->interpreter)
		from = p->interpreter + p->build.interpreter_next;
	next = p->threads++ < PYTHON_THREADS ? python_peek(from) : 0;
	if (!next) {
		python_no_thread(p);
		return 0;
	}
	p->interpreter = next;
	if (!p->many)
		p->many = python_peek(next + p->build.interpreter_next);
	p->thread = python_peek(next + p->build.interpreter_threads);
	p->phase = PYTHON_THREAD;
	return 0;
}

/* --- what a native walk does with it --- */

/* At the beginning of a walk. level: which of the walks of this CPU it is. slot: of the ring. */
static __always_inline struct python_walk *python_begin(__u32 level, __u32 slot)
{
	struct python_walk *p = bpf_map_lookup_elem(&python_walks, &level);

	if (!p)
		return NULL;
	p->phase = python_n_builds ? PYTHON_OFF : PYTHON_DONE;
	p->table = PYTHON_NONE;
	p->slot = slot;
	p->met = false;
	p->placing = false;
	return p;
}

/* A native frame with this stack pointer lies in code of this table; bias: what was subtracted from
 * its address. */
__weak int python_meet(struct python_walk *p, __u64 sp, __u32 table, __u64 bias)
{
	const struct ebrec_python_build *build;
	const struct python_thread *slot;
	const struct task_struct *task;

	if (!p || !config.python)
		return 0;
	p->low = sp;
	if (p->table == table)
		return 0;
	p->table = table;
	if (p->phase != PYTHON_OFF)
		return 0;
	build = bpf_map_lookup_elem(&python_builds, &table);
	if (!build)
		return 0;
	task = bpf_get_current_task_btf();
	p->met = true;
	p->build = *build;
	p->build_table = table;
	p->runtime = bias + build->runtime;
	p->fsbase = BPF_CORE_READ(task, thread.fsbase);
	p->process = BPF_CORE_READ(task, group_leader, start_time) ^ (__u64)BPF_CORE_READ(task, mm)
									     << 8;
	p->tid = task->pid;
	p->pid = task->tgid;
	p->interpreter = 0;
	p->many = false;
	p->threads = p->frames = p->n = p->at = p->group = 0;
	python_append(p, 0);
	slot = python_thread_slot(p->tid);
	p->cached = slot && slot->tid == p->tid;
	p->thread = p->cached ? slot->address : 0;
	p->phase = p->cached ? PYTHON_THREAD : PYTHON_INTERPRETER;
	return 0;
}

/* Does a native frame from p->low to sp have the next group? */
static __always_inline bool python_is_placed(struct python_walk *p, __u64 sp)
{
	__u32 at = p->at;
	__u64 place;

	if (at >= p->n || at >= PYTHON_ENTRIES)
		return false;
	place = p->entries[at];
	if (place < p->low || place >= sp)
		return false;
	p->at = at + 1;
	p->beside = p->table != p->build_table;
	p->placing = true;
	return true;
}

/* The next entry of the group that is being placed; 0: there is none. */
static __always_inline __u64 python_next_entry(struct python_walk *p)
{
	__u32 at = p->at;
	__u64 entry;

	if (at >= p->n || at >= PYTHON_ENTRIES)
		return 0;
	entry = p->entries[at];
	if (!(entry & EBT_ENTRY_INTERP))
		return 0;
	p->at = at + 1;
	if (p->beside)
		entry |= EBT_ENTRY_BESIDE;
	p->beside = false;
	return entry;
}

/* At the end of a walk; whole: it came to the outermost frame. */
__weak int python_end(struct python_walk *p, bool whole)
{
	struct ebrec_python_counts *counts;

	if (!p || !config.python || p->phase != PYTHON_PLACE)
		return 0;
	counts = ebrec_entry(&python_counts);
	if (!counts)
		return 0;
	counts->stacks += p->at != 0;
	counts->unplaced += whole && p->at < p->n;
	return 0;
}

/* Looks for the thread and reads its frames, one step at a time. */
static long python_read_step(__u32 i, struct python_walk **at)
{
	struct python_walk *p = *at;

	switch (p->phase) {
	case PYTHON_INTERPRETER:
		python_look_at_interpreter(p);
		return 0;
	case PYTHON_THREAD:
		python_look_at_thread(p);
		return 0;
	case PYTHON_FRAME:
		python_read_frame(p);
		return 0;
	case PYTHON_CODE:
		python_add_new_code(p);
		return 0;
	default:
		return 1;
	}
}

/* Is there something to read before the native walk goes on? */
static __always_inline bool python_waits(const struct python_walk *p)
{
	return p->phase == PYTHON_INTERPRETER || p->phase == PYTHON_THREAD;
}

static __always_inline void python_read(struct python_walk *p)
{
	struct python_walk *at = p;

	bpf_loop(PYTHON_STEPS, python_read_step, &at, 0);
	if (p->phase != PYTHON_PLACE)
		p->phase = PYTHON_DONE;
}

/* What comes after the native frame that was added last: an entry, or 0. sp: stack pointer of its
 * caller. */
__weak __u64 python_next(struct python_walk *p, __u64 sp)
{
	__u64 entry;

	if (!p || p->phase != PYTHON_PLACE || (!p->placing && !python_is_placed(p, sp)))
		return 0;
	entry = python_next_entry(p);
	p->placing = entry;
	return entry;
}

#endif
