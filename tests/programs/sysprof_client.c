/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says things through libsysprof-capture, as programs of GNOME do:
 *	sysprof_client control [THREADS [TIMES]]
 *	sysprof_client trace [CHILDREN]
 * What it says is the same each time, but for the times; each thread or process says its tid.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sysprof-capture.h>

#define MS INT64_C(1000000)

/* As GLib has them. */
static const int levels[] = { 4, 8, 16, 32, 64, 128 };

static int times = 3;

static SysprofCaptureCounter counter_of(unsigned int id, unsigned int type, const char *what,
					long number)
{
	SysprofCaptureCounter counter = { .id = id, .type = type };

	snprintf(counter.category, sizeof(counter.category), "Client");
	snprintf(counter.name, sizeof(counter.name), "%s %ld", what, number);
	snprintf(counter.description, sizeof(counter.description), "The %s of %ld", what, number);
	return counter;
}

static void *speak(void *arg)
{
	const long number = (long)arg;
	const unsigned int base = sysprof_collector_request_counters(2), ids[] = { base, base + 1 };
	const SysprofCaptureCounter counters[] = {
		counter_of(base, SYSPROF_CAPTURE_COUNTER_INT64, "whole", number),
		counter_of(base + 1, SYSPROF_CAPTURE_COUNTER_DOUBLE, "part", number),
	};
	const int64_t begin = SYSPROF_CAPTURE_CURRENT_TIME;
	char text[64];

	sysprof_collector_define_counters(counters, 2);
	snprintf(text, sizeof(text), "tid %d at %lld", (int)syscall(SYS_gettid), (long long)begin);
	sysprof_collector_mark(begin, 0, "Thread", "begins", text);
	for (int i = 0; i < times; i++) {
		SysprofCaptureCounterValue values[] = { { .v64 = number * 1000 - i },
							{ .vdbl = (double)i / 4 } };

		snprintf(text, sizeof(text), "turn %d of %ld", i, number);
		sysprof_collector_mark(SYSPROF_CAPTURE_CURRENT_TIME - (i % 50 + 1) * MS / 10,
				       i % 50 * MS / 10, "Client", "turn", text);
		sysprof_collector_set_counters(ids, values, 2);
		sysprof_collector_log(levels[i % 6], "client", text);
	}
	return NULL;
}

static int by_control(long threads)
{
	pthread_t ids[256];

	if (threads > 256)
		return 2;
	for (long i = 0; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, speak, (void *)i))
			return 1;
	}
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

static bool write_all(SysprofCaptureWriter *writer, long number)
{
	const unsigned int id = sysprof_capture_writer_request_counter(writer, 1);
	const SysprofCaptureCounter counter =
		counter_of(id, SYSPROF_CAPTURE_COUNTER_INT64, "written", number);
	const SysprofCaptureCounterValue value = { .v64 = -5 - number };
	const int64_t now = SYSPROF_CAPTURE_CURRENT_TIME;
	const int pid = getpid();

	return sysprof_capture_writer_define_counters(writer, now, -1, pid, &counter, 1) &&
	       sysprof_capture_writer_set_counters(writer, now, -1, pid, &id, &value, 1) &&
	       sysprof_capture_writer_add_mark(writer, now - 2 * MS, -1, pid, MS, "Writer", "mark",
					       number ? "a child" : "the first") &&
	       sysprof_capture_writer_add_timestamp(writer, now, -1, pid) &&
	       sysprof_capture_writer_add_log(writer, now, -1, pid, 16, "writer", "a warning");
}

static int by_trace(long number)
{
	SysprofCaptureWriter *writer = sysprof_capture_writer_new_from_env(0);
	bool done;

	if (!writer)
		return 3;
	done = write_all(writer, number) && sysprof_capture_writer_flush(writer);
	sysprof_capture_writer_unref(writer);
	return done ? 0 : 1;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 1;
	int status;

	if (argc > 3)
		times = atoi(argv[3]);
	sysprof_clock_init();
	if (argc > 1 && !strcmp(argv[1], "control"))
		return by_control(n);
	if (argc < 2 || strcmp(argv[1], "trace"))
		return 2;
	if (by_trace(0))
		return 1;
	for (long i = 1; i < n; i++) {
		pid_t child = fork();

		if (!child)
			_exit(by_trace(i));
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			return 1;
	}
	return 0;
}
