/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Side-band and snapshot on this machine, written to a file and read back, against what readelf
 * and /proc say. What needs root is skipped without, and says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/read/reader.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/base/task_list.h"
#include "record/base/procmaps.h"
#include "record/config/skeleton.h"
#include "record/sideband/sideband.h"
#include "record/sideband/kernel_symbols.h"
#include "record/sideband/snapshot.h"
#include "record/sideband/tasks.h"
#include "tests/tools/readelf.h"

static void expect(struct ebt_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

static bool is_root(const char *what)
{
	if (!geteuid())
		return true;
	print_message("skipped: %s needs root\n", what);
	return false;
}

/* --- the task iterator --- */

static struct ebrec_bpf *programs;

static int load_iterator(void **state)
{
	struct bpf_program *program;

	(void)state;
	if (geteuid())
		return 0;
	programs = ebrec_bpf__open();
	assert_non_null(programs);
	bpf_object__for_each_program(program, programs->obj)
	{
		bpf_program__set_autoload(program, program == programs->progs.ebrec_task_iter);
	}
	if (ebrec_bpf__load(programs)) {
		print_message("skipped: the task iterator, which the kernel does not load\n");
		ebrec_bpf__destroy(programs);
		programs = NULL;
	}
	return 0;
}

static int unload_iterator(void **state)
{
	(void)state;
	ebrec_bpf__destroy(programs);
	return 0;
}

/* --- a trace that is written and read back --- */

struct trace {
	char path[64];
	int fd;
	struct tasks *tasks;
	struct ebt_writer *writer;
	struct sideband_context context;
	struct ebt_reader *reader;
	struct ebt_cursor *cursor;
};

static void trace_begin(struct trace *trace)
{
	struct ebt_writer_options options = { .name = trace->path };

	memset(trace, 0, sizeof(*trace));
	strcpy(trace->path, "/tmp/test_snapshot.XXXXXX");
	trace->fd = mkstemp(trace->path);
	assert_true(trace->fd >= 0);
	expect(tasks_create(&trace->tasks));
	options.fd = trace->fd;
	options.resolve_task = tasks_resolve;
	options.resolve_arg = trace->tasks;
	expect(ebt_writer_create(&options, &trace->writer));
	trace->context.tasks = trace->tasks;
	trace->context.task_iterator = programs ? programs->progs.ebrec_task_iter : NULL;
	expect(ebt_writer_add_stream(trace->writer, &trace->context.stream));
}

static void trace_written(struct trace *trace)
{
	expect(ebt_writer_finish(trace->writer));
	expect(ebt_reader_open(trace->path, &trace->reader));
	unlink(trace->path);
}

static void trace_query(struct trace *trace, uint16_t table)
{
	const struct ebt_want want = { table, ~UINT64_C(0) };
	const struct ebt_query query = { .wants = &want, .n_wants = 1 };

	ebt_cursor_destroy(trace->cursor);
	trace->cursor = NULL;
	expect(ebt_cursor_create(trace->reader, &query, &trace->cursor));
}

static bool trace_next(struct trace *trace, struct ebt_row *ret)
{
	expect(ebt_cursor_next(trace->cursor, ret));
	return ret->batch != NULL;
}

static void trace_end(struct trace *trace)
{
	ebt_cursor_destroy(trace->cursor);
	ebt_reader_close(trace->reader);
	ebt_writer_destroy(trace->writer);
	tasks_destroy(trace->tasks);
	close(trace->fd);
}

static bool is(struct ebt_str s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.data, text, s.len);
}

static void hex_of(struct ebt_str bytes, char *ret)
{
	*ret = '\0';
	for (size_t i = 0; i < bytes.len && i < 64; i++)
		sprintf(ret + 2 * i, "%02x", (unsigned char)bytes.data[i]);
}

/* --- children --- */

/* A copy of a program under a name of our own, so that its rows are easily found. */
static void copy_program(const char *from, char *path)
{
	char command[512];

	snprintf(command, sizeof(command), "cp %s %s && chmod 755 %s", from, path, path);
	assert_int_equal(system(command), 0);
}

