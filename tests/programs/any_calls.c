/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the system calls of a file, each in a child of its own: a line has the number of the call,
 * and its arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "re") : NULL;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		long v[8] = { 0 };
		char *at = line;
		int n = 0;

		for (char *word; n < 7 && (word = strsep(&at, " \n"));)
			v[n++] = *word ? (long)strtoull(word, NULL, 0) : 0;
		if (!fork()) {
			syscall(v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
			_exit(0);
		}
		wait(NULL);
	}
	return f ? 0 : 1;
}
