/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump_oracle TRACE: walks each dump of a trace that was recorded here with `--call-graph dump
 * --keep-stack-dumps` twice, as ebreport does and with libdwfl, and prints how many stacks are
 * the same. libdwfl is told of every file that a word of the dump points into, and of the vdso.
 * Exit status 1: some differ in a frame.
 */
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/limits.h"
#include "format/schema/wire.h"
#include "symbolize/spaces/addrspace.h"
#include "symbolize/symbolize.h"
#include "unwind/image.h"

#define MAX_INCARNATIONS 4096
#define MAX_MODULES	 512

/* A dump as libdwfl sees it: the one thread of a process. */
struct dumped {
	struct ebt_wire_dump head;
	uint64_t registers[EBT_DUMP_X86_REGISTERS];
	const char *memory;
	size_t len;
	uint64_t frames[EBT_MAX_FRAMES];
	size_t n;
};

/* A file that is mapped. */
struct module {
	uint32_t object;
	uint64_t start; /* where its first byte would be */
	uint64_t bias;
	bool usable;
};

/* A process. libdwfl gets all its files anew when there is one more. */
struct incarnation {
	uint32_t number;
	Dwfl *dwfl;
	struct module modules[MAX_MODULES];
	size_t n_modules;
	struct dumped dumped;
};

struct counts {
	unsigned int dumps, same, ours_shorter, ours_longer, different, whole;
};

static struct addrspace *space;
static struct incarnation *incarnations[MAX_INCARNATIONS];
static size_t n_incarnations;
static int vdso = -1;

static void die(const char *what)
{
	fprintf(stderr, "dump_oracle: %s\n", what);
	exit(2);
}

static void check(struct ebt_error *err)
{
	if (err)
		die(err->message);
}

/* --- libdwfl --- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	struct dumped *d = arg;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = d;
	return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = arg;
	return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *arg)
{
	const struct dumped *d = arg;
	uint64_t at = address - (d->registers[7] - EBT_DUMP_BELOW);

	(void)dwfl;
	if (at > d->len || d->len - at < sizeof(*ret))
		return false;
	memcpy(ret, d->memory + at, sizeof(*ret));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct dumped *d = arg;
	Dwarf_Word regs[17];

	memcpy(regs, d->registers, sizeof(d->registers));
	regs[16] = d->head.pc;
	return dwfl_thread_state_registers(thread, 0, 17, regs);
}

static int no_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **ret)
{
	(void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc;
	*ret = NULL;
	return -1;
}

static int no_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, char **ret,
		  Elf **elf)
{
	(void)module, (void)user, (void)name, (void)base, (void)ret, (void)elf;
	return -1;
}

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	struct dumped *d = arg;
	Dwarf_Addr pc;

	if (d->n == EBT_MAX_FRAMES || !dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	d->frames[d->n++] = pc;
	return DWARF_CB_OK;
}

/* --- what is mapped --- */

static int open_vdso(void)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	int fd = memfd_create("vdso", MFD_CLOEXEC);

	if (!image || fd < 0 || write(fd, image, 8192) != 8192)
		die("cannot copy the vdso");
	return fd;
}

static const char *path_of(uint32_t object)
{
	size_t n;

	return addrspace_objects(space, &n)[object].path;
}

static int open_image(uint32_t object)
{
	const char *path = path_of(object);

	return strcmp(path, "[vdso]") ? open(path, O_RDONLY | O_CLOEXEC) : dup(vdso);
}

/* Finds out where the file is linked to. */
static void find_bias(struct module *module, uint64_t address, uint64_t offset)
{
	struct unwind_image image = { 0 };
	struct ebt_error *err;
	uint64_t linked;
	int fd = open_image(module->object);

	if (fd < 0)
		return;
	err = unwind_image_read(fd, &image);
	close(fd);
	module->usable = !err && unwind_segments_address(&image.segments, offset, &linked);
	if (module->usable)
		module->bias = address - linked;
	ebt_error_destroy(err);
	unwind_image_deinit(&image);
}