static pid_t run(const char *path)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	return child;
}

/* --- side-band --- */

struct seen {
	unsigned int program, loader, vdso, library, of_pid;
	uint64_t last;
};

static void look(struct trace *trace, pid_t pid, const char *program, struct seen *ret)
{
	struct seen seen = { 0 };
	struct ebt_row row;

	trace_query(trace, EBT_T_mmap);
	while (trace_next(trace, &row)) {
		const struct ebt_task *task = ebt_mmap_task(&row);
		struct ebt_str path = ebt_mmap_path(&row);
		char name[512], expected[256], found[130];

		if (!task || task->tid != (uint32_t)pid)
			continue;
		seen.of_pid++;
		seen.last = row.time;
		assert_true(ebt_mmap_prot(&row) & PROT_EXEC);
		snprintf(name, sizeof(name), "%.*s", (int)path.len, path.data);
		hex_of(ebt_mmap_build_id(&row), found);
		if (is(path, "[vdso]")) {
			assert_true(*found);
			seen.vdso++;
		}
		if (name[0] != '/')
			continue;
		readelf(name, expected);
		assert_string_equal(found, expected);
		seen.program += !strcmp(name, program);
		seen.loader += strstr(name, "/ld-linux") != NULL;
		seen.library += strstr(name, "/libc.so") != NULL;
	}
	*ret = seen;
}

/* Root of a container may not have perf events. */
static struct sideband *open_or_skip(struct trace *trace, bool all)
{
	struct sideband *sideband;
	struct ebt_error *err;

	trace->context.all = all;
	err = sideband_open(&trace->context, (uint32_t)sysconf(_SC_NPROCESSORS_CONF), &sideband);

	if (!err)
		return sideband;
	print_message("skipped: %s\n", err->message);
	ebt_error_destroy(err);
	unlink(trace->path);
	trace_end(trace);
	skip();
	return NULL;
}

static void test_sideband_exec(void **state)
{
	char program[] = "/tmp/test_sideband.XXXXXX";
	struct sideband *sideband;
	struct trace trace;
	struct seen seen;
	const int *fds;
	uint64_t before, after;
	pid_t child;

	(void)state;
	if (!is_root("the side-band"))
		skip();
	close(mkstemp(program));
	copy_program("/bin/true", program);
	trace_begin(&trace);
	sideband = open_or_skip(&trace, true);
	assert_true(sideband_fds(sideband, &fds) >= 1);
	before = clocks_now();
	child = run(program);
	after = clocks_now();
	expect(sideband_read(sideband));
	expect(sideband_emit(sideband));
	/* Nothing is emitted twice. */
	expect(sideband_emit(sideband));
	trace_written(&trace);
	look(&trace, child, program, &seen);
	assert_int_equal(seen.program, 1);
	assert_int_equal(seen.vdso, 1);
	assert_in_range(seen.last, before, after);
	if (seen.loader)
		assert_int_equal(seen.library, 1);
	unlink(program);
	sideband_close(sideband);
	trace_end(&trace);
}

static void test_sideband_follows(void **state)
{
	struct ebt_task_id id = { .start_ns = 1 };
	struct sideband *sideband;
	struct trace trace;
	struct seen known, unknown;
	pid_t children[2];

	(void)state;
	if (!is_root("the side-band"))
		skip();
	trace_begin(&trace);
	sideband = open_or_skip(&trace, false);
	for (int i = 0; i < 2; i++)
		children[i] = run("/bin/true");
	expect(sideband_read(sideband));
	/* That it is ours is learnt after its mappings were read, and it has gone already. */
	id.tid = id.pid = (uint32_t)children[1];
	expect(tasks_add(trace.tasks, &id, 1));
	tasks_follow(trace.tasks, id.pid);
	expect(sideband_emit(sideband));
	trace_written(&trace);
	look(&trace, children[0], "/bin/true", &unknown);
	look(&trace, children[1], "/bin/true", &known);
	assert_int_equal(unknown.of_pid, 0);
	assert_true(known.of_pid >= 2);
	sideband_close(sideband);
	trace_end(&trace);
}

