/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records by key, in a temporary file; see spool.h. */
#include "report/export/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/fdio.h"

#define BLOCK 32 /* records */

struct keyed {
	char *block;	  /* records that are not in the file yet; NULL: none ever was */
	uint32_t room;	  /* for so many: most threads have few */
	uint64_t *blocks; /* those that are: numbers of blocks of the file */
	size_t n_blocks, capacity;
	uint64_t count; /* of records */
};

struct spool {
	size_t size;
	int fd; /* -1: there was no need for it yet */
	uint64_t n_blocks;
	struct keyed *keys;
	size_t n_keys, capacity;
	char *read; /* a block */
};

struct ebt_error *spool_create(size_t size, struct spool **ret)
{
	_cleanup_(spool_destroyp) struct spool *spool = calloc(1, sizeof(*spool));

	if (!spool)
		return &ebt_enomem;
	spool->fd = -1;
	spool->size = size;
	spool->read = calloc(BLOCK, size);
	if (!spool->read)
		return &ebt_enomem;
	*ret = take_ptr(spool);
	return NULL;
}

void spool_destroy(struct spool *spool)
{
	if (!spool)
		return;
	for (size_t i = 0; i < spool->n_keys; i++) {
		free(spool->keys[i].block);
		free(spool->keys[i].blocks);
	}
	if (spool->fd >= 0)
		close(spool->fd);
	free(spool->keys);
	free(spool->read);
	free(spool);
}

static struct ebt_error *write_block(struct spool *spool, struct keyed *key)
{
	const size_t len = BLOCK * spool->size;
	struct ebt_error *err = ebt_array_reserve(&key->blocks, key->n_blocks, &key->capacity);

	if (!err && spool->fd < 0)
		err = ebt_open_temporary(NULL, &spool->fd);
	if (err)
		return err;
	if (!ebt_write(spool->fd, key->block, len))
		return ebt_error_errno(errno, "cannot write to a temporary file");
	key->blocks[key->n_blocks++] = spool->n_blocks++;
	return NULL;
}

static struct ebt_error *make_room(const struct spool *spool, struct keyed *key)
{
	const uint32_t room = key->room ? key->room * 2 : 2;
	char *block;

	if (key->count % BLOCK < key->room)
		return NULL;
	block = reallocarray(key->block, room, spool->size);
	if (!block)
		return &ebt_enomem;
	key->block = block;
	key->room = room;
	return NULL;
}

struct ebt_error *spool_add(struct spool *spool, uint32_t number, const void *record)
{
	struct ebt_error *err = ebt_array_reserve_zeroed(&spool->keys, number, &spool->capacity);
	struct keyed *key;

	if (err)
		return err;
	if (number >= spool->n_keys)
		spool->n_keys = number + 1u;
	key = &spool->keys[number];
	err = make_room(spool, key);
	if (err)
		return err;
	memcpy(key->block + key->count % BLOCK * spool->size, record, spool->size);
	key->count++;
	return key->count % BLOCK ? NULL : write_block(spool, key);
}

uint32_t spool_n_keys(const struct spool *spool)
{
	return (uint32_t)spool->n_keys;
}

uint64_t spool_count(const struct spool *spool, uint32_t key)
{
	return key < spool->n_keys ? spool->keys[key].count : 0;
}

static struct ebt_error *read_block(struct spool *spool, uint64_t number)
{
	const size_t len = BLOCK * spool->size;

	if (!ebt_pread(spool->fd, number * len, spool->read, len))
		return ebt_error_errno(errno, "cannot read from a temporary file");
	return NULL;
}

static struct ebt_error *give(const char *block, size_t n, size_t size,
			      struct ebt_error *(*take)(void *arg, const void *record), void *arg)
{
	struct ebt_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++)
		err = take(arg, block + i * size);
	return err;
}

struct ebt_error *spool_each(struct spool *spool, uint32_t number,
			     struct ebt_error *(*take)(void *arg, const void *record), void *arg)
{
	const struct keyed *key;
	struct ebt_error *err = NULL;

	if (!spool_count(spool, number))
		return NULL;
	key = &spool->keys[number];
	for (size_t i = 0; !err && i < key->n_blocks; i++)
		err = read_block(spool, key->blocks[i])
			      ?: give(spool->read, BLOCK, spool->size, take, arg);
	return err ? err : give(key->block, key->count % BLOCK, spool->size, take, arg);
}
