/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of a running program, by unwind tables and by libdwfl, at the same moments: the program is
 * single-stepped from the places where it stops itself. Ours may end earlier, and never differs.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <elfutils/libdwfl.h>
#include <linux/types.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "unwind/step.h"
#include "unwind/table.h"

#define MAX_FRAMES 256
#define MAX_FILES  32
#define STEPS	   4000 /* from each stop */
#define EACH	   7	/* of which one in this many is looked at */

struct mapping {
	uint64_t start, end, offset;
	char path[256];
	struct unwind_table *table;
	uint64_t bias;
};

struct process {
	pid_t pid;
	int memory;
	struct mapping mappings[MAX_FILES];
	size_t n;
	Dwfl *dwfl;
};

static struct {
	uint64_t compared, identical, shorter, different, frames;
	uint64_t stops[EBT_STOP_BUSY + 1];
} sums;

/* --- our side --- */

static enum unwind_code find(void *arg, uint64_t pc, const struct unwind_table **ret_table,
			     uint64_t *ret_bias)
{
	const struct process *p = arg;

	for (size_t i = 0; i < p->n; i++) {
		const struct mapping *m = &p->mappings[i];

		if (pc < m->start || pc >= m->end)
			continue;
		*ret_table = m->table;
		*ret_bias = m->bias;
		return m->table ? UNWIND_CODE_TABLE : UNWIND_CODE_UNTOLD;
	}
	return UNWIND_CODE_NONE;
}

static bool read_memory(void *arg, uint64_t address, void *ret, size_t len)
{
	const struct process *p = arg;

	return pread(p->memory, ret, len, (off_t)address) == (ssize_t)len;
}

static void load_vdso(const struct process *p, const struct mapping *m, struct unwind_image *ret)
{
	size_t len = m->end - m->start;
	_cleanup_free_ char *data = malloc(len);

	assert_true(read_memory((void *)p, m->start, data, len));
	assert_null(unwind_image_read_memory(data, len, ret));
}

static void load_table(const struct process *p, struct mapping *m)
{
	struct unwind_image image = { 0 };

	if (!strcmp(m->path, "[vdso]")) {
		load_vdso(p, m, &image);
	} else {
		_cleanup_close_ int fd = open(m->path, O_RDONLY | O_CLOEXEC);

		assert_true(fd >= 0);
		assert_null(unwind_image_read(fd, &image));
	}
	assert_null(unwind_table_build(&image, &m->table));
	unwind_image_deinit(&image);
	assert_true(unwind_table_bias(m->table, m->start, m->offset, &m->bias));
}

static void load_mappings(struct process *p)
{
	char path[64], line[512], flags[8];
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct mapping m = { 0 };

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %255s", &m.start,
			   &m.end, flags, &m.offset, m.path) != 5 ||
		    flags[2] != 'x' || !strcmp(m.path, "[vsyscall]"))
			continue;
		assert_true(p->n < MAX_FILES);
		load_table(p, &m);
		p->mappings[p->n++] = m;
	}
}

static size_t walk(struct process *p, const struct user_regs_struct *regs, uint64_t *ret,
		   uint32_t *ret_stop)
{
	const struct unwind_space space = { find, read_memory, p };
	struct unwind_frame frame = {
		.arch = CFI_X86_64,
		.pc = regs->rip,
		.registers = { regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi,
			       regs->rbp, regs->rsp, regs->r8, regs->r9, regs->r10, regs->r11,
			       regs->r12, regs->r13, regs->r14, regs->r15 },
		.inner = true,
	};
	size_t n;

	*ret_stop = unwind_walk(&frame, &space, ret, MAX_FRAMES, &n);
	return n;
}

/* --- libdwfl's side --- */

struct frames {
	uint64_t pc[MAX_FRAMES];
	size_t n;
};

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	struct frames *frames = arg;
	Dwarf_Addr pc;

	if (frames->n == MAX_FRAMES || !dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	frames->pc[frames->n++] = pc;
	return DWARF_CB_OK;
}

static void begin_dwfl(struct process *p)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};

	p->dwfl = dwfl_begin(&callbacks);
	assert_non_null(p->dwfl);
	assert_int_equal(dwfl_linux_proc_report(p->dwfl, p->pid), 0);
	assert_int_equal(dwfl_report_end(p->dwfl, NULL, NULL), 0);
	assert_int_equal(dwfl_linux_proc_attach(p->dwfl, p->pid, true), 0);
}

/* --- both --- */

static void complain(const struct frames *theirs, const uint64_t *ours, size_t n, uint32_t stop)
{
	if (sums.different++ > 5)
		return;
	print_error("different, stop %u:\n", stop);
	for (size_t i = 0; i < n || i < theirs->n; i++)
		print_error("  %" PRIx64 " %" PRIx64 "\n", i < n ? ours[i] : 0,
			    i < theirs->n ? theirs->pc[i] : 0);
}

