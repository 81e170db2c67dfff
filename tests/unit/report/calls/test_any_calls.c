/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces whose calls, arguments, descriptors and sockets are anything that rows can say, through
 * every report that decodes them: it may be nonsense, but it is text. The seed is fixed;
 * EBT_CALLS_SEED gives another, EBT_CALLS_TRACES more of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/utf8.h"
#include "tests/tools/next_random.h"
#include "tests/tools/report_run.h"

#define ROWS   2000 /* of a trace */
#define TRACES 12   /* 24,000 calls with what belongs to them */
#define MOST   300  /* bytes of a text */

static const struct ebt_task_id tasks[] = {
	{ 10, 10, 100, "leader" }, { 11, 10, 110, "worker" }, { 20, 20, 200, "<b>\033[m" },
	{ 30, 30, 300, "child" },  { 0, 0, 0, "" },
};
static const char *const machines[] = { "x86_64", "aarch64", "riscv64", "i686", "vax" };

static uint64_t number(void)
{
	static const uint64_t often[] = {
		0,	    1,
		2,	    3,
		4,	    8,
		16,	    64,
		0x80,	    0x200,
		0xfff,	    0x1000,
		0x7fffffff, 0x80000000,
		0xffffffff, 0xffffff9c,
		UINT64_MAX, UINT64_MAX - 99,
		INT64_MAX,  (uint64_t)INT64_MIN,
	};
	const uint64_t any = next_random(UINT64_MAX);

	switch (any % 4) {
	case 0:
		return any >> (any / 4 % 64);
	case 1:
		return next_random(8);
	default:
		return often[any / 4 % (sizeof(often) / sizeof(often[0]))];
	}
}

static uint32_t someone(void)
{
	static const uint32_t tids[] = { 10, 11, 20, 30, 0, 99 };

	return tids[next_random(sizeof(tids) / sizeof(tids[0]))];
}

/* Bytes of any kind; most are text, or an address. */
static void put_bytes(struct made_trace *t, size_t ref, size_t len)
{
	static const char *const texts[] = { "/etc/hostname", "",  "../\xff\xfe",
					     "a\033[31m\n",   "/", "\xe2\x80\xae" };
	unsigned char bytes[MOST];

	if (next_random(3) == 0) {
		ebt_record_str(&t->record, ref, texts[next_random(6)]);
		return;
	}
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)next_random(256);
	/* Families of addresses. */
	if (len > 1 && next_random(2)) {
		bytes[0] = (unsigned char)next_random(45);
		bytes[1] = 0;
	}
	ebt_record_bytes(&t->record, ref, bytes, len);
}

static void add_call(struct made_trace *t, uint64_t time, uint32_t tid, uint32_t nr)
{
	struct ebt_wire_syscall *row = ebt_record_begin(&t->record, EBT_T_syscall, time);

	row->task = tid;
	row->nr = nr;
	row->abi = (uint32_t)next_random(2);
	row->duration = next_random(4) ? next_random(2000) : number();
	row->ret = next_random(2) ? (int64_t)number() : -(int64_t)next_random(140);
	row->arg0 = number();
	row->arg1 = number();
	row->arg2 = number();
	row->arg3 = number();
	row->arg4 = number();
	row->arg5 = number();
	made_trace_add(t);
}

static void add_argument(struct made_trace *t, uint64_t time, uint32_t tid, uint32_t nr)
{
	struct ebt_wire_syscall_arg *row = ebt_record_begin(&t->record, EBT_T_syscall_arg, time);

	row->task = tid;
	row->nr = nr;
	row->arg = (uint32_t)next_random(8);
	row->kind = (uint32_t)next_random(6);
	row->attrs = (uint32_t)next_random(4);
	put_bytes(t, offsetof(struct ebt_wire_syscall_arg, text), next_random(MOST));
	put_bytes(t, offsetof(struct ebt_wire_syscall_arg, data), next_random(130));
	made_trace_add(t);
}

static void add_fd(struct made_trace *t, uint64_t time)
{
	struct ebt_wire_fd *row = ebt_record_begin(&t->record, EBT_T_fd, time);

	row->task = someone();
	row->fd = next_random(8)   ? (int64_t)next_random(5)
		  : next_random(2) ? -100
				   : (int64_t)number();
	row->why = (uint32_t)next_random(4);
	row->type = (uint32_t)next_random(17);
	row->flags = (uint32_t)number();
	row->attrs = (uint32_t)next_random(4);
	row->inode = next_random(6);
	row->name_hash = (uint32_t)next_random(2);
	made_trace_add(t);
}

static void add_path(struct made_trace *t, uint64_t time)
{
	struct ebt_wire_inode_path *row = ebt_record_begin(&t->record, EBT_T_inode_path, time);

	row->inode = next_random(6);
	row->links = (uint32_t)next_random(2);
	row->name_hash = (uint32_t)next_random(2);
	put_bytes(t, offsetof(struct ebt_wire_inode_path, path), next_random(MOST));
	made_trace_add(t);
}