/* Nobody reads while far more is mapped than the rings hold. */
static void test_sideband_overflow(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const unsigned int mapped = 100000;
	struct sideband *sideband;
	struct trace trace;
	struct ebt_row row;
	uint64_t rows = 0, lost = 0;
	cpu_set_t all, one;

	(void)state;
	if (!is_root("the side-band"))
		skip();
	/* On one CPU, because each tells of its losses when it is written to again. */
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	trace_begin(&trace);
	sideband = open_or_skip(&trace, true);
	for (unsigned int i = 0; i < mapped; i++) {
		void *p =
			mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_true(p != MAP_FAILED);
		munmap(p, page);
	}
	expect(sideband_read(sideband));
	/* The kernel tells of a loss with the next record that it can write. */
	for (int i = 0; i < 64; i++) {
		void *p =
			mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(p, page);
		usleep(1000);
	}
	expect(sideband_read(sideband));
	expect(sideband_emit(sideband));
	trace_written(&trace);
	trace_query(&trace, EBT_T_mmap);
	while (trace_next(&trace, &row)) {
		const struct ebt_task *task = ebt_mmap_task(&row);

		rows += task && task->tid == (uint32_t)getpid();
	}
	trace_query(&trace, EBT_T_lost);
	while (trace_next(&trace, &row)) {
		assert_int_equal(ebt_lost_table_id(&row), EBT_T_mmap);
		assert_int_equal(ebt_lost_reason(&row), EBT_V_lost_reason_side_band_buffer_full);
		assert_true(ebt_lost_from(&row) <= row.time);
		lost += ebt_lost_count(&row);
	}
	assert_true(lost > 0);
	/* Others may have mapped and lost something too. */
	assert_true(rows <= mapped + 64);
	assert_true(rows + lost >= mapped + 64);
	sched_setaffinity(0, sizeof(all), &all);
	sideband_close(sideband);
	trace_end(&trace);
}

/* --- tasks --- */

