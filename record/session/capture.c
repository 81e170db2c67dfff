/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading, attaching and reading the state of the BPF programs; see capture.h. */
#include "record/session/capture.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/schema/schema.h"
#include "record/base/topology.h"
#include "record/bpf/facts.h"
#include "record/config/skeleton.h"
#include "record/probes/tp_set.h"

#define DEFAULT_EVENT_BYTES  (64u << 20) /* a thread */
#define DEFAULT_SAMPLE_BYTES (8u << 20)
#define TASK_RING_BYTES	     (4u << 20)
#define MIN_SPSC_BYTES	     (128u << 10)
#define MAX_SPSC_BYTES	     (512u << 20)
#define MAX_SHARE_OF_RAM     16 /* all rings together take at most a 16th */

/* Bytes for all buffers of a kind, kept small on small machines. */
static uint64_t budget(uint64_t wanted)
{
	struct sysinfo info;
	uint64_t most;

	if (sysinfo(&info))
		return wanted;
	most = (uint64_t)info.totalram * info.mem_unit / MAX_SHARE_OF_RAM;
	return wanted < most ? wanted : most;
}

static bool is_on(const struct capture *c, size_t source)
{
	return source_is_on(&c->states[source]);
}

bool capture_has(const struct capture *c, const char *name)
{
	return is_on(c, (size_t)source_by_name(name, strlen(name)));
}

static bool has_stacks(const struct ebrec_source *source)
{
	for (const uint16_t *id = source->tables; *id; id++) {
		const struct ebt_table *table = ebt_table_by_id(*id);

		for (uint32_t f = 0; table && f < table->n_fields; f++) {
			if (table->fields[f].type == EBT_TYPE_STACK)
				return true;
		}
	}
	return false;
}

/* Unwind tables of all that runs are for sources whose rows have stacks, and for the stacks of a
 * target that runs already (thread_stacks.h). */
static bool needs_tables(const struct capture *c)
{
	const enum target_kind target = c->context.options->target;
	bool needed = target == TARGET_PIDS || target == TARGET_CGROUP;

	for (size_t i = 0; i < ebrec_n_sources && !needed; i++)
		needed = is_on(c, i) && has_stacks(ebrec_sources[i]);
	return needed && c->context.options->call_graph >= CALL_GRAPH_TABLE;
}

static struct ebt_error *configure(struct capture *c, uint64_t cgroup_id)
{
	const struct kernel *kernel = c->context.kernel;
	struct ebrec_bpf *skel = c->context.skel;
	struct ebrec_bpf_config *config = &skel->rodata->config;
	struct ebt_error *err = NULL;
	struct bpf_program *program;
	struct bpf_map *map;

	config->all = c->context.options->target == TARGET_ALL;
	config->cgroup_id = cgroup_id;
	config->self_tgid = (uint32_t)getpid();
	config->n_cpus = kernel->n_cpus;
	config->max_frames = kernel->max_frames;
	config->max_stack = c->context.options->max_stack;
	config->max_entries = config->max_stack;
	config->switch_args = kernel->switch_args;
	config->preempt_count = kernel->preempt_count;
	bpf_map__set_max_entries(skel->maps.rings, EBREC_SLOTS(config->n_cpus));
	bpf_map__set_max_entries(skel->maps.slots, EBREC_SLOTS(config->n_cpus));
	bpf_map__set_max_entries(skel->maps.followed, (kernel->pid_max + 63) / 64);
	bpf_map__set_max_entries(skel->maps.known_programs, EBREC_KNOWN_PROGRAMS);

	/* Sources ask for what they need. */
	bpf_object__for_each_program(program, skel->obj) bpf_program__set_autoload(program, false);
	bpf_object__for_each_map(map, skel->obj)
	{
		if (!bpf_map__is_internal(map))
			bpf_map__set_autocreate(map, false);
	}
	source_use_map(skel->maps.rings);
	source_use_map(skel->maps.slots);
	source_use_map(skel->maps.followed);
	source_use_map(skel->maps.drops);
	if (needs_tables(c))
		unwinder_configure(skel, kernel, c->context.options);
	for (size_t i = 0; i < ebrec_n_sources && !err; i++) {
		if (is_on(c, i))
			err = source_configure(ebrec_sources[i], &c->context);
	}
	return err;
}

