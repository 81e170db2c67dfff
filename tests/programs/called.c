/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * called TIMES: so many times along one way of functions, and twice as often along another, does
 * what fires tracepoints: its name is set, it is sent a signal that does nothing, and a system call
 * is made. By instructions of its own, not in the C library, so that frame pointers lead from there
 * to main().
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline __attribute__((always_inline)) long call(long number, long a, long b)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
	return x0;
#else
#error "the instruction for system calls of this machine is missing"
#endif
}

__attribute__((noinline)) static void act(long pid)
{
	call(SYS_prctl, PR_SET_NAME, (long)"called");
	call(SYS_kill, pid, SIGURG);
	call(SYS_getppid, 0, 0);
	/* Or it would need no frame of its own. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
}

__attribute__((noinline)) static void inner(long pid)
{
	act(pid);
	__asm__ volatile("");
}

__attribute__((noinline)) static void outer(long pid)
{
	inner(pid);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	const int times = argc > 1 ? atoi(argv[1]) : 1;
	const long pid = getpid();

	for (int i = 0; i < times; i++) {
		outer(pid);
		inner(pid);
		inner(pid);
	}
	return 0;
}
