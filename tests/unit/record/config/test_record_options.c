/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of ebrec: what is understood, what is refused and in which words; how CPUs are
 * shared out among rings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "record/session/output.h"
#include "record/base/topology.h"
#include "record/config/options.h"
#include "record/config/source.h"

#include <sys/stat.h>

#define MAX_ARGS 16

/* Parses "-a -d 5s": words parted by spaces. The words live as long as the options, a command's
 * argv until the next call. */
static struct ebt_error *parse(const char *line, char *words, struct record_options *ret)
{
	static char *argv[MAX_ARGS + 1];
	int argc = 1;

	memset(argv, 0, sizeof(argv));
	argv[0] = (char *)"ebrec";
	strcpy(words, line);
	for (char *word = strtok(words, " "); word && argc < MAX_ARGS; word = strtok(NULL, " "))
		argv[argc++] = word;
	return options_parse(argc, argv, ret);
}

static void assert_parses(const char *line, char *words, struct record_options *ret)
{
	struct ebt_error *err = parse(line, words, ret);

	if (err)
		fail_msg("%s: %s", line, err->message);
}

/* It is refused, and the message has these words. */
static void assert_refused(const char *line, const char *because)
{
	struct record_options options;
	char words[256];
	_cleanup_error_ struct ebt_error *err = parse(line, words, &options);

	if (!err)
		fail_msg("%s: not refused", line);
	assert_int_equal(err->code, EBT_ERR_INVALID);
	if (!strstr(err->message, because))
		fail_msg("%s: '%s' does not say '%s'", line, err->message, because);
}

static void test_pids(void **state)
{
	static const char *const bad[] = { "",	",",  "1,",    ",1", "1,,2",
					   "0", "-5", "1, ,2", "x",  "99999999999" };
	static const char *const good[] = { "12,345,7", "12 345 7", "12\n345\n7", "12, 345, 7",
					    " 12 345,7\n" };
	struct record_options o;
	char words[256];

	(void)state;
	assert_parses("-p 1 -p 12,345,7", words, &o);
	assert_int_equal(o.n_pids, 3);
	assert_int_equal(o.pids[0], 12);
	assert_int_equal(o.pids[1], 345);
	assert_int_equal(o.pids[2], 7);
	options_deinit(&o);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char *argv[] = { (char *)"ebrec", (char *)"-p", (char *)good[i], NULL };

		assert_null(options_parse(3, argv, &o));
		assert_int_equal(o.n_pids, 3);
		assert_int_equal(o.pids[0], 12);
		assert_int_equal(o.pids[1], 345);
		assert_int_equal(o.pids[2], 7);
		options_deinit(&o);
	}
	assert_refused("--pid=", "pgrep and pidof print none");
	assert_refused("-p nginx", "`-p \"$(pidof nginx)\"`");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *argv[] = { (char *)"ebrec", (char *)"-p", (char *)bad[i], NULL };
		_cleanup_error_ struct ebt_error *err = options_parse(3, argv, &o);

		if (!err)
			fail_msg("'%s' is taken for process ids", bad[i]);
	}
}

static uint64_t set_of(const char *names)
{
	uint64_t set = 0;
	char copy[128];

	strcpy(copy, names);
	for (char *name = strtok(copy, ","); name; name = strtok(NULL, ",")) {
		int i = source_by_name(name, strlen(name));

		assert_true(i >= 0);
		set |= UINT64_C(1) << i;
	}
	return set;
}

static void assert_source_set(const char *line, uint64_t set)
{
	struct record_options options;
	char words[256];

	assert_parses(line, words, &options);
	assert_int_equal(options.sources, set);
	options_deinit(&options);
}

static void assert_sources(const char *line, const char *names)
{
	assert_source_set(line, set_of(names));
}

