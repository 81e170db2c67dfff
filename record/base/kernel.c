/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding out what this kernel offers; see kernel.h. */
#include "record/base/kernel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/cleanup.h"

static struct ebt_error *load_btf(struct btf **ret)
{
	struct btf *btf;

	if (access(KERNEL_BTF, R_OK))
		return ebt_error_create(
			EBT_ERR_UNSUPPORTED,
			KERNEL_BTF ": %s. The kernel must be built "
				   "with CONFIG_DEBUG_INFO_BTF, as those of distributions are, "
				   "and /sys must be mounted",
			strerror(errno));
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return ebt_error_errno(errno, "cannot read the kernel's type information");
	*ret = btf;
	return NULL;
}

/* The prototype of a tracepoint's typedef; its first parameter is no argument of it. */
static const struct btf_type *tracepoint_proto(const struct btf *btf, const char *name)
{
	char type_name[128];
	const struct btf_type *t;
	int id;

	snprintf(type_name, sizeof(type_name), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type_name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return NULL;
	t = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);
	if (!t || !btf_is_ptr(t))
		return NULL;
	t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? t : NULL;
}

bool kernel_has_tracepoint(const struct kernel *kernel, const char *name)
{
	return tracepoint_proto(kernel->btf, name);
}

uint32_t kernel_tracepoint_args(const struct kernel *kernel, const char *name)
{
	const struct btf_type *proto = tracepoint_proto(kernel->btf, name);

	return proto && btf_vlen(proto) ? btf_vlen(proto) - 1u : 0;
}

bool kernel_tracepoint_arg_is(const struct kernel *kernel, const char *name, uint32_t n,
			      const char *type_name)
{
	const struct btf_type *proto = tracepoint_proto(kernel->btf, name), *type;
	const char *found;

	if (!proto || n + 1 >= btf_vlen(proto))
		return false;
	type = btf__type_by_id(kernel->btf, btf_params(proto)[n + 1].type);
	found = type ? btf__name_by_offset(kernel->btf, type->name_off) : NULL;
	return found && !strcmp(found, type_name);
}

bool kernel_has_function(const struct kernel *kernel, const char *name)
{
	return btf__find_by_name_kind(kernel->btf, name, BTF_KIND_FUNC) > 0;
}

bool kernel_has_helper(const struct kernel *kernel, const char *helper)
{
	int id = btf__find_by_name_kind(kernel->btf, "bpf_func_id", BTF_KIND_ENUM);
	const struct btf_type *type = id > 0 ? btf__type_by_id(kernel->btf, (uint32_t)id) : NULL;

	for (uint32_t i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(kernel->btf, btf_enum(type)[i].name_off);

		if (name && !strcmp(name, helper))
			return true;
	}
	return false;
}

bool kernel_has_loops(const struct kernel *kernel)
{
	return kernel_has_helper(kernel, "BPF_FUNC_loop");
}

bool kernel_can_unwind(const struct kernel *kernel)
{
#ifdef __x86_64__
	return kernel_has_loops(kernel);
#else
	(void)kernel;
	return false;
#endif
}

static struct ebt_error *find_switch_args(const struct btf *btf, uint32_t *ret)
{
	const struct btf_type *proto = tracepoint_proto(btf, "sched_switch");
	const struct btf_type *second;

	if (!proto || btf_vlen(proto) < 4)
		return ebt_error_create(EBT_ERR_UNSUPPORTED,
					"the kernel has no tracepoint sched_switch");
	if (btf_vlen(proto) == 4) {
		*ret = EBREC_SWITCH_PREV_NEXT;
		return NULL;
	}
	second = btf__type_by_id(btf, btf__resolve_type(btf, (int)btf_params(proto)[2].type));
	*ret = second && btf_is_ptr(second) ? EBREC_SWITCH_PREV_NEXT_STATE
					    : EBREC_SWITCH_STATE_PREV_NEXT;
	return NULL;
}

