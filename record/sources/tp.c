/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `tp`: tracepoints that the user names. Those with a trace event are perf events with a
 * program, which gets the kernel's own record; others get a copy of a program each, which reads
 * their arguments.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/base/topology.h"
#include "record/config/skeleton.h"
#include "record/probes/list.h"
#include "record/probes/tp_set.h"
#include "record/sources/sources.h"
#include "record/unwind/unwinder.h"

#define NO_FIELDS "%s: arguments of tracepoints in place of fields"

static struct ebt_error *check_args(const char *args)
{
	if (source_args_is_tracepoint(args))
		return NULL;
	return ebt_error_create(EBT_ERR_INVALID, "'%s' is not a tracepoint", args);
}

static void probe(const struct kernel *kernel, struct source_state *state)
{
	_cleanup_(tp_set_destroyp) struct tp_set *set = NULL;
	struct ebt_error *err = tp_set_create(kernel, &set);

	if (err || set->events < 0) {
		state->status = EBT_V_source_status_partial;
		snprintf(state->detail, sizeof(state->detail), NO_FIELDS,
			 err ? err->message : set->refused);
		ebt_error_destroy(err);
	}
}

static const struct probe *probe_of(const struct source_context *context,
				    const struct tp_event *event)
{
	return &context->probes->list[event->number - 1];
}

/* What goes another way than it should. */
static void judge(const struct source_context *context, struct source_state *state)
{
	const struct tp_set *set = context->tp;
	const char *name = NULL;
	uint32_t left_out = 0;
	size_t len;

	for (size_t i = 0; i < set->n; i++) {
		left_out += set->list[i].left_out;
		if (set->list[i].raw && !name)
			name = probe_of(context, &set->list[i])->name;
	}
	if (!name && !left_out)
		return;
	state->status = EBT_V_source_status_partial;
	*state->detail = '\0';
	if (*set->refused)
		snprintf(state->detail, sizeof(state->detail), NO_FIELDS, set->refused);
	else if (name)
		snprintf(state->detail, sizeof(state->detail),
			 "%s has no trace event: its arguments", name);
	len = strlen(state->detail);
	if (left_out)
		snprintf(state->detail + len, sizeof(state->detail) - len,
			 "%s%" PRIu32 " fields are not there", len ? "; " : "", left_out);
	source_note_stacks(context->kernel, state);
}

static struct ebt_error *prepare(struct source_context *context, struct source_state *state)
{
	struct ebt_error *err = tp_set_create(context->kernel, &context->tp);
	const char *name;

	for (size_t n = 0; !err && (name = source_nth_args(context, &source_tp, n)); n++)
		err = tp_set_add(context->tp, name);
	for (size_t i = 0; !err && i < context->tp->n; i++) {
		struct tp_event *event = &context->tp->list[i];

		err = probe_list_add(context->probes, &event->probe, &event->number);
	}
	if (err)
		return ebt_error_prefix(err, "source tp");
	judge(context, state);
	return NULL;
}

/* The programs of trace events, or those of others. */
static void use_programs(struct source_context *context, bool raw)
{
	struct ebrec_bpf *skel = context->skel;

	bpf_program__set_autoload(raw ? skel->progs.ebrec_probe_raw : skel->progs.ebrec_probe_event,
				  true);
	source_use_map(raw ? skel->maps.tp_raw_programs : skel->maps.tp_event_programs);
	if (!context->options->call_graph)
		return;
	skel->rodata->config.event_stacks = 1;
	source_use_chains(context);
	bpf_program__set_autoload(raw ? skel->progs.ebrec_probe_raw_stacks
				      : skel->progs.ebrec_probe_event_stacks,
				  true);
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;
	const struct tp_set *set = context->tp;

	for (size_t i = 0; i < set->n; i++) {
		const struct tp_event *event = &set->list[i];
		const struct probe *probe = probe_of(context, event);

		use_programs(context, event->raw);
		if (strncmp(probe->name, "contention_", 11))
			continue;
		skel->rodata->config.lock_rings = 1;
		source_use_map(skel->maps.ring_busy);
	}
}

