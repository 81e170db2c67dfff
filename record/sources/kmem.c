/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `kmem`: objects and pages that the kernel allocates and frees, resident memory of
 * processes, and what /proc says of memory at the beginning and the end.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/write/writer.h"
#include "record/base/clocks.h"
#include "record/base/procfs.h"
#include "record/config/skeleton.h"
#include "record/sources/sources.h"
#include "record/unwind/unwinder.h"

/* Objects whose free has to be seen; one takes about 80 bytes. */
#define MIN_LIVE     (16u << 10)
#define MAX_LIVE     (1u << 20)
#define RAM_FOR_LIVE (16u << 10) /* bytes of memory for each */
#define PAGES_A_WORD 8u
#define MAX_WORDS    (1u << 27) /* 1 GiB: 4 TiB of memory in pages of 4 KiB */
#define PAGE_STRUCT  64		/* where pages have numbers that fit their blocks */
#define MAX_RATE     (UINT64_C(1) << 31)

/* Processes at a time: reading one takes about 20 us, for which the session's thread does nothing
 * else. */
#define MAX_PROCESSES 4096
#define TEXT	      8192

struct kmem_args {
	bool slab, pages, rss;
	bool no_stack;
	uint64_t rate;
};

static struct ebt_error *parse_rate(const char *text, uint64_t *ret)
{
	uint64_t rate;
	struct ebt_error *err = cli_parse_size(text, &rate);

	if (err)
		return err;
	if (!rate || rate > MAX_RATE)
		return ebt_error_create(EBT_ERR_INVALID, "rate is not from 1 to 2G");
	*ret = rate;
	return NULL;
}

static struct ebt_error *parse_word(const char *word, struct kmem_args *args)
{
	if (!strcmp(word, "slab"))
		args->slab = true;
	else if (!strcmp(word, "pages"))
		args->pages = true;
	else if (!strcmp(word, "rss"))
		args->rss = true;
	else if (!strcmp(word, "nostack"))
		args->no_stack = true;
	else if (!strncmp(word, "rate=", 5))
		return parse_rate(word + 5, &args->rate);
	else
		return ebt_error_create(EBT_ERR_INVALID, "'%s' is not known here", word);
	return NULL;
}

/* "rate=64K:nostack" */
static struct ebt_error *parse_args(const char *text, struct kmem_args *ret)
{
	_cleanup_free_ char *words = strdup(text ? text : "");
	char *rest = words, *word;
	struct kmem_args args = { 0 };
	struct ebt_error *err = NULL;

	if (!words)
		return &ebt_enomem;
	while (!err && (word = strsep(&rest, ":"))) {
		if (*word || text)
			err = parse_word(word, &args);
	}
	if (err)
		return err;
	if (!args.slab && !args.pages && !args.rss)
		args.slab = args.pages = args.rss = true;
	*ret = args;
	return NULL;
}

static struct ebt_error *check_args(const char *text)
{
	struct kmem_args args;

	return parse_args(text, &args);
}

static uint32_t live_entries(void)
{
	struct sysinfo info;
	uint64_t n = MAX_LIVE;

	if (!sysinfo(&info))
		n = (uint64_t)info.totalram * info.mem_unit / RAM_FOR_LIVE;
	return n < MIN_LIVE ? MIN_LIVE : n > MAX_LIVE ? MAX_LIVE : (uint32_t)n;
}

/* One more than the number of the last page of memory; 0: not known. */
static uint64_t end_of_pages(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/zoneinfo", "re");
	_cleanup_free_ char *line = NULL;
	unsigned long long spanned = 0, start, end = 0;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		if (sscanf(line, " spanned %llu", &spanned) == 1)
			continue;
		if (sscanf(line, " start_pfn: %llu", &start) == 1 && spanned &&
		    start + spanned > end)
			end = start + spanned;
	}
	return end;
}