/* What a word of the dump points into. */
static bool add_module(struct incarnation *incarnation, uint64_t address, uint64_t time)
{
	struct addrspace_place place = { 0 };
	struct module module = { 0 };

	check(addrspace_find(space, incarnation->number, address, time, &place));
	if (!place.found)
		return false;
	module.object = place.object;
	module.start = address - place.offset;
	for (size_t i = 0; i < incarnation->n_modules; i++) {
		if (incarnation->modules[i].object == module.object &&
		    incarnation->modules[i].start == module.start)
			return false;
	}
	if (incarnation->n_modules == MAX_MODULES)
		die("too many files");
	find_bias(&module, address, place.offset);
	incarnation->modules[incarnation->n_modules++] = module;
	return module.usable;
}

static void report_modules(struct incarnation *incarnation)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = no_elf,
		.find_debuginfo = no_debuginfo,
	};
	static const Dwfl_Thread_Callbacks thread_callbacks = {
		.next_thread = next_thread,
		.get_thread = get_thread,
		.memory_read = memory_read,
		.set_initial_registers = set_registers,
	};

	dwfl_end(incarnation->dwfl);
	incarnation->dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(incarnation->dwfl);
	for (size_t i = 0; i < incarnation->n_modules; i++) {
		const struct module *m = &incarnation->modules[i];
		const char *path = path_of(m->object);

		if (m->usable && !dwfl_report_elf(incarnation->dwfl, path, path,
						  open_image(m->object), m->bias, true))
			fprintf(stderr, "dump_oracle: %s: %s\n", path, dwfl_errmsg(-1));
	}
	dwfl_report_end(incarnation->dwfl, NULL, NULL);
	if (!dwfl_attach_state(incarnation->dwfl, NULL, 1, &thread_callbacks, &incarnation->dumped))
		die(dwfl_errmsg(-1));
}

static struct incarnation *get_incarnation(uint32_t number)
{
	for (size_t i = 0; i < n_incarnations; i++) {
		if (incarnations[i]->number == number)
			return incarnations[i];
	}
	if (n_incarnations == MAX_INCARNATIONS)
		die("too many processes");
	incarnations[n_incarnations] = calloc(1, sizeof(*incarnations[n_incarnations]));
	if (!incarnations[n_incarnations])
		die("no memory");
	incarnations[n_incarnations]->number = number;
	return incarnations[n_incarnations++];
}

/* --- both --- */

static bool parse(struct ebt_str dump, struct dumped *d)
{
	const size_t head = sizeof(d->head) + sizeof(d->registers);

	if (dump.len < head)
		return false;
	memcpy(&d->head, dump.data, sizeof(d->head));
	memcpy(d->registers, dump.data + sizeof(d->head), sizeof(d->registers));
	d->memory = dump.data + head;
	d->len = dump.len - head;
	d->n = 0;
	return d->head.n == EBT_DUMP_X86_REGISTERS && d->head.attrs & EBT_DUMP_INNER;
}

static void walk_with_libdwfl(struct incarnation *incarnation, uint64_t time)
{
	struct dumped *d = &incarnation->dumped;
	bool added = add_module(incarnation, d->head.pc, time);
	uint64_t word;

	for (size_t at = 0; at + sizeof(word) <= d->len; at += sizeof(word)) {
		memcpy(&word, d->memory + at, sizeof(word));
		added |= add_module(incarnation, word, time);
	}
	if (added)
		report_modules(incarnation);
	if (incarnation->dwfl)
		dwfl_getthread_frames(incarnation->dwfl, 1, add_frame, d);
}

