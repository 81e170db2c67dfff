/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages for a terminal; see terminal.h. */
#include "record/base/terminal.h"

#include <string.h>

#include "format/base/cleanup.h"
#include "format/base/utf8.h"

void terminal_put(FILE *f, const char *text)
{
	size_t len = strlen(text), shown = 0, n;

	/* Standard error has no buffer: as much at once as can be. */
	for (size_t i = 0; i < len; i += n) {
		uint32_t c = 0;

		n = ebt_utf8(text + i, len - i, &c);
		if (n && !ebt_utf8_is_control(c) && !ebt_utf8_is_layout(c))
			continue;
		n = n ? n : 1;
		fwrite(text + shown, 1, i - shown, f);
		shown = i + n;
		for (size_t j = i; j < shown; j++)
			fprintf(f, "\\x%02x", (unsigned char)text[j]);
	}
	fwrite(text + shown, 1, len - shown, f);
}

void terminal_put_lines(FILE *f, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;
	char *line, *end;

	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return;
	}
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		terminal_put(f, line);
		fputc('\n', f);
	}
	terminal_put(f, line);
}