static void add_socket(struct made_trace *t, uint64_t time)
{
	static const uint32_t families[] = { 1, 2, 10, 16, 17, 0 };
	struct ebt_wire_socket *row = ebt_record_begin(&t->record, EBT_T_socket, time);

	row->task = someone();
	row->inode = next_random(6);
	row->peer = next_random(6);
	row->family = families[next_random(6)];
	row->type = (uint32_t)next_random(11);
	row->protocol = (uint32_t)next_random(20);
	row->sport = (uint32_t)number();
	row->dport = (uint32_t)number();
	put_bytes(t, offsetof(struct ebt_wire_socket, saddr), next_random(4) * 8 % 20);
	put_bytes(t, offsetof(struct ebt_wire_socket, daddr), next_random(4) * 8 % 20);
	put_bytes(t, offsetof(struct ebt_wire_socket, path), next_random(110));
	put_bytes(t, offsetof(struct ebt_wire_socket, peer_path), next_random(110));
	made_trace_add(t);
}

static void add_life(struct made_trace *t, uint64_t time)
{
	struct ebt_wire_task_fork *fork;
	struct ebt_wire_task_exec *exec;

	if (next_random(2)) {
		fork = ebt_record_begin(&t->record, EBT_T_task_fork, time);
		fork->parent = someone();
		fork->child_pid = someone();
		fork->thread = (uint32_t)next_random(2);
	} else {
		exec = ebt_record_begin(&t->record, EBT_T_task_exec, time);
		exec->task = exec->pid = someone();
		put_bytes(t, offsetof(struct ebt_wire_task_exec, filename), next_random(MOST));
		put_bytes(t, offsetof(struct ebt_wire_task_exec, cmdline), next_random(MOST));
	}
	made_trace_add(t);
}

static void make_any(struct made_trace *t)
{
	uint64_t time = 2000000;

	made_trace_begin(t, tasks);
	made_trace_meta(t, "host.machine", machines[next_random(5)]);
	for (unsigned int i = 0; i < ROWS; i++) {
		const uint32_t tid = someone(), nr = (uint32_t)next_random(480);

		time += next_random(3) * 500;
		made_trace_switch(t, time, someone(), someone(), (uint32_t)next_random(3));
		for (uint64_t n = next_random(4); n; n--)
			add_fd(t, time);
		if (next_random(3) == 0)
			add_path(t, time);
		if (next_random(3) == 0)
			add_socket(t, time);
		if (next_random(50) == 0)
			add_life(t, time);
		for (uint64_t n = next_random(4); n; n--)
			add_argument(t, time, tid, nr);
		add_call(t, time, tid, nr);
	}
	made_trace_finish(t);
}

/* Lines of UTF-8, which no terminal obeys; how many. */
static unsigned int expect_text(const char *text)
{
	const size_t len = strlen(text);
	unsigned int lines = 0;
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		uint32_t c;

		n = ebt_utf8(text + i, len - i, &c);
		if (!n || (c != '\n' && ebt_utf8_is_control(c)) || ebt_utf8_is_layout(c))
			fail_msg("byte %zu of the output, %#x, is no text: %.100s", i,
				 (unsigned char)text[i], text + (i > 50 ? i - 50 : 0));
		lines += c == '\n';
	}
	return lines;
}

static void test_reports(void **state)
{
	static const char *const commands[][4] = {
		{ "syscalls", "--trace" },
		{ "syscalls", "--trace", "--json" },
		{ "syscalls", "--strace" },
		{ "io" },
		{ "io", "--by", "process,directory", "--json" },
		{ "io", "--missing" },
		{ "io", "--leaks" },
		{ "io", "--shared" },
		{ "io", "--peers" },
		{ "io", "--open", "0.1ms" },
		{ "procs", "--exec" },
		{ "offcpu", "--by", "file" },
		{ "folded", "--event", "offcpu", "--files" },
	};
	const char *seed = getenv("EBT_CALLS_SEED"), *more = getenv("EBT_CALLS_TRACES");
	const unsigned long n = more ? strtoul(more, NULL, 10) : TRACES;
	struct made_trace t;

	(void)state;
	if (seed)
		random_state = strtoull(seed, NULL, 10) | 1;
	for (unsigned long i = 0; i < n; i++) {
		make_any(&t);
		for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++) {
			const char *args[5] = { NULL };
			char *text;

			memcpy(args, commands[k], sizeof(commands[k]));
			text = report_ok(t.path, args);
			assert_true(expect_text(text) >= (k < 3 ? ROWS : 1));
			free(text);
		}
		made_trace_remove(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_reports) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
