/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions and USDT probes that test_probes.py probes. Each line that is printed is a call:
 * the function, the thread, CLOCK_MONOTONIC before and after it, and its result.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sys/sdt.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif
/* The compiler may not know what a function does, or leave a call out. */
#define OPAQUE() __asm__ volatile("" ::: "memory")

struct pair {
	int32_t first;
	const char *text;
};

long probed_mixed(int number, unsigned char byte, const char *text, const struct pair *pair,
		  _Bool flag, long wide, int seventh);
int probed_sleep(int ms);
long probed_factorial(int n);
void probed_leap(int n);
const char *probed_text(int which, char *out);
int probed_thread(int number);
void probed_never(int code);
double probed_float(double x, int n, float y);

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#define CALL(name, type, call)                                                                     \
	({                                                                                         \
		long long call_begin = now(), call_end;                                            \
		type call_result = call;                                                           \
                                                                                                   \
		call_end = now();                                                                  \
		printf("%s %ld %lld %lld %lld\n", name, syscall(SYS_gettid), call_begin, call_end, \
		       (long long)(intptr_t)call_result);                                          \
		call_result;                                                                       \
	})

NOINLINE long probed_mixed(int number, unsigned char byte, const char *text,
			   const struct pair *pair, _Bool flag, long wide, int seventh)
{
	OPAQUE();
	return number + byte + text[0] + pair->first + flag + wide + seventh;
}

NOINLINE int probed_sleep(int ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000L };

	nanosleep(&t, NULL);
	return -ms;
}

NOINLINE long probed_factorial(int n)
{
	long below;

	OPAQUE();
	if (n <= 1)
		return 1;
	below = probed_factorial(n - 1);
	OPAQUE();
	return n * below;
}

static jmp_buf far;

NOINLINE void probed_leap(int n)
{
	OPAQUE();
	if (!n)
		longjmp(far, 1);
	if (n > 0)
		probed_leap(n - 1);
	OPAQUE();
}

NOINLINE const char *probed_text(int which, char *out)
{
	OPAQUE();
	sprintf(out, "number %d", which);
	return which ? "something" : NULL;
}

NOINLINE int probed_thread(int number)
{
	OPAQUE();
	return number * 3;
}

NOINLINE double probed_float(double x, int n, float y)
{
	OPAQUE();
	return x + n + (double)y;
}

NOINLINE void probed_never(int code)
{
	OPAQUE();
	exit(code);
}

#if defined(__x86_64__)
/* Returns -1, and begins with an instruction that kernels do not execute where a probe is. */
__asm__(".globl probed_vector\n"
	".type probed_vector, @function\n"
	"probed_vector:\n"
	"	vpcmpeqb %xmm0, %xmm0, %xmm0\n"
	"	vmovd %xmm0, %eax\n"
	"	ret\n"
	".size probed_vector, . - probed_vector\n");
int probed_vector(double zero);

/* What a compiler makes of `return probed_thread(number);`. */
__asm__(".globl probed_jump\n"
	".type probed_jump, @function\n"
	"probed_jump:\n"
	"	jmp probed_thread@PLT\n"
	".size probed_jump, . - probed_jump\n");
#else
__asm__(".globl probed_jump\n"
	".type probed_jump, %function\n"
	"probed_jump:\n"
	"	b probed_thread\n"
	".size probed_jump, . - probed_jump\n");
#endif
int probed_jump(int number);

static void *run_thread(void *arg)
{
	for (int i = 0; i < 200; i++)
		probed_thread((int)(intptr_t)arg * 1000 + i);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[4];

	for (intptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, run_thread, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* Arguments of all sizes and both signs, in registers, memory and as constants. */
static void run_usdt(int n)
{
	static const char *const words[] = { "zero", "one", "two", "three" };
	volatile int16_t in_memory = -300;

	for (int i = 0; i < n; i++) {
		DTRACE_PROBE(probed, plain);
		DTRACE_PROBE4(probed, numbers, (int8_t)-i, (uint16_t)(65535 - i), in_memory,
			      1234567890123LL);
		DTRACE_PROBE3(probed, texts, words[i % 4], i, words[(i + 1) % 4]);
	}
}

static void run_plugin(const char *path)
{
	void *plugin;
	void (*work)(void);

	/* Long enough for the recorder to have seen this process without it. */
	usleep(300000);
	plugin = dlopen(path, RTLD_NOW);
	work = plugin ? (void (*)(void))dlsym(plugin, "work") : NULL;
	if (!work)
		abort();
	CALL("work", int, (work(), 0));
}

int main(int argc, char **argv)
{
	struct pair pair = { -5, "in a struct" };
	static char *long_text, out[32];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) {
		run_plugin(argv[1]);
		return 0;
	}
	for (int i = 0; i < 3; i++)
		CALL("probed_mixed", long,
		     probed_mixed(-i, (unsigned char)(200 + i), "a text", &pair, i & 1, -(1L << 40),
				  7));
	long_text = malloc(10001);
	memset(long_text, 'x', 10000);
	long_text[10000] = '\0';
	CALL("probed_mixed", long, probed_mixed(9, 9, long_text, &pair, 0, 0, 0));
	for (int i = 1; i <= 3; i++)
		CALL("probed_sleep", int, probed_sleep(10 * i));
	CALL("probed_factorial", long, probed_factorial(12));
	for (int i = 0; i < 3; i++) {
		if (!setjmp(far))
			probed_leap(3);
		CALL("probed_factorial", long, probed_factorial(2));
	}
	CALL("probed_text", const char *, probed_text(0, out));
	CALL("probed_text", const char *, probed_text(41, out));
	CALL("probed_jump", int, probed_jump(5));
	CALL("probed_float", long, (long)probed_float(1.5, 3, 2.5f));
	run_threads();
	run_usdt(100);
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx") && probed_vector(0) != -1)
		abort();
#endif
	probed_never(3);
	return 0;
}
