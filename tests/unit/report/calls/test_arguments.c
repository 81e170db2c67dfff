/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments and results of system calls as text, by the machine that was recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/calls/arguments.h"

static uint64_t number(const struct syscall_machine *machine, bool compat, const char *name)
{
	for (uint64_t nr = 0; nr < 512; nr++) {
		const struct syscall_desc *desc = syscall_desc(machine, compat, nr);

		if (desc && !strcmp(desc->name, name))
			return nr;
	}
	fail_msg("there is no %s", name);
	return 0;
}

#define ARGS(...) ((const uint64_t[SYSCALL_MAX_ARGS]){ __VA_ARGS__ })

/* The struct that an argument pointed to, and which one it is. */
static struct call recorded;

static void record_struct(unsigned int arg, const void *data, size_t len, bool cut)
{
	recorded = (struct call){ 0 };
	recorded.texts[arg] = (struct call_text){ .there = true,
						  .kind = EBT_V_syscall_arg_kind_data,
						  .cut = cut,
						  .bytes = { data, (uint32_t)len } };
}

static void expect_of(const char *machine, bool compat, const char *name, const uint64_t *args,
		      int64_t result, const char *text)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	struct call_shown call;
	struct call_view view = {
		.machine = syscall_machine(machine),
		.compat = compat,
		.result = result,
		.args = args,
		.call = &recorded,
	};

	view.nr = number(view.machine, compat, name);
	call_show(&view, &call);
	for (unsigned int i = 0; i < call_n_args(&call); i++) {
		size_t before = line.len;

		text_cstr(&line, before ? ", " : "");
		if (!call_add_arg(&call, i, &line))
			line.len = before;
	}
	text_cstr(&line, " = ");
	call_add_result(&call, &line);
	assert_null(text_error(&line));
	assert_string_equal(text_get(&line), text);
}

#define X86(name, args, result, text)	expect_of("x86_64", false, name, args, result, text)
#define I386(name, args, result, text)	expect_of("x86_64", true, name, args, result, text)
#define ARM64(name, args, result, text) expect_of("aarch64", false, name, args, result, text)

/* O_DIRECTORY and its like are other bits on arm64, which are those of O_DIRECT on x86. */
static void test_open(void **state)
{
	(void)state;
	X86("openat", ARGS(-100, 0, 0x90800), 3,
	    "AT_FDCWD, NULL, O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY = 3");
	X86("openat", ARGS(0xffffff9c, 0, 0x4000), 3, "AT_FDCWD, NULL, O_RDONLY|O_DIRECT = 3");
	ARM64("openat", ARGS(-100, 0, 0x4000), 3, "AT_FDCWD, NULL, O_RDONLY|O_DIRECTORY = 3");
	ARM64("openat", ARGS(-100, 0, 0x10000), 3, "AT_FDCWD, NULL, O_RDONLY|O_DIRECT = 3");
	I386("openat", ARGS(0xffffff9c, 0, 0x8000), 3, "AT_FDCWD, NULL, O_RDONLY|O_LARGEFILE = 3");
	ARM64("openat", ARGS(-100, 0, 0x8000), 3, "AT_FDCWD, NULL, O_RDONLY|O_NOFOLLOW = 3");
	expect_of("riscv64", false, "openat", ARGS(-100, 0, 0x10000), 3,
		  "AT_FDCWD, NULL, O_RDONLY|O_DIRECTORY = 3");
}

/* A mode is there where a file may be made. */
static void test_mode(void **state)
{
	(void)state;
	X86("open", ARGS(0, 0, 0644), 3, "NULL, O_RDONLY = 3");
	X86("open", ARGS(0, 0x241, 0644), 3, "NULL, O_WRONLY|O_CREAT|O_TRUNC, 0644 = 3");
	X86("open", ARGS(0, 0x410002, 0600), 3, "NULL, O_RDWR|O_TMPFILE, 0600 = 3");
	ARM64("openat", ARGS(5, 0, 0x404002, 0600), 3, "5, NULL, O_RDWR|O_TMPFILE, 0600 = 3");
	X86("creat", ARGS(0, 0), 3, "NULL, 000 = 3");
	X86("mkdir", ARGS(0, 01777), 0, "NULL, 01777 = 0");
	X86("umask", ARGS(022), 077, "022 = 077");
	X86("mknod", ARGS(0, 020666, 0x103), 0, "NULL, S_IFCHR|0666, makedev(0x1, 0x3) = 0");
	X86("mknod", ARGS(0, 010600, 0x103), 0, "NULL, S_IFIFO|0600 = 0");
}

