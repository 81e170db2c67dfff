/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes .ebt files for tests: from the text of a dump (docs/FORMAT.md, section 7), with the real
 * writer, or by damaging a file. Tables that the writer makes itself (schema, schema_value,
 * index) are passed over, so that what `ebreport dump` printed can be read back.
 *
 * Besides rows, the text may hold empty lines, `# comments`, and two commands: `!seal` ends the
 * open chunks, `!epoch` begins an epoch.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/types.h>
#include <string.h>
#include <sys/stat.h>

#include "format/base/cleanup.h"
#include "format/base/limits.h"
#include "format/schema/schema.h"
#include "format/write/writer.h"

#define MAX_STACK EBT_MAX_FRAMES

/* From `since` on, this is who has id.tid. */
struct life {
	uint64_t since;
	struct ebt_task_id id;
};

struct gen {
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	struct ebt_record rec;
	struct life *lives;
	size_t n_lives, lives_capacity;
};

/* One `field=value` of a line; the text belongs to the line. */
struct item {
	const struct ebt_field *field;
	char *value;
};

/* --- text --- */

static struct ebt_error *bad(const char *what, const char *value)
{
	return ebt_error_create(EBT_ERR_INVALID, "%s: '%s'", what, value);
}

/* Ends the word at *pos, which runs to a space outside quotes, and goes behind it. */
static char *next_word(char **pos)
{
	char *word = *pos, *p = word;
	bool quoted = false;

	for (; *p && (quoted || *p != ' '); p++) {
		if (*p == '\\' && quoted && p[1])
			p++;
		else if (*p == '"')
			quoted = !quoted;
	}
	if (*p)
		*p++ = '\0';
	*pos = p;
	return word;
}

static struct ebt_error *parse_u64(const char *text, uint64_t *ret)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (end == text || *end || errno || *text == '-')
		return bad("not a number", text);
	*ret = v;
	return NULL;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = tolower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes quotes and escapes away in place; *ret_len, because a string may hold NUL. */
static struct ebt_error *unquote(char *text, size_t *ret_len)
{
	size_t n = strlen(text), len = 0, i;

	if (n < 2 || text[0] != '"' || text[n - 1] != '"')
		return bad("not a quoted string", text);
	for (i = 1; i < n - 1; i++) {
		if (text[i] != '\\') {
			text[len++] = text[i];
		} else if (text[i + 1] == 'x' && i + 3 < n - 1 && hex_digit(text[i + 2]) >= 0 &&
			   hex_digit(text[i + 3]) >= 0) {
			text[len++] = hex_digit(text[i + 2]) << 4 | hex_digit(text[i + 3]);
			i += 3;
		} else {
			text[len++] = text[++i];
		}
	}
	text[len] = '\0';
	*ret_len = len;
	return NULL;
}

static struct ebt_error *parse_enum(const struct ebt_field *field, char *text, uint64_t *ret)
{
	struct ebt_error *err;
	size_t len;

	if (text[0] == '"') {
		err = unquote(text, &len);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < field->n_values; i++) {
		if (!strcmp(field->values[i].name, text)) {
			*ret = field->values[i].value;
			return NULL;
		}
	}
	return parse_u64(text, ret);
}

/* --- tasks --- */

static const struct life *find_life(const struct gen *gen, uint32_t tid, uint64_t time)
{
	const struct life *first = NULL, *best = NULL;

	for (size_t i = 0; i < gen->n_lives; i++) {
		const struct life *life = &gen->lives[i];

		if (life->id.tid != tid)
			continue;
		if (!first)
			first = life;
		if (life->since <= time && (!best || life->since >= best->since))
			best = life;
	}
	return best ? best : first;
}

static void resolve_task(void *arg, uint32_t tid, uint64_t time, struct ebt_task_id *ret)
{
	const struct life *life = find_life(arg, tid, time);

	*ret = life ? life->id : (struct ebt_task_id){ .tid = tid };
}

static struct ebt_error *add_life(struct gen *gen, uint64_t time, const struct ebt_task_id *id)
{
	const struct life *known = find_life(gen, id->tid, time);

	if (known && known->id.pid == id->pid && known->id.start_ns == id->start_ns &&
	    !strcmp(known->id.comm, id->comm))
		return NULL;
	if (gen->n_lives == gen->lives_capacity) {
		size_t capacity = gen->lives_capacity ? gen->lives_capacity * 2 : 64;
		struct life *lives = reallocarray(gen->lives, capacity, sizeof(*lives));

		if (!lives)
			return &ebt_enomem;
		gen->lives = lives;
		gen->lives_capacity = capacity;
	}
	gen->lives[gen->n_lives++] = (struct life){ .since = time, .id = *id };
	return NULL;
}

/* tid/pid/start/"comm", or - */
static struct ebt_error *parse_task(struct gen *gen, uint64_t time, char *text, uint64_t *ret)
{
	struct ebt_task_id id = { 0 };
	uint64_t numbers[3];
	struct ebt_error *err;
	size_t len;