static void compare(struct process *p)
{
	struct user_regs_struct regs;
	uint64_t ours[MAX_FRAMES];
	struct frames theirs = { .n = 0 };
	uint32_t stop;
	size_t n;

	assert_int_equal(ptrace(PTRACE_GETREGS, p->pid, NULL, &regs), 0);
	n = walk(p, &regs, ours, &stop);
	dwfl_getthread_frames(p->dwfl, p->pid, add_frame, &theirs);
	sums.compared++;
	sums.frames += n;
	sums.stops[stop]++;
	/* Where libdwfl finds no end, it makes some up. */
	if (n > theirs.n || memcmp(ours, theirs.pc, n * sizeof(*ours)))
		complain(&theirs, ours, n, stop);
	else if (n < theirs.n)
		sums.shorter++;
	else
		sums.identical++;
}

/* Waits until the process stops. Returns the signal that it is to get, or -1 at its end. */
static int wait_stop(const struct process *p)
{
	int status, sig;

	assert_int_equal(waitpid(p->pid, &status, __WALL), p->pid);
	if (WIFEXITED(status)) {
		assert_int_equal(WEXITSTATUS(status), 0);
		return -1;
	}
	assert_true(WIFSTOPPED(status));
	sig = WSTOPSIG(status);
	return sig == SIGTRAP ? 0 : sig;
}

/* Steps on for a while. Returns what wait_stop() does. */
static int step(struct process *p)
{
	int sig = 0;

	for (unsigned int i = 0; i < STEPS && sig >= 0 && sig != SIGSTOP; i++) {
		if (i % EACH == 0)
			compare(p);
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, p->pid, NULL, (long)sig), 0);
		sig = wait_stop(p);
	}
	return sig;
}

/* lazy: PLTs go through the dynamic linker's resolver, whose frames no row can express. */
static pid_t begin(const char *name, bool lazy)
{
	const char *programs = getenv("EBT_PROGRAMS");
	char path[4096];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", programs ? programs : "tests/programs", name);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (lazy)
			unsetenv("LD_BIND_NOW");
		else
			setenv("LD_BIND_NOW", "1", 1);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(path, name, NULL);
		_exit(127);
	}
	return pid;
}

static void end(struct process *p)
{
	dwfl_end(p->dwfl);
	close(p->memory);
	for (size_t i = 0; i < p->n; i++)
		unwind_table_destroy(p->mappings[i].table);
}

static void print_sums(const char *name, unsigned int stops)
{
	print_message("%s: %u places, %" PRIu64 " stacks of %" PRIu64 " frames: %" PRIu64
		      " identical to libdwfl's, %" PRIu64 " shorter, %" PRIu64 " different\n",
		      name, stops, sums.compared, sums.frames, sums.identical, sums.shorter,
		      sums.different);
	for (uint32_t i = 0; i <= EBT_STOP_BUSY; i++) {
		if (sums.stops[i])
			print_message("  stop %u: %" PRIu64 "\n", i, sums.stops[i]);
	}
}

static unsigned int go_on(struct process *p)
{
	unsigned int places = 0;
	int sig = 0;

	while (sig >= 0) {
		if (sig != SIGSTOP) {
			assert_int_equal(ptrace(PTRACE_CONT, p->pid, NULL, (long)sig), 0);
			sig = wait_stop(p);
			continue;
		}
		/* All libraries are there by now. */
		if (!places++) {
			load_mappings(p);
			begin_dwfl(p);
		}
		sig = step(p);
	}
	return places;
}

static void try_program(const char *name, bool lazy)
{
	struct process p = { .pid = begin(name, lazy), .memory = -1 };
	unsigned int places;
	char path[64];

	memset(&sums, 0, sizeof(sums));
	snprintf(path, sizeof(path), "/proc/%d/mem", p.pid);
	assert_int_equal(wait_stop(&p), 0); /* exec */
	p.memory = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(p.memory >= 0);
	places = go_on(&p);
	end(&p);
	print_sums(name, places);
	assert_int_equal(sums.different, 0);
	assert_int_equal(places, 7);
	assert_true(sums.identical * 100 >= sums.compared * (lazy ? 50 : 99));
}

static void test_stepped(void **state)
{
	(void)state;
	try_program("stepped", false);
}

static void test_lazy(void **state)
{
	(void)state;
	try_program("stepped", true);
}

static void test_static(void **state)
{
	(void)state;
	try_program("stepped_static", false);
}

static void test_static_pie(void **state)
{
	(void)state;
	try_program("stepped_static_pie", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stepped),
		cmocka_unit_test(test_lazy),
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_static_pie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
