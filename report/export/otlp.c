/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles for OpenTelemetry: for each process one of its samples and one of its time off CPU, with
 * the time of each. proto/otlp.proto.
 *
 * What was observed of one stack of one thread belongs together. So many observations are kept,
 * sorted and written: a longer trace has several profiles of a process, one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "report/export/message.h"
#include "report/export/otlp.h"
#include "report/export/profile.h"
#include "report/trace/programs.h"
#include "report/trees/feed.h"

#define MOST_OBSERVATIONS (1u << 18)

/* What a sample is of. */
struct otlp_identity {
	uint32_t node, thread;
	uint32_t why; /* enum sched_why; SCHED_N_WHYS: it was on CPU */
	uint32_t process;
};

struct observation {
	uint32_t process;
	uint32_t identity;
	bool off;
	uint64_t time, ns;
};

struct otlp {
	struct otlp_tables tables;
	struct export *e;
	struct message_writer *writer;
	const struct programs *programs;
	const char *host;
	uint64_t freq;

	struct otlp_identity *identities;
	size_t n_identities, identities_capacity;
	struct ebt_map by_key;
	const struct ebt_task **processes; /* a thread of each; NULL: idle */
	size_t n_processes, processes_capacity;
	struct ebt_map by_process;
	struct observation *observations;
	size_t n, capacity;

	/* Of one process, one an observation or fewer. */
	int64_t *values;
	uint64_t *times;
	Otlp__Sample *samples, **sample;
	int32_t (*attributes)[OTLP_SAMPLE_ATTRIBUTES];
};

/* --- observations --- */

static struct ebt_error *find_process(struct otlp *o, const struct ebt_task *task, uint32_t *ret)
{
	const uint64_t key = task ? names_process_key(o->e->names, task) : UINT64_MAX;
	struct ebt_error *err;

	err = ebt_array_reserve(&o->processes, o->n_processes, &o->processes_capacity)
		      ?: ebt_map_add(&o->by_process, key, (uint32_t)o->n_processes, ret);
	if (!err && *ret == o->n_processes)
		o->processes[o->n_processes++] = task;
	return err;
}

static struct ebt_error *find_identity(struct otlp *o, uint32_t node, const struct ebt_task *task,
				       uint32_t why, uint32_t *ret)
{
	struct ebt_error *err;
	uint32_t thread, process;

	err = export_thread(&o->tables.profile.threads, task, &thread)
		      ?: find_process(o, task, &process);
	/* Nodes and threads have 24 bits. */
	err = err
		      ?: ebt_map_element(&o->by_key,
					 (uint64_t)why << 48 | (uint64_t)thread << 24 | node,
					 &o->identities, &o->n_identities, &o->identities_capacity,
					 ret);
	if (!err)
		o->identities[*ret] = (struct otlp_identity){ node, thread, why, process };
	return err;
}

static struct ebt_error *write_observations(struct otlp *o);

static struct ebt_error *observe(struct otlp *o, uint32_t node, const struct ebt_task *task,
				 uint32_t why, uint64_t time, uint64_t ns)
{
	struct ebt_error *err = NULL;
	uint32_t identity;

	if (o->n == MOST_OBSERVATIONS)
		err = write_observations(o);
	err = err ?: find_identity(o, node, task, why, &identity)
		  ?: ebt_array_reserve(&o->observations, o->n, &o->capacity);
	if (err)
		return err;
	o->observations[o->n++] = (struct observation){
		.process = o->identities[identity].process,
		.identity = identity,
		.off = why != SCHED_N_WHYS,
		.time = time,
		.ns = ns,
	};
	return NULL;
}

static struct ebt_error *take_sample(void *arg, const struct export_sample *sample)
{
	return observe(arg, sample->node, sample->task, SCHED_N_WHYS, sample->time, sample->ns);
}

static struct ebt_error *take_off(void *arg, const struct sched_off *off, uint32_t node)
{
	return observe(arg, node, off->task, off->why, off->start, off->end - off->start);
}

