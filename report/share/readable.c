/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All texts of a trace by what they are; see readable.h. */
#include "report/share/readable.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/share/scrub_names.h"
#include "report/share/scrub_rules.h"
#include "report/share/scrub_text.h"

#define MOST_EXAMPLES 3
#define MOST_WORDS    64
/* A shorter word is in many others. */
#define MIN_WORD 3

struct readable_pass {
	struct readable *to;
	struct readable *words;			   /* to look for; NULL: to be found */
	struct ebt_map seen;			   /* hashes of texts, with their classes */
	enum scrub_action actions[EBT_MAX_FIELDS]; /* of the table at hand */
	uint64_t fields;			   /* those that could say something */
	const struct syscall_machine *machine;	   /* NULL: not known */
};

static const struct {
	const char *key, *what;
} names[READABLE_N_CLASSES] = {
	[READABLE_PROGRAMS] = { "programs", "programs and threads" },
	[READABLE_PATHS] = { "paths", "paths" },
	[READABLE_COMMANDS] = { "command_lines", "command lines" },
	[READABLE_HOST] = { "host", "names of the host" },
	[READABLE_USERS] = { "users", "users" },
	[READABLE_ADDRESSES] = { "addresses", "addresses of hosts" },
	[READABLE_FUNCTIONS] = { "functions", "functions" },
	[READABLE_NAMES] = { "names", "names of marks, counters and D-Bus" },
	[READABLE_TEXTS] = { "texts", "texts of marks and logs" },
	[READABLE_MEMORY] = { "stack_memory", "copies of stack memory" },
	[READABLE_ARGUMENTS] = { "arguments", "arguments of calls" },
	[READABLE_FILES] = { "files", "private files in it" },
};

const char *readable_key(enum readable_class of)
{
	return names[of].key;
}

const char *readable_what(enum readable_class of)
{
	return names[of].what;
}

void readable_deinit(struct readable *readable)
{
	for (size_t i = 0; i < READABLE_N_CLASSES; i++)
		text_deinit(&readable->counts[i].examples);
	for (size_t i = 0; i < readable->n_words; i++) {
		free(readable->words[i].word);
		free(readable->words[i].text);
	}
	free(readable->words);
}

/* --- somebody's words --- */

static bool is_word(const struct readable_leak *leak, struct ebt_str word)
{
	return strlen(leak->word) == word.len && !memcmp(leak->word, word.data, word.len);
}

static struct ebt_error *add_word(struct readable *to, struct ebt_str word)
{
	struct ebt_error *err;
	char *copy;

	/* Whom every system has. */
	if (word.len < MIN_WORD || (word.len == 4 && !memcmp(word.data, "root", 4)))
		return NULL;
	for (size_t i = 0; i < to->n_words; i++) {
		if (is_word(&to->words[i], word))
			return NULL;
	}
	if (to->n_words == MOST_WORDS)
		return NULL;
	err = ebt_array_reserve(&to->words, to->n_words, &to->capacity);
	if (err)
		return err;
	copy = strndup(word.data, word.len);
	if (!copy)
		return &ebt_enomem;
	to->words[to->n_words++] = (struct readable_leak){ .word = copy };
	return NULL;
}

static struct ebt_error *add_home(struct readable *to, struct ebt_str path)
{
	static const char home[] = "/home/";
	const char *begin = memmem(path.data, path.len, home, strlen(home));
	const char *end = path.data + path.len, *slash;

	if (!begin)
		return NULL;
	begin += strlen(home);
	slash = memchr(begin, '/', (size_t)(end - begin));
	return slash ? add_word(to, (struct ebt_str){ begin, (size_t)(slash - begin) }) : NULL;
}

static struct ebt_error *find_words(struct readable *to, enum readable_class of,
				    enum scrub_action action, struct ebt_str v)
{
	if (of == READABLE_PATHS)
		return add_home(to, v);
	return action == SCRUB_HOST || action == SCRUB_LOGIN ? add_word(to, v) : NULL;
}

static struct ebt_error *look_for(struct readable *words, struct ebt_str v)
{
	for (size_t i = 0; i < words->n_words; i++) {
		struct readable_leak *leak = &words->words[i];

		if (!memmem(v.data, v.len, leak->word, strlen(leak->word)))
			continue;
		leak->texts++;
		if (!leak->text && !(leak->text = strndup(v.data, v.len)))
			return &ebt_enomem;
	}
	return NULL;
}

/* --- texts --- */

/* Does a part of it read as an alias: "/home/dir-1", "[anon:file-1", "/cgroup-2.slice"? */
static bool has_alias(struct ebt_str v)
{
	for (size_t at = 0; at < v.len;) {
		size_t len = 0;

		while (at + len < v.len && !memchr("/:. \n", v.data[at + len], 5))
			len++;
		if (scrub_is_alias((struct ebt_str){ v.data + at, len }))
			return true;
		at += len + 1;
	}
	return false;
}

