/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library with marks, which `marks late` loads. */
#include <stdio.h>

#include "ebmark.h"

void marks_plugin(int times, const char *name);

void marks_plugin(int times, const char *name)
{
	char text[16];

	for (int i = 0; i < times; i++) {
		snprintf(text, sizeof(text), "%d", i);
		ebmark_instant("plugin", name, text);
	}
}
