/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file, the host, the clocks and the frames of `ebreport info --json`. */
#include "report/out/out.h"
#include "report/system/info.h"

#include <string.h>

void info_format_uuid(const uint8_t *uuid, char ret[40])
{
	char *p = ret;

	for (int i = 0; i < 16; i++)
		p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			     uuid[i]);
}

static void json_pairs(struct info_view *v, const char *name, const char *prefix)
{
	struct json *json = out_json(v->out);
	size_t skip = strlen(prefix);

	json_put(json, name, open_object);
	for (size_t i = 0; i < v->info.n_meta; i++) {
		if (strncmp(v->info.meta[i].key, prefix, skip))
			continue;
		json_put(json, v->info.meta[i].key + skip, cstr, v->info.meta[i].value);
	}
	json_end(json);
	json_newline(json);
}

static void json_file(struct info_view *v)
{
	struct json *json = out_json(v->out);
	char uuid[40];

	info_format_uuid(v->file->uuid, uuid);
	json_newline(json);
	json_put(json, "size", u64, v->file->size);
	json_put(json, "uuid", cstr, uuid);
	json_put(json, "created_realtime_ns", wide_u64, v->file->created_ns);
	json_put(json, "start_realtime_ns", wide_u64, v->file->start_realtime_ns);
	json_put(json, "complete", bool, v->file->complete);
	json_put(json, "indexed", bool, v->file->indexed);
	json_put(json, "chunks", u64, v->info.chunks);
	json_put(json, "missing_chunks", u64, trace_missing_chunks(v->report->trace));
	json_put(json, "epochs", u64, v->info.epochs);
	json_put(json, "event_count", u64, v->info.events);
	json_put(json, "sample_count", u64, v->info.samples);
	json_newline(json);
	json_pairs(v, "host", "host.");
	json_pairs(v, "meta", "");
	json_put(json, "clocks", open_object);
	json_put(json, "readings", u64, v->info.clocks.readings);
	json_put(json, "uncertainty_ns", u64, v->info.clocks.uncertainty_ns);
	json_put(json, "first_monotonic_ns", wide_u64, v->info.clocks.first_mono);
	json_put(json, "first_realtime_ns", wide_u64, v->info.clocks.first_real);
	json_put(json, "last_monotonic_ns", wide_u64, v->info.clocks.last_mono);
	json_put(json, "last_realtime_ns", wide_u64, v->info.clocks.last_real);
	json_end(json);
}

/* Frames without a name in code that programs generated. */
static void json_generated(struct json *json, const struct info_generated *generated)
{
	json_put(json, "anonymous", open_array);
	for (unsigned int i = 0; i < generated->n; i++) {
		const char *hint = info_generated_hint(generated->programs[i].name);

		json_open_object(json);
		json_put(json, "process", cstr, generated->programs[i].name);
		json_put(json, "frames", u64, generated->programs[i].frames);
		json_put(json, "hint", cstr, hint);
		json_end(json);
	}
	json_end(json);
}

static void json_frames(struct info_view *v)
{
	struct json *json = out_json(v->out);

	json_newline(json);
	json_put(json, "naming", open_object);
	json_put(json, "counted", bool, v->have_frames);
	json_put(json, "stack_count", u64, v->frames.stacks);
	json_put(json, "truncated_count", u64, v->frames.truncated);
	json_put(json, "named", u64, v->frames.resolved);
	json_put(json, "recorder_samples", u64, v->frames.recorder);
	json_put(json, "unnamed", open_object);
	for (int r = SYM_OK + 1; r < SYM_N_REASONS; r++) {
		if (v->frames.unresolved[r])
			json_put(json, sym_reason_name((enum sym_reason)r), u64,
				 v->frames.unresolved[r]);
	}
	json_end(json);
	json_generated(json, &v->frames.generated);
	json_end(json);
}

/* Numbers of user stacks. */
static void json_unwinding(struct info_view *v)
{
	const struct info_frames *f = &v->frames;
	struct json *json = out_json(v->out);

	json_newline(json);
	json_put(json, "unwinding", open_object);
	json_put(json, "stack_count", u64, f->user);
	json_put(json, "interpreted", u64, f->interpreted);
	json_put(json, "methods", open_object);
	for (unsigned int m = 0; m < INFO_METHODS; m++) {
		if (f->methods[m])
			json_put(json, info_method_name(m), u64, f->methods[m]);
	}
	json_end(json);
	json_put(json, "stops", open_object);
	for (unsigned int s = 0; s < INFO_STOPS; s++) {
		if (f->stops[s])
			json_put(json, info_stop_name(s) ? info_stop_name(s) : "later", u64,
				 f->stops[s]);
	}
	json_end(json);
	json_end(json);
}

static struct ebt_error *json_files(struct info_view *v)
{
	struct json *json = out_json(v->out);
	const struct ebt_file *files;
	struct ebt_error *err;
	size_t n;

	err = ebt_reader_files(trace_reader(v->report->trace), &files, &n);
	if (err)
		return err;
	json_newline(json);
	json_put(json, "files", open_array);
	for (size_t i = 0; i < n; i++) {
		json_open_object(json);
		json_put(json, "file_id", u64, files[i].id);
		json_put(json, "role", cstr, files[i].role);
		json_put(json, "path", cstr, files[i].path);
		json_put(json, "size", u64, files[i].size);
		json_put(json, "pid", u64, files[i].pid);
		json_put(json, "truncated", bool, files[i].truncated);
		json_end(json);
	}
	json_end(json);
	return NULL;
}

struct ebt_error *info_json(struct info_view *v)
{
	json_file(v);
	json_frames(v);
	json_unwinding(v);
	return json_files(v);
}
