/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of --help and --list-events; see usage.h. */
#include "record/usage.h"

#include "record/config/source.h"

static const char usage[] =
	"Usage: ebrec [options] [-o FILE] [--] CMD [ARG...]   record CMD and its descendants\n"
	"       ebrec [options] [-o FILE] -p PID[,PID...]     record processes and descendants\n"
	"       ebrec [options] [-o FILE] --cgroup PATH       record a cgroup (v2)\n"
	"       ebrec [options] [-o FILE] -a                  record the whole system\n"
	"\n"
	"Output:\n"
	"  -o, --output FILE      the trace (default: trace.ebt); `-` is standard output, and "
	"CMD's\n"
	"                         own standard output then goes to standard error\n"
	"  -f, --force            replace FILE even if it is not a trace\n"
	"      --bundle           put the names of its addresses into FILE at the end, so that it "
	"reads\n"
	"                         the same anywhere; takes `ebreport`, from ebrec's own folder\n"
	"  -q, --quiet            no status, no summary; errors and losses only\n"
	"  -v, --verbose          say more; twice: what the kernel says of the BPF programs\n"
	"\n"
	"What to record:\n"
	"  -a, --all              the whole system\n"
	"  -p, --pid PID,...      these processes and their descendants, until they have ended\n"
	"      --cgroup PATH      processes of this control group (v2) and of those below it\n"
	"  -e, --events LIST      sources, comma-separated: names of --list-events, `default`, "
	"`all`;\n"
	"                         -NAME takes one away (`-e -sample`: all default ones but that);\n"
	"                         NAME:ARGUMENTS for a source that takes some, as\n"
	"                         uprobe:libc.so.6:fopen:path=1/s+ret,tp:sched:sched_wakeup\n"
	"  -F, --freq HZ          sampling rate of each CPU (default: 99)\n"
	"      --call-graph HOW   auto (default: table where the kernel can, else fp), table "
	"(unwind\n"
	"                         tables; frame pointers in generated code), fp (frame "
	"pointers),\n"
	"                         dump (unwind tables, later, from copies of all stacks) or none\n"
	"      --max-stack N      frames of a user stack at the most (default: 127; by tables up "
	"to "
	"512)\n"
	"      --unwind-mem SIZE  of unwind tables, all together, at the most (default: 64M)\n"
	"      --no-python        show Python's interpreter, and not the functions that it runs\n"
	"      --no-stack-dump    never keep memory of stacks that cannot be walked whole at once\n"
	"      --keep-stack-dumps finish no stack, but keep this memory for ebreport\n"
	"      --no-containers    leave out what podman and docker know of containers\n"
	"      --min-block TIME   off-CPU stacks only for blocks at least this long (default: "
	"all)\n"
	"  -d, --duration TIME    end after so long; a CMD that still runs gets SIGTERM, as it "
	"does\n"
	"                         when ebrec is interrupted\n"
	"  -b, --buffer-size SIZE of the ring buffers for events, all together (default: 64M)\n"
	"      --user NAME        run CMD as NAME\n"
	"      --capture-output[=WHAT]\n"
	"                         CMD's lines become events (`ebreport logs`), and go on to where "
	"they\n"
	"                         would have gone; WHAT: stdout, stderr, both (default) or apart "
	"(both,\n"
	"                         told apart also where they go to one place)\n"
	"\n"
	"      --list-events      every source, what it costs, and whether this kernel has it;\n"
	"                         --list-events=tp: the kernel's tracepoints; =tp:CATEGORY:NAME:\n"
	"                         their fields too (* and ? match several)\n"
	"  -V, --version          print the version\n"
	"  -h, --help             print this\n"
	"\n"
	"TIME is a number with ns, us, ms, s, m or h, as 500ms; without: seconds. Descendants "
	"that\n"
	"outlive CMD are left alone, and not recorded any more.\n"
	"\n"
	"Exit status: that of CMD (128+N if signal N ended it; 126 or 127 if it could not be "
	"run),\n"
	"0 without a CMD, or 125 if ebrec itself failed.\n"
	"\n"
	"Examples:\n"
	"  ebrec -- make -j8                        where a build spends its time, on and off CPU\n"
	"  ebrec -e syscalls -o ls.ebt -- ls -l     system calls only\n"
	"  ebrec --capture-output -- ./server       beside its own messages\n"
	"  ebrec -p $(pidof nginx | tr ' ' ,) -d 10s\n"
	"  ebrec -a -F 999 -d 5s -o - | zstd > t.ebt.zst\n";

void usage_print(FILE *to)
{
	fputs(usage, to);
}

static const char *availability(const struct ebrec_source *source, const struct kernel *kernel,
				struct source_state *state)
{
	if (!kernel)
		return "not known";
	source->probe(kernel, state);
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