static struct ebt_error *load(struct capture *c)
{
	int r = ebrec_bpf__load(c->context.skel);

	if (!r)
		return NULL;
	if (r == -EPERM || r == -EACCES)
		return ebt_error_create(
			EBT_ERR_UNSUPPORTED,
			"the kernel refuses BPF programs: root, or CAP_BPF and CAP_PERFMON, are "
			"needed in the first user namespace, and a kernel lockdown of "
			"`confidentiality` forbids it (`ebrec -v -v` shows what the kernel says)");
	return ebt_error_errno(-r, "cannot load the BPF programs (`ebrec -v -v` shows more)");
}

static void *map_array(const struct bpf_map *map, size_t value_size, size_t *ret_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (bpf_map__max_entries(map) * value_size + page - 1) & ~(page - 1);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	*ret_bytes = bytes;
	return memory == MAP_FAILED ? NULL : memory;
}

static struct ebt_error *map_shared(struct capture *c)
{
	const struct ebrec_bpf *skel = c->context.skel;

	c->slots = map_array(skel->maps.slots, sizeof(*c->slots), &c->slots_bytes);
	c->followed = map_array(skel->maps.followed, sizeof(*c->followed), &c->followed_bytes);
	c->known = map_array(skel->maps.known_programs, sizeof(*c->known), &c->known_bytes);
	if (!c->slots || !c->followed || !c->known)
		return ebt_error_errno(errno, "cannot map the filter of the BPF programs");
	return NULL;
}

static struct ebt_error *map_spsc(struct capture *c)
{
	size_t size = spsc_size(c->context.spsc_bytes);

	if (!c->context.n_spsc)
		return NULL;
	c->spsc = calloc(c->context.n_spsc, sizeof(*c->spsc));
	if (!c->spsc)
		return &ebt_enomem;
	c->spsc_memory = map_array(c->context.skel->maps.spsc_queues, size, &c->spsc_bytes);
	if (!c->spsc_memory)
		return ebt_error_errno(errno, "cannot map the buffers for system calls");
	for (uint32_t i = 0; i < c->context.n_spsc; i++)
		c->spsc[i] = (struct spsc){
			.shared = (void *)((char *)c->spsc_memory + i * size),
			.bytes = c->context.spsc_bytes,
		};
	return NULL;
}

static struct ebt_error *make_rings(struct capture *c)
{
	const struct topology *t = &c->topology;
	struct ebt_error *err;
	uint64_t size = topology_ring_size(c->ring_budget, t->n_rings);
	uint64_t sample_size = topology_ring_size(budget(DEFAULT_SAMPLE_BYTES), t->n_rings);

	for (uint32_t i = 0; i < 2 * t->n_rings; i++) {
		err = ring_init(i < t->n_rings ? size : sample_size, &c->event_rings[i]);
		if (err)
			return err;
	}
	return ring_init(topology_ring_size(budget(TASK_RING_BYTES), 1), c->task_ring);
}

static bool needs_trampolines(const struct capture *c)
{
	return capture_has(c, "offcpu") && c->context.options->call_graph;
}

/* What takes its time and needs no program. */
static struct ebt_error *prepare_beside(void *arg)
{
	struct capture *c = arg;

	if (needs_trampolines(c))
		kernel_find_trampolines(c->kernel);
	return make_rings(c);
}

static struct ebt_error *start_preparing(struct capture *c)
{
	const struct topology *t = &c->topology;
	struct ebt_error *err;

	c->n_rings = 2 * t->n_rings + 1;
	c->event_rings = calloc(c->n_rings, sizeof(*c->event_rings));
	if (!c->event_rings)
		return &ebt_enomem;
	c->sample_rings = c->event_rings + t->n_rings;
	c->task_ring = c->sample_rings + t->n_rings;
	/* The first map, which libbpf raises RLIMIT_MEMLOCK for, is made here. */
	err = ring_init((size_t)sysconf(_SC_PAGESIZE), &c->doorbell);
	if (!err)
		beside_start(&c->preparing, prepare_beside, c);
	return err;
}

