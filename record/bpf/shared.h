/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs and the recorder agree on besides wire.h: read-only configuration and the
 * shapes of maps. Types only.
 */
#ifndef RECORD_BPF_SHARED_H
#define RECORD_BPF_SHARED_H

#include <linux/types.h>

/* Frames of a stack that the kernel walks: perf_event_max_stack, unless somebody changed it. */
#define EBREC_MAX_FRAMES 127
/* Most entries of a user stack that is walked by tables; config.max_entries says how many. */
#define EBREC_MAX_STACK	  512

#define EBREC_TRAMPOLINES 4

/* Argument lists of tracepoint sched_switch; kernel.c finds out which from BTF. */
enum {
	EBREC_SWITCH_PREV_NEXT,	      /* preempt, prev, next */
	EBREC_SWITCH_PREV_NEXT_STATE, /* preempt, prev, next, prev_state */
	EBREC_SWITCH_STATE_PREV_NEXT, /* preempt, prev_state, prev, next */
};

/* Of addresses. */
struct ebrec_range {
	__u64 start, end;
};

/* Set before loading: the verifier removes the branches that are not taken. */
struct ebrec_bpf_config {
	__u64 cgroup_id;     /* not 0: follow what is, or comes, at or below this cgroup */
	__u64 loaded_ns;     /* CLOCK_MONOTONIC: tasks that start later are seen from their start */
	__u64 min_block;     /* ns; 0: stacks travel with each switch */
	__s64 preempt_count; /* of a CPU, from its run queue, in bytes; 0: not known */
	__u32 all;	     /* every task is followed */
	__u32 self_tgid;     /* the recorder, never followed */
	__u32 n_cpus;	     /* see EBREC_SLOT_ */
	__u32 stacks;	     /* switches take stacks */
	__u32 sample_stacks;
	__u32 unwind;	   /* user stacks by tables */
	__u32 unwind_exec; /* mappings are placed at exec */
	__u32 max_frames;  /* what the kernel gives at the most */
	__u32 max_stack;   /* frames of user stacks that are walked by tables */
	__u32 max_entries; /* of these, with the functions of interpreters between the frames */
	__u32 switch_args;
	__u32 syscalls;	      /* the source is on */
	__u32 syscall_args;   /* what arguments point to, and which files descriptors are */
	__u32 dumps;	      /* of stacks that were not walked whole, a second and CPU; 0: none */
	__u32 dump_all;	      /* nothing is walked, and every user stack dumped */
	__u32 spsc_bytes;     /* of each SPSC queue; a power of two */
	__u32 python;	      /* Python frames */
	__u32 lock_rings;     /* rings say that they take their lock */
	__u32 lock_wakes;     /* rows of futex_wake */
	__u32 event_stacks;   /* of rows of event_stack.bpf.h */
	__u32 event_bytes;    /* some of them have bytes, by probe.bpf.h */
	__u32 returns;	      /* functions are followed until they return */
	__u32 fault_mappings; /* programs can find a mapping */
	__u32 mark_sleeps;    /* the program of marks may sleep */
	__u32 cache_pages;    /* tracepoints of the page cache have pages, no folios */
	__u32 page_size;
};

/*
 * Slots of map `rings`: each CPU has one for events and one for samples, since samples may come in
 * an NMI, where a ring's lock may be held by what was interrupted. Several CPUs' slots may hold
 * the same ring. Forks, execs, exits and renames of all CPUs share one ring, which is read before
 * the others: whoever reads an event has seen the fork of its task.
 */
#define EBREC_SLOT_EVENT(cpu)	       (cpu)
#define EBREC_SLOT_SAMPLE(config, cpu) ((config)->n_cpus + (cpu))
#define EBREC_SLOT_TASK(config)	       (2 * (config)->n_cpus)
/* Nothing is in this one: programs wake the session's thread through it (ebrec_ring_doorbell()). */
#define EBREC_SLOT_DOORBELL(config) (2 * (config)->n_cpus + 1)
#define EBREC_SLOTS(n_cpus)	    (2 * (n_cpus) + 2)

/* MAJOR() and MINOR() of the kernel. */
#define EBREC_DEV_MAJOR(dev) ((dev) >> 20)
#define EBREC_DEV_MINOR(dev) ((dev) & ((1u << 20) - 1))

/* Of a slot's ring. Map `slots`; shared memory. */
struct ebrec_slot {
	__u32 asleep;	  /* set by a reader that waits, cleared by whoever wakes it */
	__u32 wake_bytes; /* wake when so much is queued */
};

/*
 * Map `spsc_queues` by CPU: a queue of rows, of calls and of their arguments, with one writer, that
 * CPU, and one reader. System calls come by the million a second, and handing over a record through
 * a ring costs two locked instructions, each of which waits for all stores before it. Here it costs
 * none. Calls end in task context, and a program does not run inside itself, so a CPU is one
 * writer. A CPU without a queue, which came online later, uses its ring. Shared memory.
 */
struct ebrec_spsc {
	__u64 head; /* bytes ever written */
	__u64 unused[7];
	__u64 tail; /* bytes ever read */
	__u64 unused2[7];
	/* config.spsc_bytes bytes follow, and room for the rest of a row that begins before their
	 * end; the next one begins where it would if that were at the beginning. */
};

