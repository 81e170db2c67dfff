/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One process in detail; see view.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/compare.h"
#include "format/read/damage.h"
#include "report/out/out.h"
#include "report/procs/model_mappings.h"
#include "report/procs/view.h"
#include "symbolize/spaces/mountinfo.h"

/* A pass over the mappings of the trace for each. */
#define MAX_DETAILED 64

DEFINE_CLEANUP(struct mount_table *, mount_table_destroy);

static void put_line(const struct proc_view *v, const char *label, struct ebt_str value)
{
	_cleanup_text_ struct text text = TEXT_INIT, lines = TEXT_INIT;
	char head[32];

	for (size_t i = 0; i < value.len; i++)
		text_addc(&lines, value.data[i] == '\n' ? ' ' : value.data[i]);
	text_terminal(&text, text_str(&lines));
	snprintf(head, sizeof(head), "  %-11s ", label);
	if (value.len)
		out_fill(v->out, head, 14, text_get(&text));
}

static void put_namespaces(const struct proc_view *v, const struct proc *p)
{
	const struct {
		const char *name;
		uint64_t inode;
	} namespaces[] = {
		{ "mnt", p->mnt_ns },	{ "pid", p->pid_ns },	    { "net", p->net_ns },
		{ "user", p->user_ns }, { "cgroup", p->cgroup_ns },
	};
	_cleanup_text_ struct text text = TEXT_INIT;

	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		if (namespaces[i].inode)
			text_printf(&text, "%s%s:[%" PRIu64 "]", text.len ? " " : "",
				    namespaces[i].name, namespaces[i].inode);
	}
	put_line(v, "namespaces", text_str(&text));
}

static void put_head(const struct proc_view *v, const struct proc *p)
{
	_cleanup_text_ struct text command = TEXT_INIT, sched = TEXT_INIT;
	const char *policy = p->sched.known ? proc_policy(p->sched.policy) : NULL;

	if (out_format(v->out) != FORMAT_TABLE)
		return;
	proc_view_command(&command, v, p);
	if (p->sched.known)
		text_printf(&sched, "policy %s, priority %" PRId32 ", nice %" PRId32,
			    policy ? policy : "not known", p->sched.prio, p->sched.nice);
	if (p->sched.known && p->sched.rt_priority)
		text_printf(&sched, ", real-time priority %" PRIu32, p->sched.rt_priority);
	out_printf(v->out, "\nProcess %" PRIu32 "\n", p->task->pid);
	put_line(v, "command", text_str(&command));
	put_line(v, "program", procs_text(v->procs, p->exe));
	put_line(v, "cgroup", procs_text(v->procs, p->cgroup));
	put_namespaces(v, p);
	put_line(v, "scheduling", text_str(&sched));
}

/* --- what it ran --- */

#define PROGRAMS(X)                                                  \
	X("time_ns", "TIME", OUT_TIME, out_u64(run->time_ns))        \
	X("pid", "PID", OUT_U64, out_u64(p->task->pid), OUT_DETAIL)  \
	X("comm", "COMM", OUT_STRING, out_cstr(run->comm))           \
	X("file", "FILE", OUT_STRING, out_cstr(run->file), OUT_FLEX) \
	X("args", "COMMAND", OUT_LIST, out_str((struct ebt_str){ run->cmdline, run->cmdline_len }))

static struct ebt_error *put_program(const struct proc_view *v, const struct proc *p,
				     const struct program_run *run)
{
	return out_row(v->out, 0, OUT_VALUES(PROGRAMS));
}

/* --- address layout --- */

