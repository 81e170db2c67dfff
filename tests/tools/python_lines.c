/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of instructions, as reports find them: for each line `FIRST COUNT TABLE` of standard input
 * (the table in hexadecimal) a line with those of the first COUNT instructions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "symbolize/runtimes/python.h"

static size_t from_hex(char *text)
{
	size_t n = 0;
	unsigned int byte;

	for (char *p = text; sscanf(p, "%2x", &byte) == 1; p += 2)
		text[n++] = (char)byte;
	return n;
}

int main(void)
{
	_cleanup_free_ char *line = NULL;
	uint32_t first, count;
	size_t size = 0, len;
	int at;

	while (getline(&line, &size, stdin) > 0) {
		if (sscanf(line, "%" SCNu32 " %" SCNu32 " %n", &first, &count, &at) != 2)
			return 1;
		len = from_hex(line + at);
		for (uint32_t i = 0; i < count; i++)
			printf("%" PRIu32 " ", python_line(line + at, len, first, i));
		putchar('\n');
	}
	return 0;
}
