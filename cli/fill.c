/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filling lines with words; see fill.h. */
#include "cli/fill.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

/* Of UTF-8; every character is one column wide. */
static int columns_of(const char *s, size_t len)
{
	int n = 0;

	for (size_t i = 0; i < len; i++)
		n += (s[i] & 0xc0) != 0x80;
	return n;
}

int cli_columns(const char *s)
{
	return columns_of(s, strlen(s));
}

static size_t skip(const char *s, size_t len, bool blanks)
{
	size_t i = 0;

	while (i < len && (s[i] == ' ' || s[i] == '\n') == blanks)
		i++;
	return i;
}

void cli_fill(FILE *to, const char *s, size_t len, int at, int indent, int width)
{
	const char *end = s + len;

	s += skip(s, len, true);
	for (bool first = true; s < end; first = false) {
		size_t n = skip(s, (size_t)(end - s), false);
		int columns = columns_of(s, n);

		if (first) {
			at += columns;
		} else if (at + 1 + columns <= width) {
			fputc(' ', to);
			at += 1 + columns;
		} else {
			fprintf(to, "\n%*s", indent, "");
			at = indent + columns;
		}
		fwrite(s, 1, n, to);
		s += n;
		s += skip(s, (size_t)(end - s), true);
	}
}

int cli_terminal_width(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}
