/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a file of the symbol cache: a head, the executable segments, then frames. All numbers
 * are little-endian. See cache.h.
 *
 *	char magic[8]	u32 version	u32 crc (CRC-32C of what follows)
 *	u8 quality	u8 complete	u8 no_dwarf	u8 id_len	u8 id[64]
 *	u32 n_loads	{ u64 offset, filesz, vaddr, memsz, exec } of each
 *	u32 n_answers	u32 n_frames	u32 bytes of strings
 *	{ u64 address, u32 first frame, u32 frames } of each address
 *	{ u32 name, u32 length (and whether it is a stub), u32 file, u32 line } of each frame
 *	strings, each with a NUL
 */
#include <stdlib.h>
#include <string.h>

#include "format/encoding/crc32c.h"
#include "symbolize/files/cache.h"

/* Another version may find other frames. */
#define VERSION	  1

#define MAX_LOADS 64

static const char magic[8] = "EBTSYMS\n";

enum { CRC_AT = 12, BODY_AT = 16, LOAD_BYTES = 40 };

void cache_build_deinit(struct cache_build *build)
{
	free(build->loads);
	build->loads = NULL;
	build->n_loads = 0;
	frame_cache_deinit(&build->frames);
}

struct ebt_error *cache_build_pack(const struct cache_build *build, struct ebt_buffer *out)
{
	struct ebt_error *err;

	ebt_buffer_put(out, magic, sizeof(magic));
	ebt_buffer_put_u32(out, VERSION);
	ebt_buffer_put_u32(out, 0);
	ebt_buffer_put_u8(out, (uint8_t)build->quality);
	ebt_buffer_put_u8(out, build->complete);
	ebt_buffer_put_u8(out, build->no_dwarf);
	ebt_buffer_put_u8(out, build->id.len);
	ebt_buffer_put(out, build->id.bytes, sizeof(build->id.bytes));
	ebt_buffer_put_u32(out, build->n_loads <= MAX_LOADS ? (uint32_t)build->n_loads : 0);
	for (size_t i = 0; build->n_loads <= MAX_LOADS && i < build->n_loads; i++) {
		const struct elf_load *load = &build->loads[i];

		ebt_buffer_put_u64(out, load->offset);
		ebt_buffer_put_u64(out, load->filesz);
		ebt_buffer_put_u64(out, load->vaddr);
		ebt_buffer_put_u64(out, load->memsz);
		ebt_buffer_put_u64(out, load->exec);
	}
	err = frame_cache_save(&build->frames, out);
	if (err || out->failed)
		return err ? err : &ebt_enomem;
	ebt_store_u32(out->data + CRC_AT, ebt_crc32c(out->data + BODY_AT, out->len - BODY_AT));
	return NULL;
}

static bool read_head(struct cache_build *build, struct ebt_bytes *in)
{
	uint8_t quality, complete, no_dwarf, id_len;
	uint32_t version, crc;
	struct ebt_bytes id;

	if (ebt_bytes_left(in) < BODY_AT || memcmp(in->pos, magic, sizeof(magic)))
		return false;
	ebt_bytes_skip(in, sizeof(magic));
	ebt_bytes_u32(in, &version);
	ebt_bytes_u32(in, &crc);
	if (version != VERSION || crc != ebt_crc32c(in->pos, ebt_bytes_left(in)))
		return false;
	if (!ebt_bytes_u8(in, &quality) || !ebt_bytes_u8(in, &complete) ||
	    !ebt_bytes_u8(in, &no_dwarf) || !ebt_bytes_u8(in, &id_len) ||
	    !ebt_bytes_take(in, SYM_BUILD_ID_MAX, &id))
		return false;
	build->quality = quality & CACHE_ALL;
	build->complete = complete;
	return no_dwarf == build->no_dwarf && id_len == build->id.len &&
	       !memcmp(id.pos, build->id.bytes, id_len);
}

/* See elffile.c: sums of these are taken without checks everywhere else. */
static bool is_good_load(const struct elf_load *load)
{
	return load->offset <= INT64_MAX && load->filesz <= INT64_MAX &&
	       load->memsz <= UINT64_MAX - load->vaddr;
}

static struct ebt_error *read_loads(struct cache_build *build, struct ebt_bytes *in, bool *ret_good)
{
	uint32_t n;

	*ret_good = ebt_bytes_u32(in, &n) && n <= MAX_LOADS &&
		    ebt_bytes_left(in) >= n * (size_t)LOAD_BYTES;
	if (!*ret_good)
		return NULL;
	build->loads = calloc(n + 1, sizeof(*build->loads));
	if (!build->loads)
		return &ebt_enomem;
	build->n_loads = n;
	for (uint32_t i = 0; i < n; i++) {
		struct elf_load *load = &build->loads[i];
		uint64_t exec = 0;

		ebt_bytes_u64(in, &load->offset);
		ebt_bytes_u64(in, &load->filesz);
		ebt_bytes_u64(in, &load->vaddr);
		ebt_bytes_u64(in, &load->memsz);
		ebt_bytes_u64(in, &exec);
		load->exec = exec;
		*ret_good = *ret_good && is_good_load(load);
	}
	return NULL;
}

struct ebt_error *cache_build_unpack(struct cache_build *build, const void *data, size_t len,
				     bool *ret_good)
{
	struct ebt_bytes in = ebt_bytes(data, len);
	struct ebt_error *err = NULL;

	*ret_good = read_head(build, &in);
	if (*ret_good)
		err = read_loads(build, &in, ret_good);
	if (!err && *ret_good)
		err = frame_cache_load(&build->frames, &in, ret_good);
	if (err || !*ret_good)
		cache_build_deinit(build);
	return err;
}
