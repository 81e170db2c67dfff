/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows without what they would tell; see scrub.h. */
#include "report/share/scrub.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/search.h"
#include "format/edit/edit.h"
#include "format/schema/wire.h"
#include "report/share/scrub_known.h"
#include "report/share/scrub_names.h"
#include "report/share/scrub_text.h"
#include "report/trace/trace.h"

#define NOT_YET UINT64_MAX

struct scrub {
	struct ebt_reader *reader;
	const struct scrub_options *options;
	const struct syscall_machine *machine; /* NULL: not known */
	struct scrub_names *names;
	struct scrub_known *known;
	const struct ebt_file *files; /* in order of id */
	size_t n_files;
	uint64_t *values; /* of the batch at hand: new value of each string of a column */
	size_t n_values;
	struct text text;
	uint64_t *changed; /* by table and field; [0], time, stands for rows */
	struct scrub_count *counts;
	uint64_t unknown;
};

DEFINE_CLEANUP(struct scrub *, scrub_destroy);

void scrub_destroy(struct scrub *s)
{
	if (!s)
		return;
	scrub_known_destroy(s->known);
	scrub_names_destroy(s->names);
	text_deinit(&s->text);
	free(s->values);
	free(s->changed);
	free(s->counts);
	free(s);
}

struct ebt_error *scrub_create(struct ebt_reader *reader, const struct scrub_options *options,
			       struct scrub **ret)
{
	_cleanup_(scrub_destroyp) struct scrub *s = calloc(1, sizeof(*s));
	const char *machine = NULL;
	struct ebt_error *err;

	if (!s)
		return &ebt_enomem;
	s->reader = reader;
	s->options = options;
	s->changed = calloc(ebt_n_tables * EBT_MAX_FIELDS, sizeof(*s->changed));
	if (!s->changed)
		return &ebt_enomem;
	err = ebt_reader_meta(reader, "host.machine", &machine) ?:
	      scrub_names_create(SCRUB_MOST_WORDS, &s->names) ?:
	      scrub_known_create(reader, s->names, &s->known) ?:
	      ebt_reader_files(reader, &s->files, &s->n_files);
	if (err)
		return err;
	s->machine = machine ? syscall_machine(machine) : NULL;
	*ret = take_ptr(s);
	return NULL;
}

/* --- what was done --- */

static uint64_t *changed(struct scrub *s, const struct ebt_table *table, uint32_t field)
{
	size_t place = (size_t)(ebt_table_by_id(table->id) - ebt_tables);

	return &s->changed[place * EBT_MAX_FIELDS + field];
}

struct ebt_error *scrub_counts(struct scrub *s, const struct scrub_count **ret, size_t *ret_n)
{
	size_t n = 0;

	free(s->counts);
	s->counts = calloc(ebt_n_tables * EBT_MAX_FIELDS, sizeof(*s->counts));
	if (!s->counts)
		return &ebt_enomem;
	for (size_t i = 0; i < ebt_n_tables * EBT_MAX_FIELDS; i++) {
		const struct ebt_table *table = &ebt_tables[i / EBT_MAX_FIELDS];
		uint32_t field = i % EBT_MAX_FIELDS;
		/* Fields beyond the compiled-in ones are only the file's. */
		const char *name =
			field < table->n_fields ? table->fields[field].name : "(unknown)";

		if (s->changed[i])
			s->counts[n++] = (struct scrub_count){ table->name, field ? name : NULL,
							       s->changed[i] };
	}
	*ret = s->counts;
	*ret_n = n;
	return NULL;
}

uint64_t scrub_unknown(const struct scrub *s)
{
	return s->unknown;
}

/* --- embedded files --- */

