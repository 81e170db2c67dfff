/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes and threads; see perfetto.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/export/perfetto.h"

#define KTHREADD   2
#define USUAL_PRIO 120 /* of a thread with nice 0 */

/* Of processes and threads; 0 is the idle thread. */
static struct ebt_error *take_number(struct perfetto *p, uint32_t wanted, uint32_t *ret)
{
	return export_number(&p->numbers, 0, wanted ? wanted : EXPORT_OWN_NUMBERS, ret);
}

/* One that has not the number that it had says which that was. */
static void add_name(struct text *text, struct ebt_str comm, uint32_t number, uint32_t wanted)
{
	text_utf8(text, text_comm(comm));
	if (number != wanted)
		text_printf(text, " (%" PRIu32 ")", wanted);
}

static void put_tree(struct perfetto *p, Perfetto__ProcessTree *tree)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	PERFETTO_SET(&packet, timestamp, perfetto_time(p, trace_from_ns(p->e->trace)));
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_PROCESS_TREE;
	packet.process_tree = tree;
	perfetto_put(p, &packet);
}

/* --- processes --- */

static const struct proc *proc_of(const struct perfetto *p, const struct ebt_task *task)
{
	const uint32_t i = procs_of(p->procs, task);
	size_t n;

	return i == PROC_NONE ? NULL : &procs_all(p->procs, &n)[i];
}

/* Those of the kernel are its thread's that makes them. */
static uint32_t parent_of(const struct perfetto *p, const struct proc *proc)
{
	const struct ebt_task *task;
	uint32_t i;
	size_t n;

	if (proc->parent == PROC_NONE)
		return proc->ppid || !proc->kernel ? proc->ppid : KTHREADD;
	task = procs_all(p->procs, &n)[proc->parent].task;
	return ebt_map_find(&p->by_process, names_process_key(p->e->names, task), &i)
		       ? p->processes[i].pid
		       : proc->ppid;
}

/* An array of the arguments, one behind the other in the text, each with a NUL behind it. */
static struct ebt_error *split(struct ebt_str cmdline, struct text *text, char ***ret,
			       size_t *ret_n)
{
	size_t capacity = 0, n = 0;
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < cmdline.len;) {
		const size_t len = strnlen(cmdline.data + i, cmdline.len - i);

		text_utf8(text, (struct ebt_str){ cmdline.data + i, len });
		text_addc(text, '\0');
		i += len + 1;
		n++;
	}
	err = text_error(text);
	for (size_t i = 0, at = 0; !err && i < n; i++) {
		err = ebt_array_reserve(ret, i, &capacity);
		if (err)
			break;
		(*ret)[i] = text->data + at;
		at += strlen(text->data + at) + 1;
	}
	*ret_n = n;
	return err;
}

/* One without a command line has its name in the place of that. */
static struct ebt_error *put_process(struct perfetto *p, uint32_t pid, const struct ebt_task *task)
{
	const struct proc *proc = proc_of(p, task);
	const struct ebt_str cmdline =
		proc ? procs_text(p->procs, proc->cmdline) : (struct ebt_str){ NULL, 0 };
	Perfetto__ProcessTree__Process process = PERFETTO__PROCESS_TREE__PROCESS__INIT;
	Perfetto__ProcessTree__Process *list = &process;
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct ebt_error *err;

	PERFETTO_SET(&process, pid, (int32_t)pid);
	PERFETTO_SET(&process, ppid, proc ? (int32_t)parent_of(p, proc) : 0);
	if (proc && proc->uid != UINT32_MAX)
		PERFETTO_SET(&process, uid, (int32_t)proc->uid);
	if (proc && proc->kernel)
		PERFETTO_SET(&process, is_kthread, true);
	err = split(cmdline, &text, &process.cmdline, &process.n_cmdline);
	if (!err && !process.n_cmdline) {
		const uint32_t wanted = task->pid ? task->pid : task->tid;
		_cleanup_text_ struct text name = TEXT_INIT;

		add_name(&name, names_process(p->e->names, task), pid, wanted);
		PERFETTO_SET(&process, cmdline_is_comm, true);
		err = text_error(&name)
			      ?: split(text_str(&name), &text, &process.cmdline,
				       &process.n_cmdline);
	}
	tree.processes = &list;
	tree.n_processes = 1;
	if (!err)
		put_tree(p, &tree);
	free(process.cmdline);
	return err;
}

static struct ebt_error *find_process(struct perfetto *p, const struct ebt_task *task,
				      uint32_t *ret)
{
	struct perfetto_process *process;
	struct ebt_error *err =
		ebt_map_element(&p->by_process, names_process_key(p->e->names, task), &p->processes,
				&p->n_processes, &p->processes_capacity, ret);

	if (err)
		return err;
	process = &p->processes[*ret];
	if (process->pid)
		return NULL;
	return take_number(p, task->pid ? task->pid : task->tid, &process->pid)
		       ?: put_process(p, process->pid, task);
}

