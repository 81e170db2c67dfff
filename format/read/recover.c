/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hopping and searching. Hops read a header each; a search reads blocks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/read/index.h"

#define BLOCK ((size_t)1 << 20)

struct recovery {
	const struct ebt_chunk_reader *chunks;
	uint64_t pos, end;
	uint64_t next_seq; /* of the chunk that should be at pos */
	unsigned char *block;
};

/* The header at pos, if it is good and the payload lies before the end. */
static const char *check(const struct recovery *rec, const unsigned char *bytes, uint64_t pos,
			 struct ebt_chunk_header *ret)
{
	const char *wrong = ebt_chunk_header_parse(bytes, rec->chunks->tag, ret);

	if (wrong)
		return wrong;
	if (ret->len + ret->info.stored > rec->end - pos)
		return "the file ends within this chunk";
	ret->info.offset = pos;
	return NULL;
}

/* *ret_wrong NULL: a chunk is at rec->pos. */
static struct ebt_error *look(const struct recovery *rec, struct ebt_chunk_header *ret,
			      const char **ret_wrong)
{
	unsigned char bytes[EBT_CHUNK_HEADER_LEN];
	uint64_t left = rec->end - rec->pos;
	size_t len = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
	struct ebt_error *err;

	err = ebt_input_read(rec->chunks->input, rec->pos, bytes, len);
	if (err)
		return err;
	*ret_wrong = len < sizeof(bytes) ? "the file ends within a chunk header"
					 : check(rec, bytes, rec->pos, ret);
	if (len >= 4 && ebt_load_u32(bytes) == EBT_FOOTER_MAGIC)
		*ret_wrong = "the footer is damaged";
	return NULL;
}

/* Moves rec->pos to the next good header behind it, or to the end. */
static struct ebt_error *search(struct recovery *rec, struct ebt_chunk_header *ret)
{
	uint64_t base = rec->pos + EBT_ALIGN;

	if (!rec->block)
		rec->block = malloc(BLOCK + EBT_CHUNK_HEADER_LEN);
	if (!rec->block)
		return &ebt_enomem;
	for (; base + EBT_CHUNK_HEADER_LEN <= rec->end; base += BLOCK) {
		uint64_t left = rec->end - base;
		size_t len = left < BLOCK + EBT_CHUNK_HEADER_LEN ? (size_t)left
								 : BLOCK + EBT_CHUNK_HEADER_LEN;
		struct ebt_error *err;

		err = ebt_input_read(rec->chunks->input, base, rec->block, len);
		if (err)
			return err;
		for (size_t i = 0; i < BLOCK && i + EBT_CHUNK_HEADER_LEN <= len; i += EBT_ALIGN) {
			if (ebt_load_u32(rec->block + i) != EBT_CHUNK_MAGIC ||
			    check(rec, rec->block + i, base + i, ret))
				continue;
			rec->pos = base + i;
			return NULL;
		}
	}
	rec->pos = rec->end;
	return NULL;
}

/* Notes what lies between `from` and rec->pos, and how many chunks that was. */
static struct ebt_error *note_gap(const struct recovery *rec, uint64_t from, const char *wrong,
				  uint64_t seq, struct ebt_damage_list *damage)
{
	uint64_t missing = seq - rec->next_seq;
	char *what;

	if (rec->pos == rec->end || seq <= rec->next_seq)
		what = strdup(wrong);
	else
		ebt_format(&what, "%s: %" PRIu64 " chunk%s missing", wrong, missing,
			   missing == 1 ? "" : "s");
	return ebt_damage_add(damage, from, rec->pos - from, what);
}

static struct ebt_error *take(struct recovery *rec, const struct ebt_chunk_header *header,
			      struct ebt_chunk_list *ret)
{
	uint64_t extent = ebt_chunk_extent(header);

	rec->next_seq = header->info.seq + 1;
	/* Only zero bytes behind the last payload may be missing. */
	rec->pos = extent < rec->end - rec->pos ? rec->pos + extent : rec->end;
	return ebt_chunk_list_add(ret, &header->info);
}

static struct ebt_error *step(struct recovery *rec, struct ebt_chunk_list *ret,
			      struct ebt_damage_list *damage)
{
	uint64_t from = rec->pos;
	struct ebt_chunk_header header = { 0 };
	struct ebt_error *err;
	const char *wrong;

	err = look(rec, &header, &wrong);
	if (err)
		return err;
	if (wrong)
		err = search(rec, &header);
	if (err)
		return err;
	if (!wrong && header.info.seq != rec->next_seq)
		wrong = "chunks are not in sequence";
	if (wrong) {
		err = note_gap(rec, from, wrong, header.info.seq, damage);
		if (err)
			return err;
	}
	return rec->pos < rec->end ? take(rec, &header, ret) : NULL;
}

struct ebt_error *ebt_recover(const struct ebt_chunk_reader *chunks, uint64_t first, uint64_t end,
			      uint64_t next_seq, struct ebt_chunk_list *ret,
			      struct ebt_damage_list *damage)
{
	struct recovery rec = { .chunks = chunks, .pos = first, .end = end, .next_seq = next_seq };
	struct ebt_error *err = NULL;

	while (!err && rec.pos < rec.end)
		err = step(&rec, ret, damage);
	free(rec.block);
	return err;
}