static bool is_listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; p && *p;) {
		size_t n = strcspn(p, ",");

		if (n == len && !memcmp(p, word, len))
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

static const struct ebt_file *find_file(const struct ebt_file *files, size_t n, uint64_t id)
{
	size_t at = ebt_count_first(n, i, files[i].id < id);

	return at < n && files[at].id == id ? &files[at] : NULL;
}

static bool keep_file(const struct scrub *s, uint64_t id)
{
	static const char kernel_roles[] = "kallsyms,modules,kernel_notes";
	const struct ebt_file *file = find_file(s->files, s->n_files, id);

	if (!file || (s->options->drop_kernel && is_listed(kernel_roles, file->role)))
		return false;
	return file->sensitivity == EBT_V_file_sensitivity_public ||
	       is_listed(s->options->keep_files, file->role);
}

/* --- values --- */

/* A row, and what it is about. */
struct scrub_context {
	const struct ebt_batch *batch;
	uint32_t row;
	bool system; /* a file of the system */
	bool kernel; /* its first task is a kernel thread */
};

static bool keep_comm(const struct scrub *s, struct ebt_str comm, bool kernel)
{
	if (s->options->keep_comms || kernel)
		return true;
	return scrub_known_name(s->known, comm) && !scrub_is_alias(comm);
}

static bool has_slash(struct ebt_str v)
{
	return v.len && memchr(v.data, '/', v.len);
}

/* A counter of a network device; the names of disks and CPUs are the kernel's. */
static bool is_of_network(const struct scrub_context *c)
{
	const struct ebt_row row = { .batch = c->batch, .i = c->row };
	struct ebt_str category = ebt_counter_def_category(&row);

	return category.len == 3 && !memcmp(category.data, "net", 3);
}

static bool keep_instance(const struct scrub *s, struct ebt_str instance,
			  const struct scrub_context *c)
{
	if (is_of_network(c))
		return s->options->keep_host || scrub_is_system_device(instance);
	return !s->options->drop_names;
}

/* Whether the text stays as it is. */
static bool stays(const struct scrub *s, enum scrub_action action, struct ebt_str v,
		  const struct scrub_context *c)
{
	const struct scrub_options *o = s->options;

	switch (action) {
	case SCRUB_KEEP:
		return true;
	case SCRUB_ARGS:
		return o->keep_args;
	case SCRUB_HOST:
	case SCRUB_BOOT:
		return o->keep_host;
	case SCRUB_ADDRESS:
		return o->keep_host || scrub_is_local_address(v);
	case SCRUB_DEVICE:
		return o->keep_host || scrub_is_system_device(v);
	case SCRUB_INSTANCE:
		return keep_instance(s, v, c);
	case SCRUB_LOGIN:
		return o->keep_users;
	case SCRUB_PATH:
	case SCRUB_CGROUP:
		return o->keep_paths;
	case SCRUB_SOURCE:
		return o->keep_paths || (c->system && !o->drop_system_paths);
	case SCRUB_FUNCTION:
		return !o->drop_names || c->system;
	case SCRUB_COMM:
		return keep_comm(s, v, c->kernel);
	case SCRUB_PROSE:
		return !has_slash(v);
	default:
		return false;
	}
}

/* Of words that are replaced as a whole */
static enum scrub_kind kind_of(enum scrub_action action, const struct scrub_context *c)
{
	switch (action) {
	case SCRUB_ARGS:
		return SCRUB_COMMAND_LINE;
	case SCRUB_HOST:
		return SCRUB_HOST_NAME;
	case SCRUB_BOOT:
		return SCRUB_BOOT_ID;
	case SCRUB_LOGIN:
		return SCRUB_USER_NAME;
	case SCRUB_COMM: /* unless it is known to be a program's */
		return SCRUB_THREAD;
	case SCRUB_DEVICE:
		return SCRUB_NET_DEVICE;
	case SCRUB_INSTANCE:
		return is_of_network(c) ? SCRUB_NET_DEVICE : SCRUB_NAME;
	default:
		return SCRUB_NAME;
	}
}

/* What a text becomes; it is in s->text then, and empty where it goes. */
static void replace(struct scrub *s, enum scrub_action action, const struct scrub_context *c,
		    struct ebt_str v)
{
	text_clear(&s->text);
	switch (action) {
	case SCRUB_DROP:
	case SCRUB_PROSE:
		break;
	case SCRUB_PATH:
	case SCRUB_SOURCE:
		scrub_path(s->names, v, !s->options->drop_system_paths, &s->text);
		break;
	case SCRUB_CGROUP:
		scrub_cgroup(s->names, v, &s->text);
		break;
	case SCRUB_ADDRESS:
		scrub_address(s->names, v, &s->text);
		break;
	default:
		scrub_alias(s->names, kind_of(action, c), v, &s->text);
	}
}

static struct ebt_error *scrub_text(struct scrub *s, struct ebt_edit *edit,
				    enum scrub_action action, const struct scrub_context *c,
				    struct ebt_str v, uint64_t *ret)
{
	struct ebt_error *err;

	if (!v.len || stays(s, action, v, c)) {
		*ret = ebt_edit_string(edit, v);
		return NULL;
	}
	replace(s, action, c, v);
	err = text_error(&s->text);
	*ret = ebt_edit_string(edit, text_str(&s->text));
	return err;
}

static uint64_t scrub_number(const struct scrub *s, enum scrub_action action, uint64_t v)
{
	const struct scrub_options *o = s->options;

	switch (action) {
	case SCRUB_ARGUMENT:
		return o->keep_syscalls ? v : 0;
	case SCRUB_RESULT: /* sizes and error numbers are small */
		return o->keep_syscalls || v <= UINT32_MAX || v >= -UINT64_C(4095) ? v : 0;
	case SCRUB_USER: /* 65534 and below 1000: of the system; UINT32_MAX: not known */
		if (o->keep_users || v < 1000 || v == 65534 || v == UINT32_MAX)
			return v;
		return 100000 + scrub_number_of(s->names, SCRUB_USER_ID, &v, sizeof(v));
	case SCRUB_FILE:
		return v && keep_file(s, v) ? v : 0;
	case SCRUB_DROP:
		return 0;
	default:
		return v;
	}
}

/* --- columns --- */

static const struct ebt_task *first_task(const struct ebt_batch *batch, uint32_t i)
{
	const struct ebt_row row = { .batch = batch, .i = i };

	for (uint32_t f = 0; f < batch->table->n_fields; f++) {
		if (batch->table->fields[f].type == EBT_TYPE_TASK)
			return ebt_task(&row, f);
	}
	return NULL;
}

static struct scrub_context context_of(const struct scrub *s, const struct ebt_batch *batch,
				       uint32_t i)
{
	const struct ebt_row row = { .batch = batch, .i = i };
	struct scrub_context c = { .batch = batch, .row = i };
	int file;

	c.kernel = scrub_known_kernel(s->known, first_task(batch, i));
	if (batch->table->id == EBT_T_name_frame) {
		c.system = scrub_known_object(s->known, ebt_name_frame_object_id(&row));
	} else {
		file = ebt_field_by_name(batch->table, "file");
		c.system = file > 0 && batch->table->fields[file].type == EBT_TYPE_STRING &&
			   scrub_is_system_path(ebt_str(&row, (unsigned int)file));
	}
	return c;
}

/* What a text becomes does not depend on its row, unless: */
static bool depends_on_row(enum scrub_action action)
{
	return action == SCRUB_COMM || action == SCRUB_FUNCTION || action == SCRUB_SOURCE ||
	       action == SCRUB_INSTANCE || action == SCRUB_META;
}

static struct ebt_error *edit_texts(struct scrub *s, struct ebt_edit *edit, uint32_t field,
				    enum scrub_action action)
{
	const struct ebt_batch *batch = ebt_edit_batch(edit);
	uint64_t *to = ebt_edit_column(edit, field), *count = changed(s, batch->table, field);
	bool cached = !depends_on_row(action);
	struct ebt_error *err = NULL;

	for (size_t i = 0; i <= batch->n_strings; i++)
		s->values[i] = NOT_YET;
	for (uint32_t i = 0; !err && i < batch->rows; i++) {
		const struct ebt_row row = { .batch = batch, .i = i };
		uint64_t *value = &s->values[batch->col[field][i]];
		struct ebt_str v = ebt_str(&row, field);
		struct scrub_context c = { .batch = batch, .row = i };
		enum scrub_action what = action;
		bool known;

		if (ebt_edit_dropped(edit, i))
			continue;
		if (!cached)
			c = context_of(s, batch, i);
		if (action == SCRUB_META)
			what = scrub_meta_action(ebt_meta_key(&row), &known);
		if (!cached || *value == NOT_YET)
			err = scrub_text(s, edit, what, &c, v, value);
		to[i] = *value;
		*count += v.len && !stays(s, what, v, &c) &&
			  !(what == SCRUB_PATH && !s->options->drop_system_paths &&
			    scrub_is_system_path(v));
	}
	return err;
}

static void edit_tasks(struct scrub *s, struct ebt_edit *edit, uint32_t field)
{
	const struct ebt_batch *batch = ebt_edit_batch(edit);
	uint64_t *to = ebt_edit_column(edit, field), *count = changed(s, batch->table, field);

	for (uint32_t i = 0; i < batch->rows; i++) {
		const struct ebt_row row = { .batch = batch, .i = i };
		const struct ebt_task *task = ebt_task(&row, field);
		struct ebt_str comm;

		if (!task || ebt_edit_dropped(edit, i))
			continue;
		comm = task->comm;
		if (comm.len && !keep_comm(s, comm, scrub_known_kernel(s->known, task))) {
			replace(s, SCRUB_COMM, NULL, comm);
			comm = text_str(&s->text);
			++*count;
		}
		to[i] = ebt_edit_task(edit, task, comm);
	}
}

static void edit_stacks(struct scrub *s, struct ebt_edit *edit, uint32_t field)
{
	const struct ebt_batch *batch = ebt_edit_batch(edit);
	uint64_t *to = ebt_edit_column(edit, field), *count = changed(s, batch->table, field);

	for (uint32_t i = 0; i < batch->rows; i++) {
		const struct ebt_row row = { .batch = batch, .i = i };
		const struct ebt_stack *stack = ebt_stack(&row, field);

		if (stack && s->options->drop_kernel && !(stack->attrs & EBT_STACK_USER))
			++*count;
		else
			to[i] = ebt_edit_stack(edit, stack);
	}
}

static void edit_numbers(struct scrub *s, struct ebt_edit *edit, uint32_t field,
			 enum scrub_action action)
{
	const struct ebt_batch *batch = ebt_edit_batch(edit);
	uint64_t *to = ebt_edit_column(edit, field), *count = changed(s, batch->table, field);

	for (uint32_t i = 0; i < batch->rows; i++) {
		const struct ebt_row row = { .batch = batch, .i = i };

		to[i] = batch->col[field][i];
		if (action != SCRUB_ARGUMENT || !scrub_keeps_argument(s->machine, &row, field))
			to[i] = scrub_number(s, action, to[i]);
		*count += to[i] != batch->col[field][i];
	}
}

static struct ebt_error *edit_field(struct scrub *s, struct ebt_edit *edit, uint32_t field)
{
	const struct ebt_table *table = ebt_edit_batch(edit)->table;
	enum scrub_action action = scrub_field_action(table->name, &table->fields[field]);

	switch (table->fields[field].type) {
	case EBT_TYPE_TASK:
		edit_tasks(s, edit, field);
		break;
	case EBT_TYPE_STACK:
		edit_stacks(s, edit, field);
		break;
	case EBT_TYPE_STRING:
	case EBT_TYPE_BYTES:
		return edit_texts(s, edit, field, action);
	default:
		edit_numbers(s, edit, field, action);
	}
	return NULL;
}

/* --- chunks --- */

enum ebt_copy_action scrub_action(void *arg, const struct ebt_chunk_info *chunk,
				  const struct ebt_table *table)
{
	struct scrub *s = arg;

	if (!table || !ebt_table_by_id(table->id)) {
		s->unknown++;
		return EBT_COPY_DROP;
	}
	if (s->options->drop_kernel && table->id == EBT_T_ksymbol) {
		*changed(s, table, 0) += chunk->rows;
		return EBT_COPY_DROP;
	}
	return EBT_COPY_EDIT;
}

/* Rows of embedded files that do not go along, and of keys that are not known. */
static void drop_rows(struct scrub *s, struct ebt_edit *edit)
{
	const struct ebt_batch *batch = ebt_edit_batch(edit);

	for (uint32_t i = 0; i < batch->rows; i++) {
		const struct ebt_row row = { .batch = batch, .i = i };
		bool keep = true;

		if (batch->table->id == EBT_T_file)
			keep = keep_file(s, ebt_file_file_id(&row));
		else if (batch->table->id == EBT_T_file_data)
			keep = keep_file(s, ebt_file_data_file_id(&row));
		else if (batch->table->id == EBT_T_meta)
			scrub_meta_action(ebt_meta_key(&row), &keep);
		if (keep)
			continue;
		ebt_edit_drop_row(edit, i);
		++*changed(s, batch->table, 0);
	}
}

struct ebt_error *scrub_edit(void *arg, struct ebt_edit *edit, bool *ret_changed)
{
	struct scrub *s = arg;
	const struct ebt_batch *batch = ebt_edit_batch(edit);
	struct ebt_error *err;

	err = ebt_array_reserve(&s->values, batch->n_strings, &s->n_values);
	if (err)
		return err;
	drop_rows(s, edit);
	for (uint32_t f = 1; f < batch->table->n_fields; f++) {
		err = edit_field(s, edit, f);
		if (err)
			return err;
	}
	*ret_changed = true;
	return scrub_names_error(s->names);
}

struct ebt_error *scrub_warn(const struct scrub *scrub, struct trace *trace)
{
	if (!scrub_names_overflowed(scrub->names))
		return NULL;
	return trace_warn(trace,
			  "there are more than %" PRIu32 " distinct words: aliases of the rest are "
			  "made of hashes, as name-%" PRIu64
			  ", and do not tell of what kind a word "
			  "is; two users, or two addresses, may have become one",
			  SCRUB_MOST_WORDS, UINT64_C(1) << 50);
}