static void put_ring(struct capture *c, int *fds, uint32_t slot, const struct ring *ring)
{
	/* A quarter full is early enough: the reader is awake in well under a millisecond. */
	c->slots[slot].wake_bytes = (uint32_t)(ring->size / 4);
	fds[slot] = ring->fd;
}

/* At once: behind each update of a map of maps the kernel waits until no program runs that may have
 * seen the map before (maybe_wait_bpf_programs(), kernel/bpf/syscall.c), which takes milliseconds.
 * Before Linux 5.19 such a map takes its entries one by one. */
static bool hand_over(int map, const uint32_t *keys, const int *fds, uint32_t n)
{
	uint32_t done = n;

	if (!bpf_map_update_batch(map, keys, fds, &done, NULL))
		return true;
	for (uint32_t i = 0; i < n; i++) {
		if (bpf_map_update_elem(map, &keys[i], &fds[i], BPF_ANY))
			return false;
	}
	return true;
}

static struct ebt_error *put_rings(struct capture *c)
{
	const struct topology *t = &c->topology;
	const uint32_t n = EBREC_SLOTS(t->n_cpus);
	_cleanup_free_ uint32_t *keys = calloc(n, sizeof(*keys));
	_cleanup_free_ int *fds = calloc(n, sizeof(*fds));

	if (!keys || !fds)
		return &ebt_enomem;
	for (uint32_t cpu = 0; cpu < t->n_cpus; cpu++) {
		put_ring(c, fds, cpu, &c->event_rings[t->cpu_ring[cpu]]);
		put_ring(c, fds, t->n_cpus + cpu, &c->sample_rings[t->cpu_ring[cpu]]);
	}
	put_ring(c, fds, EBREC_SLOT_TASK(t), c->task_ring);
	put_ring(c, fds, EBREC_SLOT_DOORBELL(t), &c->doorbell);
	for (uint32_t i = 0; i < n; i++)
		keys[i] = i;
	if (!hand_over(bpf_map__fd(c->context.skel->maps.rings), keys, fds, n))
		return ebt_error_errno(errno, "cannot hand the ring buffers to the BPF programs");
	return NULL;
}

/* Hands what was made beside to the programs, which are there now. */
static struct ebt_error *end_preparing(struct capture *c)
{
	struct ebt_error *err = beside_join(&c->preparing);

	if (err)
		return err;
	memcpy(c->context.skel->bss->trampolines, c->kernel->trampolines,
	       sizeof(c->kernel->trampolines));
	return put_rings(c);
}

/* Decides each source's state: asked for, always on, or not there. */
static struct ebt_error *probe_sources(struct capture *c)
{
	const struct record_options *options = c->context.options;

	c->states = calloc(ebrec_n_sources, sizeof(*c->states));
	if (!c->states)
		return &ebt_enomem;
	for (size_t i = 0; i < ebrec_n_sources; i++) {
		bool always = !strcmp(ebrec_sources[i]->name, "task");

		if (!always && !(options->sources & (UINT64_C(1) << i)))
			continue;
		c->states[i].status = EBT_V_source_status_on;
		source_probe(ebrec_sources[i], c->context.kernel, &c->states[i]);
		if (always && c->states[i].status == EBT_V_source_status_unavailable)
			return ebt_error_create(EBT_ERR_UNSUPPORTED, "%s, which ebrec needs",
						c->states[i].detail);
	}
	return NULL;
}

/* What they are to record, where that is more than their name. */
static struct ebt_error *prepare_sources(struct capture *c)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; i < ebrec_n_sources && !err; i++) {
		if (is_on(c, i) && ebrec_sources[i]->prepare)
			err = ebrec_sources[i]->prepare(&c->context, &c->states[i]);
	}
	return err;
}

/* System calls have SPSC queues, samples rings of their own; what else is there has rows without
 * end. */
static bool fills_rings(const struct capture *c)
{
	static const char *const few[] = { "task", "counter", "sample", "syscalls" };
	size_t n = 0, n_few = 0;

	for (size_t i = 0; i < ebrec_n_sources; i++)
		n += is_on(c, i);
	for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++)
		n_few += capture_has(c, few[i]);
	return n > n_few;
}

