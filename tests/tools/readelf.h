/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The build-id of a file by readelf, for tests that compare with it; cmocka.h comes before. */
#ifndef TESTS_TOOLS_READELF_H
#define TESTS_TOOLS_READELF_H

#include <stdio.h>

/* Up to 128 digits, or an empty string. */
static inline void readelf(const char *path, char *ret)
{
	char command[1024], line[512];
	FILE *pipe;

	*ret = '\0';
	snprintf(command, sizeof(command), "readelf -n '%s' 2>/dev/null", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe))
		if (!*ret)
			sscanf(line, " Build ID: %128s", ret);
	pclose(pipe);
}

#endif