#define MAPPINGS(X)                                                           \
	X("from_ns", "FROM", OUT_TIME, out_u64(mapping->from_ns))             \
	X("to_ns", "TO", OUT_TIME, out_u64_if(to, to))                        \
	X("pid", "PID", OUT_U64, out_u64(p->task->pid), OUT_DETAIL)           \
	X("start", "START", OUT_HEX, out_u64(mapping->start))                 \
	X("end", "END", OUT_HEX, out_u64(mapping->start + mapping->length))   \
	X("perms", "PERM", OUT_STRING, out_cstr(perms))                       \
	X("offset", "OFFSET", OUT_HEX, out_u64(mapping->pgoff), OUT_OPTIONAL) \
	X("device", "DEVICE", OUT_STRING, out_cstr(device), OUT_OPTIONAL)     \
	X("inode", "INODE", OUT_ID, out_u64(mapping->inode), OUT_OPTIONAL)    \
	X("file", "FILE", OUT_STRING, out_cstr(mapping->path), OUT_FLEX)      \
	X("origin", "KNOWN-BY", OUT_STRING, out_cstr(origin), OUT_OPTIONAL)   \
	X("build_id", NULL, OUT_STRING, out_cstr_if(mapping->build_id), OUT_DETAIL)

static struct ebt_error *put_mapping(const struct proc_view *v, const struct proc *p,
				     const struct mapping_interval *mapping)
{
	const uint64_t to = mapping->to_ns ? mapping->to_ns : p->ended ? p->end_ns : 0;
	const char perms[] = { mapping->prot & 1 ? 'r' : '-', mapping->prot & 2 ? 'w' : '-',
			       mapping->prot & 4 ? 'x' : '-', '\0' };
	const char *origin = mapping->inherited ? "fork" : mapping->before ? "snapshot" : "event";
	char device[32];

	snprintf(device, sizeof(device), "%" PRIu32 ":%" PRIu32, mapping->dev_major,
		 mapping->dev_minor);
	return out_row(v->out, 0, OUT_VALUES(MAPPINGS));
}

/* Mappings of all that are shown, so that there is one table of each kind. */
static struct ebt_error *put_layouts(const struct proc_view *v, const struct mappings *mappings)
{
	const struct out_table programs =
		OUT_TABLE_OF("programs", PROGRAMS, .title = "\nPrograms that it ran",
			     .flags = OUT_FIXED | OUT_KEEP_ORDER);
	const struct out_table layout =
		OUT_TABLE_OF("mappings", MAPPINGS, .title = "\nExecutable memory",
			     .flags = OUT_FIXED | OUT_KEEP_ORDER);
	struct ebt_error *err = out_begin(v->out, &programs);

	for (size_t i = 0; i < v->n_shown; i++) {
		for (size_t k = 0; !err && k < mappings[i].n_programs; k++)
			err = put_program(v, v->shown[i].proc, &mappings[i].programs[k]);
	}
	err = err ?: out_end(v->out) ?: out_begin(v->out, &layout);
	for (size_t i = 0; i < v->n_shown; i++) {
		for (size_t k = 0; !err && k < mappings[i].n; k++)
			err = put_mapping(v, v->shown[i].proc, &mappings[i].intervals[k]);
	}
	return err ?: out_end(v->out);
}

static struct ebt_error *put_all_layouts(const struct proc_view *v)
{
	struct mappings *mappings = calloc(v->n_shown + 1, sizeof(*mappings));
	struct ebt_error *err = mappings ? NULL : &ebt_enomem;
	bool more = false;

	for (size_t i = 0; !err && i < v->n_shown; i++) {
		err = mappings_read(v->trace, v->procs, v->shown[i].proc, &mappings[i]);
		more |= mappings[i].more;
	}
	if (!err)
		err = put_layouts(v, mappings);
	for (size_t i = 0; mappings && i < v->n_shown; i++)
		mappings_deinit(&mappings[i]);
	free(mappings);
	if (!err && more)
		err = trace_warn(v->trace, "a process had more mappings than are shown");
	return err;
}

/* --- mounts --- */

#define MOUNTS(X)                                                                 \
	X("mount_id", "ID", OUT_U64, out_u64(m->id), OUT_OPTIONAL)                \
	X("parent_mount_id", "PARENT", OUT_U64, out_u64(m->parent), OUT_OPTIONAL) \
	X("mount_namespace", NULL, OUT_ID, out_u64(ns), OUT_DETAIL)               \
	X("device", "DEVICE", OUT_STRING, out_cstr(device))                       \
	X("mount_point", "MOUNT-POINT", OUT_STRING, out_cstr(m->point), OUT_FLEX) \
	X("type", "TYPE", OUT_STRING, out_cstr(m->type))                          \
	X("mount_source", "SOURCE", OUT_STRING, out_cstr(m->source))              \
	X("mount_root", "ROOT", OUT_STRING, out_cstr(m->root), OUT_OPTIONAL)      \
	X("mount_options", "OPTIONS", OUT_STRING, out_cstr(m->options), OUT_OPTIONAL)