/* Divides the memory for events among rings and SPSC queues. */
static struct ebt_error *plan_buffers(struct capture *c)
{
	uint64_t total = c->context.options->buffer;
	uint32_t bytes = MIN_SPSC_BYTES;
	_cleanup_free_ int *cpus = NULL;
	struct ebt_error *err;
	size_t n;

	if (!total)
		total = budget((uint64_t)DEFAULT_EVENT_BYTES * c->topology.n_threads);
	c->ring_budget = total;
	if (!capture_has(c, "syscalls"))
		return NULL;
	err = cpus_online(&cpus, &n);
	if (err)
		return err;
	c->ring_budget /= fills_rings(c) ? 2 : 16;
	c->context.n_spsc = (uint32_t)cpus[n - 1] + 1;
	while (bytes < MAX_SPSC_BYTES &&
	       spsc_size(bytes * 2) * c->context.n_spsc <= total - c->ring_budget)
		bytes *= 2;
	c->context.spsc_bytes = bytes;
	return NULL;
}

struct ebt_error *capture_create(struct kernel *kernel, const struct record_options *options,
				 uint64_t cgroup_id, struct capture **ret)
{
	_cleanup_(capture_destroyp) struct capture *c = calloc(1, sizeof(*c));
	struct ebt_error *err;
	/* As libbpf does by itself, but then it looks for types that are not there in modules too,
	 * for which the kernel wants CAP_SYS_ADMIN. */
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = KERNEL_BTF);

	if (!c)
		return &ebt_enomem;
	c->context.kernel = c->kernel = kernel;
	c->context.options = options;
	c->context.probes = &c->probes;
	err = topology_init(kernel->n_cpus, &c->topology);
	if (err)
		return err;
	err = probe_sources(c) ?: prepare_sources(c) ?: plan_buffers(c);
	if (err)
		return err;
	err = start_preparing(c);
	if (err)
		return err;
	c->context.skel = ebrec_bpf__open_opts(&opts);
	if (!c->context.skel)
		return ebt_error_errno(errno, "cannot open the BPF programs");
	err = configure(c, cgroup_id) ?: load(c) ?: map_shared(c) ?: map_spsc(c) ?: end_preparing(c);
	if (!err && needs_tables(c))
		err = unwinder_create(c->context.skel, options, &c->unwinder);
	if (err)
		return err;
	*ret = take_ptr(c);
	return NULL;
}

void capture_destroy(struct capture *c)
{
	if (!c)
		return;
	ebt_error_destroy(beside_join(&c->preparing));
	capture_detach(c);
	if (c->slots)
		munmap(c->slots, c->slots_bytes);
	if (c->followed)
		munmap(c->followed, c->followed_bytes);
	if (c->known)
		munmap(c->known, c->known_bytes);
	if (c->spsc_memory)
		munmap(c->spsc_memory, c->spsc_bytes);
	free(c->spsc);
	unwinder_destroy(c->unwinder);
	source_fds_close(&c->context.program_fds);
	ebrec_bpf__destroy(c->context.skel);
	for (uint32_t i = 0; c->event_rings && i < c->n_rings; i++)
		ring_deinit(&c->event_rings[i]);
	free(c->event_rings);
	ring_deinit(&c->doorbell);
	free(c->states);
	probe_list_deinit(&c->probes);
	tp_set_destroy(c->context.tp);
	topology_deinit(&c->topology);
	free(c);
}

const struct bpf_program *capture_task_iterator(const struct capture *c)
{
	return c->context.skel->progs.ebrec_task_iter;
}

volatile uint32_t *capture_task_keys(const struct capture *c)
{
	return &c->context.skel->bss->task_iter_keys;
}

/* tp_btf/NAME or raw_tp/NAME. */
static bool is_tracepoint(const struct bpf_program *program)
{
	return bpf_program__expected_attach_type(program) == BPF_TRACE_RAW_TP ||
	       (bpf_program__type(program) == BPF_PROG_TYPE_RAW_TRACEPOINT &&
		strchr(bpf_program__section_name(program), '/'));
}