static void print_stacks(const struct ebt_task *task, const struct ebt_stack *ours,
			 const struct dumped *d)
{
	printf("different: %.*s, stopped for %u\n", (int)task->comm.len, task->comm.data,
	       ours->attrs >> EBT_STACK_STOP_SHIFT & 0xff);
	for (size_t i = 0; i < ours->n || i < d->n; i++)
		printf("  %16" PRIx64 " %16" PRIx64 "\n", i < ours->n ? ours->addresses[i] : 0,
		       i < d->n ? d->frames[i] : 0);
}

static void compare(struct sym *sym, const struct ebt_task *task, uint64_t time,
		    const struct ebt_stack *partial, struct ebt_str dump, struct counts *counts)
{
	uint64_t addresses[EBT_MAX_FRAMES];
	struct ebt_stack ours;
	struct incarnation *incarnation;
	size_t n = 0;

	incarnation = get_incarnation(addrspace_incarnation(space, task, time));
	if (incarnation->number == ADDRSPACE_NO_INCARNATION || !parse(dump, &incarnation->dumped))
		return;
	check(sym_unwind_deferred(sym, task, time, partial, dump, addresses, &ours));
	walk_with_libdwfl(incarnation, time);
	counts->dumps++;
	counts->whole += (ours.attrs >> EBT_STACK_STOP_SHIFT & 0xff) == EBT_STOP_ROOT;
	while (n < ours.n && n < incarnation->dumped.n &&
	       ours.addresses[n] == incarnation->dumped.frames[n])
		n++;
	if (n == ours.n && n == incarnation->dumped.n)
		counts->same++;
	else if (n == ours.n)
		counts->ours_shorter++;
	else if (n == incarnation->dumped.n)
		counts->ours_longer++;
	else
		counts->different++;
	if (n != ours.n && n != incarnation->dumped.n)
		print_stacks(task, &ours, &incarnation->dumped);
}

static void read_rows(struct ebt_reader *reader, struct sym *sym, struct counts *counts)
{
	static const struct ebt_want wants[] = {
		{ EBT_T_sample, ~UINT64_C(0) },
		{ EBT_T_sched_switch, ~UINT64_C(0) },
	};
	const struct ebt_query query = { .wants = wants, .n_wants = 2 };
	struct ebt_cursor *cursor;
	struct ebt_row row;

	check(ebt_cursor_create(reader, &query, &cursor));
	for (;;) {
		bool sample;
		unsigned int task, ustack, udump;

		check(ebt_cursor_next(cursor, &row));
		if (!row.batch)
			break;
		sample = row.batch->table->id == EBT_T_sample;
		task = sample ? EBT_F_sample_task : EBT_F_sched_switch_prev;
		ustack = sample ? EBT_F_sample_ustack : EBT_F_sched_switch_ustack;
		udump = sample ? EBT_F_sample_udump : EBT_F_sched_switch_udump;
		if (ebt_u64(&row, udump) && ebt_stack(&row, ustack) && ebt_task(&row, task))
			compare(sym, ebt_task(&row, task), row.time, ebt_stack(&row, ustack),
				ebt_str(&row, udump), counts);
	}
	ebt_cursor_destroy(cursor);
}

int main(int argc, char **argv)
{
	const struct sym_options options = { .no_inline = true };
	struct counts counts = { 0 };
	struct ebt_reader *reader;
	struct sym *sym;

	if (argc != 2)
		die("usage: dump_oracle TRACE");
	vdso = open_vdso();
	check(ebt_reader_open(argv[1], &reader));
	check(addrspace_create(reader, &space));
	check(sym_create(reader, &options, &sym));
	read_rows(reader, sym, &counts);
	printf("dumps %u same %u shorter %u longer %u different %u whole %u\n", counts.dumps,
	       counts.same, counts.ours_shorter, counts.ours_longer, counts.different,
	       counts.whole);
	for (size_t i = 0; i < n_incarnations; i++) {
		dwfl_end(incarnations[i]->dwfl);
		free(incarnations[i]);
	}
	sym_destroy(sym);
	addrspace_destroy(space);
	ebt_reader_close(reader);
	close(vdso);
	return counts.different ? 1 : 0;
}