/* An address that scrub_address() makes. */
static bool is_nobodys(struct ebt_str v)
{
	static const char discard[8] = { 1 };

	return (v.len == 4 && (unsigned char)v.data[0] >= 0xf0) ||
	       (v.len == 16 && (!memcmp(v.data, discard, 8) ||
				(!memcmp(v.data, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) &&
				 (unsigned char)v.data[12] >= 0xf0)));
}

static struct ebt_error *add_example(struct readable_count *count, struct ebt_str v)
{
	if (count->n_examples == MOST_EXAMPLES)
		return NULL;
	count->n_examples++;
	text_add(&count->examples, v.data, v.len);
	text_addc(&count->examples, 0);
	return text_error(&count->examples);
}

static bool is_hidden(enum readable_class of, struct ebt_str v)
{
	return of == READABLE_ADDRESSES ? is_nobodys(v) : has_alias(v);
}

/* Has this one come before? */
static struct ebt_error *see(struct readable_pass *r, uint64_t hash, bool *ret)
{
	const uint32_t next = (uint32_t)r->seen.n;
	uint32_t i;

	*ret = ebt_map_find(&r->seen, hash, &i);
	if (*ret)
		return NULL;
	if (next >= r->to->most_texts) {
		r->to->overflowed = true;
		return NULL;
	}
	return ebt_map_add(&r->seen, hash, next, &i);
}

static struct ebt_error *take_text(struct readable_pass *r, enum readable_class of,
				   enum scrub_action action, struct ebt_str v)
{
	struct readable_count *count = &r->to->counts[of];
	struct ebt_error *err = NULL;
	bool seen = false;

	if (!v.len || (of == READABLE_ADDRESSES && scrub_is_local_address(v)))
		return NULL;
	if (of < READABLE_TEXTS)
		err = see(r, ebt_hash_bytes(of + 1, v.data, v.len), &seen);
	if (err || seen)
		return err;
	if (of < READABLE_TEXTS && r->to->scrubbed && is_hidden(of, v)) {
		count->aliases++;
		return NULL;
	}
	count->readable++;
	if (of >= READABLE_MEMORY || of == READABLE_ADDRESSES)
		return NULL;
	err = r->words ? look_for(r->words, v) : find_words(r->to, of, action, v);
	return err ?: add_example(count, v);
}

/* --- rows --- */

static enum readable_class class_of_name(const struct ebt_table *table)
{
	switch (table->id) {
	case EBT_T_name_frame:
	case EBT_T_ksymbol:
	case EBT_T_interp_code:
		return READABLE_FUNCTIONS;
	default:
		return READABLE_NAMES;
	}
}

static enum readable_class class_of_dropped(const struct ebt_table *table,
					    const struct ebt_field *field)
{
	if (!strcmp(field->name, "udump"))
		return READABLE_MEMORY;
	switch (table->id) {
	case EBT_T_mark:
	case EBT_T_log:
	case EBT_T_probe_hit:
		return READABLE_TEXTS;
	case EBT_T_object:
		return READABLE_PATHS;
	default:
		return READABLE_NAMES;
	}
}

/* READABLE_N_CLASSES: it says nothing about anybody. */
static enum readable_class class_of(const struct ebt_table *table, const struct ebt_field *field,
				    enum scrub_action action, struct ebt_str v)
{
	switch (action) {
	case SCRUB_ARGS:
		return READABLE_COMMANDS;
	case SCRUB_HOST:
	case SCRUB_BOOT:
		return READABLE_HOST;
	case SCRUB_LOGIN:
		return READABLE_USERS;
	case SCRUB_PATH:
	case SCRUB_SOURCE:
	case SCRUB_CGROUP:
		return READABLE_PATHS;
	case SCRUB_PROSE:
		return v.len && memchr(v.data, '/', v.len) ? READABLE_PATHS : READABLE_N_CLASSES;
	case SCRUB_COMM:
		return READABLE_PROGRAMS;
	case SCRUB_ADDRESS:
		return READABLE_ADDRESSES;
	case SCRUB_DEVICE:
	case SCRUB_INSTANCE:
		return READABLE_NAMES;
	case SCRUB_FUNCTION:
		return class_of_name(table);
	case SCRUB_DROP:
		return class_of_dropped(table, field);
	default:
		return READABLE_N_CLASSES;
	}
}

static struct ebt_error *take_string(struct readable_pass *r, const struct ebt_row *row, uint32_t f)
{
	const struct ebt_table *table = row->batch->table;
	enum scrub_action action = r->actions[f];
	struct ebt_str v = ebt_str(row, f);
	enum readable_class of;
	bool known;

