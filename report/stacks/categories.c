/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which category a function has: the rules, in order; see categories.h. */
#include "report/stacks/categories.h"

#include <stdlib.h>
#include <string.h>

#include "report/stacks/categories_private.h"

size_t categories_n(const struct categories *categories)
{
	return categories->n_names;
}

const char *categories_name(const struct categories *categories, uint32_t category)
{
	return categories->names[category];
}

bool categories_find(const struct categories *categories, const char *name, uint32_t *ret)
{
	for (uint32_t i = 0; i < categories->n_names; i++) {
		if (strcmp(categories->names[i], name) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

bool categories_by_process(const struct categories *categories)
{
	return categories->by_process;
}

void categories_destroy(struct categories *categories)
{
	if (!categories)
		return;
	for (uint32_t i = 0; i < categories->n_names; i++)
		free(categories->names[i]);
	for (size_t i = 0; i < categories->n_texts; i++)
		free(categories->texts[i]);
	free(categories->names);
	free(categories->headings);
	free(categories->sections);
	free(categories->rules);
	free(categories);
}

/* Does the name fit the pattern, in which a star stands for anything? Goes back to the last star
 * only: time is at most the product of their lengths. */
static bool fits(const char *pattern, const char *name, size_t len)
{
	const char *star = NULL;
	size_t i = 0, mark = 0;

	while (i < len) {
		if (*pattern == '*') {
			star = pattern++;
			mark = i;
		} else if (*pattern == name[i]) {
			pattern++;
			i++;
		} else if (star) {
			pattern = star + 1;
			i = ++mark;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* Without what compilers append to a function that they have changed or split. */
static size_t plain_length(const char *name)
{
	static const char *const suffixes[] = { ".isra.", ".part.", ".constprop.", ".cold",
						".llvm." };
	size_t len = strnlen(name, MAX_NAME);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		const char *found = memmem(name, len, suffixes[i], strlen(suffixes[i]));

		if (found && found > name)
			len = (size_t)(found - name);
	}
	return len;
}

/* "/lib/libc.so.6" is libc, "/usr/bin/python3.11" python3.11. */
static size_t short_object(const char *object, const char **ret)
{
	const char *slash = strrchr(object, '/'), *name = slash ? slash + 1 : object;
	const char *so = strstr(name, ".so");

	while (so && so[3] != '\0' && so[3] != '.')
		so = strstr(so + 1, ".so");
	*ret = name;
	return so && so > name ? (size_t)(so - name) : strlen(name);
}

struct subject {
	const struct calltree_func *func;
	const char *process;
	const char *name, *object; /* short */
	size_t name_len, object_len, process_len;
};

static bool is_about(const struct heading *heading, const struct subject *s)
{
	const struct calltree_func *func = s->func;

	switch (heading->kind) {
	case HEADING_ALL:
		return true;
	case HEADING_KERNEL:
		return func->kind == CALLTREE_KERNEL;
	case HEADING_PYTHON:
		return func->kind == CALLTREE_PYTHON;
	case HEADING_JIT:
		return func->kind == CALLTREE_JIT;
	case HEADING_PROCESS:
		return s->process && fits(heading->text, s->process, s->process_len);
	case HEADING_EXACT:
		return strcmp(heading->text, func->object) == 0;
	case HEADING_PATH:
		return fits(heading->text, func->object, strlen(func->object));
	case HEADING_OBJECT:
		return s->object_len && func->object[0] != '[' &&
		       fits(heading->text, s->object, s->object_len);
	}
	return false;
}

static bool section_is_about(const struct categories *categories,
			     const struct category_section *section, const struct subject *s)
{
	for (uint32_t i = 0; i < section->n_headings; i++) {
		if (is_about(&categories->headings[section->first_heading + i], s))
			return true;
	}
	return false;
}

static bool rule_fits(const struct rule *rule, const struct subject *s)
{
	/* Names that are addresses say where code is, and not what. */
	if (s->func->kind == CALLTREE_UNRESOLVED || s->func->reason != SYM_OK)
		return strcmp(rule->pattern, "*") == 0;
	return fits(rule->pattern, s->name, s->name_len);
}

struct category_rule categories_match(const struct categories *categories,
				      const struct calltree_func *func, const char *process)
{
	const struct category_rule none = { .category = CATEGORY_NONE };
	struct subject s = { .func = func, .process = process, .name = func->name };

	if (func->kind == CALLTREE_ROOT || func->kind >= CALLTREE_ON_CPU)
		return none;
	if (func->kind == CALLTREE_UNRESOLVED && !func->object[0])
		return strcmp(func->name, "[truncated]") == 0
			       ? (struct category_rule){ CATEGORY_UNWINDABLE, true }
			       : none;
	s.name_len = plain_length(func->name);
	s.object_len = short_object(func->object, &s.object);
	s.process_len = process ? strlen(process) : 0;
	for (size_t i = 0; i < categories->n_sections; i++) {
		const struct category_section *section = &categories->sections[i];

		if (!section_is_about(categories, section, &s))
			continue;
		for (uint32_t k = 0; k < section->n_rules; k++) {
			const struct rule *rule = &categories->rules[section->first_rule + k];

			if (rule_fits(rule, &s))
				return rule->result;
		}
	}
	return none;
}