/* Words of a map with a byte for each page; 0: it cannot be, so that all frees are recorded. */
static uint32_t page_words(const struct kernel *kernel)
{
	int id = btf__find_by_name_kind(kernel->btf, "page", BTF_KIND_STRUCT);
	uint64_t end = end_of_pages(), words = 1;

	if (id < 0 || btf__resolve_size(kernel->btf, (uint32_t)id) != PAGE_STRUCT || !end)
		return 0;
	while (words * PAGES_A_WORD < end)
		words *= 2;
	return words > MAX_WORDS ? 0 : (uint32_t)words;
}

static void configure_slab(struct source_context *context, bool keep)
{
	struct ebrec_bpf *skel = context->skel;

	source_load(context, "ebrec_kmalloc");
	source_load(context, "ebrec_kmem_cache_");
	source_load(context, "ebrec_kfree");
	if (!keep)
		return;
	skel->rodata->kmem_live_set = 1;
	source_use_map(skel->maps.kmem_live);
	bpf_map__set_max_entries(skel->maps.kmem_live, live_entries());
}

static void configure_pages(struct source_context *context, bool keep)
{
	struct ebrec_bpf *skel = context->skel;
	uint32_t words = keep ? page_words(context->kernel) : 0;

	source_load(context, "ebrec_page_");
	if (!words)
		return;
	skel->rodata->kmem_page_words = words;
	source_use_map(skel->maps.kmem_pages);
	bpf_map__set_max_entries(skel->maps.kmem_pages, words);
}

static void configure(struct source_context *context)
{
	const char *text = source_args(context, &source_kmem);
	struct ebrec_bpf *skel = context->skel;
	struct kmem_args args = { .slab = true, .pages = true, .rss = true };
	bool keep;

	if (text)
		ebt_error_destroy(parse_args(text, &args)); /* it has been checked */
	/* Where everything is recorded, every free is. */
	keep = args.rate || context->options->target != TARGET_ALL;
	skel->rodata->kmem_rate = args.rate;
	skel->rodata->kmem_page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	source_use_event_stacks(context);
	skel->rodata->kmem_stacks = !args.no_stack;
	if (args.slab)
		configure_slab(context, keep);
	if (args.pages)
		configure_pages(context, keep);
	if (args.rss) {
		source_load(context, "ebrec_rss_stat");
		source_use_map(skel->maps.kmem_rss_told);
	}
}

/* --- what /proc says of the memory of the machine and of processes --- */

struct kmem_status {
	const struct source_context *context;
	bool listed; /* processes, once */
};

/* Finds "NAME:   123 kB" at the beginning of a line; bytes, or 0 where there is none. */
static uint64_t bytes_of(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ':')
			return strtoull(line + len + 1, NULL, 10) * 1024;
	}
	return 0;
}

static struct ebt_error *add_meminfo(struct ebt_stream *stream, uint32_t moment)
{
	_cleanup_close_ int dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ebt_wire_meminfo row = {
		.head = { clocks_now(), sizeof(row), EBT_T_meminfo, 0 },
		.moment = moment,
	};
	char text[TEXT];

	if (dir < 0 || procfs_read(dir, "meminfo", text, sizeof(text)) <= 0)
		return NULL;
	row.total = bytes_of(text, "MemTotal");
	row.free = bytes_of(text, "MemFree");
	row.available = bytes_of(text, "MemAvailable");
	row.buffers = bytes_of(text, "Buffers");
	row.cached = bytes_of(text, "Cached");
	row.anon = bytes_of(text, "AnonPages");
	row.slab = bytes_of(text, "Slab");
	row.slab_unreclaimable = bytes_of(text, "SUnreclaim");
	row.page_tables = bytes_of(text, "PageTables");
	row.swap_total = bytes_of(text, "SwapTotal");
	row.swap_free = bytes_of(text, "SwapFree");
	return ebt_stream_add(stream, &row, sizeof(row));
}

static struct ebt_error *add_process(struct ebt_stream *stream, uint32_t pid, uint32_t moment)
{
	struct ebt_wire_process_memory row = {
		.head = { clocks_now(), sizeof(row), EBT_T_process_memory, 0 },
		.task = pid,
		.moment = moment,
	};
	_cleanup_close_ int dir = procfs_open(pid);
	char text[TEXT];