/* Field `n` of /proc/PID/stat, counted from 1; those behind the name only. */
static uint64_t stat_field(pid_t tid, int n)
{
	char path[64], text[1024];
	ssize_t len;
	char *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	at = strrchr(text, ')');
	for (int i = 2; i < n && at; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

static void comm_of(pid_t tid, char *ret, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	f = fopen(path, "r");
	*ret = '\0';
	if (!f)
		return;
	if (!fgets(ret, (int)size, f))
		*ret = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	fclose(f);
}

static void test_iterator(void **state)
{
	const uint64_t tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	struct task_lister lister;
	struct task_list list;
	struct clocks clocks;
	unsigned int compared = 0;
	bool self = false;

	(void)state;
	if (!is_root("the task iterator") || !programs)
		skip();
	prctl(PR_SET_NAME, "it) er (ator");
	task_lister_init(&lister, programs->progs.ebrec_task_iter);
	if (*lister.detail) {
		print_message("skipped: %s\n", lister.detail);
		task_lister_deinit(&lister);
		skip();
	}
	expect(task_lister_read(&lister, &list));
	expect(clocks_read(&clocks));
	for (size_t i = 0; i < list.n; i++) {
		const struct ebrec_task *task = &list.tasks[i];
		uint64_t ticks = stat_field((pid_t)task->tid, 22);
		uint64_t boot = task->start + (clocks.boottime - clocks.monotonic);

		if (!ticks)
			continue; /* it has gone */
		assert_in_range(boot / tick, ticks - 1, ticks + 1);
		assert_true(task->start <= clocks.monotonic);
		if (task->tid != (uint32_t)getpid())
			continue;
		self = true;
		assert_int_equal(task->pid, getpid());
		assert_int_equal(task->ppid, getppid());
		assert_int_equal(task->uid, getuid());
		assert_int_equal(task->on_cpu, 1);
		assert_int_equal(task->kernel, 0);
		assert_int_equal(task->exit_state, 0);
		assert_true(task->used.run_time > 0);
		assert_string_equal(task->comm, "it) er (ator");
	}
	for (size_t i = 0; i < list.n; i++) {
		char comm[64];

		comm_of((pid_t)list.tasks[i].tid, comm, sizeof(comm));
		/* Workers of the kernel have longer names in /proc, and change them. */
		if (*comm && !list.tasks[i].kernel &&
		    !strncmp(comm, list.tasks[i].comm, sizeof(list.tasks[i].comm)))
			compared++;
	}
	assert_true(self);
	assert_true(compared > 0);
	task_list_deinit(&list);
	task_lister_deinit(&lister);
}

/* Both ways to list tasks agree on those that stay. */
static void test_proc_fallback(void **state)
{
	struct task_lister lister;
	struct task_list by_iterator, by_proc;
	unsigned int same = 0;

	(void)state;
	expect(task_lister_read(NULL, &by_proc));
	assert_true(by_proc.n > 0);
	for (size_t i = 0; i < by_proc.n; i++) {
		if (by_proc.tasks[i].tid != (uint32_t)getpid())
			continue;
		assert_int_equal(by_proc.tasks[i].ppid, getppid());
		same++;
	}
	assert_int_equal(same, 1);
	if (is_root("the task iterator") && programs) {
		size_t j = 0;

		task_lister_init(&lister, programs->progs.ebrec_task_iter);
		expect(task_lister_read(&lister, &by_iterator));
		same = 0;
		for (size_t i = 0; i < by_iterator.n; i++) {
			const struct ebrec_task *a = &by_iterator.tasks[i], *b;

			while (j < by_proc.n &&
			       (by_proc.tasks[j].pid < a->pid ||
				(by_proc.tasks[j].pid == a->pid && by_proc.tasks[j].tid < a->tid)))
				j++;
			if (j == by_proc.n)
				break;
			b = &by_proc.tasks[j];
			if (b->tid != a->tid || b->pid != a->pid)
				continue;
			assert_int_equal(a->kernel, b->kernel);
			assert_int_equal(a->ppid, b->ppid);
			assert_in_range(a->start, b->start > 20000000 ? b->start - 20000000 : 0,
					b->start + 20000000);
			same++;
		}
		assert_true(same * 2 > by_iterator.n);
		task_list_deinit(&by_iterator);
		task_lister_deinit(&lister);
	}
	task_list_deinit(&by_proc);
}

/* --- snapshot --- */

static bool wants(void *arg, uint32_t pid)
{
	return pid == *(const uint32_t *)arg;
}

static void snapshot_of(struct trace *trace, uint32_t pid)
{
	_cleanup_(kernel_symbols_destroyp) struct kernel_symbols *symbols = NULL;
	struct snapshot_state *snapshot;

	trace_begin(trace);
	trace->context.wanted = wants;
	trace->context.arg = &pid;
	expect(snapshot_create(&trace->context, &snapshot));
	expect(snapshot_host(snapshot));
	expect(kernel_symbols_create(&symbols));
	expect(snapshot_kernel(snapshot, symbols));
	expect(snapshot_tasks(snapshot));
	expect(snapshot_process(snapshot, pid, clocks_now()));
	/* One that never was. */
	expect(snapshot_process(snapshot, 0x7ffffff0, clocks_now()));
	trace_written(trace);
	snapshot_destroy(snapshot);
}

static void same_link(const char *path, struct ebt_str found)
{
	char expected[4096];
	ssize_t n = readlink(path, expected, sizeof(expected) - 1);

	assert_true(n > 0);
	expected[n] = '\0';
	if (!is(found, expected))
		fail_msg("%s: %.*s", expected, (int)found.len, found.data);
}

static uint64_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void test_process_row(void **state)
{
	struct trace trace;
	struct ebt_row row;
	unsigned int rows = 0;

	(void)state;
	if (!is_root("the snapshot") || !programs)
		skip();
	snapshot_of(&trace, (uint32_t)getpid());
	trace_query(&trace, EBT_T_process);
	while (trace_next(&trace, &row)) {
		const struct ebt_task *task = ebt_process_task(&row);
		char pid[16];

		snprintf(pid, sizeof(pid), "%d", getpid());
		assert_int_equal(task->tid, getpid());
		assert_int_equal(task->pid, getpid());
		assert_true(task->start_ns > 0);
		assert_int_equal(ebt_process_ppid(&row), getppid());
		assert_int_equal(ebt_process_uid(&row), getuid());
		assert_int_equal(ebt_process_kernel(&row), 0);
		assert_int_equal(ebt_process_mnt_ns(&row), inode_of("/proc/self/ns/mnt"));
		assert_int_equal(ebt_process_pid_ns(&row), inode_of("/proc/self/ns/pid"));
		assert_int_equal(ebt_process_net_ns(&row), inode_of("/proc/self/ns/net"));
		same_link("/proc/self/exe", ebt_process_exe(&row));
		same_link("/proc/self/root", ebt_process_root(&row));
		assert_true(ebt_process_nspid(&row).len >= strlen(pid));
		assert_true(ebt_process_cmdline(&row).len > 0);
		rows++;
	}
	/* From snapshot_tasks() and snapshot_process(). */
	assert_int_equal(rows, 2);
	rows = 0;
	trace_query(&trace, EBT_T_thread);
	while (trace_next(&trace, &row)) {
		assert_int_equal(ebt_thread_on_cpu(&row), 1);
		assert_int_equal(ebt_thread_state(&row), 0);
		rows++;
	}
	assert_int_equal(rows, 1);
	trace_end(&trace);
}

/* A file that has been deleted, and one that never had a name, still have their build-ids. */
static void test_mappings(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char program[] = "/tmp/test_snapshot.XXXXXX", expected[256], gone[64];
	int memfd = (int)syscall(SYS_memfd_create, "of mine", MFD_CLOEXEC), fd;
	unsigned int deleted = 0, unnamed = 0, anonymous = 0, vdso = 0;
	void *maps[3];
	struct trace trace;
	struct ebt_row row;

	(void)state;
	if (!is_root("the snapshot") || !programs)
		skip();
	close(mkstemp(program));
	copy_program("/bin/true", program);
	readelf(program, expected);
	fd = open(program, O_RDONLY);
	for (;;) {
		char byte;

		if (read(fd, &byte, 1) != 1 || write(memfd, &byte, 1) != 1)
			break;
	}
	maps[0] = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	maps[1] = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED, memfd, 0);
	maps[2] = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unlink(program);
	close(fd);
	close(memfd);
	snprintf(gone, sizeof(gone), "%s (deleted)", program);

	snapshot_of(&trace, (uint32_t)getpid());
	trace_query(&trace, EBT_T_mmap);
	while (trace_next(&trace, &row)) {
		const uint64_t start = ebt_mmap_start(&row);
		struct ebt_str path = ebt_mmap_path(&row);
		char found[130];

		assert_int_equal(ebt_mmap_origin(&row), EBT_V_mmap_origin_snapshot);
		hex_of(ebt_mmap_build_id(&row), found);
		if (start == (uintptr_t)maps[0]) {
			assert_true(is(path, gone));
			assert_string_equal(found, expected);
			assert_int_equal(ebt_mmap_flags(&row), MAP_PRIVATE);
			deleted++;
		} else if (start == (uintptr_t)maps[1]) {
			assert_true(is(path, "/memfd:of mine (deleted)"));
			assert_string_equal(found, expected);
			assert_int_equal(ebt_mmap_flags(&row), MAP_SHARED);
			unnamed++;
		} else if (start == (uintptr_t)maps[2]) {
			assert_true(is(path, "//anon"));
			assert_string_equal(found, "");
			anonymous++;
		} else if (is(path, "[vdso]")) {
			assert_true(*found);
			vdso++;
		}
	}
	assert_int_equal(deleted, 1);
	assert_int_equal(unnamed, 1);
	assert_int_equal(anonymous, 1);
	assert_int_equal(vdso, 1);
	for (int i = 0; i < 3; i++)
		munmap(maps[i], page);
	trace_end(&trace);
}

/* Pids of events would be others than those of /proc. */
static void test_pid_namespace(void **state)
{
	struct tasks *tasks;
	int status;
	pid_t child;

	(void)state;
	if (!is_root("a pid namespace"))
		skip();
	expect(tasks_create(&tasks));
	child = fork();
	if (!child) {
		if (unshare(CLONE_NEWPID))
			_exit(2);
		child = fork();
		if (!child) {
			struct sideband_context context = { .tasks = tasks };
			struct snapshot_state *snapshot;
			struct ebt_error *err = snapshot_create(&context, &snapshot);

			_exit(err && err->code == EBT_ERR_UNSUPPORTED ? 0 : 1);
		}
		waitpid(child, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	tasks_destroy(tasks);
	if (WEXITSTATUS(status) == 2)
		skip(); /* not allowed here */
	assert_int_equal(status, 0);
}

static void test_host(void **state)
{
	struct trace trace;
	const struct ebt_file *files;
	unsigned int kallsyms = 0, mountinfo = 0, vdso = 0, other = 0;
	const void *image;
	size_t n, image_len;

	(void)state;
	if (!is_root("the snapshot") || !programs)
		skip();
	snapshot_of(&trace, (uint32_t)getpid());
	expect(ebt_reader_files(trace.reader, &files, &n));
	for (size_t i = 0; i < n; i++) {
		char *content;
		size_t len;

		expect(ebt_reader_file_content(trace.reader, files[i].id, &content, &len));
		assert_int_equal(len, files[i].size);
		assert_false(files[i].truncated);
		if (!strcmp(files[i].role, "kallsyms")) {
			assert_non_null(strstr(content, " _text\n")
						?: strstr(content, " _stext\n"));
			assert_null(strstr(content, " D jiffies"));
			kallsyms++;
		} else if (!strcmp(files[i].role, "mountinfo")) {
			assert_int_equal(files[i].ns, inode_of("/proc/self/ns/mnt"));
			assert_non_null(strstr(content, " / rw") ?: strstr(content, " / ro"));
			mountinfo++;
		} else if (!strcmp(files[i].role, "vdso") && !files[i].pid) {
			assert_true(vdso_image(&image, &image_len));
			assert_int_equal(len, image_len);
			assert_memory_equal(content, image, len);
			vdso++;
		} else {
			other++;
		}
		free(content);
	}
	assert_int_equal(kallsyms, 1);
	/* This process is in the namespace whose table has been stored already. */
	assert_int_equal(mountinfo, 1);
	assert_int_equal(vdso, 1);
	assert_true(other >= 3);
	trace_end(&trace);
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Whatever interrupts this test: another clock's offset lies between two of its bounds. */
static void check_offset(clockid_t clock, uint64_t offset, uint64_t uncertainty)
{
	/* An adjustment of CLOCK_REALTIME may be going on. */
	const uint64_t slack = 2 * uncertainty + 1000000;
	const uint64_t before = read_clock(CLOCK_MONOTONIC);
	const uint64_t now = read_clock(clock);
	const uint64_t after = read_clock(CLOCK_MONOTONIC);

	assert_true((int64_t)(offset + slack - (now - after)) >= 0);
	assert_true((int64_t)(now - before + slack - offset) >= 0);
}

static void test_clocks(void **state)
{
	struct clocks clocks;

	(void)state;
	expect(clocks_read(&clocks));
	check_offset(CLOCK_BOOTTIME, clocks.boottime - clocks.monotonic, clocks.uncertainty);
	check_offset(CLOCK_REALTIME, clocks.realtime - clocks.monotonic, clocks.uncertainty);
	check_offset(CLOCK_TAI, clocks.tai - clocks.monotonic, clocks.uncertainty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sideband_exec),
		cmocka_unit_test(test_sideband_follows),
		cmocka_unit_test(test_sideband_overflow),
		cmocka_unit_test(test_iterator),
		cmocka_unit_test(test_proc_fallback),
		cmocka_unit_test(test_process_row),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_pid_namespace),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_clocks),
	};

	return cmocka_run_group_tests(tests, load_iterator, unload_iterator);
}
