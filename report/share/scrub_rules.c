/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format/events/scrub.def as a table, and the check that no field is missing there. */
#include "report/share/scrub_rules.h"

#include <string.h>

#include "report/calls/arguments.h"

/* A field that the event table has and scrub.def has not: "SCRUB_LISTS_table_field undeclared". Add
 * the line that this is about to format/events/scrub.def. */
enum {
#define EBT_SCRUB(table, field, action) SCRUB_LISTS_##table##_##field,
#include "format/events/scrub.def"
	SCRUB_N_LISTED,
};

#define MUST_LIST(table, field) \
	_Static_assert(SCRUB_LISTS_##table##_##field >= 0, "a line in scrub.def");
#define CHECK_STRING(table, field) MUST_LIST(table, field)
#define CHECK_BYTES(table, field)  MUST_LIST(table, field)
#define CHECK_HEX(table, field)	   MUST_LIST(table, field)
#define CHECK_U64(table, field)
#define CHECK_I64(table, field)
#define CHECK_TIME(table, field)
#define CHECK_DURATION(table, field)
#define CHECK_ENUM(table, field)
#define CHECK_TASK(table, field)
#define CHECK_STACK(table, field)

/* clang-format off */
#define EBT_FIELD(table, id, ctype, name, type, unit, doc) CHECK_##type(table, name)
#include "format/events/all.def"
/* clang-format on */

static const struct {
	const char *table, *field;
	enum scrub_action action;
} rules[SCRUB_N_LISTED] = {
#define EBT_SCRUB(table, field, action) { #table, #field, SCRUB_##action },
#include "format/events/scrub.def"
};

enum scrub_action scrub_field_action(const char *table, const struct ebt_field *field)
{
	for (size_t i = 0; i < SCRUB_N_LISTED; i++) {
		if (!strcmp(rules[i].table, table) && !strcmp(rules[i].field, field->name))
			return rules[i].action;
	}
	/* Only the file knows it: a later version's. What it means is not known here. */
	return field->wire_size ? SCRUB_KEEP : SCRUB_DROP;
}

bool scrub_keeps_argument(const struct syscall_machine *machine, const struct ebt_row *row,
			  uint32_t field)
{
	struct call_view view = { .machine = machine };
	struct call_shown call;

	if (row->batch->table->id != EBT_T_syscall)
		return false;
	view.compat = ebt_syscall_abi(row) != EBT_V_syscall_abi_native;
	view.nr = ebt_syscall_nr(row);
	call_show(&view, &call);
	return call_arg_is_plain(&call, field - EBT_F_syscall_arg0);
}

const char *scrub_listed(size_t n, const char **ret_field)
{
	if (n >= SCRUB_N_LISTED)
		return NULL;
	*ret_field = rules[n].field;
	return rules[n].table;
}

static const struct {
	const char *key;
	enum scrub_action action;
} metas[] = {
	{ "ebrec.version", SCRUB_KEEP },
	{ "ebrec.command_line", SCRUB_ARGS },
	{ "target.kind", SCRUB_KEEP },
	{ "target.command", SCRUB_ARGS },
	{ "target.pids", SCRUB_KEEP },
	{ "target.cgroup", SCRUB_CGROUP },
	{ "target.user", SCRUB_LOGIN },
	{ "options.events", SCRUB_KEEP },
	{ "options.call_graph", SCRUB_KEEP },
	{ "options.min_block_ns", SCRUB_KEEP },
	{ "options.duration_ns", SCRUB_KEEP },
	{ "stacks.dumps_finished", SCRUB_KEEP },
	{ "stacks.dumps_not_finished", SCRUB_KEEP },
	{ "stacks.dumps_not_taken", SCRUB_KEEP },
	{ "python.stacks", SCRUB_KEEP },
	{ "python.stacks_without_thread", SCRUB_KEEP },
	{ "python.stacks_partial", SCRUB_KEEP },
	{ "python.names_refused", SCRUB_KEEP },
	{ "stacks.tables", SCRUB_KEEP },
	{ "stacks.tables_evicted", SCRUB_KEEP },
	{ "stacks.tables_without_room", SCRUB_KEEP },
	{ "stacks.mappings_without_room", SCRUB_KEEP },
	{ "sysprof.frames_not_kept", SCRUB_KEEP },
	{ "sysprof.times_moved", SCRUB_KEEP },
	{ "sysprof.writers_not_known", SCRUB_KEEP },
	{ "sample.freq", SCRUB_KEEP },
	{ "sample.event", SCRUB_KEEP },
	{ "host.name", SCRUB_HOST },
	{ "host.release", SCRUB_KEEP },
	{ "host.version", SCRUB_KEEP },
	{ "host.machine", SCRUB_KEEP },
	{ "host.os", SCRUB_KEEP },
	{ "host.cpu_model", SCRUB_KEEP },
	{ "host.cpus", SCRUB_KEEP },
	{ "host.cpus_online", SCRUB_KEEP },
	{ "host.memory", SCRUB_KEEP },
	{ "host.page_size", SCRUB_KEEP },
	{ "host.clk_tck", SCRUB_KEEP },
	{ "host.boot_id", SCRUB_BOOT },
	{ "host.kernel_build_id", SCRUB_KEEP },
	{ "host.pid_ns", SCRUB_KEEP },
	{ "host.mnt_ns", SCRUB_KEEP },
	{ "host.tasks", SCRUB_PROSE },
	{ "recorder.pid", SCRUB_KEEP },
	{ "recorder.user_ns", SCRUB_KEEP },
	{ "recorder.system_ns", SCRUB_KEEP },
	{ "end.reason", SCRUB_KEEP },
	{ "end.exit_status", SCRUB_KEEP },
	{ "bundle.version", SCRUB_KEEP },
	{ "copy.damage", SCRUB_KEEP },
	{ "cut.version", SCRUB_KEEP },
	{ "cut.pids", SCRUB_KEEP },
	{ "cut.rows", SCRUB_KEEP },
	{ "cut.tables", SCRUB_KEEP },
	{ "merge.version", SCRUB_KEEP },
	{ "merge.inputs", SCRUB_KEEP },
	{ "scrub.version", SCRUB_KEEP },
};

enum scrub_action scrub_meta_action(struct ebt_str key, bool *ret_known)
{
	for (size_t i = 0; i < sizeof(metas) / sizeof(metas[0]); i++) {
		*ret_known =
			key.len == strlen(metas[i].key) && !memcmp(key.data, metas[i].key, key.len);
		if (*ret_known)
			return metas[i].action;
	}
	return SCRUB_DROP;
}
