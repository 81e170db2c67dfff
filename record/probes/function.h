/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function that somebody means by the FUNC of a probe. */
#ifndef RECORD_PROBES_FUNCTION_H
#define RECORD_PROBES_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/error.h"
#include "record/probes/elf.h"

struct probe_function {
	uint64_t offset; /* in the file */
	bool begins;	 /* a function begins there, so that it can be seen to return */
};

/*
 * text is the name of a symbol, perhaps with its version ("memcpy@GLIBC_2.14"), of the file or its
 * debug file; a name of C++ without parameters ("ns::Class::method"), or such with a distance
 * ("main+0x12"); or an offset in the file ("0x1234"). path is for messages, which say what to write
 * instead.
 */
struct ebt_error *probe_function_find(const struct probe_elf *elf, const char *path,
				      const char *text, struct probe_function *ret);

#endif
