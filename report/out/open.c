/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and folders that options name, and what may be replaced there; see out.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/encoding/layout.h"
#include "format/read/unpack.h"
#include "report/cli/command.h"
#include "report/out/private.h"

static bool is_same_file(const char *path, const struct stat *other)
{
	struct stat st;

	return !stat(path, &st) && st.st_dev == other->st_dev && st.st_ino == other->st_ino;
}

/* The report would destroy what it reads. */
static bool is_trace(const struct options *options, const char *path)
{
	struct stat output;

	if (stat(path, &output))
		return false;
	for (size_t i = 0; i < options->n_words; i++) {
		if (is_same_file(options->words[i], &output))
			return true;
	}
	return is_same_file(options->file, &output);
}

/* Packed by an export? The comment is all that the head has behind its ten bytes. */
static bool is_packed_text(const char *bytes, size_t len)
{
	static const char begin[] = "\x1f\x8b\x08\x10", comment[] = OUT_GZIP_COMMENT;

	return len >= 10 + sizeof(comment) && !memcmp(bytes, begin, strlen(begin)) &&
	       !memcmp(bytes + 10, comment, sizeof(comment));
}

/* By its first bytes. What is packed may be a trace as well. */
static enum out_kind kind_of(const char *bytes, size_t len)
{
	static const struct {
		enum out_kind kind;
		const char *begin;
	} kinds[] = {
		{ OUT_KIND_TRACE, EBT_FILE_MAGIC },
		{ OUT_KIND_PICTURE, "<?xml" },
		{ OUT_KIND_PICTURE, "<svg" },
		{ OUT_KIND_PICTURE, "<!doctype html>" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].begin);

		if (len >= n && !memcmp(bytes, kinds[i].begin, n))
			return kinds[i].kind;
	}
	if (is_packed_text(bytes, len) ||
	    ebt_packing_of((const unsigned char *)bytes, len) == EBT_NOT_PACKED)
		return OUT_KIND_TEXT;
	return OUT_KIND_PACKED;
}

/* A name that was typed wrong must not cost a file: a trace replaces traces only, pictures and
 * pages one another, and no other output a trace. */
static struct ebt_error *check_old(const char *option, const char *path, enum out_kind kind)
{
	static const char *const names[] = {
		[OUT_KIND_TEXT] = "text",
		[OUT_KIND_PICTURE] = "picture or page",
		[OUT_KIND_TRACE] = "trace",
		[OUT_KIND_PACKED] = "compressed file",
	};
	_cleanup_close_ int fd = -1;
	char bytes[EBT_HEAD];
	enum out_kind old;
	struct stat st;
	ssize_t n;

	/* What is no file, as /dev/stdout or a FIFO, has nothing to lose. */
	if (stat(path, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : pread(fd, bytes, sizeof(bytes), 0);
	old = kind_of(bytes, n < 0 ? 0 : (size_t)n);
	if (old == kind ||
	    (kind == OUT_KIND_TEXT && old != OUT_KIND_TRACE && old != OUT_KIND_PACKED))
		return NULL;
	return ebt_error_create(EBT_ERR_INVALID, "%s %s is there and is %s %s; -f replaces it",
				option, path, kind == OUT_KIND_TEXT ? "a" : "no",
				names[kind == OUT_KIND_TEXT ? old : kind]);
}

struct ebt_error *out_open(const struct options *options, const char *option, const char *path,
			   enum out_kind kind, FILE **ret)
{
	mode_t mode = options->command->flags & COMMAND_PRIVATE ? 0600 : 0666;
	struct ebt_error *err = NULL;
	int fd;

	if (is_trace(options, path))
		return ebt_error_create(EBT_ERR_INVALID, "%s %s: that is the trace itself", option,
					path);
	if (!options->force)
		err = check_old(option, path, kind);
	if (err)
		return err;
	/* A copy that cannot be begun leaves the file as it is: see out_copy_fd(). */
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (kind == OUT_KIND_TRACE ? 0 : O_TRUNC),
		  mode);
	*ret = fd < 0 ? NULL : fdopen(fd, "w");
	if (*ret)
		return NULL;
	if (fd >= 0)
		close(fd);
	return ebt_error_errno(errno, "cannot write '%s'", path);
}

struct ebt_error *out_open_picture(const struct options *options, const char *option,
				   const char *path, FILE **ret)
{
	return out_open(options, option, path, OUT_KIND_PICTURE, ret);
}

struct ebt_error *out_open_folder(const char *path, int *ret)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		return ebt_error_errno(errno, "cannot make the folder '%s'", path);
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? ebt_error_errno(errno, "cannot open the folder '%s'", path) : NULL;
}

struct ebt_error *out_make_file(int folder, const char *path, const char *name, bool force,
				int *ret)
{
	if (force && unlinkat(folder, name, 0) && errno != ENOENT)
		return ebt_error_errno(errno, "cannot replace '%s/%s'", path, name);
	*ret = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*ret < 0 && errno == EEXIST)
		return ebt_error_create(EBT_ERR_INVALID,
					"'%s/%s' is there already: --force replaces it", path,
					name);
	return *ret < 0 ? ebt_error_errno(errno, "cannot make '%s/%s'", path, name) : NULL;
}
