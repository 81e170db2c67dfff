/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One recording; see session.h. This thread does everything that is not reading rings: the
 * side-band, the snapshot, processes that appear, losses, epochs, signals and the end. It has a
 * stream of its own, so that a long snapshot holds up nobody.
 */
#include "record/session/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record/base/clocks.h"
#include "record/base/kernel.h"
#include "record/command/command.h"
#include "record/command/files.h"
#include "record/command/tee.h"
#include "record/config/inherited.h"
#include "record/probes/list.h"
#include "record/session/capture.h"
#include "record/session/describe.h"
#include "record/session/deferred.h"
#include "record/session/losses.h"
#include "record/session/new_cpus.h"
#include "record/session/consumer.h"
#include "record/session/output.h"
#include "record/session/target.h"
#include "record/session/tell.h"
#include "record/session/thread_stacks.h"
#include "record/session/workers.h"
#include "record/sideband/kernel_symbols.h"
#include "record/sideband/modules.h"
#include "record/sideband/objects.h"
#include "record/sideband/perfmap.h"
#include "record/sideband/sideband.h"
#include "record/sideband/snapshot.h"
#include "record/sideband/tasks.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

#define N_POLLS	  6 /* and those of the side-band */

#define TICK_MS	  100
#define TEE_MS	  20 /* what a command writes is taken so often, and not at each write */
/* BPF programs may wake this thread so often, and so many times in a row. */
#define BELL_MS	   5
#define BELL_NS	   (BELL_MS * NS_PER_MS)
#define BELL_BURST 20
#define EPOCH_NS   (10 * NS_PER_S)
#define FORGET_NS  (10 * NS_PER_S)
#define LATE_NS	   (60 * NS_PER_S) /* what is written is on the disk by then */
#define LAST_WORDS (5 * NS_PER_MS)
#define WORDS_MS   1000 /* to pass on those of a command that was asked to end */

/* /proc of a new process is read a moment later: its row may be older than others by this. */
#define NOTICE_NS (1 * NS_PER_S)

struct session {
	const struct record_options *options;
	struct record_options resolved; /* what they point to */
	struct session_result *result;
	struct kernel kernel;
	struct target *target;
	struct tee *tee; /* of the target, or NULL */
	struct capture *capture;
	struct output *output;
	int stop; /* not owned */
	struct tasks *tasks;
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	struct deferred *deferred; /* or NULL */
	struct consumer *consumer;
	struct sideband_context context; /* of the following */
	struct sideband *sideband;
	struct snapshot_state *snapshot;
	struct objects *objects;
	struct perfmaps *perfmaps;
	struct modules *modules;
	struct kernel_symbols *symbols; /* NULL: they are in the file */
	struct losses losses;
	struct new_cpus new_cpus;
	struct workers *workers;
	struct pollfd *polls;
	size_t n_polls;
	uint64_t begin, last_second, last_epoch, last_pass;
	uint64_t sideband_lost;
	struct ebt_error *expect_error;
	bool begun;
	int cancelled;			 /* the signal that came before anything was recorded */
	int nice;			 /* of this thread before that */
	bool soon;			 /* there is more to read, or the doorbell to arm */
	uint64_t bell_time, bell_credit; /* ns: when it was answered last; BELL_NS a ring */
};

static void deinit(struct session *s)
{
	consumer_destroy(s->consumer);
	deferred_destroy(s->deferred);
	losses_deinit(&s->losses);
	workers_destroy(s->workers);
	objects_destroy(s->objects);
	perfmaps_destroy(s->perfmaps);
	modules_destroy(s->modules);
	kernel_symbols_destroy(s->symbols);
	snapshot_destroy(s->snapshot);
	sideband_close(s->sideband);
	hotplug_destroy(s->new_cpus.hotplug);
	capture_destroy(s->capture);
	target_destroy(s->target);
	inherited_destroy(s->resolved.inherited);
	ebt_writer_destroy(s->writer);
	tasks_destroy(s->tasks);
	kernel_deinit(&s->kernel);
	output_destroy(s->output);
	free(s->polls);
}

