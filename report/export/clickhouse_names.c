/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of frames that tables in ClickHouse have none for, by build-id and offset: so that machines
 * need not have debug information, and each file is read once. unnamed.sql asks for them, lines of
 *
 *	build-id TAB path TAB offset
 *
 * They become a trace of one process that has the files mapped one behind the other, with a sample
 * of a call at each offset: what finds and fetches files for traces then does so for these.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/fdio.h"
#include "format/schema/wire.h"
#include "format/write/writer.h"
#include "report/base/tsv.h"
#include "report/export/clickhouse.h"
#include "report/out/out.h"
#include "symbolize/elf/elffile.h"

#define TID	    1
#define MAPPED_NS   1
#define FIRST_NS    UINT64_C(1000)
#define PAGE	    UINT64_C(4096)
#define NOWHERE	    1 /* called */
#define MOST_OFFSET (UINT64_C(1) << 40)
#define END	    (UINT64_C(1) << 62) /* of addresses */
#define PART	    "frame.part"

DEFINE_CLEANUP(struct ebt_writer *, ebt_writer_destroy);

/* --- lines to a trace --- */

struct made {
	struct tsv tsv;
	struct ebt_record record;
	struct ebt_writer *writer;
	struct ebt_stream *stream;
	uint64_t n;
	/* The file at hand, */
	char *build_id, *path;
	uint64_t start, most; /* where it is mapped, and the last offset so far */
};

static void made_deinit(struct made *m)
{
	tsv_deinit(&m->tsv);
	ebt_record_deinit(&m->record);
	ebt_writer_destroy(m->writer);
	free(m->build_id);
	free(m->path);
}

/* *ret has room for half as many bytes as there are digits. */
static bool read_hex(const char *digits, unsigned char *ret)
{
	static const char all[] = "0123456789abcdef";
	const char *high, *low;

	for (; *digits; digits += 2) {
		high = strchr(all, digits[0]);
		low = digits[1] ? strchr(all, digits[1]) : NULL;
		if (!high || !low)
			return false;
		*ret++ = (unsigned char)((high - all) << 4 | (low - all));
	}
	return true;
}

/* The next file is mapped behind this one. */
static struct ebt_error *end_file(struct made *m)
{
	const uint64_t length = (m->most / PAGE + 1) * PAGE;
	unsigned char id[SYM_BUILD_ID_MAX];
	struct ebt_wire_mmap *row;
	struct ebt_error *err;

	if (!m->path)
		return NULL;
	row = ebt_record_begin(&m->record, EBT_T_mmap, MAPPED_NS);
	row->task = TID;
	row->origin = EBT_V_mmap_origin_snapshot;
	row->start = m->start;
	row->length = length;
	ebt_record_str(&m->record, offsetof(struct ebt_wire_mmap, path), m->path);
	read_hex(m->build_id, id);
	ebt_record_bytes(&m->record, offsetof(struct ebt_wire_mmap, build_id), id,
			 strlen(m->build_id) / 2);
	err = ebt_record_add(&m->record, m->stream);
	m->start += length;
	m->most = 0;
	return err;
}

static struct ebt_error *begin_file(struct made *m, const char *build_id, const char *path)
{
	unsigned char id[SYM_BUILD_ID_MAX];
	struct ebt_error *err;

	if (m->path && !strcmp(m->build_id, build_id) && !strcmp(m->path, path))
		return NULL;
	if (!*build_id || strlen(build_id) > 2 * sizeof(id) || !read_hex(build_id, id))
		return tsv_wrong(&m->tsv, "no build-id at its beginning, in hexadecimal");
	err = end_file(m);
	if (err)
		return err;
	if (m->start > END - MOST_OFFSET)
		return tsv_wrong(&m->tsv, "the files are too large together");
	free(m->build_id);
	free(m->path);
	m->build_id = strdup(build_id);
	m->path = strdup(path);
	return m->build_id && m->path ? NULL : &ebt_enomem;
}

/* Most are of calls, and what decides on the names of a call is the byte before where it returns.
 */
static struct ebt_error *add_offset(struct made *m, uint64_t offset)
{
	const uint64_t addresses[] = { NOWHERE, m->start + offset + 1 };
	struct ebt_wire_sample *row = ebt_record_begin(&m->record, EBT_T_sample, FIRST_NS + m->n++);

	row->task = TID;
	row->user = 1;
	ebt_record_stack(&m->record, offsetof(struct ebt_wire_sample, ustack), EBT_STACK_USER,
			 addresses, 2);
	m->most = offset > m->most ? offset : m->most;
	return ebt_record_add(&m->record, m->stream);
}

static struct ebt_error *take_line(struct made *m)
{
	char *rest = m->tsv.line, *build_id = strsep(&rest, "\t"), *path = strsep(&rest, "\t");
	uint64_t offset;
	char *end;

