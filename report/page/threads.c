/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes and threads of a page. */
#include "report/page/page.h"

#include "report/page/private.h"
#include "report/procs/view.h"
#include "report/trace/programs.h"

static const struct page_column process_columns[] = {
	{ "pid", PAGE_U32, false },	{ "name", PAGE_U32, false },
	{ "command", PAGE_U32, false }, { "parent", PAGE_U32, false },
	{ "start", PAGE_TIME, false },	{ "end", PAGE_TIME, false },
	{ "flags", PAGE_U8, false },	{ "status", PAGE_U32, false },
	{ "cgroup", PAGE_U32, false },	{ "container", PAGE_U32, false },
};

#define PROCESS_KERNEL	1
#define PROCESS_ENDED	2 /* status is as wait(2) gives it */
#define PROCESS_STARTED 4 /* its beginning is known */

static const struct page_column thread_columns[] = {
	{ "tid", PAGE_U32, false },	{ "process", PAGE_U32, false }, { "name", PAGE_U32, false },
	{ "start", PAGE_TIME, false },	{ "end", PAGE_TIME, false },	{ "flags", PAGE_U8, false },
	{ "cpu_ns", PAGE_TIME, false },
};

#define THREAD_KERNEL  1
#define THREAD_ON_PATH 2 /* the critical path leads through it */
#define THREAD_STARTED 4 /* its beginning was seen */
#define THREAD_ENDED   8
#define THREAD_OUT     16 /* tables of threads leave it out, see trace_leaves_out() */

/* Processes of the page, by their index in procs. */
struct processes {
	struct page *page;
	const struct programs *programs; /* NULL: no thread of the kernel is left out */
	struct proc_containers containers;
	const struct proc *all;
	size_t n;
	uint32_t *numbers; /* 1 + the number in the page; 0: it is not there */
};

static struct ebt_error *put_command(struct page *page, const struct proc *proc, uint64_t *ret)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	proc_view_arguments(&text, procs_text(page->procs, proc->cmdline));
	return text_error(&text) ?: page_string(page, text_str(&text), ret);
}

static struct ebt_error *put_process(struct processes *p, struct page_rows *section,
				     const struct proc *proc)
{
	const struct proc_container *container = proc_containers_of(&p->containers, proc->task);
	const struct ebt_str none = { "", 0 };
	struct page *page = p->page;
	uint64_t name, command, cgroup, in;
	const unsigned int flags = (proc->kernel ? PROCESS_KERNEL : 0) |
				   (proc->ended ? PROCESS_ENDED : 0) |
				   (proc->start_ns ? PROCESS_STARTED : 0);
	struct ebt_error *err =
		page_string(page, proc->task ? names_process(page->names, proc->task) : none, &name)
			?: put_command(page, proc, &command)
			?: page_string(page, procs_text(page->procs, proc->cgroup), &cgroup)
			?: page_cstr(page,
				     !container		? ""
				     : *container->name ? container->name
							: container->id,
				     &in);

	if (err)
		return err;
	return page_row(section, proc->task ? proc->task->pid : 0, name, command,
			proc->parent < p->n ? p->numbers[proc->parent] : 0,
			proc->start_ns ? page_time(page, proc->start_ns) : 0,
			proc->ended ? page_time(page, proc->end_ns) : 0, flags, proc->status,
			cgroup, in);
}

static struct ebt_error *put_processes(struct processes *p)
{
	struct page *page = p->page;
	struct page_rows *section;
	uint32_t n = 0;
	struct ebt_error *err =
		page_add_rows(page, "processes", process_columns,
			      sizeof(process_columns) / sizeof(process_columns[0]), &section);

	for (size_t i = 0; !err && i < p->n; i++) {
		if (!procs_wanted(page->procs, page->trace, &p->all[i]))
			continue;
		p->numbers[i] = ++n;
		err = put_process(p, section, &p->all[i]);
	}
	return err;
}

static struct ebt_error *put_thread(struct processes *p, struct page_rows *section,
				    const struct page_thread *thread)
{
	struct page *page = p->page;
	const uint32_t process = procs_of(page->procs, thread->task);
	const unsigned int flags =
		(thread->kernel ? THREAD_KERNEL : 0) | (thread->on_path ? THREAD_ON_PATH : 0) |
		(thread->start ? THREAD_STARTED : 0) | (thread->end ? THREAD_ENDED : 0) |
		(p->programs && programs_is_kernel(p->programs, thread->task) ? THREAD_OUT : 0);
	uint64_t name;
	struct ebt_error *err = page_string(page, names_task(page->names, thread->task), &name);

	return err ? err
		   : page_row(section, thread->task->tid, process < p->n ? p->numbers[process] : 0,
			      name, thread->start ? page_time(page, thread->start) : 0,
			      thread->end ? page_time(page, thread->end) : 0, flags,
			      thread->cpu_ns);
}

static struct ebt_error *put_all(struct processes *p)
{
	struct page *page = p->page;
	struct page_rows *section;
	struct ebt_error *err =
		proc_containers_collect(trace_reader(page->trace), &p->containers)
			?: put_processes(p)
			?: page_add_rows(page, "threads", thread_columns,
					    sizeof(thread_columns) / sizeof(thread_columns[0]),
					    &section);

	for (uint32_t i = 0; !err && i < page->n_threads; i++)
		err = put_thread(p, section, &page->threads[i]);
	return err;
}

struct ebt_error *page_put_threads(struct page *page)
{
	struct processes p = { .page = page };
	struct ebt_error *err = NULL;

	p.all = procs_all(page->procs, &p.n);
	p.numbers = calloc(p.n + 1, sizeof(*p.numbers));
	if (!p.numbers)
		err = &ebt_enomem;
	else if (!page->report->options->kernel_threads && !trace_has_task_filter(page->trace))
		err = trace_programs(page->trace, &p.programs);
	err = err ?: put_all(&p);
	free(p.numbers);
	proc_containers_deinit(&p.containers);
	return err;
}