	if (dir < 0 || procfs_read(dir, "status", text, sizeof(text)) <= 0)
		return NULL; /* it has gone */
	row.vm_size = bytes_of(text, "VmSize");
	if (!row.vm_size)
		return NULL; /* a kernel thread, or it has ended */
	row.rss = bytes_of(text, "VmRSS");
	row.rss_peak = bytes_of(text, "VmHWM");
	row.rss_anon = bytes_of(text, "RssAnon");
	row.rss_file = bytes_of(text, "RssFile");
	row.rss_shmem = bytes_of(text, "RssShmem");
	row.swap = bytes_of(text, "VmSwap");
	return ebt_stream_add(stream, &row, sizeof(row));
}

static bool is_followed(const struct kmem_status *status, uint32_t pid)
{
	uint32_t key = pid / 64;
	struct ebrec_followed followed;

	if (status->context->options->target == TARGET_ALL)
		return pid != (uint32_t)getpid();
	return !bpf_map_lookup_elem(bpf_map__fd(status->context->skel->maps.followed), &key,
				    &followed) &&
	       followed.tid[pid % 64];
}

static struct ebt_error *add_processes(const struct kmem_status *status, struct ebt_stream *stream,
				       uint32_t moment)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	struct ebt_error *err = NULL;
	const struct dirent *entry;
	size_t n = 0;

	while (!err && dir && n < MAX_PROCESSES && (entry = readdir(dir))) {
		unsigned long pid = strtoul(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)*entry->d_name) || !pid || pid > UINT32_MAX ||
		    !is_followed(status, (uint32_t)pid))
			continue;
		err = add_process(stream, (uint32_t)pid, moment);
		n++;
	}
	return err;
}

static struct ebt_error *status_open(const struct source_context *context,
				     struct source_state *state, void *worker)
{
	struct kmem_status *status = worker;

	(void)state;
	status->context = context;
	return NULL;
}

static struct ebt_error *status_work(void *worker, struct ebt_stream *stream,
				     enum source_moment moment)
{
	static const uint32_t moments[] = {
		[SOURCE_BEGIN] = EBT_V_meminfo_moment_begin,
		[SOURCE_SECOND] = EBT_V_meminfo_moment_begin,
		[SOURCE_EPOCH] = EBT_V_meminfo_moment_epoch,
		[SOURCE_END] = EBT_V_meminfo_moment_end,
	};
	struct kmem_status *status = worker;
	struct ebt_error *err = NULL;

	if (moment == SOURCE_READY || moment == SOURCE_LAST ||
	    (moment == SOURCE_SECOND && status->listed))
		return NULL;
	if (moment != SOURCE_SECOND)
		err = add_meminfo(stream, moments[moment]);
	/* Who is followed is known a moment after the gate has been opened. */
	if (err || moment == SOURCE_BEGIN)
		return err;
	status->listed = true;
	return add_processes(status, stream, moments[moment]);
}

static const struct source_worker status_worker = {
	.size = sizeof(struct kmem_status),
	.open = status_open,
	.work = status_work,
};

const struct ebrec_source source_kmem = {
	.name = "kmem",
	.doc = "memory of the kernel: objects and pages, allocated and freed; resident memory",
	.elsewhere = "mem memory slab",
	.cost = "about 3 us for each allocation (nostack: 0.5 us), 0.5 us for each free, 0.1 us "
		"for those of others; a compile has a million a second",
	.args_doc = "rate=BYTES, nostack, slab, pages, rss; with colons between",
	.tables = (const uint16_t[]){ EBT_T_kmem_alloc, EBT_T_kmem_free, EBT_T_page_alloc,
				      EBT_T_page_free, EBT_T_rss_stat, EBT_T_process_memory,
				      EBT_T_meminfo, 0 },
	.check_args = check_args,
	.needs = (const char *const[]){ "kmalloc", "kfree", "kmem_cache_alloc", "kmem_cache_free",
					"mm_page_alloc", "mm_page_free", NULL },
	.wants =
		(const struct source_want[]){
			{ "rss_stat", "resident memory of processes over time" }, { NULL } },
	.stacks = true,
	.configure = configure,
	.worker = &status_worker,
};
