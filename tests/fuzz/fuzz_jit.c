/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzing what processes say of the code that they generate: perf maps and jitdump files. */
#include <stdlib.h>
#include <string.h>

#include "symbolize/runtimes/jit_files.h"
#include "tests/fuzz/fuzz.h"

/* Addresses are taken from the input itself, where those that matter are. */
#define QUESTIONS 64

static void ask_map(const struct jit_map *map, const char *text, size_t len, uint64_t address)
{
	struct jit_hit hit = jit_map_find(map, address);

	fuzz_expect(!hit.name || (hit.name_len && hit.name > text &&
				  hit.name + hit.name_len < text + len),
		    "a name is within its line");
}

static void ask_dump(struct jit_dump *dump, const char *data, size_t len, uint64_t address,
		     uint64_t time)
{
	struct jit_hit hit, again;

	fuzz_expect(!jit_dump_find(dump, address, time, &hit), "asking does not fail");
	fuzz_expect(hit.from <= time && (time < hit.to || hit.to == UINT64_MAX),
		    "an answer holds when it was asked for");
	fuzz_expect(!hit.name || (hit.name > data && hit.name + hit.name_len < data + len),
		    "a name is within the data");
	fuzz_expect(!hit.file || (hit.file > data && hit.file + hit.file_len < data + len),
		    "a file is within the data");
	fuzz_expect(!jit_dump_find(dump, address, hit.from, &again) && again.name == hit.name,
		    "an answer holds from its beginning on");
}

bool fuzz_jit(const uint8_t *data, size_t len)
{
	const bool is_map = len && data[0] == FUZZ_JIT_MAP;
	struct jit_dump *dump = NULL;
	struct jit_map *map = NULL;
	size_t step;
	char *copy;

	if (!len || !(copy = malloc(len)))
		return false;
	data++;
	memcpy(copy, data, --len);
	if (!fuzz_succeeded(is_map ? jit_map_create(copy, len, &map)
				   : jit_dump_create(copy, len, UINT64_MAX / 2, &dump)))
		return false;
	step = len / QUESTIONS + 1;
	for (size_t i = 0; i + 16 < len; i += step) {
		uint64_t words[2];

		memcpy(words, data + i, sizeof(words));
		if (is_map) {
			ask_map(map, copy, len, strtoull((const char *)words, NULL, 16));
			ask_map(map, copy, len, words[0]);
		} else {
			ask_dump(dump, copy, len, words[0], words[1]);
			ask_dump(dump, copy, len, words[1], words[0]);
		}
	}
	jit_map_destroy(map);
	jit_dump_destroy(dump);
	return true;
}
