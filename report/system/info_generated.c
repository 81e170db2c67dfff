/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs are known by their names; see info_generated.h. */
#include "report/system/info_generated.h"

#include <string.h>

static const struct {
	const char *prefix, *hint;
} hints[] = {
	{ "node", "run it with --perf-basic-prof" },
	{ "deno", "run it with --v8-flags=--perf-basic-prof" },
	{ "python", "from Python 3.12 on, run it with -X perf" },
	{ "java", "run it with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit" },
	{ "dotnet", "run it with DOTNET_PerfMapEnabled=1 in its environment" },
	{ "ruby", "run it with --yjit-perf" },
	{ "php", "run it with -d opcache.jit_debug=16" },
	{ "beam.smp", "run it with +JPperf true" },
	{ "wasmtime", "run it with --profile=perfmap" },
};

void info_generated_add(struct info_generated *generated, struct ebt_str name, uint64_t frames)
{
	const size_t room = sizeof(generated->programs[0].name) - 1;
	const size_t len = name.len < room ? name.len : room;
	unsigned int i;

	for (i = 0; i < generated->n; i++) {
		if (strlen(generated->programs[i].name) == len &&
		    !memcmp(generated->programs[i].name, name.data, len))
			break;
	}
	if (i == INFO_GENERATED)
		return;
	if (i == generated->n) {
		/* A name with a NUL in it is cut there. */
		strncpy(generated->programs[i].name, name.data, len);
		generated->programs[i].name[len] = '\0';
		generated->programs[i].frames = 0;
		generated->n++;
	}
	generated->programs[i].frames += frames;
}

const char *info_generated_hint(const char *name)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		if (!strncmp(name, hints[i].prefix, strlen(hints[i].prefix)))
			return hints[i].hint;
	}
	return NULL;
}