	if (!strcmp(text, "-")) {
		*ret = 0;
		return NULL;
	}
	for (int i = 0; i < 3; i++) {
		char *slash = strchr(text, '/');

		if (!slash)
			return bad("not a task", text);
		*slash = '\0';
		err = parse_u64(text, &numbers[i]);
		if (err)
			return err;
		text = slash + 1;
	}
	err = unquote(text, &len);
	if (err)
		return err;
	if (len >= sizeof(id.comm))
		return bad("name of a task is too long", text);
	memcpy(id.comm, text, len);
	id.tid = numbers[0];
	id.pid = numbers[1];
	id.start_ns = numbers[2];
	*ret = id.tid;
	return add_life(gen, time, &id);
}

/* --- values that a wire record refers to --- */

static struct ebt_error *put_bytes(struct gen *gen, const struct ebt_field *field, char *text)
{
	size_t n = strlen(text), len = 0;

	if (text[0] != 'x' || n % 2 == 0)
		return bad("not bytes", text);
	for (size_t i = 1; i < n; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

		if (high < 0 || low < 0)
			return bad("not bytes", text);
		text[len++] = high << 4 | low;
	}
	ebt_record_bytes(&gen->rec, field->wire_offset, text, len);
	return NULL;
}

static struct ebt_error *put_string(struct gen *gen, const struct ebt_field *field, char *text)
{
	struct ebt_error *err;
	size_t len;

	err = unquote(text, &len);
	if (!err)
		ebt_record_bytes(&gen->rec, field->wire_offset, text, len);
	return err;
}

/* k:1,2,3 or u:1,2,3+ or - */
static struct ebt_error *put_stack(struct gen *gen, const struct ebt_field *field, char *text)
{
	uint64_t addresses[MAX_STACK];
	uint32_t attrs = text[0] == 'u' ? EBT_STACK_USER : 0;
	size_t len = strlen(text), n = 0;
	char *p, *end;

	if (!strcmp(text, "-"))
		return NULL;
	if ((text[0] != 'u' && text[0] != 'k') || text[1] != ':')
		return bad("not a stack", text);
	if (text[len - 1] == '+') {
		attrs |= EBT_STACK_TRUNCATED;
		text[len - 1] = '\0';
	}
	for (p = text + 2; *p; p = *end ? end + 1 : end) {
		if (n == MAX_STACK)
			return bad("stack is too deep", text);
		addresses[n++] = strtoull(p, &end, 16);
		if (end == p || (*end && *end != ','))
			return bad("not an address", p);
	}
	ebt_record_stack(&gen->rec, field->wire_offset, attrs, addresses, n);
	return NULL;
}

/* --- rows --- */

static bool is_ref(const struct ebt_field *field)
{
	return field->type == EBT_TYPE_STACK || field->type == EBT_TYPE_STRING ||
	       field->type == EBT_TYPE_BYTES;
}

static struct ebt_error *set_number(struct gen *gen, void *row, uint64_t time,
				    const struct item *item)
{
	const struct ebt_field *field = item->field;
	struct ebt_error *err;
	uint64_t v = 0;

	if (field->type == EBT_TYPE_ENUM)
		err = parse_enum(field, item->value, &v);
	else if (field->type == EBT_TYPE_TASK)
		err = parse_task(gen, time, item->value, &v);
	else if (field->type == EBT_TYPE_I64 && item->value[0] == '-')
		err = parse_u64(item->value + 1, &v);
	else
		err = parse_u64(item->value, &v);
	if (err)
		return ebt_error_prefix(err, "%s", field->name);
	if (field->type == EBT_TYPE_I64 && item->value[0] == '-')
		v = -v;
	else if (field->wire_size < sizeof(v) && v >> (8 * field->wire_size))
		return bad("number is too large", item->value);
	/* The wire is of this machine, little-endian as every one that ebrec runs on. */
	memcpy((char *)row + field->wire_offset, &v, field->wire_size);
	return NULL;
}

static struct ebt_error *put_ref(struct gen *gen, const struct item *item)
{
	struct ebt_error *err;

	if (item->field->type == EBT_TYPE_STACK)
		err = put_stack(gen, item->field, item->value);
	else if (item->field->type == EBT_TYPE_STRING)
		err = put_string(gen, item->field, item->value);
	else
		err = put_bytes(gen, item->field, item->value);
	return ebt_error_prefix(err, "%s", item->field->name);
}

static struct ebt_error *split_items(const struct ebt_table *table, char *pos,
				     struct item items[EBT_MAX_FIELDS], size_t *ret_n)
{
	size_t n = 0;

	while (*pos) {
		char *word = next_word(&pos), *equals = strchr(word, '=');
		int i;

		if (!equals || n == EBT_MAX_FIELDS)
			return bad("not field=value", word);
		*equals = '\0';
		i = ebt_field_by_name(table, word);
		if (i <= 0)
			return bad("no such field", word);
		items[n++] = (struct item){ &table->fields[i], equals + 1 };
	}
	*ret_n = n;
	return NULL;
}