/* --- attaching --- */

static struct ebt_error *attach_event(struct source_context *context, const struct tp_event *event,
				      int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = event->id,
	};
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = event->number);
	_cleanup_close_ int fd = -1;
	struct bpf_link *link;

	/* The program belongs to the tracepoint, and runs on all CPUs. */
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return ebt_error_errno(errno, "perf_event_open");
	link = bpf_program__attach_perf_event_opts(context->skel->progs.ebrec_probe_event, fd,
						   &opts);
	if (!link)
		return ebt_error_errno(errno, "cannot attach the BPF program");
	/* The event itself need not count, which libbpf has told it to; the program runs anyway. */
	ioctl(take_fd(&fd), PERF_EVENT_IOC_DISABLE, 0);
	return source_keep_link(context, link);
}

/* A copy of the program in which the number is that of the probe. */
static struct ebt_error *copy_program(const struct bpf_program *program, uint32_t number, int *ret)
{
	size_t n = bpf_program__insn_cnt(program);
	_cleanup_free_ struct bpf_insn *insns = calloc(n, sizeof(*insns));

	if (!insns)
		return &ebt_enomem;
	memcpy(insns, bpf_program__insns(program), n * sizeof(*insns));
	for (size_t i = 0; i < n; i++) {
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && !insns[i].src_reg &&
		    insns[i].imm == EBREC_TP_MAGIC)
			insns[i].imm = (__s32)number;
	}
	*ret = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, bpf_program__name(program), "GPL", insns,
			     n, NULL);
	return *ret < 0 ? ebt_error_errno(-*ret, "cannot load the BPF program") : NULL;
}

static struct ebt_error *attach_raw(struct source_context *context, const struct tp_event *event,
				    const char *name)
{
	int fd = -1;
	struct ebt_error *err;

	err = copy_program(context->skel->progs.ebrec_probe_raw, event->number, &fd)
		      ?: source_keep_program(context, fd);
	if (err)
		return err;
	fd = bpf_raw_tracepoint_open(name, fd);
	if (fd < 0)
		return ebt_error_errno(-fd, "cannot attach the BPF program");
	return source_keep_link_fd(context, fd);
}

static struct ebt_error *attach(struct source_context *context, struct source_state *state)
{
	const struct ebrec_bpf *skel = context->skel;
	const struct tp_set *set = context->tp;
	_cleanup_free_ int *cpus = NULL;
	struct ebt_error *err;
	size_t n_cpus;

	(void)state;
	err = cpus_online(&cpus, &n_cpus) ?:
	      source_join(skel->maps.tp_event_programs, skel->progs.ebrec_probe_event_stacks) ?:
	      source_join(skel->maps.tp_raw_programs, skel->progs.ebrec_probe_raw_stacks);
	if (err)
		return err;
	for (size_t i = 0; i < set->n; i++) {
		const struct tp_event *event = &set->list[i];
		const struct probe *probe = probe_of(context, event);

		if (bpf_map_update_elem(bpf_map__fd(context->skel->maps.tp_specs), &event->number,
					&event->spec, BPF_ANY))
			return ebt_error_errno(errno, "source tp");
		err = event->raw ? attach_raw(context, event, probe->name)
				 : attach_event(context, event, cpus[0]);
		if (err)
			return ebt_error_prefix(err, "source tp: %s:%s", probe->group, probe->name);
	}
	return NULL;
}

const struct ebrec_source source_tp = {
	.name = "tp",
	.doc = "tracepoints of the kernel, with their fields and user stacks",
	.cost = "about 0.6 us for each hit, half of it for its user stack",
	.args_doc = "CATEGORY:NAME, as sched:sched_process_exec; * and ? match several",
	.args_needed = true,
	.tables = (const uint16_t[]){ EBT_T_probe_hit, EBT_T_probe, EBT_T_probe_arg, 0 },
	.check_args = check_args,
	.stacks = true,
	.maps = (const char *const[]){ "tp_specs", "tp_rows", "event_depth", NULL },
	.probe = probe,
	.prepare = prepare,
	.configure = configure,
	.attach = attach,
};
