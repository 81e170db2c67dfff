/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and their aliases; see scrub_names.h. */
#include "report/share/scrub_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/base/map.h"

/* As many bytes as the kernel keeps of the name of a thread. */
#define COMM_LEN 15

static const char *const prefixes[SCRUB_N_KINDS] = {
	[SCRUB_PROGRAM] = "prog",
	[SCRUB_THREAD] = "thread",
	[SCRUB_FOLDER] = "dir",
	[SCRUB_NAMED_FILE] = "file",
	[SCRUB_COMMAND_LINE] = "command",
	[SCRUB_HOST_NAME] = "host",
	[SCRUB_BOOT_ID] = "boot",
	[SCRUB_USER_NAME] = "user",
	[SCRUB_CONTROL_GROUP] = "cgroup",
	[SCRUB_NET_DEVICE] = "device",
	[SCRUB_NAME] = "name",
};

/* Numbers behind those of words that are kept. */
#define BEYOND	       (UINT64_C(1) << 50)
#define BEYOND_NUMBERS (UINT32_C(1) << 27)

struct scrub_alias {
	enum scrub_kind kind;
	uint32_t number; /* 0: it has not come yet */
	uint64_t file;	 /* a program: hash of the file's name */
};

struct scrub_names {
	struct scrub_key key;
	struct ebt_map words; /* hash to an index of `entries` */
	struct scrub_alias *entries;
	size_t n, capacity, most;
	uint32_t last[SCRUB_N_KINDS];
	bool failed, overflowed;
};

DEFINE_CLEANUP(struct scrub_names *, scrub_names_destroy);

void scrub_names_destroy(struct scrub_names *names)
{
	if (!names)
		return;
	ebt_map_deinit(&names->words);
	free(names->entries);
	free(names);
}

struct ebt_error *scrub_names_create(size_t most, struct scrub_names **ret)
{
	_cleanup_(scrub_names_destroyp) struct scrub_names *names = calloc(1, sizeof(*names));

	if (!names)
		return &ebt_enomem;
	if (getrandom(&names->key, sizeof(names->key), 0) != sizeof(names->key))
		return ebt_error_errno(errno, "no random bytes");
	names->most = most;
	*ret = take_ptr(names);
	return NULL;
}

/* --- SipHash --- */

static uint64_t rotate(uint64_t v, int bits)
{
	return v << bits | v >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

uint64_t scrub_hash(const struct scrub_key *key, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t v[4] = {
		key->k[0] ^ UINT64_C(0x736f6d6570736575),
		key->k[1] ^ UINT64_C(0x646f72616e646f6d),
		key->k[0] ^ UINT64_C(0x6c7967656e657261),
		key->k[1] ^ UINT64_C(0x7465646279746573),
	};

	for (size_t left = len;; p += 8, left -= 8) {
		size_t n = left < 8 ? left : 8;
		uint64_t word = 0;

		for (size_t i = 0; i < n; i++)
			word |= (uint64_t)p[i] << (8 * i);
		if (n < 8)
			word |= (uint64_t)len << 56;
		v[3] ^= word;
		sip_rounds(v, 2);
		v[0] ^= word;
		if (n < 8)
			break;
	}
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* --- words --- */

/* Numbers are kept apart from words. */
static uint64_t hash_of(const struct scrub_names *names, enum scrub_kind kind, const void *data,
			size_t len)
{
	uint64_t hash = scrub_hash(&names->key, data, len);

	return prefixes[kind] ? hash : ebt_hash_u64(hash, kind);
}

/* Of kind `kind`, where it is new. */
static struct ebt_error *entry_of(struct scrub_names *names, uint64_t hash, enum scrub_kind kind,
				  uint32_t *ret)
{
	uint32_t n = (uint32_t)names->n;
	struct ebt_error *err = ebt_array_reserve(&names->entries, names->n, &names->capacity)
					?: ebt_map_add(&names->words, hash, n, ret);

	if (!err && *ret == n)
		names->entries[names->n++] = (struct scrub_alias){ .kind = kind };
	return err;
}

struct ebt_error *scrub_names_program(struct scrub_names *names, struct ebt_str name)
{
	size_t len = name.len < COMM_LEN ? name.len : COMM_LEN;
	uint64_t hash = hash_of(names, SCRUB_PROGRAM, name.data, name.len), file;
	uint32_t i, same;
	struct ebt_error *err;

	if (names->n + 2 > names->most)
		return NULL;
	err = entry_of(names, hash_of(names, SCRUB_PROGRAM, name.data, len), SCRUB_PROGRAM, &i);
	if (err)
		return err;
	/* Of two files with one beginning, the first has the alias of the thread. */
	file = names->entries[i].file;
	if (!file || file == hash) {
		names->entries[i].file = hash;
		return ebt_map_add(&names->words, hash, i, &same);
	}
	return entry_of(names, hash, SCRUB_PROGRAM, &same);
}

/* Gives the word a number where it has none. NULL: it is not kept, or there is no memory. */
static const struct scrub_alias *number(struct scrub_names *names, enum scrub_kind kind,
					uint64_t hash)
{
	struct scrub_alias *entry;
	uint32_t i;

	if (!ebt_map_find(&names->words, hash, &i)) {
		names->overflowed |= names->n >= names->most;
		if (names->n >= names->most)
			return NULL;
		if (entry_of(names, hash, kind, &i)) {
			names->failed = true;
			return NULL;
		}
	}
	entry = &names->entries[i];
	if (!entry->number)
		entry->number = ++names->last[entry->kind];
	return entry;
}

void scrub_alias(struct scrub_names *names, enum scrub_kind kind, struct ebt_str word,
		 struct text *to)
{
	const uint64_t hash = hash_of(names, kind, word.data, word.len);
	const struct scrub_alias *entry = word.len ? number(names, kind, hash) : NULL;

	if (!word.len)
		return;
	text_cstr(to, prefixes[entry ? entry->kind : SCRUB_NAME]);
	text_addc(to, '-');
	text_u64(to, entry ? entry->number : BEYOND | hash % BEYOND);
}

uint32_t scrub_number_of(struct scrub_names *names, enum scrub_kind kind, const void *data,
			 size_t len)
{
	const uint64_t hash = hash_of(names, kind, data, len);
	const struct scrub_alias *entry = number(names, kind, hash);

	if (entry)
		return entry->number;
	return names->failed ? 0 : BEYOND_NUMBERS | (uint32_t)(hash % BEYOND_NUMBERS);
}

bool scrub_names_overflowed(const struct scrub_names *names)
{
	return names->overflowed;
}

struct ebt_error *scrub_names_error(const struct scrub_names *names)
{
	return names->failed ? &ebt_enomem : NULL;
}

bool scrub_names_have(const struct scrub_names *names, struct ebt_str word)
{
	uint32_t i;

	if (!ebt_map_find(&names->words, hash_of(names, SCRUB_NAME, word.data, word.len), &i))
		return names->overflowed;
	return names->entries[i].number;
}

bool scrub_is_alias(struct ebt_str word)
{
	for (size_t i = 0; i < SCRUB_N_KINDS && prefixes[i]; i++) {
		size_t at = strlen(prefixes[i]);

		if (word.len < at + 2 || memcmp(word.data, prefixes[i], at) || word.data[at] != '-')
			continue;
		while (++at < word.len && word.data[at] >= '0' && word.data[at] <= '9')
			;
		if (at == word.len)
			return true;
	}
	return false;
}
