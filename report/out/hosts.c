/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One output of a report on each machine of a file; see out.h. */
#include "report/out/private.h"

#include <inttypes.h>
#include <string.h>

struct ebt_error *out_host_begin(struct out *out, struct trace *trace)
{
	const char *name;
	struct ebt_error *err = ebt_reader_meta(trace_reader(trace), "host.name", &name);

	if (err)
		return err;
	out->trace = trace;
	out->host = ebt_reader_info(trace_reader(trace))->host;
	text_clear(&out->host_name);
	text_cstr(&out->host_name, name ? name : "");
	text_clear(&out->dropped);
	out->n_dropped = 0;
	out->n_intervals = 0;
	out->left_out = NULL;
	if (!options_flag(out->options, "ndjson")) { /* whose lines say it themselves */
		_cleanup_text_ struct text line = TEXT_INIT;

		text_printf(&line, "host-%" PRIu32 ": ", out->host);
		text_terminal(&line, name ? text_str(&out->host_name) : (struct ebt_str){ "?", 1 });
		out_printf(out, "%s\n", text_get(&line));
	}
	return text_error(&out->host_name);
}

struct ebt_error *out_host_end(struct out *out)
{
	struct ebt_error *err = out_finish_trace(out);

	out->opened = false;
	return err;
}

void out_host_fail(struct out *out, uint32_t host, const struct ebt_error *err)
{
	out_drop_table(out);
	if (out->format != FORMAT_JSON)
		return;
	if (out->host != host) {
		out->host = host;
		text_clear(&out->host_name);
	}
	out_json_fail(out, err->message);
	out->opened = false;
}