/* --- threads --- */

static struct ebt_error *put_thread(struct perfetto *p, const struct perfetto_thread *thread,
				    const struct ebt_task *task)
{
	Perfetto__ProcessTree__Thread message = PERFETTO__PROCESS_TREE__THREAD__INIT;
	Perfetto__ProcessTree__Thread *list = &message;
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;
	_cleanup_text_ struct text name = TEXT_INIT;

	add_name(&name, names_task(p->e->names, task), thread->tid, task->tid);
	PERFETTO_SET(&message, tid, (int32_t)thread->tid);
	PERFETTO_SET(&message, tgid, (int32_t)p->processes[thread->process].pid);
	message.name = (char *)text_get(&name);
	tree.threads = &list;
	tree.n_threads = 1;
	put_tree(p, &tree);
	return text_error(&name);
}

/* The first thread of a process has its number, also if it was another one before an exec. */
static struct ebt_error *add_thread(struct perfetto *p, const struct ebt_task *task, uint32_t *ret)
{
	struct perfetto_thread thread = { .prio = USUAL_PRIO };
	const bool first = !task->pid || task->tid == task->pid;
	struct perfetto_process *process;
	struct ebt_error *err =
		find_process(p, task, &thread.process)
			?: ebt_array_reserve(&p->threads, p->n_threads, &p->threads_capacity);

	if (err)
		return err;
	process = &p->processes[thread.process];
	if (first && process->main) {
		*ret = process->main - 1;
		return NULL;
	}
	if (first)
		thread.tid = process->pid;
	else
		err = take_number(p, task->tid, &thread.tid);
	if (err)
		return err;
	*ret = (uint32_t)p->n_threads;
	p->threads[p->n_threads++] = thread;
	if (first)
		process->main = *ret + 1;
	return put_thread(p, &thread, task);
}

struct ebt_error *perfetto_thread(struct perfetto *p, const struct ebt_task *task, uint32_t *ret)
{
	struct ebt_error *err;
	uint32_t was;

	if (ebt_map_find(&p->by_task, task->id, ret))
		return NULL;
	err = add_thread(p, task, ret);
	return err ? err : ebt_map_add(&p->by_task, task->id, *ret, &was);
}

static struct ebt_error *put_threads(struct perfetto *p, const struct proc *proc)
{
	struct ebt_error *err = NULL;

	for (uint32_t i = proc->threads; !err && i != PROC_NONE;) {
		const struct proc_thread *thread = procs_thread(p->procs, i);
		uint32_t number;

		i = thread->next;
		if (!procs_thread_wanted(p->e->trace, thread))
			continue;
		err = perfetto_thread(p, thread->task, &number);
		if (!err && thread->sched.known)
			p->threads[number].prio = thread->sched.prio;
	}
	return err;
}

struct ebt_error *perfetto_put_processes(struct perfetto *p)
{
	struct ebt_error *err = procs_create(p->e->trace, TRACE_QUIET, &p->procs);
	const struct proc *all;
	size_t n = 0;

	if (err)
		return err;
	all = procs_all(p->procs, &n);
	for (size_t i = 0; !err && i < n; i++) {
		uint32_t first;

		if (procs_wanted(p->procs, p->e->trace, &all[i]))
			err = perfetto_thread(p, all[i].task, &first) ?: put_threads(p, &all[i]);
	}
	return err;
}

/* --- their tracks --- */

struct ebt_error *perfetto_thread_track(struct perfetto *p, const struct ebt_task *task,
					uint64_t *ret)
{
	Perfetto__ThreadDescriptor descriptor = PERFETTO__THREAD_DESCRIPTOR__INIT;
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	struct perfetto_thread *thread;
	uint32_t i;
	struct ebt_error *err = perfetto_thread(p, task, &i);

	if (err)
		return err;
	thread = &p->threads[i];
	if (!thread->track) {
		PERFETTO_SET(&descriptor, pid, (int32_t)p->processes[thread->process].pid);
		PERFETTO_SET(&descriptor, tid, thread->tid);
		track.thread = &descriptor;
		thread->track = perfetto_put_track(p, &track);
	}
	*ret = thread->track;
	return NULL;
}

struct ebt_error *perfetto_process_track(struct perfetto *p, const struct ebt_task *task,
					 uint64_t *ret)
{
	Perfetto__ProcessDescriptor descriptor = PERFETTO__PROCESS_DESCRIPTOR__INIT;
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	uint64_t *number;
	uint32_t i;
	struct ebt_error *err = perfetto_thread(p, task, &i);

	if (err)
		return err;
	i = p->threads[i].process;
	number = &p->processes[i].track;
	if (!*number) {
		PERFETTO_SET(&descriptor, pid, (int32_t)p->processes[i].pid);
		track.process = &descriptor;
		*number = perfetto_put_track(p, &track);
	}
	*ret = *number;
	return NULL;
}