static int compare(const void *a, const void *b)
{
	const struct observation *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->off != y->off)
		return x->off ? 1 : -1;
	if (x->identity != y->identity)
		return x->identity < y->identity ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

/* --- profiles --- */

/* A sample of the observations from there on; *ret_n of them. */
static struct ebt_error *make_sample(struct otlp *o, size_t from, size_t end, size_t n_samples,
				     size_t *ret_n)
{
	const struct otlp_identity *identity = &o->identities[o->observations[from].identity];
	Otlp__Sample *sample = &o->samples[n_samples];
	struct ebt_error *err;
	size_t n = 0;

	otlp__sample__init(sample);
	while (from + n < end &&
	       o->observations[from + n].identity == o->observations[from].identity) {
		o->values[from + n] = profile_value(o->observations[from + n].ns);
		o->times[from + n] =
			profile_realtime(&o->tables.profile, o->observations[from + n].time);
		n++;
	}
	sample->values = o->values + from;
	sample->timestamps_unix_nano = o->times + from;
	sample->n_values = sample->n_timestamps_unix_nano = *ret_n = n;
	sample->attribute_indices = o->attributes[n_samples];
	err = otlp_stack_index(&o->tables, identity->node, &sample->stack_index)
		      ?: otlp_sample_attributes(&o->tables,
						o->tables.profile.threads.list[identity->thread],
						identity->why, sample->attribute_indices,
						&sample->n_attribute_indices);
	o->sample[n_samples] = sample;
	return err;
}

/* Of the observations of one process, on CPU or off it. */
static struct ebt_error *make_profile(struct otlp *o, size_t from, size_t end, size_t *n_samples,
				      Otlp__Profile *profile)
{
	static const char *const types[] = { "cpu", "off_cpu" };
	const bool off = o->observations[from].off;
	struct otlp_tables *tables = &o->tables;
	struct ebt_error *err =
		otlp_text_index(tables, types[off], &profile->sample_type->type_strindex)
			?: otlp_text_index(tables, "nanoseconds",
					   &profile->sample_type->unit_strindex);

	profile->samples = o->sample + *n_samples;
	while (!err && from < end) {
		size_t n;

		err = make_sample(o, from, end, (*n_samples)++, &n);
		from += n;
		profile->n_samples++;
	}
	profile->time_unix_nano = profile_realtime(&tables->profile, trace_from_ns(o->e->trace));
	profile->duration_nano = trace_window_ns(o->e->trace);
	if (!off && o->freq) {
		profile->period_type = profile->sample_type;
		profile->period = profile_value(1000000000 / o->freq);
	}
	return err;
}

/* What is known of a process, and of the machine. */
static struct ebt_error *put_process(struct otlp *o, const struct ebt_task *task,
				     Otlp__ScopeProfiles *scope)
{
	_cleanup_text_ struct text host = TEXT_INIT, name = TEXT_INIT;
	Otlp__AnyValue values[3];
	Otlp__KeyValue keys[3], *key[] = { &keys[0], &keys[1], &keys[2] };
	Otlp__Resource resource = OTLP__RESOURCE__INIT;
	Otlp__ResourceProfiles profiles = OTLP__RESOURCE_PROFILES__INIT, *list = &profiles;
	Otlp__ProfilesData data = OTLP__PROFILES_DATA__INIT;
	size_t n = 0;

	for (int i = 0; i < 3; i++) {
		otlp__any_value__init(&values[i]);
		otlp__key_value__init(&keys[i]);
		keys[i].value = &values[i];
		values[i].value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	}
	if (o->host) {
		text_utf8(&host, ebt_str_of(o->host));
		keys[n].key = (char *)"host.name";
		values[n++].string_value = (char *)text_get(&host);
	}
	if (task) {
		text_utf8(&name, programs_name(o->programs, task));
		keys[n].key = (char *)"process.executable.name";
		values[n++].string_value = (char *)text_get(&name);
		keys[n].key = (char *)"process.pid";
		values[n].value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
		values[n++].int_value = task->pid;
	}
	resource.attributes = key;
	resource.n_attributes = n;
	profiles.resource = &resource;
	profiles.scope_profiles = &scope;
	profiles.n_scope_profiles = 1;
	data.resource_profiles = &list;
	data.n_resource_profiles = 1;
	message_write(o->writer, &data.base);
	return text_error(&host) ?: text_error(&name);
}

