/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event sources: what a user names with `ebrec -e`. A source knows which BPF programs make its
 * tables, whether this kernel has the hooks, and what to configure. docs/ADDING-A-SOURCE.md says
 * how to write one.
 */
#ifndef RECORD_CONFIG_SOURCE_H
#define RECORD_CONFIG_SOURCE_H

#include <linux/types.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/schema/wire.h"
#include "record/base/identity.h"
#include "record/base/kernel.h"
#include "record/config/options.h"

struct bpf_link;
struct bpf_map;
struct bpf_program;
struct inherited;
struct ebrec_bpf; /* the skeleton */
struct ebt_stream;
struct probe_list;
struct tp_set;

/* As in table `source`. */
struct source_state {
	enum ebt_source_status status;
	char detail[512]; /* what is missing, and why; or empty */
};

struct source_fds {
	int *v;
	size_t n, capacity;
};

void source_fds_close(struct source_fds *fds);

/* A perf event that each CPU has one of, also one that comes online later, and what runs at it. */
struct source_cpu_event {
	const struct bpf_program *program;
	struct perf_event_attr attr;
	const char *not_open, *not_attach; /* "cannot sample", "cannot attach to samples of" */
	const char *source;		   /* its name */
	uint32_t table;			   /* that the program fills */
	struct bpf_link **links;	   /* by CPU; of the context */
};

/* Everything a source may need, from loading to attaching. */
struct source_context {
	struct ebrec_bpf *skel;
	const struct kernel *kernel;
	const struct record_options *options;
	uint32_t n_spsc, spsc_bytes; /* bpf/shared.h */
	struct bpf_link **links;     /* of attach(): destroyed by the owner of the context */
	size_t n_links, links_capacity;
	struct source_cpu_event *cpu_events;
	size_t n_cpu_events, cpu_events_capacity;
	struct source_fds link_fds,
		program_fds;	   /* that libbpf does not know: closed by the owner */
	struct probe_list *probes; /* of all sources that have some; see probes/list.h */
	struct tp_set *tp;	   /* of source `tp`, or NULL */
	const char *unknown; /* no BPF program or map begins so, by mistake of a source; or NULL */
};

/* When a worker is called. */
enum source_moment {
	SOURCE_BEGIN,  /* the gate has just been opened */
	SOURCE_READY,  /* its fd is readable */
	SOURCE_SECOND, /* about a second after the last */
	SOURCE_EPOCH,  /* what is needed to understand later rows is to be written again */
	SOURCE_LAST,   /* the gate has just been closed: what is there is of the recording's time */
	SOURCE_END,    /* a moment later: what was told meanwhile is of no report */
};

/* A program or library that what is recorded runs, or is going to. */
struct source_file {
	int fd;		  /* for reading, during the call */
	const char *path; /* as the kernel names it */
	const struct identity *identity;
	uint64_t since; /* mapped then; 0: nobody has run it since recording began */
};

/* Where in a worker an int is. It cannot be the first member, as 0 says that there is none. */
#define SOURCE_WORKER_FD(type, member)                                                      \
	(offsetof(type, member) + 0 * sizeof(struct {                                       \
					  _Static_assert(offsetof(type, member) > 0, "fd"); \
					  int unused;                                       \
				  }))

/* What a source does outside the kernel: reads files of /proc, or a socket. All on the session's
 * thread, which must not wait for anything. */
struct source_worker {
	size_t size; /* of a worker: zeroed memory that belongs to the caller */
	size_t fd;   /* SOURCE_WORKER_FD() of what is polled for reading, if not -1; 0: nothing */
	/* Before the recording. It may change the state, as probe() does; where the source is not
	 * on any more, the worker is closed at once. */
	struct ebt_error *(*open)(const struct source_context *context, struct source_state *state,
				  void *worker);
	/* The time of a row is now, or at most half a second ago. NULL: nothing to do. */
	struct ebt_error *(*work)(void *worker, struct ebt_stream *stream,
				  enum source_moment moment);
	/* Told of each file when it is met first, also while it is none of the moments above. *ret:
	 * and of each later mapping, which may be of a copy of it. NULL: of no interest. */
	struct ebt_error *(*on_file)(void *worker, struct ebt_stream *stream,
				     const struct source_file *file, bool *ret);
	/* Also where open() failed. NULL: there is nothing that it holds. */
	void (*close)(void *worker);
};

/* A tracepoint that a source can do without. */
struct source_want {
	const char *name, *without; /* what goes missing */
	const char *other;	    /* one that will do in its place, or NULL */
};

