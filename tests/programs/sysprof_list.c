/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Sysprof's own reader finds in a capture file, a line each, with tabs: sysprof_list FILE. */
#include <stdio.h>

#include <sysprof-capture.h>

static const SysprofCaptureCounter *counters[4096];

static void list_values(const SysprofCaptureCounterSet *set)
{
	for (int i = 0; i < set->n_values; i++) {
		for (int j = 0; j < 8; j++) {
			unsigned int id = set->values[i].ids[j];
			SysprofCaptureCounterValue value = set->values[i].values[j];

			if (!id || id >= 4096 || !counters[id])
				continue;
			printf("counter\t%s\t%s\t%s\t", counters[id]->category, counters[id]->name,
			       counters[id]->description);
			if (counters[id]->type == SYSPROF_CAPTURE_COUNTER_DOUBLE)
				printf("%.17g\n", value.vdbl);
			else
				printf("%lld\n", (long long)value.v64);
		}
	}
}

static void define(const SysprofCaptureCounterDefine *frame)
{
	static SysprofCaptureCounter copies[4096];

	for (int i = 0; i < frame->n_counters; i++) {
		unsigned int id = frame->counters[i].id;

		if (id >= 4096)
			continue;
		copies[id] = frame->counters[i];
		counters[id] = &copies[id];
	}
}

static void list(SysprofCaptureReader *reader, SysprofCaptureFrameType type)
{
	const SysprofCaptureMark *mark;
	const SysprofCaptureLog *log;

	switch (type) {
	case SYSPROF_CAPTURE_FRAME_MARK:
		mark = sysprof_capture_reader_read_mark(reader);
		printf("mark\t%s\t%s\t%s\t%lld\n", mark->group, mark->name, mark->message,
		       (long long)mark->duration);
		break;
	case SYSPROF_CAPTURE_FRAME_LOG:
		log = sysprof_capture_reader_read_log(reader);
		printf("log\t%s\t%s\t%u\n", log->domain, log->message, log->severity);
		break;
	case SYSPROF_CAPTURE_FRAME_CTRDEF:
		define(sysprof_capture_reader_read_counter_define(reader));
		break;
	case SYSPROF_CAPTURE_FRAME_CTRSET:
		list_values(sysprof_capture_reader_read_counter_set(reader));
		break;
	default:
		sysprof_capture_reader_skip(reader);
		break;
	}
}

int main(int argc, char **argv)
{
	SysprofCaptureReader *reader = sysprof_capture_reader_new(argc > 1 ? argv[1] : "");
	SysprofCaptureFrameType type;

	if (!reader)
		return 1;
	while (sysprof_capture_reader_peek_type(reader, &type))
		list(reader, type);
	sysprof_capture_reader_unref(reader);
	return 0;
}
