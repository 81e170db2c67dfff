/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was slow or failed; see overview_events.h. */
#include "report/system/overview_events.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/map.h"
#include "report/base/names.h"
#include "report/calls/names.h"
#include "report/io/block_names.h"
#include "report/procs/model_procs.h"
#include "report/syscalls/model_syscalls.h"

/* Of one kind, so that the page is no list. */
#define MOST_PROCESSES 3
#define MOST_ERRORS    3
#define MOST_CALLS     3

/* Takes the text over. */
static struct ebt_error *add(struct overview_events *events, const char *kind, const char *more,
			     struct text *text, uint64_t count, uint64_t max_ns)
{
	struct ebt_error *err =
		text_error(text) ?: ebt_array_reserve(&events->list, events->n, &events->capacity);
	char *copy = err ? NULL : strdup(text_get(text));

	if (err)
		return err;
	if (!copy)
		return &ebt_enomem;
	events->list[events->n++] = (struct overview_event){ kind, more, copy, count, max_ns };
	return NULL;
}

static void add_at(struct text *text, const struct trace *trace, uint64_t time)
{
	text_printf(text, " at %.3f s", (double)(int64_t)(time - trace_start_ns(trace)) / 1e9);
}

/* --- processes that failed --- */

/* Those of one name that ended in one way. */
struct failed {
	const struct proc *last;
	struct ebt_str comm;
	uint64_t count;
};

static int compare_names(const void *a, const void *b)
{
	const struct failed *x = a, *y = b;
	size_t len = x->comm.len < y->comm.len ? x->comm.len : y->comm.len;

	return ebt_compare(x->last->status, y->last->status) ?:
	       memcmp(x->comm.data, y->comm.data, len)	     ?:
	       ebt_compare(x->comm.len, y->comm.len)	     ?:
	       ebt_compare(x->last->end_ns, y->last->end_ns);
}

/* What a signal ended first; a status above 1 says more than 1, which is also a plain "no". */
static int rank(uint32_t status)
{
	return status & 0x7f ? 0 : (status >> 8 & 0xff) > 1 ? 1 : 2;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct failed *x = a, *y = b;

	return ebt_compare(rank(x->last->status), rank(y->last->status)) ?:
	       ebt_compare(y->last->end_ns, x->last->end_ns)		 ?:
	       ebt_compare(x->last->task->id, y->last->task->id);
}

static size_t join_names(struct failed *failed, size_t n)
{
	size_t kept = 0;

	qsort(failed, n, sizeof(*failed), compare_names);
	for (size_t i = 0; i < n; i++) {
		struct failed *to = kept ? &failed[kept - 1] : NULL;

		if (to && to->last->status == failed[i].last->status &&
		    to->comm.len == failed[i].comm.len &&
		    !memcmp(to->comm.data, failed[i].comm.data, to->comm.len)) {
			to->last = failed[i].last;
			to->count++;
		} else {
			failed[kept++] = failed[i];
		}
	}
	qsort(failed, kept, sizeof(*failed), compare_ranks);
	return kept;
}

/* oom: source oom was on, and says so itself where the kernel killed for memory. */
static struct ebt_error *put_failed(const struct failed *failed, bool oom,
				    struct overview_events *events)
{
	const uint32_t status = failed->last->status, number = status & 0x7f;
	_cleanup_text_ struct text text = TEXT_INIT;
	const char *signal = sigabbrev_np((int)number);

	text_task(&text, text_comm(failed->comm), failed->last->task->pid);
	if (!number)
		text_printf(&text, " exited with status %" PRIu32, status >> 8 & 0xff);
	else if (signal)
		text_printf(&text, " was killed by SIG%s", signal);
	else
		text_printf(&text, " was killed by signal %" PRIu32, number);
	if (failed->count > 1)
		text_printf(&text, ", and %" PRIu64 " more of that name", failed->count - 1);
	if (number == SIGKILL && !oom)
		text_cstr(&text, "; ebrec -e default,oom says whether memory was short");
	return add(events, "process", "procs", &text, failed->count, 0);
}

static struct ebt_error *put_more_failed(const struct failed *failed, size_t n,
					 struct overview_events *events)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	uint64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += failed[i].count;
	if (!count)
		return NULL;
	text_printf(&text, "%" PRIu64 " more process%s failed", count,
		    text_plural(count, "", "es"));
	return add(events, "process", "procs", &text, count, 0);
}

