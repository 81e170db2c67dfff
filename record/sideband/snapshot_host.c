/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host: rows of meta, and the files that a reader elsewhere needs to name kernel code. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/base/procfs.h"
#include "record/base/procmaps.h"
#include "record/base/rows.h"
#include "record/sideband/kernel_symbols.h"
#include "record/sideband/snapshot_state.h"

#define MAX_SMALL (1u << 20)

struct host {
	struct snapshot_state *state;
	struct sideband_context *context;
	struct ebt_error *err; /* the first; nothing is done after it */
};

static void meta(struct host *host, const char *key, const char *value)
{
	if (!host->err && *value)
		host->err = add_meta(host->context->stream, key, value);
}

static void meta_rows(struct host *host, const struct meta_row *rows)
{
	if (!host->err)
		host->err = add_meta_rows(host->context->stream, rows);
}

static void meta_uname(struct host *host)
{
	struct utsname name;

	if (uname(&name))
		return;
	meta(host, "host.name", name.nodename);
	meta(host, "host.release", name.release);
	meta(host, "host.version", name.version);
	meta(host, "host.machine", name.machine);
}

/* The rest of the first line that begins with one of the keys, without blanks and quotes. */
static void meta_line(struct host *host, const char *meta_key, const char *text,
		      const char *const *keys)
{
	char value[256];

	for (; *keys; keys++) {
		const char *at = text;
		size_t len = strlen(*keys);

		while (at && strncmp(at, *keys, len)) {
			at = strchr(at, '\n');
			at = at ? at + 1 : NULL;
		}
		if (!at)
			continue;
		at += len;
		at += strspn(at, " \t:=\"");
		len = strcspn(at, "\n\"");
		snprintf(value, sizeof(value), "%.*s", (int)(len < 255 ? len : 255), at);
		meta(host, meta_key, value);
		return;
	}
}

static void unreadable(struct host *host, const char *path, const char *why)
{
	char detail[256];
	const struct lost_row lost = {
		.from = clocks_now(),
		.count = 1,
		.table_id = EBT_T_file,
		.reason = EBT_V_lost_reason_cannot_be_read,
		.source = "snapshot",
		.detail = detail,
	};

	snprintf(detail, sizeof(detail), "%s: %s", path, why);
	host->err = add_lost(host->context->stream, lost.from, &lost);
}

/* A file that is not there is none of this kernel's: one without modules has no /proc/modules. */
static void note_failure(struct host *host, const char *path, const struct ebt_error *err)
{
	if (err->errnum != ENOENT)
		unreadable(host, path,
			   err->code == EBT_ERR_SYSTEM ? strerror(err->errnum) : err->message);
}

/* The content, NUL-terminated, or NULL where there is none or it cannot be read: that is noted, and
 * no error. */
static char *slurp(struct host *host, const char *path, size_t limit, size_t *ret_len,
		   bool *ret_truncated)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	char *content;

	if (host->err)
		return NULL;
	err = procfs_slurp(path, limit, &content, ret_len, ret_truncated);
	if (!err)
		return content;
	note_failure(host, path, err);
	return NULL;
}

static void embed(struct host *host, const struct embed_file *file, const void *content, size_t len)
{
	if (!host->err && len)
		host->err = embed_bytes(host->context, file, content, len);
}

/* Returns the content, to be freed, or NULL. */
static char *embed_path(struct host *host, const char *role, const char *path,
			enum ebt_file_sensitivity sensitivity)
{
	struct embed_file file = { .role = role, .path = path, .sensitivity = sensitivity };
	size_t len;
	char *content = slurp(host, path, MAX_SMALL, &len, &file.truncated);

	if (content)
		embed(host, &file, content, len);
	return content;
}

static void os_release(struct host *host)
{
	static const char *const keys[] = { "PRETTY_NAME=", NULL };
	const char *path = "/etc/os-release";
	_cleanup_free_ char *content = NULL;

	if (access(path, R_OK))
		path = "/usr/lib/os-release";
	content = embed_path(host, "os_release", path, EBT_V_file_sensitivity_public);
	if (content)
		meta_line(host, "host.os", content, keys);
}