	if (action == SCRUB_META)
		action = scrub_meta_action(ebt_meta_key(row), &known);
	of = class_of(table, &table->fields[f], action, v);
	return of == READABLE_N_CLASSES ? NULL : take_text(r, of, action, v);
}

/* Those from 1000 on are people; behind 100000 are those that scrub gives, and real ones where it
 * gives none. */
static struct ebt_error *take_user(struct readable_pass *r, uint64_t id)
{
	struct ebt_error *err;
	bool seen;

	if (id < 1000 || id == 65534 || id == UINT32_MAX)
		return NULL;
	err = see(r, ebt_hash_bytes(READABLE_USERS + 1, &id, sizeof(id)), &seen);
	if (err || seen)
		return err;
	if (id > 100000 && r->to->scrubbed && !r->to->users_kept)
		r->to->counts[READABLE_USERS].aliases++;
	else
		r->to->counts[READABLE_USERS].readable++;
	return NULL;
}

static struct ebt_error *take_number(struct readable_pass *r, const struct ebt_row *row, uint32_t f)
{
	uint64_t v = ebt_u64(row, f);

	if (r->actions[f] == SCRUB_ARGUMENT)
		r->to->counts[READABLE_ARGUMENTS].readable +=
			v && !scrub_keeps_argument(r->machine, row, f);
	return r->actions[f] == SCRUB_USER ? take_user(r, v) : NULL;
}

static struct ebt_error *take_field(struct readable_pass *r, const struct ebt_row *row, uint32_t f)
{
	const struct ebt_task *task;

	switch (row->batch->table->fields[f].type) {
	case EBT_TYPE_STRING:
	case EBT_TYPE_BYTES:
		return take_string(r, row, f);
	case EBT_TYPE_TASK:
		task = ebt_task(row, f);
		return task ? take_text(r, READABLE_PROGRAMS, SCRUB_COMM, task->comm) : NULL;
	default:
		return take_number(r, row, f);
	}
}

static struct ebt_error *take_row(void *arg, const struct ebt_row *row)
{
	const struct ebt_table *table = row->batch->table;
	struct readable_pass *r = arg;
	struct ebt_error *err = NULL;

	if (table->id == EBT_T_name_frame)
		r->to->named += !ebt_name_frame_depth(row) && ebt_name_frame_name(row).len;
	for (uint64_t left = r->fields; !err && left; left &= left - 1)
		err = take_field(r, row, (uint32_t)__builtin_ctzll(left));
	return err;
}

/* Only the columns are read that could say something. */
static struct ebt_error *read_one(struct readable_pass *r, struct ebt_reader *reader,
				  const struct ebt_table *table)
{
	struct ebt_want want = { table->id, 0 };

	r->fields = 0;
	for (uint32_t f = 1; f < table->n_fields; f++) {
		enum ebt_type type = table->fields[f].type;

		r->actions[f] = scrub_field_action(table->name, &table->fields[f]);
		if (type == EBT_TYPE_TASK ||
		    (r->actions[f] != SCRUB_KEEP && type != EBT_TYPE_STACK))
			r->fields |= UINT64_C(1) << f;
	}
	want.columns = r->fields;
	if (table->id == EBT_T_name_frame || table->id == EBT_T_meta || table->id == EBT_T_syscall)
		want.columns = ~UINT64_C(0);
	return r->fields ? ebt_read_rows(reader, &(struct ebt_query){ &want, 1 }, take_row, r)
			 : NULL;
}

static struct ebt_error *count_files(struct ebt_reader *reader, struct readable *to)
{
	const struct ebt_file *files;
	size_t n;
	struct ebt_error *err = ebt_reader_files(reader, &files, &n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		to->counts[READABLE_FILES].readable +=
			files[i].sensitivity != EBT_V_file_sensitivity_public;
	return NULL;
}

struct ebt_error *readable_read(struct ebt_reader *reader, struct readable *words,
				struct readable *ret)
{
	struct readable_pass pass = { .to = ret, .words = words };
	const char *scrubbed, *machine = NULL;
	struct ebt_error *err = ebt_reader_meta(reader, "scrub.version", &scrubbed) ?:
				ebt_reader_meta(reader, "host.machine", &machine) ?:
				count_files(reader, ret);
	const struct ebt_table *tables;
	size_t n;

	ret->scrubbed = !err && scrubbed;
	pass.machine = machine ? syscall_machine(machine) : NULL;
	tables = ebt_reader_tables(reader, &n);
	for (size_t i = 0; !err && i < n; i++) {
		err = read_one(&pass, reader, &tables[i]);
	}
	ebt_map_deinit(&pass.seen);
	return err;
}