static struct ebt_error *read_processes(struct trace *trace, struct overview_events *events)
{
	_cleanup_(procs_destroyp) struct procs *procs = NULL;
	_cleanup_free_ struct failed *failed = NULL;
	const struct names *names;
	const struct proc *all;
	struct ebt_error *err;
	size_t n, n_failed = 0;
	bool oom;

	err = trace_names(trace, &names) ?: trace_source_is_on(trace, "oom", &oom)
						?: procs_create(trace, TRACE_QUIET, &procs);
	if (err)
		return err;
	all = procs_all(procs, &n);
	failed = calloc(n + 1, sizeof(*failed));
	if (!failed)
		return &ebt_enomem;
	for (size_t i = 0; i < n; i++) {
		if (all[i].kernel || !procs_wanted(procs, trace, &all[i]))
			continue;
		events->processes++;
		if (all[i].ended && all[i].status)
			failed[n_failed++] =
				(struct failed){ &all[i], names_process(names, all[i].task), 1 };
	}
	n_failed = join_names(failed, n_failed);
	for (size_t i = 0; !err && i < n_failed && i < MOST_PROCESSES; i++)
		err = put_failed(&failed[i], oom, events);
	if (!err && n_failed > MOST_PROCESSES)
		err = put_more_failed(failed + MOST_PROCESSES, n_failed - MOST_PROCESSES, events);
	return err;
}

/* --- system calls --- */

/* How often a call ended in one way. */
struct call_end {
	uint32_t nr, errnum; /* errnum 0: all of its calls, for the longest */
	bool compat;
	uint64_t count, max_ns, max_at;
	const struct ebt_task *task; /* of the longest, or of the last that failed */
};

struct call_ends {
	const struct syscall_machine *machine;
	struct call_end *list;
	size_t n, capacity;
	struct ebt_map by_key;
};

static void calls_deinit(struct call_ends *calls)
{
	free(calls->list);
	ebt_map_deinit(&calls->by_key);
}

static struct ebt_error *count_call(struct call_ends *calls, const struct ebt_row *row,
				    uint32_t errnum)
{
	uint32_t nr = (uint32_t)ebt_syscall_nr(row), i;
	bool compat = ebt_syscall_abi(row) != EBT_V_syscall_abi_native;
	uint64_t ns = ebt_syscall_duration(row);
	struct call_end *call;
	struct ebt_error *err;

	err = ebt_map_element(&calls->by_key, (uint64_t)errnum << 33 | syscall_key(nr, compat),
			      &calls->list, &calls->n, &calls->capacity, &i);
	if (err)
		return err;
	call = &calls->list[i];
	call->nr = nr;
	call->compat = compat;
	call->errnum = errnum;
	if (!call->count++ || ns > call->max_ns) {
		call->max_ns = ns;
		call->max_at = row->time;
		call->task = ebt_syscall_task(row);
	}
	return NULL;
}

/* Errors by which programs ask, wait and are told to go on: every healthy one has them. */
static bool is_usual(uint32_t errnum)
{
	static const uint32_t usual[] = {
		ENOENT,	    EAGAIN,  EINTR, EINPROGRESS, EALREADY, ECHILD,    ENOTTY,
		ESPIPE,	    EEXIST,  ESRCH, EINVAL,	 ENOSYS,   ETIMEDOUT, ENODATA,
		EOPNOTSUPP, ENOTDIR, ENXIO, ERANGE,	 EBADF,
	};

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		if (usual[i] == errnum)
			return true;
	}
	return errnum >= 512; /* the kernel's own: the call is made again */
}

static struct ebt_error *take_call(void *arg, const struct ebt_row *row)
{
	int64_t ret = ebt_syscall_ret(row);
	struct ebt_error *err = count_call(arg, row, 0);

	if (err || !syscall_failed(ret) || is_usual((uint32_t)-ret))
		return err;
	return count_call(arg, row, (uint32_t)-ret);
}