struct ebt_error *capture_attach(struct capture *c)
{
	const struct ebrec_bpf *skel = c->context.skel;
	struct bpf_object_skeleton *s = skel->skeleton;
	struct ebt_error *err =
		source_join(skel->maps.event_programs, skel->progs.ebrec_event_stacks);

	if (err)
		return err;
	for (int i = 0; i < s->prog_cnt; i++) {
		const struct bpf_prog_skeleton *p = &s->progs[i];

		/* Iterators and perf events are for their sources to attach. */
		if (!bpf_program__autoload(*p->prog) || !is_tracepoint(*p->prog))
			continue;
		*p->link = bpf_program__attach(*p->prog);
		if (!*p->link)
			return ebt_error_errno(errno, "cannot attach the BPF program %s", p->name);
	}
	return NULL;
}

void capture_set_gate(struct capture *c, bool open)
{
	__atomic_store_n(&c->context.skel->bss->gate, open, __ATOMIC_SEQ_CST);
}

struct ebt_error *capture_attach_last(struct capture *c)
{
	struct ebt_error *err = NULL;

	for (int last = 0; last < 2 && !err; last++) {
		for (size_t i = 0; i < ebrec_n_sources && !err; i++) {
			const struct ebrec_source *source = ebrec_sources[i];

			if (source->attach && is_on(c, i) && source->attach_last == last)
				err = source->attach(&c->context, &c->states[i]);
		}
	}
	return err;
}

void capture_detach(struct capture *c)
{
	for (size_t i = 0; i < c->context.n_links; i++)
		bpf_link__destroy(c->context.links[i]);
	free(c->context.links);
	c->context.links = NULL;
	c->context.n_links = c->context.links_capacity = 0;
	source_detach_cpus(&c->context);
	source_fds_close(&c->context.link_fds);
	if (c->context.skel)
		ebrec_bpf__detach(c->context.skel);
}

void capture_follow(struct capture *c, uint32_t tid)
{
	if (tid < c->context.kernel->pid_max)
		__atomic_store_n(&c->followed[tid / 64].tid[tid % 64], 1, __ATOMIC_RELEASE);
}

bool capture_follows(const struct capture *c, uint32_t tid)
{
	if (c->context.options->target == TARGET_ALL)
		return tid != (uint32_t)getpid();
	return tid < c->context.kernel->pid_max &&
	       __atomic_load_n(&c->followed[tid / 64].tid[tid % 64], __ATOMIC_ACQUIRE);
}

static void set_asleep(struct capture *c, uint32_t slot)
{
	__atomic_store_n(&c->slots[slot].asleep, 1, __ATOMIC_RELAXED);
}

void capture_set_asleep(struct capture *c, uint32_t ring)
{
	const struct topology *t = &c->topology;

	if (ring == 2 * t->n_rings)
		set_asleep(c, EBREC_SLOT_TASK(t));
	for (uint32_t cpu = 0; cpu < t->n_cpus && ring < t->n_rings; cpu++) {
		if (t->cpu_ring[cpu] == ring) {
			set_asleep(c, cpu);
			set_asleep(c, t->n_cpus + cpu);
		}
	}
}

int capture_doorbell_fd(const struct capture *c)
{
	return c->doorbell.fd;
}

void capture_arm_doorbell(struct capture *c)
{
	__atomic_store_n(&c->slots[EBREC_SLOT_DOORBELL(&c->topology)].asleep, 1, __ATOMIC_SEQ_CST);
}

bool capture_answer_doorbell(struct capture *c)
{
	const uint64_t end = ring_end(&c->doorbell);
	const bool rung = end != c->doorbell.pos;
	size_t len;

	/* Its records say nothing, and are discarded as they are made. */
	ring_next(&c->doorbell, end, &len);
	ring_release(&c->doorbell);
	return rung;
}

struct ebrec_known *capture_known_programs(const struct capture *c)
{
	return c->known;
}

