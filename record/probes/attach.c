/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Links to places in code; see attach.h. libbpf 1.1 does not know of links to many places,
 * nor do headers of its time.
 */
#include "record/probes/attach.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "record/base/kernel.h"

#define UPROBE_MULTI	    48 /* BPF_TRACE_UPROBE_MULTI */
#define UPROBE_MULTI_RETURN 1  /* BPF_F_UPROBE_MULTI_RETURN */

/* What uprobes say of an instruction that they cannot emulate; not of <errno.h>. */
#define ENOTSUPP 524

/* Each that is refused among many takes some ten tries to find. */
#define MAX_REFUSED 16u

/* struct link_create of union bpf_attr, for links of many uprobes. */
struct multi_attr {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t n, multi_flags, pid, unused;
};

/* --- places --- */

/* Capacities are the same before and behind; where memory is short, that of some arrays is not
 * used. */
bool probe_sites_add(struct probe_sites *sites, uint64_t offset, uint64_t semaphore,
		     uint64_t cookie)
{
	uint64_t **const arrays[] = { &sites->offsets, &sites->semaphores, &sites->cookies };
	const uint64_t values[] = { offset, semaphore, cookie };
	size_t capacity = 0;

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		capacity = sites->capacity;
		if (ebt_array_reserve(arrays[i], sites->n, &capacity))
			return false;
		(*arrays[i])[sites->n] = values[i];
	}
	sites->capacity = capacity;
	sites->n++;
	return true;
}

void probe_sites_deinit(struct probe_sites *sites)
{
	free(sites->offsets);
	free(sites->semaphores);
	free(sites->cookies);
	*sites = (struct probe_sites){ 0 };
}

/* --- before --- */

bool probe_attach_can_load(bool sleeping)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_attach_cookie },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = sleeping ? BPF_F_SLEEPABLE : 0);
	_cleanup_close_ int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "ebrec_ask", "GPL", insns,
					       sizeof(insns) / sizeof(insns[0]), &opts);

	return fd >= 0;
}

bool probe_attach_can_multi(const struct kernel *kernel)
{
	return btf__find_by_name_kind(kernel->btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) > 0;
}

void probe_attach_prepare(struct bpf_program *program, bool multi)
{
	if (multi)
		bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)UPROBE_MULTI);
}

/* --- attaching --- */

/* A descriptor for each file and program, or two for each place. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static bool goes_on(const struct probe_attach *how, const struct probe_refusal *refusal)
{
	return how->errors || refusal->n < MAX_REFUSED;
}

static void refuse(const struct probe_attach *how, struct probe_refusal *refusal, size_t site,
		   int error)
{
	if (how->errors)
		how->errors[site] = error;
	if (!refusal->n++) {
		refusal->first = site;
		refusal->error = error;
	}
}

/* To n places from one on; 0 or an errno. */
static int attach_many(const struct probe_attach *how, const struct probe_sites *sites,
		       size_t first, size_t n, struct probe_links *links)
{
	const struct multi_attr attr = {
		.program = (uint32_t)bpf_program__fd(how->program),
		.attach_type = UPROBE_MULTI,
		.path = (uintptr_t)how->path,
		.offsets = (uintptr_t)(sites->offsets + first),
		.semaphores = (uintptr_t)(sites->semaphores + first),
		.cookies = (uintptr_t)(sites->cookies + first),
		.n = (uint32_t)n,
		.multi_flags = how->at_return ? UPROBE_MULTI_RETURN : 0,
	};
	int fd;

	if (ebt_array_reserve(&links->fds, links->n_fds, &links->fds_capacity))
		return ENOMEM;
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return errno;
	links->fds[links->n_fds++] = fd;
	return 0;
}

/* One place that is refused makes the kernel refuse all; it is looked for by halves, and those that
 * are taken stay. */
static void attach_multi(const struct probe_attach *how, const struct probe_sites *sites,
			 struct probe_links *links, struct probe_refusal *refusal)
{
	size_t begin = 0, among = 0; /* so many from begin have one that is refused, or 0 */

	while (begin < sites->n && goes_on(how, refusal)) {
		size_t n = among ? (among + 1) / 2 : sites->n - begin;
		int error = attach_many(how, sites, begin, n, links);

		if (!error) {
			begin += n;
			among = among > n ? among - n : 0;
		} else if (n > 1) {
			among = n;
		} else {
			refuse(how, refusal, begin++, error);
			among = 0;
		}
	}
	refusal->n += sites->n - begin;
}

static int attach_one(const struct probe_attach *how, const struct probe_sites *sites, size_t site,
		      struct probe_links *links)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = sites->semaphores[site],
		    .bpf_cookie = sites->cookies[site], .retprobe = how->at_return);
	struct bpf_link *link;

	if (ebt_array_reserve(&links->links, links->n_links, &links->links_capacity))
		return ENOMEM;
	link = bpf_program__attach_uprobe_opts(how->program, -1, how->path, sites->offsets[site],
					       &opts);
	if (!link)
		return errno;
	links->links[links->n_links++] = link;
	return 0;
}

struct probe_refusal probe_attach(const struct probe_attach *how, const struct probe_sites *sites,
				  struct probe_links *links)
{
	struct probe_refusal refusal = { 0 };
	size_t site = 0;

	raise_limit();
	if ((int)bpf_program__expected_attach_type(how->program) == UPROBE_MULTI) {
		attach_multi(how, sites, links, &refusal);
		return refusal;
	}
	while (site < sites->n && goes_on(how, &refusal)) {
		int error = attach_one(how, sites, site, links);

		if (error)
			refuse(how, &refusal, site, error);
		site++;
	}
	refusal.n += sites->n - site;
	return refusal;
}

void probe_links_deinit(struct probe_links *links)
{
	while (links->n_fds)
		close(links->fds[--links->n_fds]);
	while (links->n_links)
		bpf_link__destroy(links->links[--links->n_links]);
	free(links->fds);
	free(links->links);
	*links = (struct probe_links){ 0 };
}

const char *probe_attach_strerror(int error)
{
	return error == ENOTSUPP ? "the kernel cannot probe this instruction" : strerror(error);
}
