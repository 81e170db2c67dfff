/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the symbolizer tells and is told, which symbolize.h gives to its users. Opens nothing. */
#ifndef SYMBOLIZE_BASE_TYPES_H
#define SYMBOLIZE_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/read/rows.h"

/* Why a frame has no name. SYM_OK: it has one. */
enum sym_reason {
	SYM_OK,
	SYM_NO_MAPPING,	      /* nothing known was mapped there then */
	SYM_ANONYMOUS,	      /* memory without a file (JIT) */
	SYM_NO_FILE,	      /* no such file here */
	SYM_BUILD_ID_DIFFERS, /* the file here is another build */
	SYM_CONTENT_DIFFERS,  /* no build-id, and the file here is another one */
	SYM_CHECKSUM_DIFFERS, /* of the debug file that .gnu_debuglink names */
	SYM_NO_BUILD_ID,      /* nothing recorded to recognise the file by */
	SYM_BAD_FILE,	      /* the file here cannot be read as ELF */
	SYM_NO_SYMBOL,	      /* the file has no symbol that covers the address */
	SYM_SERVER_LACKS,     /* nor has the debuginfod server the file */
	SYM_SERVER_SILENT,    /* the server gave no answer in time */
	SYM_SERVER_FAILED,    /* it could not be reached, or the transfer failed */
	SYM_SERVER_OTHER,     /* it sent another file */
	SYM_INTERRUPTED,      /* the user did not wait for the server */
	SYM_NO_KERNEL,	      /* the trace has no kernel symbols */
	SYM_NOT_READ,	      /* a Python function whose name was not recorded */
	SYM_DISABLED,	      /* --no-symbols */
	SYM_TOO_LONG,	      /* the file's debug information takes too long to read */
	SYM_N_REASONS,
};

/* What kind of code a frame is: chooses colours and categories. */
enum sym_kind { SYM_USER, SYM_KERNEL, SYM_MODULE, SYM_VDSO, SYM_JIT, SYM_PYTHON, SYM_UNKNOWN };

/*
 * One function at one place. Interned: the same function of the same object is the same `func`,
 * so that callers can compare pointers and index arrays by func->id. Lives as long as the sym.
 */
struct sym_func {
	uint32_t id; /* dense, from 0 */
	enum sym_kind kind;
	enum sym_reason reason;
	const char *name; /* demangled; `libc.so.6+0x1234` or `0x7f…` where reason is not SYM_OK */
	const char *object;   /* path as recorded, "[kernel]", "[module]", "[vdso]", or "" */
	const char *build_id; /* hexadecimal, or "" */
};

struct sym_frame {
	const struct sym_func *func;
	const char *file; /* source file, NULL: not known */
	uint32_t line;	  /* 0: not known */
	bool inlined;	  /* inlined into the next frame of the array */
};

/* The frames of one address, innermost first; at least one. Belongs to the sym. */
struct sym_frames {
	const struct sym_frame *frames;
	size_t n;
	/* Where that is in its file: as the file is linked, or the offset where that is not known.
	 * Of the kernel, and of what is in no file, the address itself; of an interpreter's
	 * function 0. */
	uint64_t address;
	uint64_t offset; /* of the address in its file; of what is in none 0 */
};

/* What is being fetched from servers. */
struct sym_fetching {
	size_t done, files;
	uint64_t bytes; /* of downloads under way */
};

/* debuginfod servers that may be asked. */
struct sym_servers {
	const char *urls;    /* NULL: those of the environment */
	uint64_t timeout_ns; /* without a sign of life, after which no server is asked any more */
	/* Called some times a second while somebody waits, with NULL in the end; from several
	 * threads, one at a time. false: do not wait. Or NULL. */
	bool (*watch)(void *arg, const struct sym_fetching *now);
	void *arg;
};

struct sym_options {
	bool disabled;		       /* --no-symbols: nothing is opened */
	bool own_names;		       /* and yet there are names that the trace has */
	bool no_inline;		       /* names from symbol tables only */
	bool no_bundle;		       /* not by names that are in the trace */
	bool cache;		       /* names may be read from the user's cache, and kept there */
	const char *const *debug_dirs; /* NULL-terminated, searched before the system's; or NULL */
	const char *sysroot;	       /* prefix for recorded paths, or NULL */
	const struct sym_servers *servers; /* NULL: none is asked */
	const char *const *roots; /* "CONTAINER=DIR" or "PID=DIR", NULL-terminated; or NULL */
};

/* What readers of a report should know about the files that names are from. */
struct sym_tally {
	uint32_t not_fetched[SYM_N_REASONS]; /* files that servers did not give */
	uint32_t by_time; /* files without build-id that were believed for their size and time */
};

/* A mapped file of the trace, and what is here of it. Strings belong to the sym. */
struct sym_object {
	const char *path, *build_id; /* as recorded; build_id is hexadecimal, or "" */
	enum sym_kind kind;
	bool anonymous;			      /* memory without a file: nothing is looked for */
	const char *place, *file;	      /* where the file is; NULL: it is not */
	const char *debug_place, *debug_file; /* the same for separate debug information */
	const char *match;		      /* what it was recognised by */
	const char *refused;		      /* a file that is there, but another one; or NULL */
	enum sym_reason reason, debug_reason; /* why there is none; SYM_OK: nothing to say */
	bool has_symtab, has_dwarf;	      /* of what was found */
};

/* What an address of data is in. */
struct sym_variable {
	bool found;
	const char *object, *short_object; /* path as recorded, and its last part */
	const char *name;		   /* of the variable; NULL: not known */
	uint64_t offset; /* in the variable, else the address that it is linked to */
};

/* How a value in a register is meant. */
enum sym_value { SYM_VALUE_SIGNED, SYM_VALUE_UNSIGNED, SYM_VALUE_BOOL, SYM_VALUE_HEX };

/* A parameter of a function, or what it returns; names and types are cut where they are long. */
struct sym_parameter {
	char name[64], type[96];
	enum sym_value value;
	uint32_t size;	   /* 1, 2, 4 or 8 bytes */
	uint32_t position; /* of its register among those for whole numbers, from 1; 0: in none */
};

#define SYM_MAX_PARAMETERS 16

struct sym_parameters {
	bool known;
	bool whole;   /* these are all */
	bool returns; /* something, in a register for whole numbers */
	struct sym_parameter list[SYM_MAX_PARAMETERS], result;
	size_t n;
};

/*
 * Does entry i of a stack stand for nothing by itself? It is the function of an interpreter, and
 * what that ran follows.
 */
static inline bool sym_is_shown_by_next(const struct ebt_stack *stack, uint32_t i)
{
	const uint64_t *entry = stack->addresses + i;

	return stack->attrs & EBT_STACK_USER && i + 1 < stack->n &&
	       !(entry[0] & EBT_ENTRY_INTERP) && entry[1] & EBT_ENTRY_INTERP &&
	       !(entry[1] & EBT_ENTRY_BESIDE);
}

#endif
