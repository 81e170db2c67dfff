/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts with categories to rules; report/stacks/categories.txt describes them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/fdio.h"
#include "report/stacks/categories_private.h"

/* A file is read whole, and each function compared with each rule. */
#define MAX_FILE       ((size_t)1 << 20)
#define MAX_CATEGORIES 1024
#define MAX_CATEGORY   64
#define MAX_LINE       4096

static const char built_in[] =
#include "report/categories.txt.inc"
	;

struct category_reading {
	struct categories *categories;
	const char *name; /* of the file, for messages */
	unsigned int line;
};

static struct ebt_error *invalid(const struct category_reading *r, const char *what,
				 const char *word)
{
	return ebt_error_create(EBT_ERR_INVALID, "%s:%u: %s%s%.80s%s", r->name, r->line, what,
				*word ? ": '" : "", word, *word ? "'" : "");
}

/* --- categories --- */

static struct ebt_error *add_name(struct categories *categories, const char *name, uint32_t *ret)
{
	struct ebt_error *err;

	err = ebt_array_reserve(&categories->names, categories->n_names,
				&categories->names_capacity);
	if (err)
		return err;
	categories->names[categories->n_names] = strdup(name);
	if (!categories->names[categories->n_names])
		return &ebt_enomem;
	*ret = (uint32_t)categories->n_names++;
	return NULL;
}

static struct ebt_error *find_or_add(const struct category_reading *r, const char *name,
				     uint32_t *ret)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_-./+";
	size_t len = strlen(name);

	if (len > MAX_CATEGORY || strspn(name, letters) != len)
		return invalid(r, "a category has at most 64 letters, digits and -_./+", name);
	if (strcmp(name, "inherit") == 0)
		return invalid(r, "a line is PATTERN CATEGORY [inherit]", "");
	if (categories_find(r->categories, name, ret))
		return NULL;
	if (r->categories->n_names == MAX_CATEGORIES)
		return invalid(r, "more than 1024 categories", "");
	return add_name(r->categories, name, ret);
}

/* --- lines --- */

static struct heading make_heading(const char *name)
{
	if (strcmp(name, "*") == 0)
		return (struct heading){ HEADING_ALL, name };
	if (strcmp(name, "Linux") == 0)
		return (struct heading){ HEADING_KERNEL, name };
	if (strcmp(name, "Python") == 0)
		return (struct heading){ HEADING_PYTHON, name };
	if (strcmp(name, "JIT") == 0)
		return (struct heading){ HEADING_JIT, name };
	if (name[0] == '@')
		return (struct heading){ HEADING_PROCESS, name + 1 };
	if (name[0] == '[')
		return (struct heading){ HEADING_EXACT, name };
	if (strchr(name, '/'))
		return (struct heading){ HEADING_PATH, name };
	return (struct heading){ HEADING_OBJECT, name };
}

static char *trim(char *s)
{
	size_t len;

	s += strspn(s, " \t");
	len = strlen(s);
	while (len && strchr(" \t\r", s[len - 1]))
		s[--len] = '\0';
	return s;
}

/* Headings in a row are one: the section has no rules yet. */
static struct ebt_error *section_for_heading(struct categories *c, struct category_section **ret)
{
	struct category_section *last = c->n_sections ? &c->sections[c->n_sections - 1] : NULL;

	struct ebt_error *err;

	if (last && !last->n_rules && last->first_rule == c->n_rules) {
		*ret = last;
		return NULL;
	}
	err = ebt_array_reserve(&c->sections, c->n_sections, &c->sections_capacity);
	if (err)
		return err;
	*ret = &c->sections[c->n_sections++];
	**ret = (struct category_section){ .first_heading = (uint32_t)c->n_headings,
					   .first_rule = (uint32_t)c->n_rules };
	return NULL;
}

static struct ebt_error *read_heading(const struct category_reading *r, char *text)
{
	struct categories *c = r->categories;
	struct category_section *section;
	char *rest = text, *piece;
	struct ebt_error *err;

	err = section_for_heading(c, &section);
	if (err)
		return err;
	while ((piece = strsep(&rest, ","))) {
		struct heading *heading;

		piece = trim(piece);
		if (!*piece || strcmp(piece, "@") == 0)
			return invalid(r, "a heading without a name", "");
		err = ebt_array_reserve(&c->headings, c->n_headings, &c->headings_capacity);
		if (err)
			return err;
		heading = &c->headings[c->n_headings++];
		*heading = make_heading(piece);
		c->by_process |= heading->kind == HEADING_PROCESS;
		section->n_headings++;
	}
	return NULL;
}

/* Cuts the last word off; NULL: there is none, or nothing before it. */
static char *last_word(char *line)
{
	size_t end = strlen(line), at = end;

	while (at && !strchr(" \t", line[at - 1]))
		at--;
	if (!at || at == end)
		return NULL;
	line[at - 1] = '\0';
	trim(line);
	return line + at;
}

