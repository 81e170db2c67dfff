/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread whose stack nobody can read any more: it sleeps, its pages are gone, and they have to
 * come from a userfaultfd that nobody serves. Says "ready", or why there is none.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK (1u << 20)

static int says[2];

static void *sleeper(void *arg)
{
	if (write(says[1], "", 1) == 1)
		syscall(SYS_pause);
	return arg;
}

static int withhold(void *stack)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register registered = {
		.range = { (unsigned long)stack, STACK },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &registered))
		return -1;
	return madvise(stack, STACK, MADV_DONTNEED);
}

int main(void)
{
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;
	char byte;

	if (stack == MAP_FAILED || pipe(says))
		return 1;
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, STACK);
	if (pthread_create(&thread, &attributes, sleeper, NULL) || read(says[0], &byte, 1) != 1)
		return 1;
	usleep(200000);
	puts(withhold(stack) ? strerror(errno) : "ready");
	fflush(stdout);
	pause();
	return 0;
}