#define EBREC_SPSC_SLACK 4352
/* More than a call's rows take: three paths, and some descriptors and sockets. */
#define EBREC_CALL_BYTES 16384

/* What is to be done for a system call, by number; two tables: of native and of 32-bit calls. */
struct ebrec_call_plan {
	union {
		struct {
			__u8 fds[2];   /* 1 + the argument that is a descriptor; 0: there is none;
					* EBREC_FD_CWD */
			__u8 texts[3]; /* the same of what is read; in the upper half EBREC_READ_ */
			__u8 lengths;  /* of an address: the argument that has its length; with
					* EBREC_PLAN_STRUCTS */
			__u8 result;   /* EBREC_RESULT_ */
			__u8 effect;   /* EBREC_EFFECT_ */
		};
		__u64 all; /* 0: nothing */
	};
};

#define EBREC_PLAN_STRUCTS 0x80 /* it has structs, too */

#define EBREC_FDS                                                                                \
	65536 /* processes, and descriptors above the first ones, that are known; a power of two \
	       */
#define EBREC_CALLS  512 /* more than there are */
#define EBREC_FD_CWD 8	 /* no argument: paths begin at the working directory */

/* How an argument is read. */
enum {
	EBREC_READ_TEXT,	/* up to a zero byte */
	EBREC_READ_RESULT,	/* as many bytes as the call returned */
	EBREC_READ_ADDRESS,	/* of a socket, from the program */
	EBREC_READ_ADDRESS_OUT, /* likewise, from the kernel: the length is where an argument points
				   to */
	EBREC_READ_DESCRIPTORS, /* two numbers of 32 bits */
	EBREC_READ_STRUCT,	/* so many bytes */
	EBREC_READ_CUT = 0x40,	/* with it: there are more of them than are read */
};

/* A struct that an argument points to, or as many of them as there are. */
struct ebrec_call_struct {
	__u8 arg;	   /* 1 + the argument; 0: there is none */
	__u8 when : 4;	   /* EBREC_WHEN_ */
	__u8 how_many : 4; /* EBREC_MANY_ */
	__u8 offset, size; /* bytes of it that are read; size: at most 128 */
};

#define EBREC_CALL_STRUCTS 3

struct ebrec_call_structs {
	struct ebrec_call_struct parts[EBREC_CALL_STRUCTS];
};

/* When it is there. */
enum {
	EBREC_WHEN_IN,	 /* always: the program gave it */
	EBREC_WHEN_OUT,	 /* the call succeeded */
	EBREC_WHEN_SOME, /* its result is more than zero */
	EBREC_WHEN_LEFT, /* as OUT: not what the program gave, but what became of it */
};

/* How many there are. */
enum {
	EBREC_MANY_ONE,
	EBREC_MANY_NEXT,   /* as many as the next argument says */
	EBREC_MANY_RESULT, /* as many as the call returned */
	EBREC_MANY_BYTES,  /* one, if the next argument says that it has all these bytes */
	EBREC_MANY_INT,	   /* one, if the next argument says that it has 4 bytes */
	EBREC_MANY_INT_AT, /* likewise, where the next argument points to */
	EBREC_MANY_FUTEX,  /* one, if the second argument is an operation that has a time */
	EBREC_MANY_EPOLL,  /* one, if the second argument is not EPOLL_CTL_DEL */
};

/* What the result is. */
enum {
	EBREC_RESULT_OTHER,
	EBREC_RESULT_FD,
	EBREC_RESULT_FCNTL, /* a descriptor if it was asked to make one */
	EBREC_RESULT_PAIR,  /* two, where the first text is */
};

/* What a call does to what is known of descriptors. */
enum {
	EBREC_EFFECT_NONE,
	EBREC_EFFECT_CLOSE,   /* of the first argument */
	EBREC_EFFECT_REPLACE, /* of the second, which becomes another one */
	EBREC_EFFECT_SOCKET,  /* the socket of the first argument gets another address */
	EBREC_EFFECT_ALL,     /* any of them may be another file */
	EBREC_EFFECT_CWD,     /* the working directory is another one */
	EBREC_EFFECT_SHARED,  /* they change without calls, from now on */
	EBREC_EFFECT_UNSHARE, /* all, and perhaps a thread has its own from now on */
	EBREC_EFFECT_EXEC,    /* all, and the registers are those of the new program */
};

/* Map `followed` by tid / 64; shared memory. A byte a tid, as bytes need no atomic operation. */
struct ebrec_followed {
	__u8 tid[64];
};

/* Map `drops` by table id, per CPU. */
struct ebrec_drops {
	__u64 ring_full;
	__u64 no_storage;
};
#define EBREC_DROPS_TABLES 256

/* Of what is done so many times a second at the most. Map `unwind_dumps`, per CPU. Programs that
 * interrupt each other may miscount by one. */
struct ebrec_rate {
	__u64 second; /* since the kernel started */
	__u64 n;      /* times in it */
	__u64 refused;
};

/* Not a table of the file: tells the recorder that a process came into the cgroup. 0xff01 and
 * 0xff02 are in python.h and facts.h. */
#define EBREC_T_ATTACHED 0xff00

#endif
