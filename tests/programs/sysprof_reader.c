/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Sysprof's reader and its resolver of names make of a capture, a line each, with tabs; texts
 * are escaped as by g_strescape(): sysprof_reader FILE.
 */
#include <stdio.h>

#include <glib.h>
#include <sysprof-capture.h>
#include <sysprof.h>

#define MOST_COUNTERS 65536

static SysprofCaptureCounter counters[MOST_COUNTERS];
static SysprofSymbolResolver *resolver;
static char beyond_ascii[129];

static void put_text(const char *text)
{
	g_autofree char *escaped = g_strescape(text, beyond_ascii);

	fputs(escaped, stdout);
}

static void put(const char *text, char end)
{
	put_text(text);
	putchar(end);
}

static void put_frame(const char *what, const SysprofCaptureFrame *frame)
{
	printf("%s\t%" G_GINT64_FORMAT "\t%d\t%d\t", what, frame->time, frame->cpu, frame->pid);
}

static void put_sample(const SysprofCaptureSample *sample)
{
	put_frame("sample", &sample->frame);
	printf("%d", sample->tid);
	for (unsigned int i = sample->n_addrs; i > 0; i--) {
		GQuark tag;
		g_autofree char *name = sysprof_symbol_resolver_resolve_with_context(
			resolver, (guint64)sample->frame.time, sample->frame.pid,
			SYSPROF_ADDRESS_CONTEXT_USER, sample->addrs[i - 1], &tag);

		putchar('\t');
		put_text(name ? name : "(no name)");
	}
	putchar('\n');
}

static void put_mark(const SysprofCaptureMark *mark)
{
	put_frame("mark", &mark->frame);
	printf("%" G_GINT64_FORMAT "\t", mark->duration);
	put(mark->group, '\t');
	put(mark->name, '\t');
	put(mark->message, '\n');
}

static void put_log(const SysprofCaptureLog *log)
{
	put_frame("log", &log->frame);
	printf("%u\t", log->severity);
	put(log->domain, '\t');
	put(log->message, '\n');
}

static void define(const SysprofCaptureCounterDefine *define)
{
	for (unsigned int i = 0; i < define->n_counters; i++) {
		if (define->counters[i].id < MOST_COUNTERS)
			counters[define->counters[i].id] = define->counters[i];
	}
}

static void put_values(const SysprofCaptureCounterSet *set)
{
	for (unsigned int i = 0; i < set->n_values; i++) {
		for (unsigned int j = 0; j < G_N_ELEMENTS(set->values[i].ids); j++) {
			const unsigned int id = set->values[i].ids[j];

			if (!id || id >= MOST_COUNTERS)
				continue;
			put_frame("value", &set->frame);
			put(counters[id].category, '\t');
			put(counters[id].name, '\t');
			put(counters[id].description, '\t');
			printf("%.17g\n", counters[id].type == SYSPROF_CAPTURE_COUNTER_DOUBLE
						  ? set->values[i].values[j].vdbl
						  : (double)set->values[i].values[j].v64);
		}
	}
}

static void put_process(const SysprofCaptureProcess *process)
{
	put_frame("process", &process->frame);
	put(process->cmdline, '\n');
}

/* False: it cannot be read. */
static bool put_next(SysprofCaptureReader *reader, SysprofCaptureFrameType type)
{
#define READ(what, take)                                                              \
	({                                                                            \
		const __auto_type frame = sysprof_capture_reader_read_##what(reader); \
                                                                                      \
		if (frame)                                                            \
			take(frame);                                                  \
		frame != NULL;                                                        \
	})

	switch (type) {
	case SYSPROF_CAPTURE_FRAME_SAMPLE:
		return READ(sample, put_sample);
	case SYSPROF_CAPTURE_FRAME_PROCESS:
		return READ(process, put_process);
	case SYSPROF_CAPTURE_FRAME_MARK:
		return READ(mark, put_mark);
	case SYSPROF_CAPTURE_FRAME_LOG:
		return READ(log, put_log);
	case SYSPROF_CAPTURE_FRAME_CTRDEF:
		return READ(counter_define, define);
	case SYSPROF_CAPTURE_FRAME_CTRSET:
		return READ(counter_set, put_values);
	case SYSPROF_CAPTURE_FRAME_EXIT: {
		const SysprofCaptureExit *gone = sysprof_capture_reader_read_exit(reader);

		if (gone) {
			put_frame("exit", &gone->frame);
			putchar('\n');
		}
		return gone != NULL;
	}
	default:
		return sysprof_capture_reader_skip(reader);
	}
}

int main(int argc, char **argv)
{
	SysprofCaptureReader *reader = sysprof_capture_reader_new(argc > 1 ? argv[1] : "");
	SysprofCaptureFrameType type;

	if (!reader)
		return 1;
	for (int i = 0; i < 128; i++)
		beyond_ascii[i] = (char)(128 + i);
	resolver = sysprof_jitmap_symbol_resolver_new();
	sysprof_symbol_resolver_load(resolver, reader);
	sysprof_capture_reader_reset(reader);
	printf("head\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT "\t%s\n",
	       sysprof_capture_reader_get_start_time(reader),
	       sysprof_capture_reader_get_end_time(reader),
	       sysprof_capture_reader_get_time(reader));
	while (sysprof_capture_reader_peek_type(reader, &type)) {
		if (!put_next(reader, type))
			return 1;
	}
	g_object_unref(resolver);
	sysprof_capture_reader_unref(reader);
	return 0;
}