/* Calls that are there to wait. */
static bool is_wait(const char *name)
{
	static const char *const waits[] = {
		"poll",		 "ppoll",	    "select",	       "pselect6",
		"epoll_wait",	 "epoll_pwait",	    "epoll_pwait2",    "futex",
		"futex_wait",	 "futex_waitv",	    "nanosleep",       "clock_nanosleep",
		"wait4",	 "waitid",	    "waitpid",	       "pause",
		"rt_sigsuspend", "rt_sigtimedwait", "io_getevents",    "io_pgetevents",
		"accept",	 "accept4",	    "restart_syscall", "io_uring_enter",
		"vfork",
	};

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		if (!strcmp(waits[i], name))
			return true;
	}
	return false;
}

static int compare_calls(const void *a, const void *b)
{
	const struct call_end *x = a, *y = b;
	int order = ebt_compare(!x->errnum, !y->errnum);

	if (!order)
		order = x->errnum ? ebt_compare(y->count, x->count)
				  : ebt_compare(y->max_ns, x->max_ns);
	return order ?: ebt_compare(x->nr, y->nr) ?: ebt_compare(x->errnum, y->errnum);
}

static void add_caller(struct text *text, const struct names *names, const struct ebt_task *task)
{
	if (!task)
		return;
	text_cstr(text, " (");
	text_thread(text, text_comm(names_task(names, task)), task->tid);
	text_addc(text, ')');
}

static struct ebt_error *put_error(const struct call_ends *calls, const struct call_end *call,
				   const struct names *names, struct overview_events *events)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const char *error = errno_name(call->errnum);

	syscall_name_add(&text, calls->machine, call->compat, call->nr);
	if (error)
		text_printf(&text, ": %s", error);
	else
		text_printf(&text, ": error %" PRIu32, call->errnum);
	text_printf(&text, ", %" PRIu64 " time%s", call->count, text_plural(call->count, "", "s"));
	add_caller(&text, names, call->task);
	return add(events, "syscall_error", "syscalls --errors", &text, call->count, 0);
}

static struct ebt_error *put_slow_calls(struct trace *trace, const struct call_ends *calls,
					const struct names *names, struct overview_events *events)
{
	_cleanup_text_ struct text text = TEXT_INIT, name = TEXT_INIT;
	uint64_t max_ns = 0;
	size_t n = 0;

	for (size_t i = 0; i < calls->n && n < MOST_CALLS; i++) {
		const struct call_end *call = &calls->list[i];

		text_clear(&name);
		syscall_name_add(&name, calls->machine, call->compat, call->nr);
		if (call->errnum || is_wait(text_get(&name)))
			continue;
		text_printf(&text, "%s%s ", n ? "; " : "slowest calls: ", text_get(&name));
		text_duration(&text, call->max_ns);
		if (!n) {
			max_ns = call->max_ns;
			add_caller(&text, names, call->task);
			add_at(&text, trace, call->max_at);
		}
		n++;
	}
	return n ? add(events, "slow_syscall", "syscalls --sort max_ns", &text, 0, max_ns)
		 : text_error(&name);
}

static struct ebt_error *read_calls(struct trace *trace, struct overview_events *events)
{
	const struct ebt_want want = EBT_WANT(syscall, nr, abi, duration, ret, task);
	__attribute__((cleanup(calls_deinit))) struct call_ends calls = { 0 };
	const struct names *names;
	const char *machine;
	struct ebt_error *err;

	err = trace_names(trace, &names) ?:
	      ebt_reader_meta(trace_reader(trace), "host.machine", &machine) ?:
	      trace_read_rows(trace, &want, 1, 0, take_call, &calls);
	if (err)
		return err;
	calls.machine = machine ? syscall_machine(machine) : NULL;
	if (calls.n)
		qsort(calls.list, calls.n, sizeof(*calls.list), compare_calls);
	for (size_t i = 0; !err && i < calls.n && i < MOST_ERRORS && calls.list[i].errnum; i++)
		err = put_error(&calls, &calls.list[i], names, events);
	return err ? err : put_slow_calls(trace, &calls, names, events);
}

/* --- disks --- */

struct requests {
	uint64_t count, failed, bytes, max_ns, max_at, max_bytes;
	uint32_t major, minor;
	bool write;
	const struct ebt_task *task;
};

static struct ebt_error *take_request(void *arg, const struct ebt_row *row)
{
	struct requests *r = arg;
	uint64_t ns = ebt_block_io_duration(row);

