/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a seed corpus: make_corpus DIR TRACE… writes an input a file into DIR/reader, DIR/chunk,
 * DIR/column and DIR/schema.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "format/base/cleanup.h"
#include "tests/fuzz/seeds.h"

struct corpus {
	const char *dir;
	unsigned int n;
};

static void write_seed(void *arg, const char *target, const void *data, size_t len)
{
	struct corpus *corpus = arg;
	_cleanup_fclose_ FILE *f = NULL;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", corpus->dir, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/seed-%u", corpus->dir, target, corpus->n++);
	f = fopen(path, "we");
	if (!f || fwrite(data, 1, len, f) != len) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct corpus corpus = { .dir = argc > 1 ? argv[1] : "" };

	if (argc < 3) {
		fprintf(stderr, "usage: make_corpus DIR TRACE...\n");
		return 2;
	}
	mkdir(corpus.dir, 0777);
	for (int i = 2; i < argc; i++) {
		if (!each_seed(argv[i], write_seed, &corpus)) {
			fprintf(stderr, "make_corpus: %s cannot be read\n", argv[i]);
			return 1;
		}
	}
	return 0;
}