static void test_numbers(void **state)
{
	(void)state;
	X86("close", ARGS(0xffffffff), -9, "-1 = -1 EBADF (Bad file descriptor)");
	X86("lseek", ARGS(3, -5, 2), 3, "3, -5, SEEK_END = 3");
	I386("lseek", ARGS(3, 0xfffffffb, 2), 3, "3, -5, SEEK_END = 3");
	X86("lseek", ARGS(3, 0, 9), -22, "3, 0, 0x9 /* SEEK_??? */ = -1 EINVAL (Invalid argument)");
	X86("chown", ARGS(0, 0xffffffff, 4000000000), 0, "NULL, -1, 4000000000 = 0");
	X86("brk", ARGS(0), 0x555500000000, "NULL = 0x555500000000");
	I386("pread64", ARGS(3, 0, 5, 1, 2), -11,
	     "3, NULL, 5, 8589934593 = -1 EAGAIN (Resource temporarily unavailable)");
	X86("pread64", ARGS(3, 0, 5, -1), -22, "3, NULL, 5, -1 = -1 EINVAL (Invalid argument)");
	I386("_llseek", ARGS(3, 1, 2, 0, 1), 0, "3, 4294967298, NULL, SEEK_CUR = 0");
}

/* Contents are never recorded: so much was given, or came. */
static void test_buffers(void **state)
{
	(void)state;
	X86("read", ARGS(3, 0x1000, 832), 17, "3, 17 bytes, 832 = 17");
	X86("read", ARGS(3, 0x1000, 832), -11,
	    "3, 0x1000, 832 = -1 EAGAIN (Resource temporarily unavailable)");
	X86("write", ARGS(1, 0x1000, 1), -32, "1, 1 byte, 1 = -1 EPIPE (Broken pipe)");
	X86("execve", ARGS(0, 0, 0), 0, " = 0");
	X86("execve", ARGS(0x10, 0x20, 0x30), -2,
	    "0x10, 0x20, 0x30 = -1 ENOENT (No such file or directory)");
}

static void test_memory(void **state)
{
	(void)state;
	X86("mmap", ARGS(0, 4096, 3, 0x22, -1, 0), 0x7f0000000000,
	    "NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0 = 0x7f0000000000");
	X86("mmap", ARGS(0, 1, 0, 0x58040061, -1, 4096), -12,
	    "NULL, 1, PROT_NONE, "
	    "MAP_SHARED|MAP_ANONYMOUS|MAP_32BIT|MAP_HUGETLB|22<<MAP_HUGE_SHIFT, "
	    "-1, 0x1000 = -1 ENOMEM (Cannot allocate memory)");
	ARM64("mmap", ARGS(0, 1, 0x10, 0x42, -1, 0), 4096,
	      "NULL, 1, PROT_BTI, MAP_PRIVATE|0x40, -1, 0 = 0x1000");
	I386("mmap2", ARGS(0, 1, 4, 0x12, 3, 2), 0x10000,
	     "NULL, 1, PROT_EXEC, MAP_PRIVATE|MAP_FIXED, 3, 0x2000 = 0x10000");
	X86("mremap", ARGS(0x1000, 1, 2, 1, 5), 4096, "0x1000, 1, 2, MREMAP_MAYMOVE = 0x1000");
	X86("mremap", ARGS(0x1000, 1, 2, 3, 0x5000), 4096,
	    "0x1000, 1, 2, MREMAP_MAYMOVE|MREMAP_FIXED, 0x5000 = 0x1000");
	X86("madvise", ARGS(0x1000, 1, 4), 0, "0x1000, 1, MADV_DONTNEED = 0");
}

/* x86_64 has the thread's registers behind the child's id, others before. */
static void test_clone(void **state)
{
	const uint64_t *args = ARGS(0x1280011, 0, 0x10, 0x20, 0x30);

	(void)state;
	X86("clone", args, 7,
	    "child_stack=NULL, flags=CLONE_SETTLS|CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, "
	    "tls=0x30, child_tidptr=0x20 = 7");
	ARM64("clone", args, 7,
	      "child_stack=NULL, "
	      "flags=CLONE_SETTLS|CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, "
	      "tls=0x20, child_tidptr=0x30 = 7");
	I386("clone", args, 7,
	     "child_stack=NULL, "
	     "flags=CLONE_SETTLS|CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, "
	     "tls=0x20, child_tidptr=0x30 = 7");
	X86("clone", ARGS(17), 7, "child_stack=NULL, flags=SIGCHLD = 7");
}

