/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks finished from dumps: this process's own, compared with glibc's backtrace(); and dumps
 * that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <execinfo.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "format/base/limits.h"
#include "format/schema/wire.h"
#include "symbolize/symbolize.h"
#include "tests/tools/symtrace.h"

#ifdef __x86_64__

#define PID   77
#define DEPTH 40

static struct {
	struct ebt_wire_dump head;
	uint64_t registers[EBT_DUMP_X86_REGISTERS];
	char memory[EBT_DUMP_STACK];
} dump;

static void *expected[EBT_MAX_FRAMES];
static int n_expected;
static volatile unsigned int sink;

/* Byte by byte: this is the memory of others. */
__attribute__((noinline, no_sanitize("address", "undefined"))) static void copy_stack(uint64_t from)
{
	for (size_t i = 0; i < sizeof(dump.memory); i++)
		dump.memory[i] = ((const volatile char *)from)[i];
}

/* What the BPF programs do, of this very function. */
__attribute__((noinline)) static void take_dump(void)
{
	/* The order of gregs is that of <sys/ucontext.h>. */
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,	REG_R9,	 REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15 };
	ucontext_t context;

	assert_int_equal(getcontext(&context), 0);
	dump.head.attrs = EBT_DUMP_INNER;
	dump.head.n = EBT_DUMP_X86_REGISTERS;
	dump.head.pc = (uint64_t)context.uc_mcontext.gregs[REG_RIP];
	for (size_t i = 0; i < EBT_DUMP_X86_REGISTERS; i++)
		dump.registers[i] = (uint64_t)context.uc_mcontext.gregs[order[i]];
	copy_stack(dump.registers[7] - EBT_DUMP_BELOW);
	n_expected = backtrace(expected, EBT_MAX_FRAMES);
}

/* Enough stack that all of a dump is there; a sanitizer would put the room elsewhere. */
__attribute__((noinline, no_sanitize("address"))) static unsigned int descend(unsigned int depth)
{
	volatile char room[512];
	unsigned int r;

	room[depth] = 1;
	if (!depth)
		take_dump();
	r = depth ? descend(depth - 1) : 0;
	return r + (unsigned int)room[depth] + sink;
}

static void map_self(struct symtrace *trace)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		struct symtrace_mapping mapping = { .snapshot = true };
		char prot[8], path[2048] = "";
		struct elf_file *file;
		uint64_t end;

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %2047[^\n]", &mapping.start, &end, prot,
			   &mapping.pgoff, path) < 5 ||
		    prot[2] != 'x' || path[0] != '/')
			continue;
		assert_null(elf_file_open(path, &file));
		mapping.id = file->id;
		elf_file_close(file);
		mapping.length = end - mapping.start;
		mapping.path = path;
		symtrace_mmap(trace, 100, PID, &mapping);
	}
	fclose(maps);
}

struct fixture {
	struct symtrace *trace;
	struct sym *sym;
	struct ebt_task task;
};

static int setup(void **state)
{
	static const struct sym_options options = { 0 };
	struct fixture *f = calloc(1, sizeof(*f));

	f->trace = symtrace_create();
	symtrace_task(f->trace, PID, PID, 10);
	map_self(f->trace);
	assert_null(sym_create(symtrace_read(f->trace), &options, &f->sym));
	f->task = (struct ebt_task){ .tid = PID, .pid = PID, .start_ns = 10 };
	descend(DEPTH);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	sym_destroy(f->sym);
	symtrace_destroy(f->trace);
	free(f);
	return 0;
}

/* All but the innermost frame, which is at two places of the same function; a sanitizer's
 * backtrace() may be in front of that. */
static void assert_expected(const struct ebt_stack *stack)
{
	int skip = 0;

	while (stack->n > 1 && skip < 2 && stack->addresses[1] != (uintptr_t)expected[skip + 1])
		skip++;
	assert_true((int)stack->n + skip <= n_expected);
	for (uint32_t i = 1; i < stack->n; i++)
		assert_int_equal(stack->addresses[i], (uintptr_t)expected[i + skip]);
}

static struct ebt_stack finish(const struct fixture *f, const void *data, size_t len,
			       uint64_t *addresses)
{
	const uint64_t pc = dump.head.pc;
	const struct ebt_stack partial = { EBT_STACK_USER, 1, &pc };
	struct ebt_stack ret;

	assert_null(sym_unwind_deferred(f->sym, &f->task, 200, &partial,
					(struct ebt_str){ data, len }, addresses, &ret));
	return ret;
}

static void test_own_stack(void **state)
{
	uint64_t addresses[EBT_MAX_FRAMES];
	struct ebt_stack stack = finish(*state, &dump, sizeof(dump), addresses);

	assert_true(stack.n > 20);
	assert_expected(&stack);
	assert_true(stack.attrs >> EBT_STACK_METHOD_SHIFT & EBT_METHOD_DUMP);
	assert_true(stack.attrs & EBT_STACK_USER);
}

/* The walk ends where the copy does. */
static void test_short_dump(void **state)
{
	const size_t head = offsetof(__typeof__(dump), memory);
	uint64_t addresses[EBT_MAX_FRAMES];
	struct ebt_stack stack;
	uint32_t n = 0;

	for (size_t len = 0; len < sizeof(dump); len += 61) {
		stack = finish(*state, &dump, len, addresses);
		assert_true(stack.n >= 1 && stack.n >= n);
		if (len < head)
			assert_int_equal(stack.n, 1);
		assert_expected(&stack);
		n = stack.n;
	}
}

/* A dump of another place, or of a machine that is not known, changes nothing. */
static void test_foreign(void **state)
{
	__typeof__(dump) *other = malloc(sizeof(*other));
	uint64_t addresses[EBT_MAX_FRAMES];

	*other = dump;
	other->head.pc++;
	assert_int_equal(finish(*state, other, sizeof(*other), addresses).n, 1);
	*other = dump;
	other->head.n = 17;
	assert_int_equal(finish(*state, other, sizeof(*other), addresses).n, 1);
	other->head.n = UINT32_MAX;
	assert_int_equal(finish(*state, other, sizeof(*other), addresses).n, 1);
	free(other);
}

/* Whatever is in there: an end, and no more frames than there is room for. */
static void test_mutations(void **state)
{
	const size_t begin = sizeof(dump.head);
	unsigned char *bytes = malloc(sizeof(dump));
	uint64_t addresses[EBT_MAX_FRAMES];
	uint64_t random = 88172645463325252;

	for (int round = 0; round < 20000; round++) {
		struct ebt_stack stack;

		memcpy(bytes, &dump, sizeof(dump));
		for (int i = 0; i < 40; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* Half of them in the registers. */
			bytes[begin + random % (i % 2 ? sizeof(dump.registers)
						      : sizeof(dump) - begin)] ^= random >> 32;
		}
		bytes[0] = (unsigned char)random;
		stack = finish(*state, bytes, sizeof(dump) - random % 64, addresses);
		assert_true(stack.n >= 1 && stack.n <= EBT_MAX_FRAMES);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_stack),
		cmocka_unit_test(test_short_dump),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

#else

int main(void)
{
	return 77;
}

#endif