static struct ebt_error *put_table(const struct proc_view *v, const struct mount_table *table,
				   uint64_t ns)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < table->n; i++) {
		const struct mount *m = &table->mounts[i];
		char device[32];

		snprintf(device, sizeof(device), "%" PRIu32 ":%" PRIu32, m->major, m->minor);
		err = out_row(v->out, 0, OUT_VALUES(MOUNTS));
	}
	return err;
}

/* The last one that was stored of the namespace. */
static struct ebt_error *read_mounts(const struct proc_view *v, uint64_t ns,
				     struct mount_table **ret)
{
	struct ebt_reader *reader = trace_reader(v->trace);
	_cleanup_free_ char *text = NULL;
	const struct ebt_file *files, *best = NULL;
	struct ebt_error *err;
	size_t n, len;

	*ret = NULL;
	err = ebt_reader_files(reader, &files, &n);
	for (size_t i = 0; !err && i < n; i++) {
		if (ns && files[i].ns == ns && !strcmp(files[i].role, "mountinfo") &&
		    (!best || files[i].time >= best->time))
			best = &files[i];
	}
	if (err || !best)
		return err;
	err = ebt_reader_file_content(reader, best->id, &text, &len);
	return err ? ebt_damage_forgive(err) : mount_table_create(text, len, ret);
}

static struct ebt_error *put_mounts(const struct proc_view *v)
{
	const struct out_table mounts = OUT_TABLE_OF("mounts", MOUNTS, .title = "\nMounts",
						     .flags = OUT_FIXED | OUT_KEEP_ORDER);
	struct ebt_error *err = out_begin(v->out, &mounts);

	for (size_t i = 0; !err && i < v->n_shown; i++) {
		_cleanup_(mount_table_destroyp) struct mount_table *table = NULL;
		const uint64_t ns = v->shown[i].proc->mnt_ns;
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= v->shown[k].proc->mnt_ns == ns;
		if (again)
			continue;
		err = read_mounts(v, ns, &table);
		if (!err && table)
			err = put_table(v, table, ns);
	}
	return err ?: out_end(v->out);
}

struct ebt_error *proc_view_details(const struct proc_view *v)
{
	if (v->n_shown > MAX_DETAILED)
		return trace_warn(v->trace, "details of more than %d processes are not shown",
				  MAX_DETAILED);
	for (size_t i = 0; i < v->n_shown; i++)
		put_head(v, v->shown[i].proc);
	return proc_view_threads(v, "threads") ?: put_all_layouts(v) ?: put_mounts(v);
}

static int compare_run(const void *a, const void *b)
{
	const struct proc_shown *x = a, *y = b;

	return ebt_compare(y->proc->used.run_ns, x->proc->used.run_ns);
}

struct ebt_error *proc_view_most(const struct proc_view *v)
{
	_cleanup_free_ struct proc_shown *shown = calloc(v->n_shown + 1, sizeof(*shown));
	struct proc_view most = *v;
	struct ebt_error *err = NULL;

	if (!shown)
		return &ebt_enomem;
	memcpy(shown, v->shown, v->n_shown * sizeof(*shown));
	qsort(shown, v->n_shown, sizeof(*shown), compare_run);
	most.shown = shown;
	if (v->n_shown > MAX_DETAILED) {
		most.n_shown = MAX_DETAILED;
		err = trace_warn(v->trace,
				 "programs, memory and mounts are those of the %d processes that "
				 "ran longest: `ebreport procs --pid` has those of others",
				 MAX_DETAILED);
	}
	return err ?: proc_view_threads(v, "threads") ?: put_all_layouts(&most) ?: put_mounts(&most);
}
