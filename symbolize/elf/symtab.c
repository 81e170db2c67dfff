/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions by address; see symtab.h. */
#include "symbolize/elf/symtab.h"

#include <lzma.h>
#include <stdlib.h>

#include "format/base/search.h"
#include "format/base/cleanup.h"
#include "symbolize/elf/symlist.h"

/* What .gnu_debugdata may grow to: that of the largest programs is some 20 MiB. */
#define MAX_UNPACKED (256u << 20)

/* xz -9 needs 65 MiB to unpack. */
#define MAX_LZMA_MEMORY (128u << 20)

DEFINE_CLEANUP(struct symtab *, symtab_destroy);

/* Unpacks an xz stream; NULL in *ret where it is not one. */
static struct ebt_error *unpack(const uint8_t *in, size_t in_len, char **ret, size_t *ret_len)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	_cleanup_free_ char *image = NULL;
	size_t capacity = 0;
	lzma_ret status = lzma_stream_decoder(&stream, MAX_LZMA_MEMORY, 0);

	*ret = NULL;
	stream.next_in = in;
	stream.avail_in = in_len;
	while (status == LZMA_OK && capacity < MAX_UNPACKED) {
		char *grown;

		if (!stream.avail_out) {
			capacity = capacity ? capacity * 2 : 64u << 10;
			grown = realloc(image, capacity);
			if (!grown) {
				lzma_end(&stream);
				return &ebt_enomem;
			}
			image = grown;
			stream.next_out = (uint8_t *)image + stream.total_out;
			stream.avail_out = capacity - stream.total_out;
		}
		status = lzma_code(&stream, LZMA_FINISH);
	}
	*ret_len = stream.total_out;
	lzma_end(&stream);
	if (status == LZMA_STREAM_END)
		*ret = take_ptr(image);
	return NULL;
}

/* The file within the file (MiniDebugInfo), which has nothing but a .symtab; NULL: none. */
static struct ebt_error *open_debugdata(const struct elf_file *file, struct symtab *symtab)
{
	Elf_Scn *scn = elf_file_section(file, ".gnu_debugdata");
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	struct ebt_error *err;
	size_t len;

	if (!data || !data->d_buf || symtab->image)
		return NULL;
	err = unpack(data->d_buf, data->d_size, &symtab->image, &len);
	if (err || !symtab->image)
		return err;
	err = elf_file_from_memory(symtab->image, len, &symtab->packed);
	if (err && err->code == EBT_ERR_CORRUPT) {
		ebt_error_destroy(err);
		err = NULL;
	}
	return err;
}

static struct ebt_error *collect(struct symlist *list, const struct elf_file *const *files,
				 struct symtab *symtab)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < 2; i++) {
		if (!files[i])
			continue;
		symtab->complete |= files[i]->has_symtab;
		err = open_debugdata(files[i], symtab);
	}
	for (size_t i = 0; !err && i < 2; i++) {
		if (!files[i])
			continue;
		err = symlist_add_section(list, files[i], SHT_SYMTAB, true) ?:
		      symlist_add_section(list, files[i], SHT_DYNSYM, symtab->complete) ?:
		      symlist_add_plt(list, files[i]);
	}
	if (err || !symtab->packed)
		return err;
	return symlist_add_section(list, symtab->packed, SHT_SYMTAB, symtab->complete);
}

struct ebt_error *symtab_create(const struct elf_file *main, const struct elf_file *debug,
				struct symtab **ret)
{
	_cleanup_(symtab_destroyp) struct symtab *symtab = calloc(1, sizeof(*symtab));
	_cleanup_(symlist_deinit) struct symlist list = { 0 };
	const struct elf_file *const files[] = { main, debug };
	struct ebt_error *err;

	if (!symtab)
		return &ebt_enomem;
	err = collect(&list, files, symtab) ?: symlist_flatten(&list, &symtab->ranges, &symtab->n);
	if (err)
		return err;
	*ret = take_ptr(symtab);
	return NULL;
}

void symtab_destroy(struct symtab *symtab)
{
	if (!symtab)
		return;
	elf_file_close(symtab->packed);
	free(symtab->image);
	free(symtab->ranges);
	free(symtab);
}

const struct symtab_range *symtab_find(const struct symtab *symtab, uint64_t address)
{
	size_t low = ebt_count_first(symtab->n, i, symtab->ranges[i].start <= address);

	return low && address < symtab->ranges[low - 1].end ? &symtab->ranges[low - 1] : NULL;
}
