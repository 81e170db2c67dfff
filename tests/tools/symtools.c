/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running compilers and binutils; see symtools.h. */
#include "tests/tools/symtools.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *directory;

const char *symtools_path(const char *name)
{
	static char paths[64][256];
	static unsigned int next;
	char *path = paths[next++ % 64];

	if (!directory) {
		const char *given = getenv("EBT_FIXTURES");
		char *fixtures = realpath(given ? given : "tests/fixtures", NULL);

		directory = strdup("/tmp/ebt-symtools-XXXXXX");
		assert_non_null(mkdtemp(directory));
		assert_non_null(fixtures);
		setenv("SRC", fixtures, 1);
		free(fixtures);
	}
	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

void symtools_clean(void)
{
	if (directory)
		symtools_run("rm -rf -- '%s'", directory);
	free(directory);
	directory = NULL;
}

static char *make_command(const char *format, va_list args, const char *redirect)
{
	char *text, *command;

	assert_true(vasprintf(&text, format, args) >= 0);
	assert_true(asprintf(&command, "cd '%s' && { %s ; } %s", symtools_path(""), text,
			     redirect) >= 0);
	free(text);
	return command;
}

bool symtools_try(const char *format, ...)
{
	va_list args;
	char *command;
	int status;

	va_start(args, format);
	command = make_command(format, args, ">/dev/null 2>&1");
	va_end(args);
	status = system(command);
	free(command);
	return !status;
}

void symtools_run(const char *format, ...)
{
	va_list args;
	char *command;

	va_start(args, format);
	command = make_command(format, args, ">/dev/null");
	va_end(args);
	if (system(command))
		fail_msg("%s", command);
	free(command);
}

char *symtools_output(const char *format, ...)
{
	size_t len = 0, capacity = 65536, n;
	char *command, *text = malloc(capacity);
	va_list args;
	FILE *pipe;

	va_start(args, format);
	command = make_command(format, args, "");
	va_end(args);
	pipe = popen(command, "re");
	assert_non_null(pipe);
	while ((n = fread(text + len, 1, capacity - len - 1, pipe)) > 0) {
		len += n;
		if (capacity - len < 4096)
			text = realloc(text, capacity *= 2);
	}
	text[len] = '\0';
	if (pclose(pipe))
		fail_msg("%s", command);
	free(command);
	return text;
}

/* Calls fn for each line, which it may change. */
static void each_line(char *text, void (*fn)(char *line, void *arg), void *arg)
{
	for (char *line = text, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			break;
		*end = '\0';
		fn(line, arg);
	}
}

struct symbols {
	struct symtools_symbol *items;
	size_t n;
};

static void nm_line(char *line, void *arg)
{
	struct symbols *symbols = arg;
	unsigned long start, size;
	char type, name[4096];

	if (sscanf(line, "%lx %lx %c %4095[^\n]", &start, &size, &type, name) != 4 ||
	    !strchr("tTwWiI", type))
		return;
	symbols->items = realloc(symbols->items, (symbols->n + 1) * sizeof(*symbols->items));
	name[strcspn(name, "@")] = '\0';
	symbols->items[symbols->n++] = (struct symtools_symbol){ start, size, type, strdup(name) };
}

size_t symtools_nm(const char *name, const char *options, struct symtools_symbol **ret)
{
	char *text = symtools_output("nm -S %s %s", options, name);
	struct symbols symbols = { 0 };

	each_line(text, nm_line, &symbols);
	free(text);
	*ret = symbols.items;
	return symbols.n;
}

void symtools_free_symbols(struct symtools_symbol *symbols, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(symbols[i].name);
	free(symbols);
}

struct answers {
	struct symtools_frames *items;
	size_t n, max;
	char *function; /* its file is on the next line */
};

static void frame_line(char *line, void *arg)
{
	struct answers *answers = arg;
	struct symtools_frames *frames;
	char *colon;

	if (!strncmp(line, "0x", 2) && line[2 + strspn(line + 2, "0123456789abcdef")] == '\0') {
		assert_true(answers->n < answers->max);
		answers->items[answers->n++].address = strtoull(line, NULL, 16);
		return;
	}
	if (!*line || !answers->n)
		return;
	if (!answers->function) {
		answers->function = strdup(line);
		return;
	}
	/* "FILE:LINE (discriminator 3)" */
	line[strcspn(line, " ")] = '\0';
	colon = strrchr(line, ':');
	frames = &answers->items[answers->n - 1];
	frames->frames = realloc(frames->frames, (frames->n + 1) * sizeof(*frames->frames));
	frames->frames[frames->n++] = (struct symtools_frame){
		.function = answers->function,
		.file = colon ? strndup(line, colon - line) : strdup(line),
		.line = colon ? strtoul(colon + 1, NULL, 10) : 0,
	};
	answers->function = NULL;
}

struct symtools_frames *symtools_symbolize(const char *tool, const uint64_t *addresses, size_t n)
{
	struct answers answers = { calloc(n + 1, sizeof(*answers.items)), 0, n, NULL };
	FILE *list = fopen(symtools_path("addresses"), "we");
	char *text;

	for (size_t i = 0; i < n; i++)
		fprintf(list, "0x%llx\n", (unsigned long long)addresses[i]);
	fclose(list);
	text = symtools_output("%s < addresses", tool);
	each_line(text, frame_line, &answers);
	free(text);
	assert_int_equal(answers.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(answers.items[i].address, addresses[i]);
	return answers.items;
}

void symtools_free_frames(struct symtools_frames *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t f = 0; f < frames[i].n; f++) {
			free(frames[i].frames[f].function);
			free(frames[i].frames[f].file);
		}
		free(frames[i].frames);
	}
	free(frames);
}

struct segments {
	struct symtools_segment *items;
	size_t n, max;
};

static void segment_line(char *line, void *arg)
{
	struct segments *segments = arg;
	unsigned long offset, vaddr, filesz;

	if (sscanf(line, " LOAD %lx %lx %*x %lx", &offset, &vaddr, &filesz) != 3 ||
	    !strstr(line, " R E "))
		return;
	assert_true(segments->n < segments->max);
	segments->items[segments->n++] = (struct symtools_segment){ offset, vaddr, filesz };
}

size_t symtools_segments(const char *name, struct symtools_segment *ret, size_t max)
{
	char *text = symtools_output("readelf -lW %s", name);
	struct segments segments = { ret, 0, max };

	each_line(text, segment_line, &segments);
	free(text);
	return segments.n;
}

size_t symtools_build_id(const char *name, uint8_t ret[64])
{
	char *text = symtools_output("readelf -n %s", name);
	const char *hex = strstr(text, "Build ID: ");
	size_t len = 0;
	unsigned int byte;

	if (hex) {
		for (hex += strlen("Build ID: "); isxdigit(*hex) && len < 64; hex += 2) {
			sscanf(hex, "%2x", &byte);
			ret[len++] = byte;
		}
	}
	free(text);
	return len;
}