static void test_operations(void **state)
{
	(void)state;
	X86("futex", ARGS(0x10, 128, 1, 0), -110,
	    "0x10, FUTEX_WAIT_PRIVATE, 1, NULL = -1 ETIMEDOUT (Connection timed out)");
	X86("futex", ARGS(0x10, 129, 1, 5, 6, 7), 1, "0x10, FUTEX_WAKE_PRIVATE, 1 = 1");
	X86("futex", ARGS(0x10, 0x189, 0, 0, 0, 0xffffffff), 0,
	    "0x10, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 0, NULL, "
	    "FUTEX_BITSET_MATCH_ANY = 0");
	X86("fcntl", ARGS(3, 3, 99), 0x8002, "3, F_GETFL = 0x8002 (flags O_RDWR|O_LARGEFILE)");
	ARM64("fcntl", ARGS(3, 3, 99), 0x20002, "3, F_GETFL = 0x20002 (flags O_RDWR|O_LARGEFILE)");
	X86("fcntl", ARGS(3, 2, 1), 0, "3, F_SETFD, FD_CLOEXEC = 0");
	X86("fcntl", ARGS(3, 1), 1, "3, F_GETFD = 0x1 (flags FD_CLOEXEC)");
	I386("fcntl64", ARGS(3, 12, 0), 0, "3, F_GETLK64, 0 = 0");
	X86("prctl", ARGS(38, 1, 0, 0, 0), 0, "PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0 = 0");
	X86("ioctl", ARGS(0, 0x5401, 0x10), 0, "0, TCGETS, 0x10 = 0");
	X86("ioctl", ARGS(0, 0x12345678, 7), 0, "0, _IOC(_IOC_NONE, 0x56, 0x78, 0x1234), 0x7 = 0");
	I386("ioctl", ARGS(0, 0x40046602, 7), 0, "0, FS_IOC_SETFLAGS, 0x7 = 0");
	X86("ioctl", ARGS(0, 0x40086602, 7), 0, "0, FS_IOC_SETFLAGS, 0x7 = 0");
	X86("poll", ARGS(0x10, 1, -1), 0, "0x10, 1, -1 = 0 (Timeout)");
}

static void test_sockets(void **state)
{
	(void)state;
	X86("socket", ARGS(1, 0x80801, 0), 3,
	    "AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK, 0 = 3");
	X86("socket", ARGS(2, 2, 17), 3, "AF_INET, SOCK_DGRAM, IPPROTO_UDP = 3");
	X86("socket", ARGS(16, 3, 0), 3, "AF_NETLINK, SOCK_RAW, NETLINK_ROUTE = 3");
	X86("socket", ARGS(999, 1, 5), -97,
	    "0x3e7 /* AF_??? */, SOCK_STREAM, 5 = -1 EAFNOSUPPORT (Address family not supported by "
	    "protocol)");
	X86("setsockopt", ARGS(3, 1, 2, 0, 4), 0, "3, SOL_SOCKET, SO_REUSEADDR, NULL, 4 = 0");
	X86("setsockopt", ARGS(3, 6, 1, 0, 4), 0, "3, SOL_TCP, TCP_NODELAY, NULL, 4 = 0");
	X86("sendto", ARGS(3, 0x10, 2, 0x4000, 0, 0), 2,
	    "3, 2 bytes, 2, MSG_NOSIGNAL, NULL, 0 = 2");
	I386("socketcall", ARGS(1, 0x10), 3, "SYS_SOCKET, 0x10 = 3");
}

static void test_signals(void **state)
{
	(void)state;
	X86("kill", ARGS(0xffffffff, 15), 0, "-1, SIGTERM = 0");
	X86("kill", ARGS(5, 0), 0, "5, 0 = 0");
	X86("kill", ARGS(5, 34), 0, "5, SIGRT_2 = 0");
	X86("wait4", ARGS(-1, 0, 3, 0), -512,
	    "-1, NULL, WNOHANG|WSTOPPED, NULL = ? ERESTARTSYS (To be restarted if SA_RESTART is "
	    "set)");
	X86("rt_sigprocmask", ARGS(0, 0, 0, 8), 0, "SIG_BLOCK, NULL, NULL, 8 = 0");
}