struct ebrec_source {
	const char *name, *doc, *cost;
	const char *elsewhere; /* "NAME NAME": what a report or other tools call it; or NULL */
	bool by_default;
	const char *args_doc;	/* of `-e NAME:ARGUMENTS`, as "rate=BYTES"; NULL: it takes none */
	bool args_needed;	/* it is nothing without: `all` is without it */
	const uint16_t *tables; /* enum ebt_table_id; 0 ends them */
	bool late_tasks;	/* rows name tasks that may have ended a minute before */
	bool stacks;		/* rows have user stacks */

	/* Tracepoints without which there is nothing, and others. NULL ends each of these lists, a
	 * NULL name that of wants; NULL in place of a list: there are none. */
	const char *const *needs;
	const struct source_want *wants;

	/* How names of BPF programs and of maps begin that are to be loaded and made. Programs of
	 * tracepoints that this kernel does not have are left out. */
	const char *const *programs, *const *maps;

	/* Are these arguments right? The message is followed by args_doc. NULL: it takes none. */
	struct ebt_error *(*check_args)(const char *args);

	/* What the command shall inherit; before it is made, and whatever the target is. NULL:
	 * nothing. */
	struct ebt_error *(*inherit)(const struct record_options *options,
				     struct inherited *inherited);

	/* Is it there, apart from the tracepoints? Sets status to PARTIAL or UNAVAILABLE, and says
	 * why; leaves ON alone. NULL: it is. */
	void (*probe)(const struct kernel *kernel, struct source_state *state);

	/* Before configure(): what the arguments mean on this machine, which may be an error of the
	 * user's. It may change the state, as probe() does. NULL: nothing. */
	struct ebt_error *(*prepare)(struct source_context *context, struct source_state *state);

	/* Before loading, if it is on, and behind what the lists say: read-only data; programs and
	 * maps, none of which is loaded by default. NULL: nothing. */
	void (*configure)(struct source_context *context);

	/* What is no tracepoint, after everything else. It may change the state, as probe() does.
	 * NULL: nothing. attach_last: and after the other sources. */
	struct ebt_error *(*attach)(struct source_context *context, struct source_state *state);
	bool attach_last;

	const struct source_worker *worker; /* NULL: it needs none */
};

extern const struct ebrec_source *const ebrec_sources[];
extern const size_t ebrec_n_sources;

/* Index of the source, or -1. */
int source_by_name(const char *name, size_t len);

static inline bool source_is_on(const struct source_state *state)
{
	return state->status == EBT_V_source_status_on ||
	       state->status == EBT_V_source_status_partial;
}

/* The nth arguments of the source, which has checked them; NULL: there are no more. */
const char *source_nth_args(const struct source_context *context, const struct ebrec_source *source,
			    size_t n);

/* The arguments that count for a source that is given once: the last ones, or NULL. */
const char *source_args(const struct source_context *context, const struct ebrec_source *source);

/* Is it there, with what it needs and wants? */
void source_probe(const struct ebrec_source *source, const struct kernel *kernel,
		  struct source_state *state);

/* Adds to what is missing. */
void source_add_detail(struct source_state *state, const char *what);

/* For a source with stacks: says so where these are found by frame pointers only, and what this
 * process may not read that they need. */
void source_note_stacks(const struct kernel *kernel, struct source_state *state);

/* Before loading, if it is on. Fails where no program or map begins as the source says. */
struct ebt_error *source_configure(const struct ebrec_source *source,
				   struct source_context *context);

/* For configure(): programs whose names begin so are loaded, as those of the source's list. */
void source_load(struct source_context *context, const char *beginning);

/* For attach(): where programs whose rows have stacks go on: entry 0 of this map. Nothing where the
 * program is not loaded. */
struct ebt_error *source_join(const struct bpf_map *programs, const struct bpf_program *program);

/* For attach(): the context owns the link from now on, also where this fails. */
struct ebt_error *source_keep_link(struct source_context *context, struct bpf_link *link);

/* The same, of programs and links that libbpf does not know. */
struct ebt_error *source_keep_program(struct source_context *context, int fd);
struct ebt_error *source_keep_link_fd(struct source_context *context, int fd);

/* For attach(): on each CPU. The context has a copy of the event from now on. */
struct ebt_error *source_attach_cpus(struct source_context *context,
				     const struct source_cpu_event *event);

/* One of context->cpu_events on a CPU that has come online. */
struct ebt_error *source_attach_cpu(const struct source_context *context,
				    const struct source_cpu_event *event, int cpu);

/* None runs any more. */
void source_detach_cpus(struct source_context *context);

/* Runs an iterator, a BPF program that goes through what the kernel has and writes what it finds by
 * itself: once, for all; nothing where it is not loaded. what: as in "the tasks". */
struct ebt_error *iterator_run(const struct bpf_program *program, const char *what);

#endif
