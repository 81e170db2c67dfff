/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of events; see events.h. */
#include "report/events/private.h"

const struct event_kind_words event_kinds[] = {
	[EVENT_SYSCALL] = { "syscall", "system calls", "result" },
	[EVENT_MARK] = { "mark", "marks", NULL },
	[EVENT_BLOCK] = { "block", "requests", "bytes" },
	[EVENT_NET] = { "net", "connections", "bytes" },
	[EVENT_DBUS] = { "dbus", "messages", "bytes" },
	[EVENT_LOG] = { "log", "lines", "severity" },
	[EVENT_IRQ] = { "irq", "interrupts", "self_ns" },
	[EVENT_FAULT] = { "fault", "page faults", "address" },
};

struct ebt_error *events_read(struct trace *trace, enum event_kind kind,
			      const struct event_sink *sink)
{
	static struct ebt_error *(*const read[])(struct trace *, const struct event_sink *) = {
		[EVENT_SYSCALL] = events_read_calls, [EVENT_MARK] = events_read_marks,
		[EVENT_BLOCK] = events_read_block,   [EVENT_NET] = events_read_net,
		[EVENT_DBUS] = events_read_dbus,     [EVENT_LOG] = events_read_logs,
		[EVENT_IRQ] = events_read_irqs,	     [EVENT_FAULT] = events_read_faults,
	};

	return read[kind](trace, sink);
}
