/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a stranger can read in a trace: it goes by what stands in the file, by the classes of its
 * fields (scrub.def), and not by what scrubbing meant to do.
 */
#ifndef REPORT_SHARE_READABLE_H
#define REPORT_SHARE_READABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/base/text.h"

enum readable_class {
	READABLE_PROGRAMS, /* names of programs and threads */
	READABLE_PATHS,	   /* of files, of source files, of control groups */
	READABLE_COMMANDS, /* command lines */
	READABLE_HOST,	   /* its name, its boot id */
	READABLE_USERS,
	READABLE_ADDRESSES, /* of hosts */
	READABLE_FUNCTIONS,
	READABLE_NAMES, /* of marks, counters, probes, devices; of D-Bus */
	/* Of these, values are counted: of the others, words. */
	READABLE_TEXTS,	    /* of marks, of logs and output; what probes read */
	READABLE_MEMORY,    /* of stacks */
	READABLE_ARGUMENTS, /* of system calls */
	READABLE_FILES,	    /* embedded ones that are not public */
	READABLE_N_CLASSES,
};

struct readable_count {
	uint64_t readable, aliases;
	struct text examples; /* of what is readable, each with a NUL behind it */
	size_t n_examples;
};

/* A word that is somebody's, and a text in which it can be read. */
struct readable_leak {
	char *word, *text; /* text NULL: in none */
	uint64_t texts;
};

struct readable {
	bool users_kept; /* whoever made it kept their numbers; of the caller */
	bool scrubbed;	 /* it may have aliases */
	struct readable_count counts[READABLE_N_CLASSES];
	uint64_t named; /* places in code that have a name */
	struct readable_leak *words;
	size_t n_words, capacity;
	/* Distinct texts that are told from each other; of the caller. What comes beyond counts,
	 * and is looked at, each time. */
	size_t most_texts;
	bool overflowed;
};

#define READABLE_MOST_TEXTS (UINT32_C(1) << 22) /* 24 to 48 bytes each */

/* `words`, of another trace, are looked for; NULL: the words are those of this trace, the name of
 * its host, of the user, and of folders in /home. *ret is for readable_deinit(), also where there
 * is an error. */
struct ebt_error *readable_read(struct ebt_reader *reader, struct readable *words,
				struct readable *ret);
void readable_deinit(struct readable *readable);

/* "programs"; and for people: "programs and threads". */
const char *readable_key(enum readable_class of);
const char *readable_what(enum readable_class of);

#endif
