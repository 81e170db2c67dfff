/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What scrubbing does with each field, and with each key of table `meta`. */
#ifndef REPORT_SHARE_SCRUB_RULES_H
#define REPORT_SHARE_SCRUB_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "format/read/reader.h"
#include "format/schema/schema.h"
#include "report/calls/names.h"

/* format/events/scrub.def says what they mean. HOST, BOOT and LOGIN are of keys of `meta`. */
enum scrub_action {
	SCRUB_KEEP,
	SCRUB_DROP,
	SCRUB_ARGS,
	SCRUB_HOST,
	SCRUB_BOOT,
	SCRUB_LOGIN,
	SCRUB_FILE,
	SCRUB_PATH,
	SCRUB_COMM,
	SCRUB_CGROUP,
	SCRUB_FUNCTION,
	SCRUB_SOURCE,
	SCRUB_PROSE,
	SCRUB_ARGUMENT,
	SCRUB_RESULT,
	SCRUB_USER,
	SCRUB_ADDRESS,
	SCRUB_DEVICE,
	SCRUB_INSTANCE,
	SCRUB_META,
	SCRUB_N_ACTIONS,
};

/* Of a field of a compiled-in table. */
enum scrub_action scrub_field_action(const char *table, const struct ebt_field *field);

/* Of the value of a key of `meta`. *ret_known false: the row goes. */
enum scrub_action scrub_meta_action(struct ebt_str key, bool *ret_known);

/* Does a field with SCRUB_ARGUMENT stay? Descriptors, offsets, permissions and flags of a system
 * call do: without its descriptors it does not say which files it was about. machine: NULL: not
 * known. */
bool scrub_keeps_argument(const struct syscall_machine *machine, const struct ebt_row *row,
			  uint32_t field);

/* The n-th entry of scrub.def, NULL behind the last: for a test. */
const char *scrub_listed(size_t n, const char **ret_field);

#endif
