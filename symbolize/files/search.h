/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A search of the finder under way, for the functions that look into one place each. */
#ifndef SYMBOLIZE_FILES_SEARCH_H
#define SYMBOLIZE_FILES_SEARCH_H

#include <pthread.h>

#include "symbolize/elf/elffile.h"
#include "symbolize/files/fetch.h"
#include "symbolize/files/finder.h"
#include "symbolize/files/identity.h"
#include "symbolize/spaces/views.h"

#define SYSTEM_DEBUG_DIR "/usr/lib/debug"

struct finder_state {
	struct ebt_reader *reader; /* or NULL */
	char **debug_dirs;	   /* of the user, in order */
	char **roots;		   /* CONTAINER=DIR, PID=DIR; both end with NULL */
	char *sysroot;		   /* or NULL */
	bool no_inline;		   /* names are enough */
	struct fetch *fetch;	   /* NULL: no server is asked */
	pthread_mutex_t lock;	   /* of what follows, which is made when it is needed */
	struct views *views;
	uint64_t work; /* done on paths of strangers: bounded, whatever the trace holds */
	struct identities *identities;
};

struct search {
	struct finder_state *state;
	const char *recorded; /* path */
	const struct sym_build_id *recorded_id;
	const char *path; /* without " (deleted)"; "/", which is no file: not to be opened */
	const struct sym_build_id *id;
	const struct identity *identity; /* what else the trace says about the file, or NULL */
	const struct debuglink *link;	 /* not NULL: debug information that it names is wanted */
	bool any;			 /* whatever has the build-id: strings alone are good */
	bool begin_only;		 /* servers are asked, not waited for */
	enum found_place place;		 /* that is being looked into */
	struct found found;
};

/* Nothing better can be found. */
bool search_is_done(const struct search *search);

/* Take a file that may be the one; what is wrong with it becomes the reason. */
struct ebt_error *search_path(struct search *search, const char *path);
struct ebt_error *search_format(struct search *search, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for a path below a folder that belongs to strangers. */
struct ebt_error *search_beneath(struct search *search, const char *root, const char *path);
/* fd, which may be -1, and path are taken over. */
struct ebt_error *search_fd(struct search *search, int fd, char *path);

/* "ab/cdef…" as below .build-id folders. */
#define SEARCH_HEX_SIZE (2 * SYM_BUILD_ID_MAX + 2)
void search_hex(const struct sym_build_id *id, char ret[SEARCH_HEX_SIZE]);

/* The places, in order (finder.c has the chain). */
struct ebt_error *search_trace(struct search *search);
struct ebt_error *search_caches(struct search *search);
struct ebt_error *search_debug_dirs(struct search *search);
struct ebt_error *search_recorded_path(struct search *search);
struct ebt_error *search_system(struct search *search);
struct ebt_error *search_debuglink(struct search *search);
struct ebt_error *search_servers(struct search *search);
struct ebt_error *search_alt(struct search *search);

#endif
