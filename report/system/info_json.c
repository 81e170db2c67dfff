/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file, the host, the clocks and the frames of `ebreport info --json`. */
#include "report/out/out.h"
#include "report/system/info_view.h"

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

	json_key(json, name);
	json_open_object(json);
	for (size_t i = 0; i < v->info.n_meta; i++) {
		if (strncmp(v->info.meta[i].key, prefix, skip))
			continue;
		json_key(json, v->info.meta[i].key + skip);
		json_cstr(json, v->info.meta[i].value);
	}
	json_end(json);
	json_newline(json);
}

static void json_number(struct json *json, const char *key, uint64_t v)
{
	json_key(json, key);
	json_u64(json, v);
}

static void json_wide(struct json *json, const char *key, uint64_t v)
{
	json_key(json, key);
	json_wide_u64(json, v);
}

static void json_file(struct info_view *v)
{
	struct json *json = out_json(v->out);
	char uuid[40];

	info_format_uuid(v->file->uuid, uuid);
	json_newline(json);
	json_number(json, "size", v->file->size);
	json_key(json, "uuid");
	json_cstr(json, uuid);
	json_wide(json, "created_realtime_ns", v->file->created_ns);
	json_key(json, "complete");
	json_bool(json, v->file->complete);
	json_key(json, "indexed");
	json_bool(json, v->file->indexed);
	json_number(json, "chunks", v->info.chunks);
	json_number(json, "missing_chunks", trace_missing_chunks(v->report->trace));
	json_number(json, "epochs", v->info.epochs);
	json_newline(json);
	json_pairs(v, "host", "host.");
	json_pairs(v, "meta", "");
	json_key(json, "clocks");
	json_open_object(json);
	json_number(json, "readings", v->info.clocks.readings);
	json_number(json, "uncertainty_ns", v->info.clocks.uncertainty_ns);
	json_wide(json, "first_monotonic_ns", v->info.clocks.first_mono);
	json_wide(json, "first_realtime_ns", v->info.clocks.first_real);
	json_wide(json, "last_monotonic_ns", v->info.clocks.last_mono);
	json_wide(json, "last_realtime_ns", v->info.clocks.last_real);
	json_end(json);
}

/* Frames without a name in code that programs generated. */
static void json_generated(struct json *json, const struct info_generated *generated)
{
	json_key(json, "anonymous");
	json_open_array(json);
	for (unsigned int i = 0; i < generated->n; i++) {
		const char *hint = info_generated_hint(generated->programs[i].name);

		json_open_object(json);
		json_key(json, "process");
		json_cstr(json, generated->programs[i].name);
		json_number(json, "frames", generated->programs[i].frames);
		json_key(json, "hint");
		if (hint)
			json_cstr(json, hint);
		else
			json_put_null(json);
		json_end(json);
	}
	json_end(json);
}

static void json_frames(struct info_view *v)
{
	struct json *json = out_json(v->out);

	json_newline(json);
	json_key(json, "naming");
	json_open_object(json);
	json_key(json, "counted");
	json_bool(json, v->have_frames);
	json_number(json, "stack_count", v->frames.stacks);
	json_number(json, "truncated_count", v->frames.truncated);
	json_number(json, "named", v->frames.resolved);
	json_key(json, "unnamed");
	json_open_object(json);
	for (int r = SYM_OK + 1; r < SYM_N_REASONS; r++) {
		if (v->frames.unresolved[r])
			json_number(json, sym_reason_name((enum sym_reason)r),
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
	json_key(json, "unwinding");
	json_open_object(json);
	json_number(json, "stack_count", f->user);
	json_number(json, "interpreted", f->interpreted);
	json_key(json, "methods");
	json_open_object(json);
	for (unsigned int m = 0; m < INFO_METHODS; m++) {
		if (f->methods[m])
			json_number(json, info_method_name(m), f->methods[m]);
	}
	json_end(json);
	json_key(json, "stops");
	json_open_object(json);
	for (unsigned int s = 0; s < INFO_STOPS; s++) {
		if (f->stops[s])
			json_number(json, info_stop_name(s) ? info_stop_name(s) : "later",
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
	json_key(json, "files");
	json_open_array(json);
	for (size_t i = 0; i < n; i++) {
		json_open_object(json);
		json_number(json, "file_id", files[i].id);
		json_key(json, "role");
		json_cstr(json, files[i].role);
		json_key(json, "path");
		json_cstr(json, files[i].path);
		json_number(json, "size", files[i].size);
		json_number(json, "pid", files[i].pid);
		json_key(json, "truncated");
		json_bool(json, files[i].truncated);
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