/* Those that can do without arguments. */
static uint64_t all_sources(void)
{
	uint64_t set = 0;

	for (size_t i = 0; i < ebrec_n_sources; i++)
		set |= ebrec_sources[i]->args_needed ? 0 : UINT64_C(1) << i;
	return set;
}

static void test_sources(void **state)
{
	char *blanks[] = { (char *)"ebrec", (char *)"-ae", (char *)"syscalls, sched", NULL };
	struct record_options o;

	(void)state;
	assert_null(options_parse(3, blanks, &o));
	assert_int_equal(o.sources, set_of("syscalls,sched"));
	options_deinit(&o);
	assert_sources("-a", "sample,sched,task,offcpu,counter,mark");
	assert_sources("-a -e syscalls", "syscalls");
	assert_sources("-a -e syscalls,sched", "syscalls,sched");
	assert_sources("-a -e -sample", "sched,task,offcpu,counter,mark");
	assert_sources("-a -e default,syscalls", "sample,sched,task,offcpu,syscalls,counter,mark");
	assert_source_set("-a -e all,-task", all_sources() & ~set_of("task"));
	assert_sources("-a -e syscalls -e sched", "syscalls,sched");
	assert_sources("-a -e syscalls -e -syscalls,sched", "sched");
	assert_refused("-a -e bogus", "bogus");
	assert_refused("-a -e task,shced", "no event source 'shced': did you mean sched?");
	assert_refused("-a -e -smaple", "did you mean sample?");
	assert_refused("-a -e defualt", "did you mean default?");
	/* What the report is called, and what other tools call it. */
	assert_refused("-a -e cache", "no event source 'cache': did you mean pagecache?");
	assert_refused("-a -e disk", "no event source 'disk': did you mean block?");
	assert_refused("-a -e sched,", "--list-events");
	assert_refused("-a -e sched -e -sched", "no event source");
	assert_refused("-a -e sched:rate=1,task", "sched takes no arguments, as 'rate=1' would be");
	assert_refused("-a -e sched:", "takes no arguments");
	assert_refused("-a -e -sched:x", "added");
	assert_refused("-a -e all:x", "added");
	assert_refused("-a -e bogus:x", "no event source 'bogus'");
}

static void test_targets(void **state)
{
	struct record_options o;
	char words[256];

	(void)state;
	assert_parses("-o x.ebt -- ls -l -a", words, &o);
	assert_int_equal(o.target, TARGET_COMMAND);
	assert_string_equal(o.output, "x.ebt");
	assert_string_equal(o.command[0], "ls");
	assert_string_equal(o.command[2], "-a");
	assert_null(o.command[3]);
	options_deinit(&o);
	/* Options end where the command begins. */
	assert_parses("-q ls -F 7", words, &o);
	assert_int_equal(o.frequency, 99);
	assert_string_equal(o.command[1], "-F");
	options_deinit(&o);
	assert_parses("-p 1,2 -d 5s", words, &o);
	assert_int_equal(o.target, TARGET_PIDS);
	assert_int_equal(o.n_pids, 2);
	assert_int_equal(o.duration, 5000000000);
	assert_string_equal(o.output, "trace.ebt");
	options_deinit(&o);
	assert_parses("--cgroup /system.slice", words, &o);
	assert_int_equal(o.target, TARGET_CGROUP);
	assert_refused("", "nothing to record");
	assert_refused("-a -p 1", "one of");
	assert_refused("--cgroup x -a", "one of");
	/* A command beside another target says for how long. */
	assert_parses("-p 1 ls", words, &o);
	assert_true(o.target == TARGET_PIDS && !options_record_command(&o));
	assert_string_equal(o.command[0], "ls");
	options_deinit(&o);
	assert_parses("-a -- ls", words, &o);
	assert_true(o.target == TARGET_ALL && options_record_command(&o));
	options_deinit(&o);
	assert_refused("-a --user nobody", "--user");
	/* The word behind it is the command: what it takes stands behind a `=`. */
	assert_parses("--capture-output both x", words, &o);
	assert_int_equal(o.capture_output, CAPTURE_STDOUT | CAPTURE_STDERR);
	assert_string_equal(o.command[0], "both");
	options_deinit(&o);
	assert_parses("--capture-output=stderr -- x", words, &o);
	assert_int_equal(o.capture_output, CAPTURE_STDERR);
	options_deinit(&o);
	assert_refused("--capture-output=all x", "not one of both, stdout, stderr, apart");
	assert_refused("-a --capture-output", "for a command");
}