static uint32_t ring_of_drop(const struct capture *c, uint32_t table, uint32_t cpu)
{
	switch (table) {
	case EBT_T_task_fork:
	case EBT_T_task_exec:
	case EBT_T_task_exit:
	case EBT_T_task_rename:
		return 2 * c->topology.n_rings;
	case EBT_T_sample:
		return c->topology.n_rings + c->topology.cpu_ring[cpu];
	case EBT_T_syscall:
		if (cpu < c->context.n_spsc)
			return 2 * c->topology.n_rings + 1 + cpu;
	}
	return c->topology.cpu_ring[cpu];
}

static void add_drop(struct capture_drop *drops, size_t *n, struct capture_drop drop)
{
	if (!drop.count)
		return;
	for (size_t i = 0; i < *n; i++) {
		if (drops[i].table == drop.table && drops[i].ring == drop.ring &&
		    drops[i].reason == drop.reason) {
			drops[i].count += drop.count;
			return;
		}
	}
	drops[(*n)++] = drop;
}

static bool fills(const struct ebrec_source *source, uint32_t table)
{
	for (const uint16_t *t = source->tables; *t; t++) {
		if (*t == table)
			return true;
	}
	return false;
}

/* Whose rows these are: of several sources one that is on. NULL: nobody's. */
static const char *source_of(const struct capture *c, uint32_t table)
{
	const char *name = NULL;

	for (size_t i = 0; i < ebrec_n_sources; i++) {
		if (!fills(ebrec_sources[i], table))
			continue;
		if (is_on(c, i))
			return ebrec_sources[i]->name;
		name = name ?: ebrec_sources[i]->name;
	}
	return name;
}

struct ebt_error *capture_drops(const struct capture *c, struct capture_drop **ret, size_t *ret_n)
{
	uint32_t n_cpus = c->topology.n_cpus;
	_cleanup_free_ struct ebrec_drops *values = calloc(n_cpus, sizeof(*values));
	_cleanup_free_ struct capture_drop *drops = NULL;
	int fd = bpf_map__fd(c->context.skel->maps.drops);
	size_t n = 0;

	drops = calloc(2 * (size_t)n_cpus * EBREC_DROPS_TABLES, sizeof(*drops));
	if (!values || !drops)
		return &ebt_enomem;
	for (uint32_t table = 0; table < EBREC_DROPS_TABLES; table++) {
		const char *source = source_of(c, table);

		if (!source)
			continue;
		if (bpf_map_lookup_elem(fd, &table, values))
			return ebt_error_errno(errno, "cannot read what was lost");
		for (uint32_t cpu = 0; cpu < n_cpus; cpu++) {
			struct capture_drop drop = {
				.table = (uint16_t)table,
				.ring = ring_of_drop(c, table, cpu),
				.reason = EBT_V_lost_reason_ring_buffer_full,
				.count = values[cpu].ring_full,
				.source = source,
			};

			add_drop(drops, &n, drop);
			drop.reason = EBT_V_lost_reason_no_memory_for_task_state;
			drop.count = values[cpu].no_storage;
			add_drop(drops, &n, drop);
		}
	}
	*ret = take_ptr(drops);
	*ret_n = n;
	return NULL;
}

uint64_t capture_refused_dumps(const struct capture *c)
{
	_cleanup_free_ struct ebrec_rate *values = NULL;
	int fd = bpf_map__fd(c->context.skel->maps.unwind_dumps), n = libbpf_num_possible_cpus();
	uint64_t total = 0;
	__u32 zero = 0;

	if (n > 0)
		values = calloc((size_t)n, sizeof(*values));
	if (!values || bpf_map_lookup_elem(fd, &zero, values))
		return 0;
	for (int i = 0; i < n; i++)
		total += values[i].refused;
	return total;
}

static uint64_t missed_runs(int fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) ? info.recursion_misses : 0;
}

uint64_t capture_missed_runs(const struct capture *c)
{
	struct bpf_program *program;
	uint64_t total = 0;

	bpf_object__for_each_program(program, c->context.skel->obj)
	{
		total += missed_runs(bpf_program__fd(program));
	}
	for (size_t i = 0; i < c->context.program_fds.n; i++)
		total += missed_runs(c->context.program_fds.v[i]);
	return total;
}