static void cpuinfo(struct host *host)
{
	static const char *const keys[] = { "model name", "Processor", "Hardware",
					    "cpu model",  "uarch",     NULL };
	_cleanup_free_ char *content =
		embed_path(host, "cpuinfo", "/proc/cpuinfo", EBT_V_file_sensitivity_public);

	if (content)
		meta_line(host, "host.cpu_model", content, keys);
}

static void notes(struct host *host)
{
	struct embed_file file = { .role = "kernel_notes", .path = "/sys/kernel/notes" };
	struct buildid id;
	char hex[2 * BUILDID_MAX + 1] = "";
	size_t len;
	_cleanup_free_ char *content = slurp(host, file.path, MAX_SMALL, &len, &file.truncated);

	if (!content)
		return;
	embed(host, &file, content, len);
	if (!buildid_of_notes(content, len, &id))
		return;
	for (unsigned int i = 0; i < id.len; i++)
		snprintf(hex + (size_t)2 * i, 3, "%02x", id.bytes[i]);
	meta(host, "host.kernel_build_id", hex);
}

static void vdso(struct host *host)
{
	const struct embed_file file = { .role = "vdso", .path = "[vdso]" };
	const void *image;
	size_t len;

	if (vdso_image(&image, &len))
		embed(host, &file, image, len);
}

static void kallsyms(struct host *host, struct kernel_symbols *symbols)
{
	struct embed_file file = { .role = "kallsyms", .path = "/proc/kallsyms" };
	struct kernel_functions functions = { 0 };
	_cleanup_error_ struct ebt_error *err = kernel_symbols_take(symbols, &functions);

	file.truncated = functions.truncated;
	if (err)
		note_failure(host, file.path, err);
	else if (functions.hidden)
		unreadable(host, file.path,
			   "addresses are hidden (kernel.kptr_restrict, or no CAP_SYSLOG)");
	else
		embed(host, &file, functions.text, functions.len);
}

static void own_mountinfo(struct host *host)
{
	_cleanup_close_ int dir = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct mount_viewer viewer = {
		.pid = (uint32_t)getpid(),
		.mnt_ns = procfs_ns(AT_FDCWD, "/proc/self/ns/mnt"),
		.root = "/",
	};

	meta_rows(host,
		  (const struct meta_row[]){ { "host.mnt_ns", NULL, viewer.mnt_ns }, { NULL } });
	if (dir >= 0 && !host->err)
		host->err = snapshot_mountinfo(host->state, dir, &viewer);
}

static void boot_id(struct host *host)
{
	char text[64];

	if (procfs_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text)) > 0) {
		text[strcspn(text, "\n")] = '\0';
		meta(host, "host.boot_id", text);
	}
}

struct ebt_error *snapshot_host(struct snapshot_state *state)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct meta_row numbers[] = {
		{ "host.cpus", NULL, (uint64_t)sysconf(_SC_NPROCESSORS_CONF) },
		{ "host.cpus_online", NULL, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) },
		{ "host.page_size", NULL, page },
		{ "host.clk_tck", NULL, (uint64_t)sysconf(_SC_CLK_TCK) },
		{ "host.memory", NULL, (uint64_t)sysconf(_SC_PHYS_PAGES) * page },
		{ "host.pid_ns", NULL, state->pid_ns },
		{ NULL },
	};
	struct host host = { .state = state, .context = state->context };

	meta_uname(&host);
	boot_id(&host);
	meta_rows(&host, numbers);
	meta(&host, "host.tasks", state->lister.detail);
	own_mountinfo(&host);
	os_release(&host);
	cpuinfo(&host);
	notes(&host);
	vdso(&host);
	return host.err;
}

struct ebt_error *snapshot_kernel(struct snapshot_state *state, struct kernel_symbols *symbols)
{
	struct host host = { .state = state, .context = state->context };

	kallsyms(&host, symbols);
	free(embed_path(&host, "modules", "/proc/modules", EBT_V_file_sensitivity_public));
	return host.err;
}