	r->count++;
	r->failed += ebt_block_io_error(row) != 0;
	if (ns <= r->max_ns)
		return NULL;
	r->max_ns = ns;
	r->max_at = row->time;
	r->max_bytes = ebt_block_io_bytes(row);
	r->major = (uint32_t)ebt_block_io_dev_major(row);
	r->minor = (uint32_t)ebt_block_io_dev_minor(row);
	r->write = ebt_block_io_op(row) != EBT_V_block_io_op_read;
	r->task = ebt_block_io_task(row);
	return NULL;
}

static struct ebt_error *put_requests(struct trace *trace, const struct requests *r,
				      struct overview_events *events)
{
	_cleanup_(block_names_destroyp) struct block_names *devices = NULL;
	_cleanup_text_ struct text text = TEXT_INIT;
	const struct names *names;
	struct ebt_error *err;
	uint32_t device;

	err = trace_names(trace, &names) ?:
	      block_names_create(trace, &devices) ?:
	      block_names_of(devices, r->major, r->minor, &device);
	if (err)
		return err;
	text_printf(&text, "slowest of %" PRIu64 " disk request%s: ", r->count,
		    text_plural(r->count, "", "s"));
	text_duration(&text, r->max_ns);
	add_caller(&text, names, r->task);
	add_at(&text, trace, r->max_at);
	text_printf(&text, ", %s ", r->write ? "write" : "read");
	text_bytes(&text, r->max_bytes);
	text_cstr(&text, " on ");
	text_add(&text, devices->devices[device].name.data, devices->devices[device].name.len);
	return add(events, "slow_request", "block", &text, r->count, r->max_ns);
}

static struct ebt_error *read_requests(struct trace *trace, struct overview_events *events)
{
	const struct ebt_want want =
		EBT_WANT(block_io, task, duration, error, bytes, dev_major, dev_minor, op);
	_cleanup_text_ struct text text = TEXT_INIT;
	struct requests r = { 0 };
	struct ebt_error *err = trace_read_rows(trace, &want, 1, 0, take_request, &r);

	if (!err && r.failed) {
		text_printf(&text, "%" PRIu64 " disk request%s failed", r.failed,
			    text_plural(r.failed, "", "s"));
		err = add(events, "failed_request", "block", &text, r.failed, 0);
	}
	return err || !r.max_ns ? err : put_requests(trace, &r, events);
}

/* --- what is rare, and never good --- */

static struct ebt_error *count_row(void *arg, const struct ebt_row *row)
{
	uint64_t *n = arg;

	*n += row->batch->table->id != EBT_T_log ||
	      ebt_log_severity(row) <= EBT_V_log_severity_error;
	return NULL;
}

static struct ebt_error *read_rare(struct trace *trace, struct overview_events *events)
{
	static const struct {
		struct ebt_want want;
		const char *kind, *one, *many, *more;
	} rare[] = {
		{ EBT_WANT(oom_kill, task), "oom", "process killed for lack of memory",
		  "processes killed for lack of memory", "oom" },
		{ EBT_WANT(net_reset, task), "tcp_reset", "TCP connection reset",
		  "TCP connections reset", "net" },
		{ EBT_WANT(net_retransmit, task), "tcp_retransmit", "TCP packet sent again",
		  "TCP packets sent again", "net" },
		{ EBT_WANT(log, task, severity), "log", "log line of an error",
		  "log lines of errors", "logs --severity error" },
	};
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < sizeof(rare) / sizeof(rare[0]); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;
		uint64_t n = 0;

		err = trace_read_rows(trace, &rare[i].want, 1, 0, count_row, &n);
		if (err || !n)
			continue;
		text_printf(&text, "%" PRIu64 " %s", n, text_plural(n, rare[i].one, rare[i].many));
		err = add(events, rare[i].kind, rare[i].more, &text, n, 0);
	}
	return err;
}

/* --- all --- */

struct ebt_error *overview_events_read(struct trace *trace, struct overview_events *ret)
{
	return read_processes(trace, ret) ?:
	       read_rare(trace, ret)	  ?:
	       read_calls(trace, ret)	  ?:
	       read_requests(trace, ret);
}

void overview_events_deinit(struct overview_events *events)
{
	for (size_t i = 0; i < events->n; i++)
		free(events->list[i].text);
	free(events->list);
}