/* Numbers first: the pointer to a row is good until the first reference is appended. */
static struct ebt_error *add_row(struct gen *gen, const struct ebt_table *table, uint64_t time,
				 char *rest)
{
	struct item items[EBT_MAX_FIELDS];
	struct ebt_error *err;
	size_t n = 0, i;
	void *row;

	err = split_items(table, rest, items, &n);
	if (err)
		return err;
	row = ebt_record_begin(&gen->rec, table->id, time);
	for (i = 0; i < n && !err; i++) {
		if (!is_ref(items[i].field))
			err = set_number(gen, row, time, &items[i]);
	}
	for (i = 0; i < n && !err; i++) {
		if (is_ref(items[i].field))
			err = put_ref(gen, &items[i]);
	}
	return err ? err : ebt_record_add(&gen->rec, gen->stream);
}

static struct ebt_error *command(struct gen *gen, const char *line)
{
	if (!strcmp(line, "!seal"))
		return ebt_stream_flush(gen->stream, 0, true);
	if (!strcmp(line, "!epoch"))
		return ebt_writer_next_epoch(gen->writer);
	return bad("no such command", line);
}

static struct ebt_error *add_line(struct gen *gen, char *line)
{
	const struct ebt_table *table;
	struct ebt_error *err;
	uint64_t time = 0;
	char *word;

	if (!*line || *line == '#')
		return NULL;
	if (*line == '!')
		return command(gen, line);
	err = parse_u64(next_word(&line), &time);
	if (err)
		return err;
	word = next_word(&line);
	table = ebt_table_by_name(word);
	if (!table)
		return bad("no such table", word);
	if (table->id == EBT_T_schema || table->id == EBT_T_schema_value ||
	    table->id == EBT_T_index)
		return NULL;
	return add_row(gen, table, time, line);
}

/* --- files --- */

static struct ebt_error *create_file(const char *path, int *ret)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return ebt_error_errno(errno, "%s", path);
	*ret = fd;
	return NULL;
}

static struct ebt_error *read_text(struct gen *gen, const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	struct ebt_error *err;
	size_t capacity = 0;
	ssize_t len;

	if (!f)
		return ebt_error_errno(errno, "%s", path);
	for (unsigned int n = 1; (len = getline(&line, &capacity, f)) >= 0; n++) {
		if (len && line[len - 1] == '\n')
			line[len - 1] = '\0';
		err = add_line(gen, line);
		if (err)
			return ebt_error_prefix(err, "%s:%u", path, n);
	}
	return ferror(f) ? ebt_error_errno(errno, "%s", path) : NULL;
}

static struct ebt_error *generate(const char *in, const char *out)
{
	struct gen gen = { .rec = EBT_RECORD_INIT };
	struct ebt_writer_options options = {
		.name = out,
		.resolve_task = resolve_task,
		.resolve_arg = &gen,
	};
	_cleanup_close_ int fd = -1;
	struct ebt_error *err;

	err = create_file(out, &fd);
	if (err)
		return err;
	options.fd = fd;
	err = ebt_writer_create(&options, &gen.writer);
	if (!err)
		err = ebt_writer_add_stream(gen.writer, &gen.stream);
	if (!err)
		err = read_text(&gen, in);
	if (!err)
		err = ebt_writer_finish(gen.writer);
	ebt_writer_destroy(gen.writer);
	ebt_record_deinit(&gen.rec);
	free(gen.lives);
	return err;
}

/* Copies the first `cut` bytes, with the lowest bit of the byte at `flip` turned over. */
static struct ebt_error *damage(const char *in, const char *out, uint64_t cut, uint64_t flip)
{
	_cleanup_fclose_ FILE *from = fopen(in, "re");
	_cleanup_fclose_ FILE *to = NULL;
	uint64_t offset;
	int c = 0;

	if (!from)
		return ebt_error_errno(errno, "%s", in);
	to = fopen(out, "we");
	if (!to)
		return ebt_error_errno(errno, "%s", out);
	for (offset = 0; offset < cut && (c = getc(from)) != EOF; offset++)
		putc(offset == flip ? c ^ 1 : c, to);
	if (ferror(from) || fflush(to))
		return ebt_error_errno(errno, "%s", out);
	if (flip != UINT64_MAX && flip >= offset)
		return ebt_error_create(EBT_ERR_INVALID, "%s has no byte %ju", in, (uintmax_t)flip);
	return NULL;
}

static int usage(void)
{
	fputs("usage: ebtgen TEXT OUT.ebt\n"
	      "       ebtgen [--cut LENGTH] [--flip OFFSET] IN.ebt OUT.ebt\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cut", required_argument, NULL, 'c' },
		{ "flip", required_argument, NULL, 'f' },
		{ 0 },
	};
	uint64_t cut = UINT64_MAX, flip = UINT64_MAX;
	_cleanup_error_ struct ebt_error *err = NULL;
	int c;

	while (!err && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return usage();
		err = parse_u64(optarg, c == 'c' ? &cut : &flip);
	}
	if (!err && argc - optind != 2)
		return usage();
	if (!err && cut == UINT64_MAX && flip == UINT64_MAX)
		err = generate(argv[optind], argv[optind + 1]);
	else if (!err)
		err = damage(argv[optind], argv[optind + 1], cut, flip);
	if (err)
		fprintf(stderr, "ebtgen: %s\n", err->message);
	return err ? 1 : 0;
}
