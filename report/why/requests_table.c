/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slow requests and fast ones as a table; see requests_table.h. */
#include "report/why/requests_table.h"

#include <inttypes.h>
#include <string.h>

#include "report/base/text.h"
#include "report/out/out.h"
#include "report/why/objects.h"
#include "report/why/requests.h"
#include "report/why/words.h"

static uint64_t mean_ns(const struct why_requests *requests, enum why_speed speed, uint64_t ns)
{
	return requests->count[speed] ? ns / requests->count[speed] : 0;
}

static void put_json_head(struct json *json, const struct trace *trace, const char *name,
			  const struct why_requests *requests)
{
	json_newline(json);
	json_put(json, "requests", open_object);
	json_put(json, "name", cstr, name);
	json_put(json, "count", u64, requests->n);
	json_put(json, "open_count", u64, requests->open);
	json_put(json, "p50_ns", u64, requests->p50_ns);
	json_put(json, "p90_ns", u64, requests->p90_ns);
	json_put(json, "p99_ns", u64, requests->p99_ns);
	json_put(json, "max_ns", u64, requests->max_ns);
	json_put(json, "max_at_ns", i64, (int64_t)(requests->max_at - trace_start_ns(trace)));
	json_put(json, "fast_count", u64, requests->count[WHY_FAST]);
	json_put(json, "slow_count", u64, requests->count[WHY_SLOW]);
	json_put(json, "fast_ns", u64, mean_ns(requests, WHY_FAST, requests->ns[WHY_FAST]));
	json_put(json, "slow_ns", u64, mean_ns(requests, WHY_SLOW, requests->ns[WHY_SLOW]));
	json_end(json);
}

static void say_head(struct out *out, const char *name, const struct why_requests *requests)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	text_terminal(&line, ebt_str_of(name));
	text_printf(&line, ": %" PRIu64 " spans; half took up to ", requests->n);
	text_duration(&line, requests->p50_ns);
	text_cstr(&line, ", 90 % up to ");
	text_duration(&line, requests->p90_ns);
	text_cstr(&line, ", 99 % up to ");
	text_duration(&line, requests->p99_ns);
	text_cstr(&line, ", the longest ");
	text_duration(&line, requests->max_ns);
	text_printf(&line,
		    ". SLOW is the mean of the %" PRIu64 " slowest: ", requests->count[WHY_SLOW]);
	text_duration(&line, mean_ns(requests, WHY_SLOW, requests->ns[WHY_SLOW]));
	text_printf(&line, ", FAST that of the %" PRIu64 " fastest: ", requests->count[WHY_FAST]);
	text_duration(&line, mean_ns(requests, WHY_FAST, requests->ns[WHY_FAST]));
	text_cstr(&line, ".");
	out_fill(out, "", 0, text_get(&line));
}

#define PARTS(X)                                                                             \
	X("kind", "KIND", OUT_STRING,                                                        \
	  out_cstr(why_kind_name((enum why_kind)part->kind, part->what)))                    \
	X("more_ns", "MORE", OUT_DURATION, out_u64(slow > fast ? slow - fast : 0), OUT_SORT) \
	X("slow_ns", "SLOW", OUT_DURATION, out_u64(slow))                                    \
	X("fast_ns", "FAST", OUT_DURATION, out_u64(fast))                                    \
	X("comm", "COMM", OUT_STRING, out_str(part->comm), OUT_FLEX)                         \
	X("function", "FUNCTION", OUT_STRING, out_cstr_if(func->name), OUT_FLEX)             \
	X("object", "OBJECT", OUT_STRING,                                                    \
	  part->kind == WHY_WAIT ? out_str_if(object) : out_cstr_if(func->object), OUT_FLEX, 100)

static struct ebt_error *put_part(struct out *out, const struct why_requests *requests,
				  const struct why_part *part)
{
	static const struct calltree_func none = { "", "", CALLTREE_ROOT, 0 };
	uint32_t n;
	const struct calltree_func *funcs = calltree_funcs(why_graph_tree(requests->graph), &n);
	const struct calltree_func *func = part->func < n ? &funcs[part->func] : &none;
	const struct ebt_str object =
		why_object_name(why_graph_objects(requests->graph), part->object);
	const uint64_t fast = mean_ns(requests, WHY_FAST, part->ns[WHY_FAST]);
	const uint64_t slow = mean_ns(requests, WHY_SLOW, part->ns[WHY_SLOW]);

	return out_row(out, 0, OUT_VALUES(PARTS));
}

struct ebt_error *why_put_requests(struct report *report, const struct names *names,
				   const char *name)
{
	const struct out_table table = OUT_TABLE_OF("rows", PARTS, .top = 20);
	_cleanup_(why_requests_destroyp) struct why_requests *requests = NULL;
	struct ebt_error *err = why_requests_create(report->trace, names, name, &requests);

	if (err)
		return err;
	if (out_json(report->out)) {
		put_json_head(out_json(report->out), report->trace, name, requests);
	} else {
		say_head(report->out, name, requests);
		out_printf(report->out, "\n");
	}
	return out_rows(report->out, &table, requests->n_parts, i,
			put_part(report->out, requests, &requests->parts[i]));
}
