/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport serve`: the page of `ebreport html`, of traces that are too large for one file. */
#include "report/serve/serve.h"

static const struct option_def options[] = {
	{ "port", OPTION_U64, "N", "listen on this port of the loopback addresses; a free one" },
	{ "timeout", OPTION_DURATION, "TIME", "end after so long without a request, as 30m" },
	{ "no-open", OPTION_FLAG, NULL, "print the address, and open no browser" },
	{ "memory", OPTION_SIZE, "SIZE", "most that reading a part of a trace may take; 450M" },
	{ .name = NULL },
};

static const char help[] =
	"The page of `ebreport html` from a server that nobody but you can reach: of a trace of "
	"any\n"
	"size, a part of the time at a time, and of all traces of a folder. It prints an address "
	"that\n"
	"works once, opens it in a browser where there is one, and ends with Ctrl-C.\n"
	"\n"
	"  ebreport serve t.ebt\n"
	"  ebreport serve --timeout 30m traces/\n";

const struct command command_serve = {
	.name = "serve",
	.fn = serve_run,
	.flags = COMMAND_NO_TABLES | COMMAND_PRIVATE | COMMAND_OPENS | COMMAND_NO_CPUS,
	.summary = "the same page from a server on this machine, of traces of any size",
	.help = help,
	.options = options,
};