static void test_values(void **state)
{
	struct record_options o;
	char words[256];

	(void)state;
	assert_parses("-a -F 999 --call-graph none --min-block 1ms -f -q -v -v", words, &o);
	assert_int_equal(o.frequency, 999);
	assert_false(o.call_graph);
	assert_int_equal(o.min_block, 1000000);
	assert_int_equal(o.unwind_memory, 64 << 20);
	assert_int_equal(o.max_stack, 127);
	assert_true(o.force && o.quiet);
	assert_int_equal(o.verbose, 2);
	assert_false(o.no_python);
	assert_parses("-a --max-stack 512 --no-python", words, &o);
	assert_int_equal(o.max_stack, 512);
	assert_true(o.no_python);
	assert_refused("-a -F 0", "sampling rate");
	assert_refused("-a -F 99x", "sampling rate");
	assert_refused("-a -d soon", "--duration");
	assert_refused("-a -d 0", "--duration: '0' would record nothing");
	assert_refused("-a -d 0ms", "would record nothing");
	assert_refused("-a -b 0", "--buffer-size: '0' leaves no room");
	assert_refused("-a --call-graph=dump --no-stack-dump", "contradict");
	assert_refused("-a --call-graph=magic", "magic");
	assert_refused("-a --call-graph=tabel", "did you mean table?");
	assert_refused("-a -freq 9", "no option -freq: did you mean --freq?");
	assert_refused("-a --unwind-mem 1x", "--unwind-mem");
	assert_refused("-a --unwind-mem 8G", "at most 4G");
	assert_refused("-a --max-stack 0", "1 to 512");
	assert_refused("-a --max-stack 513", "1 to 512");
	assert_refused("-a -b lots", "--buffer-size: 'lots' is not a size");
	assert_refused("-a -b 5T", "size");
	assert_refused("-a -o", "--output needs a value");
	assert_refused("-a --freq", "--freq needs a value");
	assert_refused("-o --all", "--output needs a value, and --all is an option");
	assert_refused("-o -a", "--output needs a value, and -a is an option");
	assert_refused("-a --frequently", "there is no option --frequently");
	assert_refused("-a --frek 9", "did you mean --freq?");
	assert_refused("-aZ", "-Z");
	assert_refused("-a --no", "there is no option --no"); /* of several */
	assert_parses("-aqfF7 --dur 5", words, &o);
	assert_true(o.target == TARGET_ALL && o.quiet && o.force);
	assert_int_equal(o.frequency, 7);
	assert_int_equal(o.duration, 5000000000);
}