/* Those from there on that are of one process; *ret is where the next begin. */
static struct ebt_error *write_process(struct otlp *o, size_t from, size_t *ret)
{
	const struct observation *first = &o->observations[from];
	Otlp__ValueType types[] = { OTLP__VALUE_TYPE__INIT, OTLP__VALUE_TYPE__INIT };
	Otlp__Profile profiles[] = { OTLP__PROFILE__INIT, OTLP__PROFILE__INIT };
	Otlp__Profile *profile[] = { &profiles[0], &profiles[1] };
	Otlp__InstrumentationScope ebreport = OTLP__INSTRUMENTATION_SCOPE__INIT;
	Otlp__ScopeProfiles scope = OTLP__SCOPE_PROFILES__INIT;
	struct ebt_error *err = NULL;
	size_t n_samples = 0, end;

	while (!err && from < o->n && o->observations[from].process == first->process) {
		Otlp__Profile *made = profile[scope.n_profiles];

		for (end = from; end < o->n && o->observations[end].process == first->process &&
				 o->observations[end].off == o->observations[from].off;)
			end++;
		made->sample_type = &types[scope.n_profiles++];
		err = make_profile(o, from, end, &n_samples, made);
		from = end;
	}
	ebreport.name = (char *)"ebreport";
	ebreport.version = (char *)EBT_VERSION;
	scope.scope = &ebreport;
	scope.profiles = profile;
	*ret = from;
	return err ? err : put_process(o, o->processes[first->process], &scope);
}

static struct ebt_error *write_observations(struct otlp *o)
{
	struct ebt_error *err = NULL;

	qsort(o->observations, o->n, sizeof(*o->observations), compare);
	o->values = calloc(o->n, sizeof(*o->values));
	o->times = calloc(o->n, sizeof(*o->times));
	o->samples = calloc(o->n, sizeof(*o->samples));
	o->sample = calloc(o->n, sizeof(*o->sample));
	o->attributes = calloc(o->n, sizeof(*o->attributes));
	if (!o->values || !o->times || !o->samples || !o->sample || !o->attributes)
		err = &ebt_enomem;
	for (size_t from = 0; !err && from < o->n;)
		err = write_process(o, from, &from);
	free(o->values);
	free(o->times);
	free(o->samples);
	free(o->sample);
	free(o->attributes);
	o->n = 0;
	return err;
}

/* --- all --- */

static struct ebt_error *read_trace(struct otlp *o)
{
	const struct export_intervals intervals = { .off = take_off, .arg = o };
	struct export *e = o->e;
	const char *event;
	struct ebt_error *err = trace_programs(e->trace, &o->programs)
					?: tree_feed_sampling(e->trace, &event, &o->freq)
					?: ebt_reader_meta(trace_reader(e->trace), "host.name",
							   &o->host);

	return err ?: export_samples(e, take_sample, o) ?: export_intervals(e, &intervals);
}

struct ebt_error *export_otlp(struct export *e)
{
	static const uint16_t held[] = { EXPORT_SAMPLE_TABLES, EXPORT_INTERVAL_TABLES, 0 };
	struct otlp o = { .e = e };
	struct ebt_error *err = message_writer_create(e->f, false, &o.writer)
					?: otlp_tables_init(&o.tables, e) ?: read_trace(&o);

	if (!err && o.n)
		err = write_observations(&o);
	err = err ?: otlp_tables_write(&o.tables, o.writer);
	export_holds(e, held);
	message_writer_destroy(o.writer);
	otlp_tables_deinit(&o.tables);
	ebt_map_deinit(&o.by_key);
	ebt_map_deinit(&o.by_process);
	free(o.identities);
	free(o.processes);
	free(o.observations);
	return err;
}