static struct ebt_error *open_writer(struct session *s)
{
	struct ebt_writer_options options = {
		.name = strcmp(s->options->output, "-") ? s->options->output : "standard output",
		.streams = 1 + s->capture->topology.n_threads,
		.resolve_task = tasks_resolve,
	};
	struct ebt_error *err = output_create(s->options->output, s->options->force, &s->output)
					?: tasks_create(&s->tasks);

	if (err)
		return err;
	options.fd = output_fd(s->output);
	options.resolve_arg = s->tasks;
	return ebt_writer_create(&options, &s->writer)
		       ?: ebt_writer_add_stream(s->writer, &s->stream);
}

/* Of each CPU, behind the others. */
static void poll_sideband(struct session *s)
{
	const int *fds;
	size_t n = sideband_fds(s->sideband, &fds);

	for (size_t i = 0; i < n; i++)
		s->polls[N_POLLS + i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	s->n_polls = N_POLLS + n;
}

static struct ebt_error *make_polls(struct session *s)
{
	s->polls = calloc(N_POLLS + s->kernel.n_cpus, sizeof(*s->polls));
	if (!s->polls)
		return &ebt_enomem;
	s->polls[0] = (struct pollfd){ .fd = s->stop, .events = POLLIN };
	s->polls[1] = (struct pollfd){ .fd = consumer_fd(s->consumer), .events = POLLIN };
	s->polls[2] = (struct pollfd){ .fd = command_fd(s->target->command), .events = POLLIN };
	s->polls[3] = (struct pollfd){ .fd = workers_fd(s->workers), .events = POLLIN };
	s->polls[4] =
		(struct pollfd){ .fd = command_runs_fd(s->target->command), .events = POLLIN };
	s->polls[5] = (struct pollfd){ .fd = capture_doorbell_fd(s->capture), .events = POLLIN };
	poll_sideband(s);
	return NULL;
}

/* What the kernel decides. */
static struct ebt_error *resolve(struct session *s)
{
	struct record_options *o = &s->resolved;
	bool can = kernel_can_unwind(&s->kernel);

	if (o->call_graph == CALL_GRAPH_AUTO)
		o->call_graph = can ? CALL_GRAPH_TABLE : CALL_GRAPH_FP;
	else if (o->call_graph >= CALL_GRAPH_TABLE && !can)
		return ebt_error_create(EBT_ERR_UNSUPPORTED,
					"unwind tables need Linux 5.17 on x86-64; --call-graph fp "
					"works here");
	return NULL;
}

static bool wanted(void *arg, uint32_t pid)
{
	const struct session *s = arg;

	return capture_follows(s->capture, pid);
}

static struct ebt_error *on_mapping(void *arg, const struct mapping *mapping)
{
	struct session *s = arg;
	struct unwinder *u = s->capture->unwinder;

	return (u ? unwind_spaces_map(u->spaces, mapping) : NULL) ?:
	       perfmaps_map(s->perfmaps, mapping) ?:
	       objects_on_mapping(s->objects, mapping);
}

/* What was there when the recording began has been seen in time. */
static struct ebt_error *on_file(void *arg, int fd, const struct mapping *mapping,
				 const struct identity *identity, bool *ret)
{
	const struct session *s = arg;
	_cleanup_free_ char *path = strndup(mapping->path, mapping->path_len);
	const struct source_file file = {
		.fd = fd,
		.path = path,
		.identity = identity,
		.since = s->begun ? mapping->time : 0,
	};

	return path ? workers_on_file(s->workers, s->stream, &file, ret) : &ebt_enomem;
}

/* A command_file_fn. */
static void expect_file(void *arg, int fd, const char *path)
{
	struct session *s = arg;
	struct identity identity = { 0 };
	const struct source_file file = { .fd = fd, .path = path, .identity = &identity };
	struct unwinder *u = s->capture->unwinder;
	bool again;

	if (u)
		unwinder_expect(u, fd, path);
	if (s->expect_error || fstat(fd, &identity.st))
		return;
	identity.elf = elfparts_read(fd, &identity.parts);
	s->expect_error = workers_on_file(s->workers, s->stream, &file, &again);
}

/* What the command and its libraries need is there before it runs. */
static struct ebt_error *expect(struct session *s)
{
	if (!options_record_command(s->options))
		return NULL;
	command_files(command_path(s->target->command), expect_file, s);
	if (s->capture->unwinder)
		unwinder_expect_end(s->capture->unwinder);
	return s->expect_error;
}

/* The last one that has come, or 0. */
static int read_signals(struct session *s)
{
	unsigned char byte;
	int number = 0;

	while (read(s->stop, &byte, 1) == 1)
		number = byte;
	return number;
}

static const char *signal_word(int number)
{
	return number == SIGINT ? "interrupted" : "terminated";
}

/* A signal that comes before anything was recorded leaves no trace, and the one before in its
 * place. It is about the command, too, which never runs. A pipe has the beginning already. */
static struct ebt_error *heed_signals(struct session *s)
{
	struct command *command = s->target->command;

	if (!command && output_published(s->output))
		return NULL;
	s->cancelled = read_signals(s);
	if (!s->cancelled)
		return NULL;
	if (command)
		command_cancel(command, s->cancelled);
	return command_exec_error(command)
		       ?: ebt_error_create(EBT_ERR_CANCELLED, "%s before anything was recorded",
					   signal_word(s->cancelled));
}

/* The command's, or as a shell has it of what a signal ended; -1: there is none. */
static int exit_status(const struct session *s)
{
	return s->cancelled ? 128 + s->cancelled : command_exit_status(s->target->command);
}

/* Everything is made; nothing is recorded. */
static struct ebt_error *prepare(struct session *s)
{
	struct ebt_error *err =
		kernel_probe(&s->kernel) ?:
		resolve(s) ?:
		inherited_create(s->options, &s->resolved.inherited) ?:
		target_create(s->options, &s->target) ?:
		command_exec_error(s->target->command) ?:
		capture_create(&s->kernel, s->options, s->target->cgroup_id, &s->capture) ?:
		open_writer(s) ?:
		deferred_create(s->capture->unwinder, s->tasks, &s->deferred) ?:
		consumer_create(s->capture, s->writer, s->tasks, s->deferred, &s->consumer);

	if (err)
		return err;
	s->context = (struct sideband_context){
		.stream = s->stream,
		.tasks = s->tasks,
		.all = s->options->target == TARGET_ALL,
		.no_containers = s->options->no_containers,
		.task_iterator = capture_task_iterator(s->capture),
		.task_keys = capture_task_keys(s->capture),
		.known_programs = capture_known_programs(s->capture),
		.wanted = wanted,
		.on_mapping = on_mapping,
		.on_file = on_file,
		.arg = s,
	};
	s->tee = command_tee(s->target->command);
	return snapshot_create(&s->context, &s->snapshot) ?:
	       hotplug_create(s->kernel.n_cpus, &s->new_cpus.hotplug) ?:
	       sideband_open(&s->context, s->kernel.n_cpus, &s->sideband) ?:
	       objects_create(&s->context, &s->objects) ?:
	       perfmaps_create(&s->context, &s->perfmaps) ?:
	       workers_create(s->capture, &s->workers) ?:
	       make_polls(s) ?:
	       heed_signals(s);
}

static struct ebt_error *publish(struct session *s)
{
	struct unwinder *u = s->capture->unwinder;

	return u ? unwinder_work(u, clocks_now()) : NULL;
}

/* A command has no threads yet: what waits to become it is of no interest. */
static struct ebt_error *find_threads(const struct session *s)
{
	const struct command *command = s->target->command;

	if (s->options->target == TARGET_COMMAND)
		return NULL;
	return thread_stacks_take(s->capture, s->stream, s->tasks, EBT_V_thread_stack_moment_begin,
				  command ? (uint32_t)command_pid(command) : 0, UINT64_MAX);
}

/* What is there already becomes rows; then samples are taken. */
static struct ebt_error *list_all(struct session *s)
{
	return workers_run(s->workers, s->stream, SOURCE_BEGIN) ?:
	       target_follow(s->target, s->capture) ?:
	       snapshot_tasks(s->snapshot) ?:
	       publish(s) ?:
	       find_threads(s) ?:
	       snapshot_host(s->snapshot) ?:
	       modules_create(&modules_of_proc, &s->context, &s->modules) ?:
	       expect(s) ?:
	       capture_attach_last(s->capture);
}

/* A command that cannot be run leaves no trace, and the one before in its place. */
static struct ebt_error *publish_output(struct session *s)
{
	if (!command_runs(s->target->command))
		return NULL;
	s->polls[4].fd = -1;
	return output_publish(s->output);
}

/*
 * The order matters: mappings are listened to before they are listed, forks are followed before
 * processes are looked for, and the target is let go when all of that is done.
 */
static struct ebt_error *begin(struct session *s, const char *command_line,
			       const struct session_watch *watch)
{
	struct ebt_error *err;

	s->begin = s->last_second = s->last_epoch = s->last_pass = clocks_now();
	ebt_writer_set_times(s->writer, UINT64_MAX, UINT64_MAX);
	s->losses = (struct losses){ s->capture, s->consumer, s->begin };
	s->new_cpus.capture = s->capture;
	s->new_cpus.sideband = s->sideband;
	s->new_cpus.last = s->begin;
	err = describe_options(s->stream, s->options, &s->kernel, command_line) ?:
	      capture_attach(s->capture) ?:
	      kernel_symbols_create(&s->symbols) ?:
	      consumer_start(s->consumer) ?:
	      snapshot_learn(s->snapshot);
	if (err)
		return err;
	capture_set_gate(s->capture, true);
	s->result->recorded = true;
	err = list_all(s);
	tell_partial(s->capture, watch);
	/* All that took its time, on a machine with many processes seconds of it: reports begin
	 * here. Whoever reads the file meanwhile, or finds it after a kill, has to know. */
	err = err ?:
	      describe_sources(s->stream, s->capture) ?:
	      probe_list_write(&s->capture->probes, s->stream) ?:
	      ebt_stream_flush(s->stream, clocks_now(), true) ?:
	      clocks_emit(s->stream, EBT_V_clock_moment_begin, &s->begin);
	if (err)
		return err;
	/* At once: what others write while the flush waits for a disk is inside. */
	ebt_writer_set_times(s->writer, s->begin, UINT64_MAX);
	s->last_second = s->begin;
	s->begun = true;
	/* Programs that begin now wait for nobody: their tables have to be there soon. */
	s->nice = thread_before_others();
	return ebt_stream_flush(s->stream, s->begin, true) ?:
	       heed_signals(s) ?:
	       command_start(s->target->command) ?:
	       publish_output(s);
}

static struct ebt_error *tell_unwinder(struct unwinder *u, const struct consumer_notice *notice)
{
	static const enum op_kind kinds[] = {
		[CONSUMER_EXEC] = OP_EXEC,
		[CONSUMER_FORK] = OP_FORK,
		[CONSUMER_RENAME] = OP_RENAME,
		[CONSUMER_EXIT] = OP_EXIT,
	};

	if (!u || notice->event == CONSUMER_ATTACHED)
		return NULL;
	return unwind_spaces_tell(u->spaces, &(struct unwind_op){ .time = notice->time,
								  .kind = kinds[notice->event],
								  .pid = notice->pid,
								  .child = notice->child });
}

static struct ebt_error *handle_notice(struct session *s, const struct consumer_notice *notice)
{
	const bool attached = notice->event == CONSUMER_ATTACHED;
	const bool exec = notice->event == CONSUMER_EXEC;
	_cleanup_free_ struct program *program = notice->program;
	struct ebt_error *err = NULL;

	if (attached) {
		target_follow_process(s->capture, notice->pid);
		tasks_follow(s->tasks, notice->pid);
	}
	if (program)
		err = snapshot_program(s->snapshot, program);
	else if (attached || exec)
		err = snapshot_process(s->snapshot, notice->pid, notice->time);
	err = err ?: tell_unwinder(s->capture->unwinder, notice);
	if (err || (!exec && notice->event != CONSUMER_EXIT))
		return err;
	return exec ? perfmaps_exec(s->perfmaps, notice->pid, notice->time)
		    : perfmaps_exit(s->perfmaps, notice->pid, notice->time);
}

static struct ebt_error *handle_notices(struct session *s)
{
	struct consumer_notice notice;
	struct ebt_error *err = NULL;

	while (!err && consumer_next_notice(s->consumer, &notice))
		err = handle_notice(s, &notice);
	return err;
}

/* Names of kernel functions go into the file once, and early: a recorder that is killed has them,
 * too. */
static struct ebt_error *store_kernel(struct session *s)
{
	struct ebt_error *err = s->symbols ? snapshot_kernel(s->snapshot, s->symbols) : NULL;

	kernel_symbols_destroy(s->symbols);
	s->symbols = NULL;
	return err;
}

/* The side-band, and what came with it. */
static struct ebt_error *control_pass(struct session *s)
{
	uint64_t now = clocks_now();
	struct ebt_error *err = publish_output(s) ?:
				sideband_read(s->sideband) ?:
				consumer_read_tasks(s->consumer, s->stream) ?:
				sideband_emit(s->sideband) ?:
				handle_notices(s) ?:
				snapshot_changes(s->snapshot, false) ?:
				publish(s) ?:
				workers_run(s->workers, s->stream, SOURCE_READY) ?:
				tee_read(s->tee, s->stream) ?:
				perfmaps_look(s->perfmaps, now) ?:
				objects_work(s->objects, false) ?:
				deferred_run(s->deferred, s->stream, now, false);

	if (err)
		return err;
	if (s->symbols && kernel_symbols_ready(s->symbols)) {
		err = store_kernel(s);
		if (err)
			return err;
	}
	ebt_stream_set_low(s->stream, s->last_pass - NOTICE_NS);
	s->last_pass = now;
	return ebt_stream_flush(s->stream, now, false);
}

static void read_status(struct session *s, uint64_t now)
{
	struct session_status *status = &s->result->status;
	struct ebt_writer_stats stats;

	ebt_writer_stats(s->writer, &stats);
	status->elapsed = now - s->begin;
	status->events = ebt_writer_inside(s->writer, 0);
	status->samples = ebt_writer_inside(s->writer, EBT_T_sample);
	status->sampling = capture_has(s->capture, "sample");
	status->lost = stats.lost;
	status->bytes = stats.bytes;
}

/* Processes read again in a second. */
#define MAX_LOOKS 16

/* Looks at address spaces that are not as the side-band told, if walks depend on them. */
static struct ebt_error *check_spaces(struct session *s)
{
	struct unwinder *u = s->capture->unwinder;
	uint64_t lost = sideband_lost(s->sideband), time;
	struct ebt_error *err = NULL;
	uint32_t pids[MAX_LOOKS];
	size_t n;

	if (!u)
		return NULL;
	if (lost != s->sideband_lost)
		unwind_spaces_doubt(u->spaces);
	s->sideband_lost = lost;
	n = unwind_spaces_doubtful(u->spaces, pids, MAX_LOOKS);
	for (size_t i = 0; i < n; i++) {
		err = snapshot_mappings(s->snapshot, pids[i], &time);
		if (!err)
			err = unwind_spaces_forget(u->spaces, pids[i], time);
		if (err)
			return err;
	}
	return NULL;
}

/* How long tasks that ended are remembered. */
static uint64_t remember_ns(const struct session *s)
{
	for (size_t i = 0; i < ebrec_n_sources; i++) {
		if (ebrec_sources[i]->late_tasks && source_is_on(&s->capture->states[i]))
			return LATE_NS;
	}
	return FORGET_NS;
}

static struct ebt_error *follow_new_cpus(struct session *s)
{
	bool there;
	struct ebt_error *err = new_cpus_follow(&s->new_cpus, s->stream, &there);

	if (!err && there)
		poll_sideband(s);
	return err;
}

static struct ebt_error *every_second(struct session *s, uint64_t now)
{
	uint64_t remember = remember_ns(s);
	struct ebt_error *err;

	s->last_second = now;
	err = follow_new_cpus(s) ?:
	      losses_emit(&s->losses, s->stream, now) ?:
	      objects_check(s->objects, false) ?:
	      check_spaces(s) ?:
	      modules_look(s->modules) ?:
	      workers_run(s->workers, s->stream, SOURCE_SECOND);
	if (err)
		return err;
	/* A machine may have started just now. */
	if (now > remember)
		tasks_forget_before(s->tasks, now - remember);
	if (now - s->last_epoch < EPOCH_NS)
		return NULL;
	s->last_epoch = now;
	objects_next_epoch(s->objects);
	/* A reading of the clocks behind a snapshot says by when it had been taken. */
	return ebt_writer_next_epoch(s->writer) ?:
	       workers_run(s->workers, s->stream, SOURCE_EPOCH) ?:
	       probe_list_write(&s->capture->probes, s->stream) ?:
	       snapshot_again(s->snapshot) ?:
	       clocks_emit(s->stream, EBT_V_clock_moment_none, NULL);
}

static const char *ended(struct session *s, uint64_t now)
{
	int number = read_signals(s);

	if (number)
		return signal_word(number);
	if (consumer_failed(s->consumer))
		return "failed";
	if (target_ended(s->target))
		return s->target->command ? "the command ended" : "the processes ended";
	if (s->options->duration && now - s->begin >= s->options->duration)
		return "the time was up";
	return NULL;
}

static int poll_timeout(const struct session *s, uint64_t now)
{
	uint64_t left, end = s->begin + s->options->duration;
	int tick = s->soon ? BELL_MS : s->tee ? TEE_MS : TICK_MS;

	if (!s->options->duration)
		return tick;
	left = end > now ? (end - now + NS_PER_MS - 1) / NS_PER_MS : 0;
	return left < (uint64_t)tick ? (int)left : tick;
}

/*
 * Whoever rings is answered at once, and what happens then is read some milliseconds later: a
 * program that begins maps its libraries. Where many begin, they wait for each other. Armed before
 * anything is read, so that nothing is missed.
 */
static void mind_doorbell(struct session *s, uint64_t now)
{
	bool rung;

	s->bell_credit += now - s->bell_time;
	if (s->bell_credit > BELL_BURST * BELL_NS)
		s->bell_credit = BELL_BURST * BELL_NS;
	s->bell_time = now;
	rung = capture_answer_doorbell(s->capture);
	if (rung)
		s->bell_credit -= s->bell_credit < BELL_NS ? s->bell_credit : BELL_NS;
	if (s->bell_credit >= BELL_NS)
		capture_arm_doorbell(s->capture);
	s->soon = rung || s->bell_credit < BELL_NS;
}

static struct ebt_error *record(struct session *s, const struct session_watch *watch)
{
	struct ebt_error *err;

	for (;;) {
		const char *reason;
		uint64_t now;

		if (poll(s->polls, s->n_polls, poll_timeout(s, clocks_now())) < 0 && errno != EINTR)
			return ebt_error_errno(errno, "cannot wait for events");
		now = clocks_now();
		mind_doorbell(s, now);
		reason = ended(s, now);
		if (reason) {
			s->result->reason = reason;
			return NULL;
		}
		err = control_pass(s);
		if (err)
			return err;
		if (now - s->last_second < NS_PER_S)
			continue;
		err = every_second(s, now);
		if (err)
			return err;
		read_status(s, now);
		watch->status(watch->arg, &s->result->status);
	}
}

/* Keeps the first of two errors. */
static struct ebt_error *first_error(struct ebt_error *first, struct ebt_error *second)
{
	if (first)
		ebt_error_destroy(second);
	return first ? first : second;
}

/* The gate is closed: what is known of that moment. */
static struct ebt_error *write_last(struct session *s, uint64_t end)
{
	return snapshot_end(s->snapshot) ?:
	       control_pass(s) ?: /* programs that have just begun have stacks, too */
	       thread_stacks_take(s->capture, s->stream, s->tasks, EBT_V_thread_stack_moment_end,
				  0, end) ?:
	       workers_run(s->workers, s->stream, SOURCE_END) ?:
	       tee_end(s->tee, s->stream, end);
}

/* The rings are empty: what waited for them. */
static struct ebt_error *write_rest(struct session *s)
{
	struct ebt_error *err = deferred_run(s->deferred, s->stream, clocks_now(), true) ?:
				snapshot_changes(s->snapshot, true) ?:
				objects_check(s->objects, true) ?:
				perfmaps_finish(s->perfmaps, clocks_now()) ?:
				objects_work(s->objects, true);

	if (err)
		return err;
	s->result->exit_status = command_exit_status(s->target->command);
	return modules_look(s->modules) ?: store_kernel(s);
}

/* What the recording says about itself. */
static struct ebt_error *write_end(struct session *s, uint64_t now)
{
	return losses_emit(&s->losses, s->stream, now) ?:
	       describe_stacks(s->stream, s->capture, s->deferred) ?:
	       describe_recorder(s->stream) ?:
	       describe_end(s->stream, s->result->reason, s->result->exit_status) ?:
	       ebt_writer_finish(s->writer);
}

/*
 * Nothing may be recorded after this; then whatever has been recorded is written. A command that
 * runs on is asked to end. The recorder's failure is reported, and not the command's end: what is
 * not whole must not look like it.
 */
static struct ebt_error *finish(struct session *s, struct ebt_error *err)
{
	const struct timespec last_words = { .tv_nsec = LAST_WORDS };
	bool by_itself = target_ended(s->target);
	struct ebt_error *not_run;
	uint64_t end = clocks_now();

	if (s->begun)
		thread_as_before(s->nice);
	/* A task that has been waited for has not left its CPU yet. */
	if (!err && by_itself)
		nanosleep(&last_words, NULL);
	capture_set_gate(s->capture, false);
	sideband_stop(s->sideband);
	err = err ?:
	      workers_run(s->workers, s->stream, SOURCE_LAST) ?:
	      clocks_emit(s->stream, EBT_V_clock_moment_end, &end);
	ebt_writer_set_times(s->writer, s->begun ? s->begin : UINT64_MAX, end);
	if (!err)
		err = write_last(s, end);
	capture_detach(s->capture);
	command_stop(s->target->command);
	not_run = command_exec_error(s->target->command);
	if (!not_run && !s->cancelled)
		err = first_error(err, output_publish(s->output));
	if (!err)
		err = control_pass(s);
	err = first_error(err, consumer_finish(s->consumer));
	if (!err)
		err = write_rest(s);
	if (!err)
		err = write_end(s, clocks_now());
	if (err)
		s->result->exit_status = err->code == EBT_ERR_CANCELLED ? exit_status(s) : -1;
	read_status(s, end);
	/* A signal may have ended both: only the next one is about this. */
	read_signals(s);
	err = first_error(err, tee_deliver(s->tee, s->stop, by_itself ? -1 : WORDS_MS));
	s->result->recorded = !not_run && output_published(s->output);
	s->result->kept = output_kept(s->output);
	if (fstat(output_fd(s->output), &s->result->file))
		err = first_error(err, ebt_error_errno(errno, "%s", s->options->output));
	return first_error(err, not_run);
}

struct ebt_error *session_run(const struct record_options *options, const char *command_line,
			      int stop, const struct session_watch *watch,
			      struct session_result *ret)
{
	struct session s = { .resolved = *options, .result = ret, .stop = stop };
	struct ebt_error *err;

	s.options = &s.resolved;
	*ret = (struct session_result){ .reason = "failed", .exit_status = -1 };
	err = prepare(&s);
	if (!err)
		tell_missing(&s.kernel, s.capture, watch);
	if (!err)
		err = begin(&s, command_line, watch);
	if (!err)
		err = record(&s, watch);
	if (ret->recorded) {
		watch->finishing(watch->arg);
		err = finish(&s, err);
	} else if (s.target) {
		ret->exit_status = exit_status(&s);
	}
	deinit(&s);
	return err;
}
