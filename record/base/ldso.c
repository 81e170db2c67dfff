/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What execvp() and ld.so search; see ldso.h. */
#include "record/base/ldso.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/base/procfs.h"

#define MAX_CACHE (16u << 20)

/* What ld.so searches last; Debian's places, and those of others. */
#define DEFAULT_DIRS                                                              \
	"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:" \
	"/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib"

/* --- ld.so.cache, as glibc has written it since 2.2: cache_file_new of dl-cache.h --- */

struct cache_header {
	char magic[20];
	uint32_t n, strings_len, unused[5];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path; /* offsets of strings */
	uint32_t os_version;
	uint64_t hwcap;
};

void ldso_read(struct ldso *ret)
{
	_cleanup_error_ struct ebt_error *unreadable = NULL;
	bool truncated = false;

	*ret = (struct ldso){ 0 };
	unreadable = procfs_slurp("/etc/ld.so.cache", MAX_CACHE, &ret->cache, &ret->cache_len,
				  &truncated);
	if (truncated)
		ldso_deinit(ret);
}

void ldso_deinit(struct ldso *ldso)
{
	free(ldso->cache);
	*ldso = (struct ldso){ 0 };
}

static const char *find_in_cache(const struct ldso *ldso, const char *name)
{
	struct cache_header header;

	if (ldso->cache_len < sizeof(header))
		return NULL;
	memcpy(&header, ldso->cache, sizeof(header));
	if (memcmp(header.magic, "glibc-ld.so.cache1.1", sizeof(header.magic)))
		return NULL;
	for (uint32_t i = 0; i < header.n; i++) {
		size_t at = sizeof(header) + (size_t)i * sizeof(struct cache_entry);
		struct cache_entry e;

		if (ldso->cache_len - sizeof(e) < at)
			return NULL;
		memcpy(&e, ldso->cache + at, sizeof(e));
		/* The first one is for the best CPU; others' names are those of other ABIs. */
		if (e.name < ldso->cache_len && e.path < ldso->cache_len && !e.hwcap &&
		    (e.flags >> 8 == 3 || e.flags >> 8 == 10) &&
		    !strcmp(ldso->cache + e.name, name))
			return ldso->cache + e.path;
	}
	return NULL;
}

/* --- where files are --- */

/* Appends one directory of a list, with $ORIGIN put in; false: it does not fit. */
static bool expand(const char *dir, size_t len, const char *origin, char *ret, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		const char *text = NULL;
		size_t skip = 0;

		if (len - i >= 7 && !strncmp(dir + i, "$ORIGIN", 7))
			skip = 7;
		else if (len - i >= 9 && !strncmp(dir + i, "${ORIGIN}", 9))
			skip = 9;
		text = skip ? origin : dir + i;
		if (n + (skip ? strlen(text) : 1) >= size)
			return false;
		if (skip) {
			strcpy(ret + n, text);
			n += strlen(text);
		} else {
			ret[n++] = *text;
		}
		i += skip ? skip : 1;
	}
	ret[n] = '\0';
	return true;
}

/* May it be read, or executed? */
typedef int usable_fn(const char *path);

static int may_read(const char *path)
{
	return access(path, R_OK) ? errno : 0;
}

/* As the kernel would judge; 0, or the errno. */
static int may_execute(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? errno : 0;
}

/* name in the first directory of a colon list that has it; ret has PATH_MAX. Returns 0, EACCES
 * where only unusable ones are there, or ENOENT. *dirs are those behind it then. */
static int find_next(const char **dirs, bool whole_only, const char *origin, const char *name,
		     usable_fn *usable, char *ret)
{
	char dir[PATH_MAX];
	int result = ENOENT;

	while (*dirs) {
		const char *d = *dirs;
		size_t len = strcspn(d, ":");
		int errnum;

		*dirs = d[len] ? d + len + 1 : NULL;
		if ((whole_only && *d != '/') || !expand(d, len, origin, dir, sizeof(dir)) ||
		    snprintf(ret, PATH_MAX, "%s/%s", *dir ? dir : ".", name) >= PATH_MAX)
			continue;
		errnum = usable(ret);
		if (!errnum)
			return 0;
		if (errnum == EACCES)
			result = EACCES;
	}
	return result;
}

static int find_in(const char *dirs, const char *origin, const char *name, usable_fn *usable,
		   char *ret)
{
	return dirs && *dirs ? find_next(&dirs, false, origin, name, usable, ret) : ENOENT;
}

bool ldso_find_library(const struct ldso *ldso, const struct needed *needed, const char *origin,
		       const char *name, char *ret)
{
	const char *cached;

	if (strchr(name, '/'))
		return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX;
	if (!find_in(needed->runpath, origin, name, may_read, ret) ||
	    !find_in(getenv("LD_LIBRARY_PATH"), origin, name, may_read, ret))
		return true;
	cached = find_in_cache(ldso, name);
	if (cached)
		return snprintf(ret, PATH_MAX, "%s", cached) < PATH_MAX;
	return !find_in(DEFAULT_DIRS, origin, name, may_read, ret);
}

struct program_search ldso_search_program(const char *name)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/') || !*name)
		path = NULL;
	else if (!path)
		path = "/bin:/usr/bin";
	return (struct program_search){ .name = name, .rest = path };
}

int ldso_next_program(struct program_search *search, char *ret)
{
	return find_next(&search->rest, search->whole_only, "", search->name, may_execute, ret);
}

int ldso_find_program(const char *name, char *ret)
{
	struct program_search search = ldso_search_program(name);

	if (!*name)
		return ENOENT;
	if (!strchr(name, '/'))
		return ldso_next_program(&search, ret);
	if (snprintf(ret, PATH_MAX, "%s", name) >= PATH_MAX)
		return ENAMETOOLONG;
	return may_execute(ret);
}