static void write_file(const char *path, const char *content, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(content, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void assert_output(const char *path, bool force, const char *refused_because)
{
	_cleanup_(output_destroyp) struct output *output = NULL;
	_cleanup_error_ struct ebt_error *err = output_create(path, force, &output);
	struct stat st;

	if (refused_because) {
		assert_non_null(err);
		if (!strstr(err->message, refused_because))
			fail_msg("'%s' does not say '%s'", err->message, refused_because);
		return;
	}
	assert_null(err);
	assert_null(output_publish(output));
	assert_null(output_publish(output));
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 0);
}

static bool same(const char *path, ino_t inode)
{
	struct stat st;

	return !lstat(path, &st) && st.st_ino == inode;
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_ino;
}

/* Nothing happens to what is there before the new file gets its name; then it is kept. */
static void assert_kept(const char *path, const char *old)
{
	_cleanup_(output_destroyp) struct output *output = NULL, *again = NULL;
	ino_t first = inode_of(path);

	assert_null(output_create(path, false, &output));
	output_destroy(output);
	output = NULL;
	assert_true(same(path, first));
	assert_null(output_create(path, false, &output));
	assert_false(output_kept(output));
	assert_true(same(path, first));
	assert_null(output_publish(output));
	assert_true(output_kept(output));
	assert_true(same(old, first));
	first = inode_of(path);
	assert_null(output_create(path, true, &again));
	assert_null(output_publish(again));
	assert_false(output_kept(again));
	assert_false(same(old, first));
	assert_int_equal(unlink(old), 0);
}

static void test_output(void **state)
{
	char dir[] = "/tmp/ebt-output-XXXXXX";
	static const char trace[] = "\x89"
				    "EBT\r\n\x1a\n and more";

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_output("new", false, NULL);
	write_file("text", "not a trace, but a letter", 25);
	assert_output("text", false, "not a trace");
	write_file("short",
		   "\x89"
		   "EBT",
		   4);
	assert_output("short", false, "not a trace");
	write_file("trace", trace, sizeof(trace));
	assert_int_equal(link("trace", "second"), 0);
	assert_output("trace", false, "other names");
	assert_int_equal(unlink("second"), 0);
	assert_int_equal(symlink("trace", "link"), 0);
	assert_output("link", true, "symbolic link");
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_output("dangling", true, "symbolic link");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_output("fifo", true, "regular");
	assert_kept("trace", "trace.old");
	write_file("trace", trace, sizeof(trace));
	write_file("trace.old", "a letter", 8);
	assert_output("trace", false, "trace.old is there and is not a trace");
	assert_int_equal(unlink("trace.old"), 0);
	assert_int_equal(symlink("text", "trace.old"), 0);
	assert_output("trace", false, "symbolic link");
	assert_output("trace", true, NULL);
	assert_int_equal(unlink("trace.old"), 0);
	assert_output("text", true, NULL);
	assert_output("no/such/dir", true, "No such file");
	for (const char *const *name = (const char *const[]){ "new", "text", "short", "trace",
							      "link", "dangling", "fifo", NULL };
	     *name; name++)
		assert_int_equal(unlink(*name), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* Every CPU has a ring, every ring a CPU and a thread, and a thread's rings are neighbours. */
static void test_topology(void **state)
{
	static const uint32_t cpus[] = { 1, 2, 3, 16, 17, 24, 64, 100, 128, 192, 256, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		struct topology t;
		uint32_t used[1000] = { 0 }, thread = 0;

		assert_null(topology_init(cpus[i], &t));
		assert_int_equal(t.n_rings <= 16, cpus[i] < 136);
		assert_true(t.n_threads >= 1 && t.n_threads <= 8 && t.n_threads <= t.n_rings);
		for (uint32_t cpu = 0; cpu < cpus[i]; cpu++) {
			assert_in_range(t.cpu_ring[cpu], 0, t.n_rings - 1);
			used[t.cpu_ring[cpu]]++;
		}
		for (uint32_t ring = 0; ring < t.n_rings; ring++) {
			uint32_t next = topology_ring_thread(&t, ring);

			assert_true(used[ring] > 0);
			assert_true(next == thread || next == thread + 1);
			thread = next;
		}
		assert_int_equal(thread, t.n_threads - 1);
		topology_deinit(&t);
	}
	assert_int_equal(topology_ring_size(64 << 20, 2), 32 << 20);
	assert_int_equal(topology_ring_size(64 << 20, 3), 16 << 20);
	assert_int_equal(topology_ring_size(1, 16), 64 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pids),	cmocka_unit_test(test_sources),
		cmocka_unit_test(test_targets), cmocka_unit_test(test_values),
		cmocka_unit_test(test_output),	cmocka_unit_test(test_topology),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
