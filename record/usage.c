/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of --help and --list-events; see usage.h. */
#include "record/usage.h"

#include "record/config/options.h"
#include "record/config/source.h"

void usage_print(FILE *to)
{
	fputs("Usage: ebrec [options] [-o FILE] [--] CMD [ARG...]   record CMD and its "
	      "descendants\n"
	      "       ebrec [options] [-o FILE] -p PID[,PID...]     record processes and "
	      "descendants\n"
	      "       ebrec [options] [-o FILE] --cgroup PATH       record a cgroup (v2)\n"
	      "       ebrec [options] [-o FILE] -a                  record the whole system\n",
	      to);
	cli_usage(to, record_option_groups, N_RECORD_OPTION_GROUPS, 25);
	fputs("\n"
	      "TIME is a number with ns, us, ms, s, m or h, as 500ms; without: seconds. "
	      "Descendants that\n"
	      "outlive CMD are left alone, and not recorded any more.\n"
	      "\n"
	      "Exit status: that of CMD (128+N if signal N ended it; 126 or 127 if it could not be "
	      "run),\n"
	      "0 without a CMD, or 125 if ebrec itself failed.\n"
	      "\n"
	      "Examples:\n"
	      "  ebrec -- make -j8                        where a build spends its time, on and "
	      "off CPU\n"
	      "  ebrec -e syscalls -o ls.ebt -- ls -l     system calls only\n"
	      "  ebrec --capture-output -- ./server       beside its own messages\n"
	      "  ebrec -p $(pidof nginx | tr ' ' ,) -d 10s\n"
	      "  ebrec -a -F 999 -d 5s -o - | zstd > t.ebt.zst\n",
	      to);
}

static const char *availability(const struct ebrec_source *source, const struct kernel *kernel,
				struct source_state *state)
{
	if (!kernel)
		return "not known";
	source_probe(source, kernel, state);
	switch (state->status) {
	case EBT_V_source_status_partial:
		return "in part";
	case EBT_V_source_status_unavailable:
		return "no";
	case EBT_V_source_status_off:
	case EBT_V_source_status_on:
		break;
	}
	return "yes";
}

void usage_list_events(FILE *to, const struct kernel *kernel)
{
	for (size_t i = 0; i < ebrec_n_sources; i++) {
		const struct ebrec_source *source = ebrec_sources[i];
		struct source_state state = { .status = EBT_V_source_status_on };

		fprintf(to, "%-10s %s%s\n", source->name, source->doc,
			source->by_default ? " (default)" : "");
		if (source->args_doc)
			fprintf(to, "%-10s   takes: %s:%s\n", "", source->name, source->args_doc);
		fprintf(to, "%-10s   cost: %s\n", "", source->cost);
		fprintf(to, "%-10s   here: %s", "", availability(source, kernel, &state));
		if (*state.detail)
			fprintf(to, " (%s)", state.detail);
		fputc('\n', to);
	}
}
