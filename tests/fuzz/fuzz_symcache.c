/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzing files of the symbol cache, with a checksum that is right. */
#include <stdlib.h>
#include <string.h>

#include "format/encoding/crc32c.h"
#include "symbolize/dwarf/info.h"
#include "symbolize/files/cache.h"
#include "tests/fuzz/fuzz.h"

enum { CRC_AT = 12, BODY_AT = 16, NO_DWARF_AT = 18, ID_LEN_AT = 19, ID_AT = 20, HEAD = 84 };

static void use(struct cache_build *build)
{
	struct module_frame frames[DWARF_MAX_FRAMES];
	struct ebt_buffer again = EBT_BUFFER_INIT;

	for (size_t i = 0; i < build->frames.n; i++) {
		size_t n;

		fuzz_expect(frame_cache_find(&build->frames, build->frames.items[i].address, frames,
					     &n),
			    "an answer is found");
		for (size_t k = 0; k < n; k++) {
			fuzz_expect(memchr(frames[k].name, 0, build->frames.strings.len),
				    "a name ends");
			fuzz_expect(!frames[k].file || strlen(frames[k].file) < (1u << 30),
				    "a path ends");
		}
	}
	/* Something more, and back to bytes. */
	frames[0] = (struct module_frame){ .name = "name", .name_len = 4, .file = "file" };
	if (!frame_cache_find(&build->frames, 0x1234, frames, &(size_t){ 0 }))
		fuzz_succeeded(frame_cache_add(&build->frames, 0x1234, frames, 1, false));
	fuzz_expect(fuzz_succeeded(cache_build_pack(build, &again)),
		    "what was read can be written");
	ebt_buffer_deinit(&again);
}

bool fuzz_symcache(const uint8_t *data, size_t len)
{
	struct cache_build build = { 0 };
	uint8_t *copy = malloc(len + 1);
	bool good = false;

	if (!copy)
		return false;
	if (len)
		memcpy(copy, data, len);
	if (len >= HEAD) {
		ebt_store_u32(copy + CRC_AT, ebt_crc32c(copy + BODY_AT, len - BODY_AT));
		build.id.len = copy[ID_LEN_AT] % (SYM_BUILD_ID_MAX + 1);
		memcpy(build.id.bytes, copy + ID_AT, build.id.len);
		build.no_dwarf = copy[NO_DWARF_AT];
	}
	fuzz_expect(fuzz_succeeded(cache_build_unpack(&build, copy, len, &good)),
		    "a damaged file is no error");
	if (good)
		use(&build);
	cache_build_deinit(&build);
	free(copy);
	return good;
}