static struct ebt_error *read_rule(const struct category_reading *r, char *line, bool any_heading)
{
	struct categories *c = r->categories;
	char *category = last_word(line);
	struct category_rule result = { 0 };
	struct ebt_error *err;

	if (category && strcmp(category, "inherit") == 0) {
		result.inherit = true;
		category = last_word(line);
	}
	if (!category || !*line)
		return invalid(
			r,
			"a line is PATTERN CATEGORY [inherit], or a heading that ends with a colon",
			"");
	if (!any_heading)
		return invalid(r, "no heading stands above", line);
	err = find_or_add(r, category, &result.category);
	if (err)
		return err;
	/* It says that there is none. */
	if (result.category == CATEGORY_NONE)
		result.inherit = false;
	err = ebt_array_reserve(&c->rules, c->n_rules, &c->rules_capacity);
	if (err)
		return err;
	c->rules[c->n_rules++] = (struct rule){ .pattern = line, .result = result };
	c->sections[c->n_sections - 1].n_rules++;
	return NULL;
}

/* text is changed, and has to live as long as the categories. */
static struct ebt_error *read_text(struct categories *c, const char *name, char *text, size_t len)
{
	struct category_reading r = { .categories = c, .name = name };
	size_t sections = c->n_sections;
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		struct ebt_error *err;
		size_t n = strlen(line);

		r.line++;
		if (!rest && line + n != text + len)
			return invalid(&r, "a NUL byte: this is no text", "");
		if (n > MAX_LINE)
			return invalid(&r, "a line of more than 4096 bytes", "");
		line = trim(line);
		n = strlen(line);
		if (!n || *line == '#')
			continue;
		if (line[n - 1] == ':') {
			line[n - 1] = '\0';
			err = read_heading(&r, line);
		} else {
			err = read_rule(&r, line, c->n_sections > sections);
		}
		if (err)
			return err;
	}
	return NULL;
}

/* --- where texts come from --- */

static struct ebt_error *add_text(struct categories *c, const char *name, const char *text,
				  size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return &ebt_enomem;
	memcpy(copy, text, len);
	copy[len] = '\0';
	c->texts[c->n_texts++] = copy;
	return read_text(c, name, copy, len);
}

static struct ebt_error *read_file(struct categories *c, const char *path, bool optional)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	ssize_t len;

	if (fd < 0 && optional && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return NULL;
	if (fd < 0)
		return ebt_error_errno(errno, "%s", path);
	text = malloc(MAX_FILE + 1);
	if (!text)
		return &ebt_enomem;
	len = ebt_read_full(fd, text, MAX_FILE + 1);
	if (len < 0)
		return ebt_error_errno(errno, "%s", path);
	if ((size_t)len <= MAX_FILE)
		return add_text(c, path, text, (size_t)len);
	return ebt_error_create(EBT_ERR_INVALID,
				"%s: larger than 1 MiB: that is not a file with categories", path);
}

static struct ebt_error *read_users(struct categories *c)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	bool xdg = base && *base == '/';
	_cleanup_free_ char *path = NULL;

	if (!xdg && (!home || *home != '/'))
		return NULL;
	if (asprintf(&path, "%s%s/ebreport/categories", xdg ? base : home, xdg ? "" : "/.config") <
	    0) {
		path = NULL;
		return &ebt_enomem;
	}
	return read_file(c, path, true);
}

static struct ebt_error *create(struct categories **ret)
{
	_cleanup_(categories_destroyp) struct categories *c = calloc(1, sizeof(*c));
	struct ebt_error *err;
	uint32_t category;

	if (!c)
		return &ebt_enomem;
	err = add_name(c, "uncategorized", &category);
	if (err)
		return err;
	err = add_name(c, "unwindable", &category);
	if (!err)
		*ret = take_ptr(c);
	return err;
}

struct ebt_error *categories_parse(const char *name, const char *text, size_t len,
				   struct categories **ret)
{
	_cleanup_(categories_destroyp) struct categories *c = NULL;
	struct ebt_error *err = create(&c);

	if (err)
		return err;
	err = add_text(c, name, text, len);
	if (!err)
		*ret = take_ptr(c);
	return err;
}

struct ebt_error *categories_load(const char *path, struct categories **ret)
{
	_cleanup_(categories_destroyp) struct categories *c = NULL;
	struct ebt_error *err = create(&c);

	if (err)
		return err;
	err = path ? read_file(c, path, false) : read_users(c);
	if (err)
		return err;
	err = add_text(c, "categories.txt", built_in, sizeof(built_in) - 1);
	if (!err)
		*ret = take_ptr(c);
	return err;
}
