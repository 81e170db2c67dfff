/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's own frames in kernel stacks; see recorder.h. */
#include "report/stacks/recorder.h"

#include <string.h>

/* How names of functions begin by which the kernel calls who traces, and does what it is asked to
 * record by itself: mappings, forks, ends of tasks. They are hardly more than a test of a flag
 * where nobody does. */
static const char *const hooks[] = {
	"__traceiter_",		  "__bpf_trace_",	  "__bpf_prog_enter",
	"__bpf_prog_exit",	  "bpf_trace_run",	  "perf_trace_run_bpf_submit",
	"__perf_sw_event",	  "___perf_sw_event",	  "perf_swevent_",
	"__perf_event_overflow",  "bpf_overflow_handler", "perf_iterate_sb",
	"perf_event_task_output", "perf_event_mmap",	  "perf_event_comm",
	"perf_event_ksymbol",	  "perf_pending_",	  "bpf_ringbuf_notify",
	"uprobe_notify_resume",
};

static bool begins(const char *name, const char *start)
{
	return strncmp(name, start, strlen(start)) == 0;
}

static bool is_hook(const char *name)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		if (begins(name, hooks[i]))
			return true;
	}
	return false;
}

/* What an interrupt does is its own work, whatever it interrupts. */
static bool is_interrupt(const char *name)
{
	return begins(name, "asm_sysvec_") || begins(name, "asm_common_interrupt");
}

/* bpf_prog_TAG_NAME. */
static bool is_program(const char *name, bool *ret_ours)
{
	if (!begins(name, "bpf_prog_"))
		return false;
	*ret_ours = strstr(name, "_ebrec_");
	return true;
}

struct ebt_error *recorder_find(struct sym *sym, const struct ebt_task *task, uint64_t time_ns,
				const struct ebt_stack *kernel, uint32_t *ret)
{
	bool known = false, ours; /* whose program it is */

	*ret = kernel->n;
	for (uint32_t i = kernel->n; i-- > 0;) {
		struct sym_frames frames;
		const char *name;
		struct ebt_error *err = sym_resolve(sym, task, time_ns, kernel->attrs,
						    kernel->addresses[i], i > 0, &frames);

		if (err)
			return err;
		name = frames.n ? frames.frames[frames.n - 1].func->name : "";
		if (is_interrupt(name)) {
			*ret = kernel->n;
			known = false;
		} else if (!known && is_program(name, &ours)) {
			if (!ours)
				*ret = kernel->n;
			else if (*ret == kernel->n)
				*ret = i;
			known = true;
		} else if (!known && *ret == kernel->n && is_hook(name)) {
			*ret = i;
		}
	}
	return NULL;
}
