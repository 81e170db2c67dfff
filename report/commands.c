/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of ebreport, in the order of its help. A new command: cmd_NAME.c, a line here. */
#include "report/cli/command.h"

/* clang-format off */
const struct command *const commands[] = {
	&command_info,
	&command_summary,
	&command_dump,
	&command_export,
	&command_syscalls,
	&command_block,
	&command_net,
	&command_flame,
	&command_callgraph,
	&command_folded,
	&command_diff,
	&command_offcpu,
	&command_wall,
	&command_sched,
	&command_procs,
	&command_marks,
	&command_logs,
	&command_locks,
	&command_faults,
	&command_cache,
	&command_counters,
	&command_dbus,
	&command_mem,
	&command_modules,
	&command_files,
	&command_extract,
	&command_bundle,
	&command_scrub,
	NULL,
};
/* clang-format on */