/* A machine or a call that is not known here: numbers. */
static void test_unknown(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const struct call_view view = { .nr = 5, .result = 7, .args = ARGS(1u << 20, -100, 3) };
	struct call_shown call;

	(void)state;
	call_show(&view, &call);
	assert_int_equal(call_n_args(&call), 6);
	for (unsigned int i = 0; i < 3; i++)
		assert_true(call_add_arg(&call, i, &text));
	call_add_result(&call, &text);
	assert_string_equal(text_get(&text), "0x100000-10037");
}

/* Any number in any argument of any call: sanitizers look. */
static void test_all(void **state)
{
	static const char *const machines[] = { "x86_64", "i686", "aarch64", "riscv64" };
	static const uint64_t values[] = { 0, 1, 2, 5, 0x7f, 0xffff, UINT32_MAX, UINT64_MAX };
	_cleanup_text_ struct text text = TEXT_INIT;

	(void)state;
	for (unsigned int m = 0; m < 8; m++) {
		for (uint64_t nr = 0; nr < 480 * 64; nr++) {
			uint64_t a = values[nr % 8], b = values[nr / 8 % 8];
			const struct call_view view = {
				.machine = syscall_machine(machines[m % 4]),
				.compat = m / 4,
				.nr = nr / 64,
				.result = (int64_t)b,
				.args = ARGS(a, b, a, b, a, b),
			};
			struct call_shown call;

			text_clear(&text);
			call_show(&view, &call);
			for (unsigned int i = 0; i < call_n_args(&call); i++)
				call_add_arg(&call, i, &text);
			call_add_result(&call, &text);
			assert_null(text_error(&text));
		}
	}
}

/* Structs of another machine than this one; and bytes that are too few. */
static void test_structs(void **state)
{
	static const uint32_t time32[] = { (uint32_t)-1, 5 };
	static const uint64_t time64[] = { 7, 999999999 };
	static const struct {
		uint32_t mode, nlink, uid, gid;
		uint64_t rdev, pad, size;
	} stat_arm64 = { 0100644, 1, 0, 0, 0, 0, 12345 };
	static const struct {
		uint32_t mode, nlink, uid, gid;
		uint32_t rdev[2], pad, size[2];
	} stat_i386 = { 020666, 1, 0, 0, { 0x103, 0 }, 0, { 0, 0 } };
	static const uint32_t epoll_arm64[] = { 1, 0, 9, 0 };
	static const uint16_t polls[] = { 3, 0, 1, 0, 0xffff, 0xffff, 1, 0 };

	(void)state;
	record_struct(0, time32, sizeof(time32), false);
	I386("nanosleep", ARGS(0, 0), 0, "{tv_sec=-1, tv_nsec=5}, NULL = 0");
	record_struct(0, time64, sizeof(time64), false);
	X86("nanosleep", ARGS(0, 0), 0, "{tv_sec=7, tv_nsec=999999999}, NULL = 0");
	record_struct(0, time64, 15, false);
	X86("nanosleep", ARGS(0, 0), 0, "..., NULL = 0");
	record_struct(1, &stat_arm64, 40, false);
	ARM64("fstat", ARGS(3, 0), 0, "3, {st_mode=S_IFREG|0644, st_size=12345, ...} = 0");
	record_struct(1, &stat_i386, sizeof(stat_i386), false);
	I386("fstat64", ARGS(3, 0), 0,
	     "3, {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...} = 0");
	record_struct(1, epoll_arm64, sizeof(epoll_arm64), false);
	ARM64("epoll_pwait", ARGS(3, 0, 1, -1ull, 0, 8), 1,
	      "3, [{events=EPOLLIN, data={u32=9, u64=9}}], 1, -1, NULL, 8 = 1");
	record_struct(0, polls, sizeof(polls), true);
	X86("poll", ARGS(0, 20, 0), 0,
	    "[{fd=3, events=POLLIN}, {fd=-1}, ...], 20, 0 = 0 (Timeout)");
	recorded = (struct call){ 0 };
	X86("poll", ARGS(0x10, 20, 0), 0, "0x10, 20, 0 = 0 (Timeout)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_structs), cmocka_unit_test(test_open),
		cmocka_unit_test(test_mode),	cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_buffers), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_clone),	cmocka_unit_test(test_operations),
		cmocka_unit_test(test_sockets), cmocka_unit_test(test_signals),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
