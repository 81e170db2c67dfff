/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The auxiliary vector has the address of the image, /proc/self/maps its length. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/base/procmaps.h"
#include "record/base/vdso.h"

struct vdso_search {
	uint64_t start;
	size_t len;
};

static bool is_it(void *arg, const struct procmaps_entry *entry)
{
	struct vdso_search *search = arg;

	if (entry->start != search->start)
		return true;
	search->len = (size_t)(entry->end - entry->start);
	return false;
}

bool vdso_image(const void **ret, size_t *ret_len)
{
	struct vdso_search search = { .start = getauxval(AT_SYSINFO_EHDR) };
	_cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (!search.start || fd < 0 || procmaps_each(fd, is_it, &search) || !search.len)
		return false;
	*ret = (const void *)(uintptr_t)search.start;
	*ret_len = search.len;
	return true;
}
