/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of every kind, without frame pointers: stops itself deep in each, for a tracer that goes
 * on step by step. Each stop is within work(), which makes some steps worth looking at.
 */
#include <alloca.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((noinline))

static volatile unsigned int sink;

static HIDDEN void work(const char *what)
{
	char text[64];
	struct timespec ts;

	raise(SIGSTOP);
	clock_gettime(CLOCK_MONOTONIC, &ts); /* in the vdso */
	snprintf(text, sizeof(text), "%s %.3f", what, (double)ts.tv_nsec / 7);
	sink += (unsigned int)strlen(text);
}

static HIDDEN unsigned int recurse(unsigned int depth)
{
	unsigned int r;

	if (!depth) {
		work("recursion");
		return 1;
	}
	r = recurse(depth - 1);
	return r + sink % 3;
}

static int compare(const void *a, const void *b)
{
	static unsigned int calls;

	if (++calls == 20)
		work("qsort");
	return strcmp(a, b);
}

static HIDDEN void sort(void)
{
	char words[32][8];

	for (unsigned int i = 0; i < 32; i++)
		snprintf(words[i], sizeof(words[i]), "%u", i * 7919 % 1000);
	qsort(words, 32, sizeof(words[0]), compare);
	sink += (unsigned int)words[3][0];
}

static HIDDEN void match(void)
{
	regex_t re;

	raise(SIGSTOP);
	if (regcomp(&re, "^(a+|b*)+c[d-f]{2,3}$", REG_EXTENDED))
		abort();
	sink += (unsigned int)regexec(&re, "aaaaabbbbaaacdd", 0, NULL, 0);
	regfree(&re);
}

static void handler(int sig)
{
	(void)sig;
	work("handler");
}

static HIDDEN void take_signal(int flags)
{
	static char stack[1 << 16];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	sink++;
}

/* Aligned more than the ABI says, and of a size that is not known: GCC keeps the old stack pointer
 * in another register first (DRAP), then in memory. */
static HIDDEN void aligned(unsigned int n, unsigned int a1, unsigned int a2, unsigned int a3,
			   unsigned int a4, unsigned int a5, unsigned int on_stack)
{
	_Alignas(64) char text[64];
	char *more = alloca(n);

	memset(more, (int)(a1 + a2 + a3 + a4 + a5), n);
	snprintf(text, sizeof(text), "%u %p", on_stack, (void *)more);
	work(text);
	sink += (unsigned int)text[1] + (unsigned int)more[n / 2];
}

static HIDDEN void fork_and_wait(void)
{
	pid_t pid;

	raise(SIGSTOP);
	pid = vfork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	recurse(40);
	sort();
	match();
	take_signal(0);
	take_signal(SA_ONSTACK);
	aligned(sink % 7 + 100, 1, 2, 3, 4, 5, 6);
	fork_and_wait();
	return 0;
}