	if (!rest || !*rest || rest[strspn(rest, "0123456789")])
		return tsv_wrong(&m->tsv, "not a build-id, a path and an offset, a whole "
					  "number, with tabs between them");
	errno = 0;
	offset = strtoull(rest, &end, 10);
	if (errno || offset >= MOST_OFFSET)
		return tsv_wrong(&m->tsv, "no file has such an offset");
	tsv_unescape(path);
	return begin_file(m, build_id, path) ?: add_offset(m, offset);
}

static struct ebt_error *add_process(struct made *m)
{
	struct ebt_wire_process *row = ebt_record_begin(&m->record, EBT_T_process, MAPPED_NS);

	row->task = TID;
	return ebt_record_add(&m->record, m->stream);
}

static struct ebt_error *take_lines(struct made *m)
{
	bool there = true;
	struct ebt_error *err = add_process(m);

	while (!err && there) {
		err = tsv_next(&m->tsv, &there);
		if (!err && there)
			err = take_line(m);
	}
	return err ?: end_file(m) ?: ebt_writer_finish(m->writer);
}

struct ebt_error *clickhouse_names_trace(const char *path, int *ret)
{
	__attribute__((cleanup(made_deinit))) struct made m = { .start = PAGE };
	_cleanup_close_ int fd = -1;
	struct ebt_writer_options options = { .name = "a temporary file" };
	struct ebt_error *err = tsv_open(path, &m.tsv) ?: ebt_open_temporary(NULL, &fd);

	options.fd = fd;
	err = err ?: ebt_writer_create(&options, &m.writer) ?:
		     ebt_writer_add_stream(m.writer, &m.stream) ?:
		     take_lines(&m);
	if (err)
		return err;
	*ret = fd;
	fd = -1;
	return NULL;
}

/* --- its names --- */

struct namer {
	struct export *e;
	struct clickhouse_stacks *stacks;
	uint64_t n, unnamed;
	char *example; /* the first of these */
};

static struct ebt_error *take_unnamed(struct namer *namer, const struct sym_func *sym)
{
	if (namer->unnamed++)
		return NULL;
	return ebt_format(&namer->example, "%s (build-id %s): %s", sym->object, sym->build_id,
			  sym_reason_name(sym->reason));
}

/* Of the frame that called NOWHERE. */
static struct ebt_error *take_sample(void *arg, const struct export_sample *sample)
{
	struct namer *namer = arg;
	const struct calltree *tree = namer->e->tree;
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	const uint32_t node = nodes[sample->node].parent;
	const struct calltree_func *func = &calltree_funcs(tree, &n)[nodes[node].func];
	struct ebt_error *err = NULL;
	bool renewed;

	namer->n++;
	if (func->sym && func->sym->reason != SYM_OK)
		err = take_unnamed(namer, func->sym);
	return err ?: clickhouse_frame(namer->stacks, tree, node) ?:
		      export_renew_tree(namer->e, CLICKHOUSE_MOST_NODES, &renewed);
}

static struct ebt_error *tell_unnamed(const struct namer *namer)
{
	if (!namer->unnamed)
		return NULL;
	return trace_warn(namer->e->trace, "%" PRIu64 " of %" PRIu64 " frames have no name: %s%s",
			  namer->unnamed, namer->n, namer->unnamed > 1 ? "the first of " : "",
			  namer->example);
}

static struct ebt_error *write_names(struct export *e, int fd)
{
	_cleanup_(clickhouse_stacks_destroyp) struct clickhouse_stacks *stacks = NULL;
	struct namer namer = { .e = e };
	FILE *f = fdopen(fd, "w");
	struct ebt_error *err;
	bool failed;

	if (!f) {
		close(fd);
		return &ebt_enomem;
	}
	err = clickhouse_stacks_create(f, NULL, &stacks);
	namer.stacks = stacks;
	err = err ?: export_samples(e, take_sample, &namer) ?:
		     clickhouse_stacks_finish(stacks) ?:
		     tell_unnamed(&namer);
	free(namer.example);
	failed = ferror(f);
	if ((fclose(f) || failed) && !err)
		err = ebt_error_errno(errno, "cannot write in '%s'", e->report->options->output);
	return err;
}

/* The file is under its name when it is whole: `upload` passes over a folder that has PART. */
struct ebt_error *clickhouse_names(struct export *e)
{
	static const char name[] = "frame.native";
	const struct options *o = e->report->options;
	_cleanup_close_ int folder = -1;
	int fd = -1, part;
	struct ebt_error *err = out_open_folder(o->output, &folder)
					?: out_make_file(folder, o->output, PART, true, &part);

	if (err)
		return err;
	err = out_make_file(folder, o->output, name, o->force, &fd);
	if (err)
		close(part);
	err = err ?: write_names(e, part);
	if (!err && renameat(folder, PART, folder, name))
		err = ebt_error_errno(errno, "cannot rename '%s/%s'", o->output, PART);
	if (err)
		unlinkat(folder, PART, 0);
	if (err && fd >= 0)
		unlinkat(folder, name, 0);
	if (fd >= 0)
		close(fd);
	return err;
}