/* Where a variable of each CPU is among them, or -1. */
static int64_t cpu_variable(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *section = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint32_t i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *info = &btf_var_secinfos(section)[i];
		const struct btf_type *variable = btf__type_by_id(btf, info->type);

		if (variable && !strcmp(btf__name_by_offset(btf, variable->name_off), name))
			return info->offset;
	}
	return -1;
}

static bool has_member(const struct btf *btf, const char *type_name, const char *name)
{
	int id = btf__find_by_name_kind(btf, type_name, BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint32_t i = 0; type && i < btf_vlen(type); i++) {
		if (!strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), name))
			return true;
	}
	return false;
}

/* Tasks know their run queue where they are scheduled by groups, as distributions have it. */
static int64_t find_preempt_count(const struct btf *btf)
{
	int64_t count = cpu_variable(btf, "__preempt_count");
	int64_t rq = cpu_variable(btf, "runqueues");

	if (count < 0)
		count = cpu_variable(btf, "pcpu_hot");
	if (count < 0 || rq < 0 || !has_member(btf, "sched_entity", "cfs_rq") ||
	    !has_member(btf, "cfs_rq", "rq"))
		return 0;
	return count - rq;
}

static bool has_cycles(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static uint32_t read_number(const char *path, uint32_t otherwise)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	unsigned int n;

	return f && fscanf(f, "%u", &n) == 1 && n ? n : otherwise;
}

struct ebt_error *kernel_probe(struct kernel *ret)
{
	struct kernel k = { 0 };
	struct ebt_error *err;
	int n_cpus = libbpf_num_possible_cpus();

	if (n_cpus <= 0)
		return ebt_error_errno(-n_cpus, "cannot count CPUs: is /sys mounted?");
	err = privileges_probe(&k.privileges);
	if (err)
		return err;
	if (syscall(SYS_bpf, -1, NULL, 0) < 0 && errno == ENOSYS)
		return ebt_error_create(EBT_ERR_UNSUPPORTED, "the kernel is built without BPF");
	k.n_cpus = (uint32_t)n_cpus;
	k.pid_max = read_number("/proc/sys/kernel/pid_max", 1u << 22);
	k.max_frames = read_number("/proc/sys/kernel/perf_event_max_stack", EBREC_MAX_FRAMES);
	if (k.max_frames > EBREC_MAX_FRAMES)
		k.max_frames = EBREC_MAX_FRAMES;
	k.cycles = has_cycles();
	err = load_btf(&k.btf);
	if (err)
		return err;
	k.preempt_count = find_preempt_count(k.btf);
	err = find_switch_args(k.btf, &k.switch_args);
	if (err) {
		btf__free(k.btf);
		return err;
	}
	*ret = k;
	return NULL;
}

void kernel_deinit(struct kernel *kernel)
{
	btf__free(kernel->btf);
	kernel->btf = NULL;
}

/* Is it one of the functions between the scheduler and a program of sched_switch? */
static bool is_trampoline(const char *name)
{
	static const char *const names[EBREC_TRAMPOLINES] = {
		"bpf_trace_run3",
		"bpf_trace_run4",
		"__bpf_trace_sched_switch",
		"__traceiter_sched_switch",
	};

	for (size_t i = 0; i < EBREC_TRAMPOLINES; i++) {
		if (!strcmp(names[i], name))
			return true;
	}
	return false;
}

void kernel_find_trampolines(struct kernel *kernel)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0, n = 0;
	uint64_t start = 0;

	/* In ascending order of address: a function ends where the next one begins. */
	while (f && n < EBREC_TRAMPOLINES && getline(&line, &size, f) > 0) {
		unsigned long long address;
		char type, name[64];

		if (sscanf(line, "%llx %c %63s", &address, &type, name) != 3)
			continue;
		if (start && address > start) {
			kernel->trampolines[n].start = start;
			kernel->trampolines[n++].end = address;
			start = 0;
		}
		if (address && is_trampoline(name))
			start = address;
	}
}
